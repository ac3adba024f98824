"""Names of people: found beside a label or a title, and only where they are asked for."""

import pytest

from data.pii.detect import find_spans
from data.pii.settings import PiiSettings
from data.pii.surrogate import Pseudonymizer
from data.pii.type_names import PII_TYPES

FOUND = {
    "성명: 홍길동": "홍길동",
    "신청인 : 김철수, 010-1234-5678": "김철수",
    "예금주: 이순신 (국민은행)": "이순신",
    "작성자=허준": "허준",
    "성명: 남궁민 주민번호: 900101-1234567": "남궁민",
    "어제 김영희 씨가 왔다": "김영희",
    "박철수씨는 갔다": "박철수",
}
LEFT = [
    "이름: 구성 요소", "이름: 연결된 레코드", "오늘 오후날씨는 맑다", "예쁜글씨를 썼다", "아저씨가 왔다",
    "성명을 적는다", "성명: 미정", "이름: 정수", "김영희가 왔다", "하얀마음씨", "사람의 씨를 뿌린다", "홍길동 교수",
]  # fmt: skip


NICKNAMES = {
    "닉네임: 하늘바라기, 지역 서울": "하늘바라기",
    "티디스크 닉네임 : skywatch77": "skywatch77",
    "제 카톡 아이디는 moon.light_9 입니다": "moon.light_9",
    "텔레 아이디 goldfish88로 연락 주세요": "goldfish88",
    "롤 닉네임=미드는내꺼": "미드는내꺼",
    "대화명: 감자_튀김": "감자_튀김",
}
NO_NICKNAMES = [
    "닉네임: 필수 입력", "닉네임을 바꿨다", "닉네임은 두 글자 이상", "필명으로 알려진 작가", "게임 아이디를 만든다",
    "네이버 아이디로 로그인", "패닉: 복구할 수 없는 오류", "카카오톡 ID 검색을 허용", "온라인 계정 정보",
    "조직 ID: 표시", "컨트롤 ID는 IDOK 입니다", "타임라인 계정 settings 파일",
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [("NAME", *case) for case in FOUND.items()] + [("NICKNAME", *case) for case in NICKNAMES.items()],
)
def test_found_on_request(kind: str, text: str, value: str) -> None:
    assert [text[span.start : span.end] for span in find_spans(text, on_request=True) if span.type == kind] == [value]
    assert all(span.type != kind for span in find_spans(text))
    assert value not in Pseudonymizer(b"a key of sixteen bytes", [kind]).apply(text)[0]


@pytest.mark.parametrize("text", LEFT + NO_NICKNAMES)
def test_left(text: str) -> None:
    assert [span for span in find_spans(text, on_request=True) if span.type in ("NAME", "NICKNAME")] == []


def test_replaced_where_the_settings_say_so() -> None:
    types = PiiSettings(types=[*PII_TYPES, "NAME"]).types
    text = "성명: 홍길동, 전화 010-1234-5678. 홍길동 씨의 전화"
    out, replacements = Pseudonymizer(b"a key of sixteen bytes", types).apply(text)
    assert [r.type for r in replacements] == ["NAME", "TEL", "NAME"]
    assert "홍길동" not in out and replacements[0].surrogate == replacements[2].surrogate
    assert "홍길동" in Pseudonymizer(b"a key of sixteen bytes").apply(text)[0]
