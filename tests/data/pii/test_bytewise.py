"""Patterns over one byte per character: they match wherever the original does, at positions of characters."""

import pytest
import re2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.pii.bytewise import Bytewise, code_points
from data.pii.gate import encode
from data.pii.line_wrapped import LINE_WRAPPED_GATE
from data.pii.obfuscated import OBFUSCATED_GATES
from data.pii.types import BY_NAME

from .examples import COMMON, NOTHING, OTHERWISE

LINES = st.lists(
    st.sampled_from([case.text for case in (*COMMON, *OTHERWISE)] + NOTHING)
    | st.text(
        "0123456789-. ,()@길로동호번여권차량주민\u2460\uff11\u2013\u3000\U0001d7d9\u200bſK\x00\x1c\udc80aZ", max_size=20
    )
    | st.text(max_size=10),
    max_size=4,
).map("".join)
GATES = {name: kind.gate for name, kind in BY_NAME.items()} | OBFUSCATED_GATES | {"broken": LINE_WRAPPED_GATE}


def searched(pattern: str, text: str) -> tuple[int, int] | None:
    automaton = Bytewise(pattern, re2.Options())
    match = automaton.compiled.search(automaton.encode(code_points(text)))
    return match and match.span()


@pytest.mark.parametrize("name", GATES)
def test_a_gate_matches_wherever_it_does_over_utf_8(name: str) -> None:
    pattern = GATES[name]
    original, automaton = re2.compile(pattern), Bytewise(pattern, re2.Options())

    @settings(max_examples=200)
    @given(LINES)
    @example("httpſ://a")
    @example("boo\u212a.\u212ar")
    def check(text: str) -> None:
        if original.search(encode(text)):
            assert automaton.compiled.search(automaton.encode(code_points(text)))

    check()


@settings(max_examples=300)
@given(LINES)
def test_a_pattern_of_few_classes_matches_the_same(text: str) -> None:
    pattern = r"[가-힣][^0-9A-Za-zOo가-힣\n]\x{1D7D9}?[0-9\-]+|\.[①-⑨]"
    match = re2.compile(pattern).search(text.encode("utf-8", "replace").decode())
    assert searched(pattern, text) == (match and match.span())


def test_more_classes_than_bytes_share_some() -> None:
    letters = "".join(map(chr, range(0xAC00, 0xAC00 + 300)))
    pattern = "|".join(f"{letter}{letter}" for letter in letters)
    assert all(searched(pattern, f"x{letter}{letter}") == (1, 3) for letter in letters)
    assert searched(pattern, "힣힣") is None


@pytest.mark.parametrize("pattern", [r"[\w]", r"\d", r"가\s"])
def test_a_class_of_a_letter_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="unsupported escape"):
        Bytewise(pattern, re2.Options())
