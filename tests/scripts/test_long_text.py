"""The lister of long sentences and paragraphs, and that README and docs have none."""

from __future__ import annotations

import pytest

from scripts.long_text import long_text, pages


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("word " * 35 + ".", 0),
        ("word " * 36 + ".", 1),
        ("word " * 20 + "end. " + "word " * 20 + "end.", 0),
        ("word " * 20 + "\n\n" + "word " * 20, 0),
        ("- " + "word " * 20 + "\n- " + "word " * 20, 0),
        ("| " + "word " * 36 + "| short |", 1),
        ("```\n" + "word " * 50 + "\n```", 0),
        ("`one two three` " * 30, 0),
        ("[one two](page.md) " * 18, 1),
        ("A short one. " * 80, 1),
        ("# " + "word " * 40, 0),
    ],
)
def test_what_counts_as_long(text: str, count: int) -> None:
    assert len(long_text(text)) == count


def test_readme_and_docs_have_no_long_text() -> None:
    assert {path.name: passages for path in pages() if (passages := long_text(path.read_text(encoding="utf-8")))} == {}
