"""The gate: a relaxation of every exact pattern, and exact line and character ranges."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.pii import gate
from data.pii.patterns import EXACT, GATES, PII_TYPES

from .examples import NEGATIVE, POSITIVE, parse

PIECES = [parse(marked)[0] for texts in POSITIVE.values() for marked in texts] + NEGATIVE
ALPHABET = "0123456789" * 2 + "-. :@/()+,가동로길시구군읍번지서울산M aFx_\u2013ㅡ"


def test_same_names_in_the_same_order() -> None:
    assert tuple(GATES) == tuple(EXACT) == PII_TYPES


@pytest.mark.parametrize("name", PII_TYPES)
def test_relaxation(name: str) -> None:
    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.sampled_from(PIECES) | st.text(ALPHABET, max_size=25), max_size=4).map("".join))
    def check(line: str) -> None:
        if EXACT[name].search(line):
            assert name in gate.gate_types(gate.encode(line))

    check()


@settings(max_examples=100, deadline=None)
@given(st.from_regex(EXACT["ADDRESS"], fullmatch=True) | st.from_regex(EXACT["VEHICLE_PLATE"], fullmatch=True))
def test_relaxation_on_generated_values(value: str) -> None:
    line = value.replace("\n", " ")
    types = gate.gate_types(gate.encode(line))
    for name in ("ADDRESS", "VEHICLE_PLATE"):
        if EXACT[name].search(line):
            assert name in types


def test_windows_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["깨끗한 글", "가나\n010-1234-5678\n다라", "", "a@b.co", "끝 010-1234-5678"]
    for size in (1, 20, 4 << 20):
        monkeypatch.setattr(gate, "BATCH_BYTES", size)
        found = [(w.text, texts[w.text][w.start : w.end]) for w in gate.windows(texts)]
        assert found == [(1, "010-1234-5678"), (3, "a@b.co"), (4, "끝 010-1234-5678")]
