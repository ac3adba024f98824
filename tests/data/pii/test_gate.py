"""The gate: a relaxation of every exact pattern, and exact line and character ranges."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.pii import gate
from data.pii.patterns import EXACT, GATES, PII_TYPES

from .examples import NEGATIVE, POSITIVE, parse

PIECES = [parse(marked)[0] for texts in POSITIVE.values() for marked in texts] + NEGATIVE
ALPHABET = "0123456789" * 2 + "-. :@/()+,=가동로길시구군읍번지서울산M aFx_\u2013ㅡ"


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


def test_relaxation_at_the_edges_of_an_address() -> None:
    for road in ("가·로", "가로 3길", "나1동2가", "다리 라리", "가대로지하 "):
        for number in ("1", "12345", "1-2"):
            for after in (
                "",
                " ",
                ".",
                ", 3호",
                "번지",
                " 번지",
                "번지 3호",
                " 대한",
                "에서",
                " (가나동)",
                "-",
                "\u2013",
            ):
                line = f"세종특별자치시 {road}{number}{after}"
                assert EXACT["ADDRESS"].search(line) is None or "ADDRESS" in gate.gate_types(gate.encode(line)), line


def test_nothing_matches_nothing() -> None:
    assert gate.gate_types(gate.encode("깨끗한 글")) == ()


def test_windows_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["깨끗한 글", "가나\n010-1234-5678\n다라", "", "a@b.co", "끝 010-1234-5678"]
    for size in (1, 20, 4 << 20):
        monkeypatch.setattr(gate, "BATCH_BYTES", size)
        found = [(w.text, texts[w.text][w.start : w.end]) for w in gate.windows(texts)]
        assert found == [(1, "010-1234-5678"), (3, "a@b.co"), (4, "끝 010-1234-5678")]
