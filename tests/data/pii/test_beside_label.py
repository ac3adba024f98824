"""Values beside a form's label, whatever their form; all of them invented."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.pii.beside_label import LABEL_FINDERS
from data.pii.detect import find_spans
from data.pii.gate import gate
from data.pii.surrogate import Pseudonymizer

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
        form = [re.sub("[0-9]", "0", re.sub("[가-힣]", "가", re.sub("[A-Za-z]", "A", x))) for x in (pseudonym, value)]
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
