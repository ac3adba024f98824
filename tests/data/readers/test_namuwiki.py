"""The Namuwiki dump: which pages are read, and namumark to text in linear time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.readers.namuwiki import is_redirect, namumark_to_text

from .reading import CASES


@pytest.mark.parametrize(("source", "text"), CASES["namumark"])
def test_marks(source, text):
    assert namumark_to_text(source) == (text, 0)


@pytest.mark.parametrize("source", ["#redirect 가", "#넘겨주기 가", "\n#REDIRECT 가"])
def test_redirects(source):
    assert is_redirect(source) and not is_redirect("글 " + source)


@given(st.text("{}[]|*'~-=#\n \\가a!", max_size=80))
def test_anything_is_converted_and_lines_hold_text(source):
    for line in namumark_to_text(source)[0].split("\n"):
        assert line == line.strip()


def test_no_sentence_keeps_a_hole():
    source = "나이는 [age(1990-01-02)]세이다. 값은 [math(x^2)]이고 {{{#!latex y}}}이다. 끝이다.[각주]"
    assert namumark_to_text(source) == ("끝이다.", 2)
