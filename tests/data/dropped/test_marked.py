"""A change as it is shown: what went, what came, what stands around; the texts can be told from it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.dropped.marked import marked

CASES = [
    ("<b>짧은</b> 글이다", "짧은 글이다", "[-<b>-]짧은[-</b>-] 글이다"),
    ("값은 &lt;5 이다", "값은 <5 이다", "값은 [-&lt;-]{+<+}5 이다"),
    ("앞\u200b뒤", "앞뒤", "앞[-\\u200b-]뒤"),
    ("첫째 줄\n\n둘째 줄", "첫째 줄\n둘째 줄", "첫째 줄\n[-\\n-]둘째 줄"),
    ("본문이다.\n홍길동 기자 hong@example.org", "본문이다.", "본문이다.[-\\n홍길동 기자 hong@example.org-]"),
    ("지워질 글", "", "[-지워질 글-]"),
]


@pytest.mark.parametrize(("before", "after", "shown"), CASES)
def test_what_went_and_what_came(before: str, after: str, shown: str) -> None:
    assert marked(before, after) == shown


def test_a_long_text_is_shown_from_a_little_before_its_first_change() -> None:
    before = "가나다라마" * 100 + "<script>" + "x" * 5000 + "</script>" + "바사아자차" * 100
    after = "가나다라마" * 100 + "바사아자차" * 100
    shown = marked(before, after)
    assert shown.startswith("… 가나다라마") and shown.endswith(" …") and len(shown) < 450
    assert "[-<script>xxx" in shown and "xxx</script>-]바사아자차" in shown


@given(st.lists(st.tuples(st.text("가나 ", max_size=9), st.text("<>b", max_size=4)), max_size=3))  # too short to be cut
def test_both_texts_can_be_told_from_it(pieces: list[tuple[str, str]]) -> None:
    before, after = "".join(a + b for a, b in pieces), "".join(a for a, _ in pieces)
    shown = marked(before, after)
    assert re.sub(r"\[-(.*?)-\]", r"\1", re.sub(r"\{\+.*?\+\}", "", shown)) == before
    assert re.sub(r"\{\+(.*?)\+\}", r"\1", re.sub(r"\[-.*?-\]", "", shown)) == after
