"""Addresses by grammar: any head, any joint and any tail leave nothing in clear; what looks like them stays."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.pii.detect import find_spans
from data.pii.surrogate import Pseudonymizer, surrogate
from data.pii.types import BY_NAME

KEY = b"test key for addresses"
HEADS = [
    "서울 강남구 가나로 31 길 7", "경기도 수원시 영통구 가나로 12번 길 5", "부산시 해운대구 가나대로123번길 4-5",
    "서울 종로구 가나동 17의 4", "대구 수성구 가나동 41~43", "충남 홍성군 가나읍 다라리 산 12-3",
    "서울 중구 가나로3가 12번지", "세종 가나대로 2130", "세종시 가나동 104번지 3호", "세종특별자치시 가나로 12",
    "수원 팔달구 가나로 1", "서울 가나로 152", "전주시 완산구 가나로 284", "샛별시 가온구 가나로 12",
    "강원도, 춘천시, 가나로 72", "서울시 강남구⏎가나로 12",
]  # fmt: skip
TOWNS = ["서울 강남구 가나동", "새솔동", "가나구 다라동", "경기 성남시 분당구 가나동", "세종시 새솔동"]
JOINTS = [" ", ", ", ",", "/", " / ", ". ", " - ", "\n", "<br>", " ,"]
TAILS = [
    "101동 1203호", "제101동 제1203호", "B동 301호", "나동 202호", "3층", "지하 1층", "B1", "2F", "반지하", "옥탑",
    "별관", "지층 2호", "푸른마을 주공3단지 302동 1104호", "새봄 비즈니스 센터 4층 1303호", "푸른아파트 101동 1203호",
    "가온2차 103동 702호", "101-1502", "103/702", "2-803", "101동 1203", "푸른빌라 203호", "상가 2층 204호",
    "본관 3층 301호", "단지 내 상가 220호", "(가나동, 푸른아파트) 101동 1203호", "101동 1203호 (가나동)",
    "(101동 1203호)", "나-203호", "101동.1203호", "12층 1203-1호",
]  # fmt: skip
ESTATES = ["푸른마을", "푸른마을 주공3단지", "새봄 한신 2차", "푸른아파트", "Park 하임"]
ENDS = ["", "에서 만나요", "입니다", " 홍길동", ", 확인", ").", "\n연락처: 없음", " 앞"]


def left(text: str, value: str) -> str:
    """Return what the spans of a text leave of an address in it."""
    clear = "".join(
        " " if any(s.start <= at < s.end for s in find_spans(text)) else character for at, character in enumerate(text)
    )
    start = text.index(value)
    return re.sub("[^0-9가-힣A-Za-z]|br", "", clear[start : start + len(value)])


FLATS = ["101동 1203호", "제3동 제702호", "B동 301호"]


@pytest.mark.parametrize(
    ("before", "head", "joints", "tails"),
    [
        *(("받는 곳: ", head, JOINTS, TAILS) for head in HEADS),
        *(("우리 집은 ", f"{town} {estate}", (" ", ", ", "\n"), FLATS) for town, estate in product(TOWNS, ESTATES)),
    ],
)
def test_no_joint_and_no_tail_is_left(before: str, head: str, joints: list[str], tails: list[str]) -> None:
    wrong = []
    for number, (joint, tail) in enumerate(product(joints, tails)):
        value = f"{head}{joint}{tail}".replace("⏎", "\n")
        text = f"{before}{value}{ENDS[number % len(ENDS)]}"
        if left(text, value):
            wrong.append(text)
    assert wrong == []


@given(
    st.sampled_from(HEADS), st.lists(st.tuples(st.sampled_from(JOINTS), st.sampled_from(TAILS)), min_size=2, max_size=3)
)
def test_several_tails(head: str, tails: list[tuple[str, str]]) -> None:
    words = [(joint, tail) for joint, tail in tails if not tail.startswith("(")]
    words = [word for word in words[:-1] if not word[1][-1].isdigit()] + words[-1:]  # 101동 1203/101 is another flat
    value = head.replace("⏎", "\n") + "".join(f"{joint}{tail}" for joint, tail in words)
    assert left(f"주소: {value}", value) == ""


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
    made = [BY_NAME["ADDRESS"].normalise(surrogate(KEY, "ADDRESS", spelling)) for spelling in spellings]
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
