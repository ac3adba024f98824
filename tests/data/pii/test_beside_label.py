"""Values beside a form's label, whatever their form; all of them invented."""

import re
import unicodedata
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.pii import Pseudonymizer, find_many, find_spans
from data.pii.beside_label import LABEL_FINDERS
from data.pii.gate import gate

from .examples import BESIDE, Case


def test_cell_below_a_header_beside_others() -> None:
    text = "성명\t계좌번호\t주문번호\n서진\t22019-338-441\t99019-338-441"
    assert (16, 29, "BANK_ACCOUNT") in find_spans(text)


@pytest.mark.parametrize("case", BESIDE, ids=lambda case: case.text)
def test_pseudonym_of_any_form_keeps_it(case: Case) -> None:
    text, spans, _ = case
    made = {(r.start, r.end): r.surrogate for r in Pseudonymizer(b"a key for tests only").apply(text)[1]}
    for start, end, kind in spans:
        value, pseudonym = text[start:end], made[start, end]
        form = [
            re.sub("[0-9]", "0", re.sub("[가-힣]", "가", re.sub("[A-Za-z]", "A", one))) for one in (pseudonym, value)
        ]
        assert re.sub("[０-９]", "０", form[0]) == re.sub("[０-９]", "０", form[1])
        pseudonym = unicodedata.normalize("NFKC", pseudonym)
        digits = re.sub("[^0-9]", "", pseudonym)
        if kind in ("RRN", "FRN"):
            assert digits[2:4] > "12"
        elif kind == "PASSPORT":
            assert pseudonym[0] == "X" or digits.startswith("000")
        elif kind == "HEALTH_INSURANCE":
            assert digits[0] == "0"
        elif kind == "VEHICLE_PLATE":
            assert digits[:-4].strip("0") == ""


LABELS = {
    "HEALTH_INSURANCE": (
        ["건강보험증 번호", "의료보험증번호", "보험증 번호", "건강보험 가입자번호"],
        ["321-54-09876-2", "31234567890"],
    ),
    "DRIVER_LICENSE": (
        ["운전면허번호", "운전면허", "면허증번호", "Driver's License No."],
        ["21-30-55-13-765432", "서울 04-284710-23"],
    ),
    "PASSPORT": (
        ["여권번호", "여권", "여권 No.", "Passport No.", "passport number"],
        ["C1234567", "M123456789", "AB1234567"],
    ),
    "RRN": (["주민등록번호", "주민번호", "주민등록 번호"], ["651301-1849203", "880304-1******", "9001321234567"]),
    "FRN": (["외국인등록번호", "외국인 등록번호", "거소신고번호"], ["901345-5829103", "880123-9182734"]),
    "BRN": (["사업자등록번호", "사업자번호", "사업자 등록번호"], ["999-99-99999", "4018293847"]),
    "BANK_ACCOUNT": (["계좌번호", "입금계좌", "통장번호"], ["7-3391-22018", "20193-44-8812-9", "110482913307"]),
    "CARD": (["카드번호", "신용카드", "카드 번호"], ["1122-3344-5566-7788", "8812345599001122"]),
    "VEHICLE_PLATE": (["차량번호", "차 번호", "자동차등록번호", "번호판"], ["12조 8830", "00차1023", "71보2930"]),
}
JOINTS = [
    ": ", " : ", "：", " ", ":", "(", " - ", " → ", "는 ", " = ", "\t", " | ", "] ", ":\n", "\n", "은(는) ", ": **",
    '="',
]  # fmt: skip
ENDS = ["", "입니다", " / 서울", ")", ", 확인", "\n주소: 없음", ".", "**", '"', "으로"]


@pytest.mark.parametrize("kind", LABELS)
def test_every_label_and_value_with_every_joint_and_end(kind: str) -> None:
    labels, values = LABELS[kind]
    texts, truth = [], []
    for number, (label, joint, value) in enumerate(product(labels, JOINTS, values)):
        end = ENDS[number % len(ENDS)]
        if end == "**" and value.endswith("*"):
            end = ""
        texts.append(f"성명 홍길동 / {label}{joint}{value}{end}")
        start = len(texts[-1]) - len(value) - len(end)
        truth.append((start, start + len(value), kind))
    wrong = [text for text, one, spans in zip(texts, truth, find_many(texts), strict=True) if one not in spans]
    assert not wrong


LINES = [line for case in BESIDE for line in case.text.split("\n")]


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from(LINES) | st.text("0123456789-. /가나번호계좌여권M*", max_size=12), max_size=3).map(
        " ".join
    )
)
def test_the_gate_lets_a_line_through_where_a_label_has_a_value(line: str) -> None:
    for name, (_, finder) in LABEL_FINDERS.items():
        if list(finder(line, 0, len(line))):
            names = [name for window in gate().windows([line]) for name in window.types]
            assert name in names, (name, line)
