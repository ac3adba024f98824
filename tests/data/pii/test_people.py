"""Names of people: found beside a label or a title, and only where they are asked for."""

import pytest

from data.pii import PII_TYPES, PiiSettings, Pseudonymizer, find_spans

FOUND = {
    "성명: 홍길동": "홍길동",
    "신청인 : 김철수, 010-1234-5678": "김철수",
    "예금주: 이순신 (국민은행)": "이순신",
    "작성자=허준": "허준",
    "성명: 남궁민 주민번호: 900101-1234567": "남궁민",
    "어제 김영희 씨가 왔다": "김영희",
    "박철수씨는 갔다": "박철수",
}
LEFT = (
    *(
        "이름: 구성 요소",
        "이름: 연결된 레코드",
        "오늘 오후날씨는 맑다",
        "예쁜글씨를 썼다",
        "아저씨가 왔다",
        "성명을 적는다",
    ),
    *("성명: 미정", "이름: 정수", "김영희가 왔다", "하얀마음씨", "사람의 씨를 뿌린다", "홍길동 교수"),
)


@pytest.mark.parametrize(("text", "name"), FOUND.items())
def test_found_on_request(text: str, name: str) -> None:
    found = [text[span.start : span.end] for span in find_spans(text, on_request=True) if span.type == "NAME"]
    assert found == [name]
    assert all(span.type != "NAME" for span in find_spans(text))


@pytest.mark.parametrize("text", LEFT)
def test_left(text: str) -> None:
    assert [span for span in find_spans(text, on_request=True) if span.type == "NAME"] == []


def test_replaced_where_the_settings_say_so() -> None:
    types = PiiSettings(types=[*PII_TYPES, "NAME"]).types
    text = "성명: 홍길동, 전화 010-1234-5678. 홍길동 씨의 전화"
    out, replacements = Pseudonymizer(b"a key of sixteen bytes", types).apply(text)
    assert [r.type for r in replacements] == ["NAME", "TEL", "NAME"]
    assert "홍길동" not in out and replacements[0].surrogate == replacements[2].surrogate
    assert "홍길동" in Pseudonymizer(b"a key of sixteen bytes").apply(text)[0]
