"""Numbers by grammar: labels, joints, forms and tails of all types; unusual writings; what only looks like a number."""

from itertools import product
from pathlib import Path
from random import Random

import pytest

from data.pii.detect import find_many, find_spans
from data.pii.type_names import PII_TYPES

from ..cases import sections
from .examples import Case, parse

VALUES, _NOTHING = (
    [parse(*case) for case in part] for part in sections(Path(__file__).with_name("numbers.txt")).values()
)
NOTHING = [case.text for case in _NOTHING]

FORMS = {
    "TEL": (
        "전화|연락처|휴대폰|핸드폰|팩스|FAX|Tel|H.P|HP|C.P.|문의|휴대전화|직통|집전화|Mobile|비상연락망",
        "010-2345-6789|02-345-6789|031 345 6789|01023456789|0312345678|+82-10-2345-6789|010.2345.6789|070-2345-6789",
    ),
    "RRN": ("주민등록번호|주민번호|RRN", "900101-1234567|9001011234567|900101 1234567|(900101)-(1234567)"),
    "FRN": ("외국인등록번호|국내거소신고번호|ARC", "900101-5234567|9001016234567"),
    "EMAIL": ("이메일|메일|E-mail", "hong.gd@example.com|hong_12@example.org"),
    "IP": ("IP|아이피|접속 IP", "211.234.12.34|192.168.0.12"),
    "MAC": ("MAC|맥주소", "e4:5f:01:95:9c:74|E4-5F-01-95-9C-74"),
    "MENTION": ("인스타|트위터|Instagram", "@hong_gd12|@sample.name"),
    "BANK_ACCOUNT": ("계좌번호|입금계좌|국민은행|농협|환불계좌", "110-245-124678|301-0123-4567-81|12345601123456"),
    "PASSPORT": ("여권번호|여권|Passport No.", "M12345678|M123A4567"),
    "DRIVER_LICENSE": ("운전면허번호|면허번호|운전면허", "11-17-174133-01|112212345612|서울 04-284710-23"),
    "BRN": ("사업자등록번호|사업자번호", "123-45-67890|123-45-67891|1234567891|318  45  67890"),
    "HEALTH_INSURANCE": ("건강보험증번호|보험증번호", "31234567890|1-2345678901|3·2345678901"),
    "CARD": (
        "카드번호|신용카드|법인카드",
        "4111-1111-1111-1111|5105 1051 0510 5100|9410·5678·9012·3456|4012888888881881",
    ),
    "VEHICLE_PLATE": ("차량번호|차번호|번호판|차량", "12가3456|123나 4567|서울 12가 3456|69조1234"),
    "URL": ("홈페이지|사이트|링크", "https://www.example.kr/a|blog.example.com|www.example.co.kr"),
    "ADDRESS": ("주소|거주지", "서울특별시 중구 세종대로 110"),
}
ANY_FORM = {
    "HEALTH_INSURANCE": (
        "건강보험증 번호|의료보험증번호|보험증 번호|건강보험 가입자번호",
        "321-54-09876-2|31234567890",
    ),
    "DRIVER_LICENSE": ("운전면허번호|운전면허|면허증번호|Driver's License No.", "21-30-55-13-765432|서울 04-284710-23"),
    "PASSPORT": ("여권번호|여권|여권 No.|Passport No.|passport number", "C1234567|M123456789|AB1234567"),
    "RRN": ("주민등록번호|주민번호|주민등록 번호", "651301-1849203|880304-1******|9001321234567"),
    "FRN": ("외국인등록번호|외국인 등록번호|거소신고번호", "901345-5829103|880123-9182734"),
    "BRN": ("사업자등록번호|사업자번호|사업자 등록번호", "999-99-99999|4018293847"),
    "BANK_ACCOUNT": ("계좌번호|입금계좌|통장번호", "7-3391-22018|20193-44-8812-9|110482913307"),
    "CARD": ("카드번호|신용카드|카드 번호", "1122-3344-5566-7788|8812345599001122"),
    "VEHICLE_PLATE": ("차량번호|차 번호|자동차등록번호|번호판", "12조 8830|00차1023|71보2930"),
}
"""Labels beside which a value of any form is one."""
JOINTS = [
    ": ", " : ", "：", " ", ":", " - ", " → ", "는 ", " = ", "\t", " | ", "] ", ":\n", "\n", " ▶ ", "은 ", "** : ",
    "</td><td>", "</th><td>", ", ",
]  # fmt: skip
TAILS = [
    "", "입니다", " / 서울", ")", ", 확인", "\n주소: 없음", ".", "**", '"', "으로", "</td>", "|", "]", "</b>", " (끝)",
    "임", "이고요", "에게", "!", "~", "로", "…", "」",
]  # fmt: skip


