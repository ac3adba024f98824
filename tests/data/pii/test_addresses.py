"""Addresses by grammar: any head, any joint and any tail leave nothing in clear; what looks like them stays."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.pii import Pseudonymizer, find_spans
from data.pii.surrogate import normalise, surrogate

KEY = b"test key for addresses"
HEADS = [
    *("서울 강남구 가나로 31 길 7", "경기도 수원시 영통구 가나로 12번 길 5", "부산시 해운대구 가나대로123번길 4-5"),
    *(
        "서울 종로구 가나동 17의 4",
        "대구 수성구 가나동 41~43",
        "충남 홍성군 가나읍 다라리 산 12-3",
        "서울 중구 가나로3가 12번지",
    ),
    *(
        "세종 가나대로 2130",
        "세종시 가나동 104번지 3호",
        "세종특별자치시 가나로 12",
        "수원 팔달구 가나로 1",
        "서울 가나로 152",
    ),
    *("전주시 완산구 가나로 284", "샛별시 가온구 가나로 12", "강원도, 춘천시, 가나로 72", "서울시 강남구⏎가나로 12"),
]
TOWNS = ["서울 강남구 가나동", "새솔동", "가나구 다라동", "경기 성남시 분당구 가나동", "세종시 새솔동"]
JOINTS = [" ", ", ", ",", "/", " / ", ". ", " - ", "\n", "<br>", " ,"]
TAILS = [
    *(
        "101동 1203호",
        "제101동 제1203호",
        "B동 301호",
        "나동 202호",
        "3층",
        "지하 1층",
        "B1",
        "2F",
        "반지하",
        "옥탑",
        "별관",
        "지층 2호",
    ),
    *(
        "푸른마을 주공3단지 302동 1104호",
        "새봄 비즈니스 센터 4층 1303호",
        "푸른아파트 101동 1203호",
        "가온2차 103동 702호",
    ),
    *(
        "101-1502",
        "103/702",
        "2-803",
        "101동 1203",
        "푸른빌라 203호",
        "상가 2층 204호",
        "본관 3층 301호",
        "단지 내 상가 220호",
    ),
    *(
        "(가나동, 푸른아파트) 101동 1203호",
        "101동 1203호 (가나동)",
        "(101동 1203호)",
        "나-203호",
        "101동.1203호",
        "12층 1203-1호",
    ),
]
ESTATES = ["푸른마을", "푸른마을 주공3단지", "새봄 한신 2차", "푸른아파트", "Park 하임"]
ENDS = ["", "에서 만나요", "입니다", " 홍길동", ", 확인", ").", "\n연락처: 없음", " 앞"]


def left(text: str, value: str) -> str:
    """Return what the spans of a text leave of an address in it."""
    clear = "".join(
        " " if any(s.start <= at < s.end for s in find_spans(text)) else character for at, character in enumerate(text)
    )
    start = text.index(value)
    return re.sub("[^0-9가-힣A-Za-z]|br", "", clear[start : start + len(value)])


@pytest.mark.parametrize("head", HEADS)
def test_no_joint_and_no_tail_is_left(head: str) -> None:
    head = head.replace("⏎", "\n")
    wrong = []
    for number, (joint, tail) in enumerate(product(JOINTS, TAILS)):
        value = f"{head}{joint}{tail}"
        text = f"받는 곳: {value}{ENDS[number % len(ENDS)]}"
        if left(text, value):
            wrong.append(text)
    assert wrong == []


@pytest.mark.parametrize("town", TOWNS)
def test_no_flat_of_an_estate_is_left(town: str) -> None:
    wrong = []
    for number, (estate, joint, tail) in enumerate(
        product(ESTATES, JOINTS[:2] + JOINTS[7:8], ["101동 1203호", "제3동 제702호", "B동 301호"])
    ):
        value = f"{town} {estate}{joint}{tail}"
        text = f"우리 집은 {value}{ENDS[number % len(ENDS)]}"
        if left(text, value):
            wrong.append(text)
    assert wrong == []


@given(
    st.sampled_from(HEADS), st.lists(st.tuples(st.sampled_from(JOINTS), st.sampled_from(TAILS)), min_size=2, max_size=3)
)
def test_several_tails(head: str, tails: list[tuple[str, str]]) -> None:
    words = [(joint, tail) for joint, tail in tails if not tail.startswith("(")]
    words = [one for one in words[:-1] if not one[1][-1].isdigit()] + words[-1:]  # 101동 1203/101 is another flat
    value = head.replace("⏎", "\n") + "".join(f"{joint}{tail}" for joint, tail in words)
    assert left(f"주소: {value}", value) == ""


@pytest.mark.parametrize(
    "text",
    [
        *(
            "주소: 서울시 강남구 가나동 00동 0000호",
            "경기도 수원시 영통구 가나동 00아파트 000동 0000호",
            "서울 강남구 가나로 **길 **",
        ),
        *(
            "서울 종로구 대학로 2019 서울연극제",
            "부산 해운대구 중앙로 2018 거리축제",
            "대학로 2019 서울연극제",
            "중앙로 2018 마라톤",
        ),
        *(
            "서울 마포구 강변로 8 차로 확장",
            "강변로 8 차로",
            "3길 사람",
            "서울 중구 가나로 3길 사람들",
            "비율은 17의 4였다",
        ),
        *(
            "3층 건물",
            "제5호",
            "2동",
            "제3조의2 제1항 제4호",
            "점수는 3-2, 101-99",
            "2024. 5. 3. 3동 회의",
            "101동 1203호 주민",
        ),
        *(
            "울산광역시 고시 제2007-42호",
            "서울 06-5580호 트럭",
            "남양주시법원 2015차391호",
            "곡성군 금연아파트 제3호로 지정",
        ),
        *(
            "노동 1호, 1998년 대포동 1호",
            "포트 3478-3481",
            "왜냐하면 270 - 180",
            "상가 중 2층 201호",
            "우리 101동 1203호 앞",
        ),
        *(
            "서울 강남구 가나동\n2. 다음 항목",
            "별로 12, 서로 3, 그대로 100",
            "서울시 자전거도로 100, 제주 올레길 7",
            "함양군인사위원회가 1999. 10. 7.",
        ),
        *(
            "서울특별시 서대문구가 2005. 1. 25.",
            "주소 모듈로 2의 거듭제곱",
            "저희 집은 라돈수치가 388 베크렐",
            "게스트하우스로 8:32에 출발",
            "부산 갈맷길 1∼3코스",
        ),
    ],
)
def test_look_alikes_of_addresses_stay(text: str) -> None:
    assert find_spans(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("서울 강남구 가나로 12 3층 건물", "서울 강남구 가나로 12"),
        ("서울 강남구 가나동 12-3 소재 푸른빌라 401호", "서울 강남구 가나동 12-3"),
        ("서울 강남구 가나동 12의 3 지상 4층", "서울 강남구 가나동 12의 3"),
        ("서울 강남구 가나로 12 맞은편 건물 2층", "서울 강남구 가나로 12"),
        ("서울 강남구 가나로 12 전화 234-5678", "서울 강남구 가나로 12"),
        ("서울 강남구 가나로 12, 1588-1234", "서울 강남구 가나로 12"),
        ("서울 강남구 가나로 12 우편번호 123-456", "서울 강남구 가나로 12"),
        ("서울 강남구 가나동 12-3 외 2필지", "서울 강남구 가나동 12-3"),
        ("서 울 시 강 남 구 가 나 로 1 2 끝", "서 울 시 강 남 구 가 나 로 1 2"),
    ],
)
def test_an_address_ends_before_what_is_no_unit(text: str, value: str) -> None:
    assert [text[s.start : s.end] for s in find_spans(text) if s.type == "ADDRESS"] == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("경북(경주시)가나로 281번길 11 앞", "경북(경주시)가나로 281번길 11"),
        ("서울특별시 마포구 (가나동) 다라로 396-2 끝", "서울특별시 마포구 (가나동) 다라로 396-2"),
        ("주소/경기/고양시/덕양구/가나로 104/309동/1502호", "경기/고양시/덕양구/가나로 104/309동/1502호"),
        ("경남 ▷ 김해시 ▷ 가나로 77번길 4-2", "경남 ▷ 김해시 ▷ 가나로 77번길 4-2"),
        ("울산.남구.가나로 221번길.19.새솔빌.301 로", "울산.남구.가나로 221번길.19.새솔빌.301"),
        ("성남 분당 가나동 88의3 201호 예요", "성남 분당 가나동 88의3 201호"),
        ("전라북도 완주군 가나읍 다라리\n412 의 9 입니다", "전라북도 완주군 가나읍 다라리\n412 의 9"),
        ("집은인천 부평구 가나로412번길31 나동203호에요", "인천 부평구 가나로412번길31 나동203호"),
        ("서울중랑구가나로48길25다라빌라비동402 배달", "서울중랑구가나로48길25다라빌라비동402"),
        ("용인시 처인구 가나로1313번길 6, 2층 나호", "용인시 처인구 가나로1313번길 6, 2층 나호"),
        ("전주시 완산구 가나로 225-14, 오피스텔 미르 6F-602", "전주시 완산구 가나로 225-14, 오피스텔 미르 6F-602"),
        ("대전 대덕구 가나로 882=11", "대전 대덕구 가나로 882=11"),
        ("강원 속초시 가나동 1418-7, 다라비치텔 1102`", "강원 속초시 가나동 1418-7, 다라비치텔 1102"),
        ("대구 수성구 가나로 16길 44 / 302;VIP", "대구 수성구 가나로 16길 44 / 302"),
        ("대구 달서구 가나로 81길 19 / 다라맨션 나-505;", "대구 달서구 가나로 81길 19 / 다라맨션 나-505"),
        (
            "수원시 영통구 가나로 310번길 12 〈다라골 마바우성〉 811동 - 1003호 끝",
            "수원시 영통구 가나로 310번길 12 〈다라골 마바우성〉 811동 - 1003호",
        ),
        ("서울송파구가나로82,8단지 123동 302호", "서울송파구가나로82,8단지 123동 302호"),
        ("받는 곳 경 기 도 파 주 시 가 나 로 8 111동 1307호", "경 기 도 파 주 시 가 나 로 8 111동 1307호"),
        ("[오후 4:02] 배송지 김포시 가나로 129\n[홍길동] [오후 4:03]", "김포시 가나로 129"),
        ("울산 남구 가나길 84\nFax 1666-6084", "울산 남구 가나길 84"),
        (
            "서울 서초구 가나로3길 22, 6층 604호 (서초동, 다라빌딩)\nTel",
            "서울 서초구 가나로3길 22, 6층 604호 (서초동, 다라빌딩)",
        ),
    ],
)
def test_joints_brackets_and_bare_flats(text: str, value: str) -> None:
    assert [text[s.start : s.end] for s in find_spans(text) if s.type == "ADDRESS"] == [value]


def test_two_addresses_are_two() -> None:
    text = "새솔동 가나타운 1차 105동 601호, 다라동 마바타운 2차 106동 602호"
    assert [text[s.start : s.end] for s in find_spans(text)] == text.split(", ")


def test_no_part_of_a_head_with_brackets_or_slashes_stays() -> None:
    for text in (
        "서울특별시 마포구 (가나동) 다라로 396-2",
        "경북(경주시)마바로 281번길 11",
        "경기/고양시/덕양구/사아로 104",
    ):
        made = surrogate(KEY, "ADDRESS", text)
        names = re.findall("마포|가나|다라|경주|마바|고양|덕양|사아", text)
        assert names and not any(name in made for name in names), made


@pytest.mark.parametrize(
    "spellings",
    [
        [
            "서울 강남구 가나로 12, 101동 1203호",
            "서울특별시 강남구 가나로 12 101-1203",
            "서울시 강남구 가나로 12 제101동 제1203호",
        ],
        ["충북 청주시 가나동 17-4", "충청북도 청주시 가나동 17의 4", "충청북도 청주시 가나동 17번지의 4"],
        ["경기 고양시 가나로 104-2", "경기/고양시/가나로 104-2", "경기 ▷ 고양시 ▷ 가나로 104=2"],
        ["서울 강남구 가나로 12", "서울 강남구 가나로 12 (다라동)", "서울 강남구  가나로 12"],
    ],
)
def test_one_address_has_one_pseudonym(spellings: list[str]) -> None:
    made = [normalise("ADDRESS", surrogate(KEY, "ADDRESS", spelling)) for spelling in spellings]
    assert len(set(made)) == 1, made


@pytest.mark.parametrize("head", HEADS)
def test_the_shape_of_an_address_stays(head: str) -> None:
    for joint, tail in product(JOINTS, TAILS):
        text = head.replace("⏎", "\n") + joint + tail
        made, replacements = Pseudonymizer(KEY).apply(text)
        assert replacements, text
        assert re.findall("[^가-힣A-Za-z]", re.sub("[0-9]", "0", made)) == re.findall(
            "[^가-힣A-Za-z]", re.sub("[0-9]", "0", text)
        ) or re.match("세종|서울 가나로", head), (text, made)  # they get a district, too


def test_the_end_of_a_range_stays_as_short_as_it_was() -> None:
    assert re.fullmatch("[가-힣 ]+ [1-9][0-9]~[1-9]", surrogate(KEY, "ADDRESS", "서울 강남구 가나동 41~3"))