def test_every_type_has_forms() -> None:
    assert set(FORMS) == set(PII_TYPES)


BESIDE = [*(joint for joint in JOINTS if joint != ", "), "(", "은(는) ", ": **", '="']


@pytest.mark.parametrize(
    ("kind", "labels", "values", "joints"),
    [
        *((kind, *forms, JOINTS) for kind, forms in FORMS.items()),
        *((kind, *forms, BESIDE) for kind, forms in ANY_FORM.items()),
    ],
)
def test_label_joint_form_and_tail_of_every_type(kind: str, labels: str, values: str, joints: list[str]) -> None:
    draw = Random(1)
    texts, truth = [], []
    for label, joint, value in product(labels.split("|"), joints, values.split("|")):
        for tail in draw.sample(TAILS, 3):
            if value[-1] == "*" == tail[:1]:
                continue
            front = f"성명 홍길동 / {label}{joint}"
            texts.append(f"{front}{value}{tail}")
            truth.append([(len(front), len(front) + len(value), kind)])
    wrong = [text for text, expected, spans in zip(texts, truth, find_many(texts), strict=True) if expected != spans]
    assert wrong == []


@pytest.mark.parametrize("case", VALUES, ids=lambda case: case.text)
def test_unusual_writings(case: Case) -> None:
    assert find_spans(case.text) == case.spans


@pytest.mark.parametrize("text", NOTHING)
def test_what_only_looks_like_a_number(text: str) -> None:
    assert find_spans(text) == []


@pytest.mark.parametrize(
    "name", ["S/N", "일련번호", "모델명", "주문번호", "송장번호", "ISBN", "IBAN", "특허번호", "쿠폰번호"]
)
@pytest.mark.parametrize(
    "value",
    [
        "110-245-124678",
        "123-45-67891",
        "4111-1111-1111-1111",
        "M12345678",
        "11-17-174133-01",
        "1-2345678901",
        "12가3456",
    ],
)
@pytest.mark.parametrize("joint", [": ", " ", "는 ", " | ", "="])
def test_the_name_of_a_thing_decides_for_every_type(name: str, value: str, joint: str) -> None:
    assert find_spans(f"{name}{joint}{value}") == []


@pytest.mark.parametrize("kind", [kind for kind in FORMS if kind not in ("ADDRESS", "MENTION", "URL", "EMAIL")])
@pytest.mark.parametrize("joint", [" / ", ", ", " · ", " 및 ", " 또는 ", " → "])
def test_the_label_of_a_list_speaks_for_all_of_it(kind: str, joint: str) -> None:
    labels, values = (part.split("|") for part in FORMS[kind])
    for value in values[:2]:
        text = f"성명 홍길동 / {labels[0]}: {value}{joint}{value} 끝"
        assert [text[s.start : s.end] for s in find_spans(text) if s.type == kind] == [value] * 2, text


@pytest.mark.parametrize(
    ("header", "kind", "cells"),
    [
        ("연락처", "TEL", ["0540345678", "010/0345/6789", "02  034  5678", "1660 8556"]),
        ("상담 전화", "TEL", ["(041)-093-5436", "O2-139-2395", "043  123-4328"]),
        ("후원계좌", "BANK_ACCOUNT", ["３０８－１５５－１２６４４４", "2925  3254  3688  3"]),
        ("결제카드", "CARD", ["4111 1111 1111 1111", "9077·4889·9729·0032"]),
        ("하드웨어", "MAC", ["065B2E90AD43"]),
        ("거주지", "ADDRESS", ["가나로 143-10", "「다라길 7-2」"]),
    ],
)
@pytest.mark.parametrize("joint", [" | ", "\t"])
def test_a_header_speaks_for_the_cells_below(header: str, kind: str, cells: list[str], joint: str) -> None:
    rows = [joint.join(row) for row in (["이름", header, "비고"], *(["홍길동", cell, "-"] for cell in cells))]
    text = "\n".join(rows)
    assert [text[s.start : s.end] for s in find_spans(text) if s.type == kind] == [cell.strip("「」") for cell in cells]


@pytest.mark.parametrize("between", ["</b> ", "</th><td>", "</span>&nbsp;<span>『", ": __", " 「", ":\n- "])
def test_markup_between_label_and_value(between: str) -> None:
    for label, value, kind in (
        ("여권번호", "777278115", "PASSPORT"),
        ("건강보험번호", "1 9167521404", "HEALTH_INSURANCE"),
    ):
        text = f"{label}{between}{value}"
        assert find_spans(text) == [(len(text) - len(value), len(text), kind)], text
