"""HTML and Markdown: the text by blocks, without what surrounds it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.readers.html import html_to_text
from data.readers.markdown import markdown_to_text

from .reading import CASES, ids, read, rejects, texts


@pytest.mark.parametrize(("source", "text"), [*CASES["html"], ("", "")])
def test_html(source, text):
    assert html_to_text(source) == text


@given(st.text("<>/=\"' pbdivscript가!-&;", max_size=60))
def test_any_html_gives_lines_of_its_own_letters_without_blanks_at_their_ends(source):
    text = html_to_text(source)
    assert text.count("가") <= source.count("가")
    assert all(line and line == " ".join(line.split()) for line in text.split("\n") if text)


@pytest.mark.parametrize(
    ("source", "text"),
    [*CASES["markdown"], ("\n".join("  " * level + "- 글" for level in range(30)), "\n".join(["글"] * 30))],
)
def test_markdown(source, text):
    assert markdown_to_text(source) == text


def test_a_file_is_a_document_without_its_front_matter(tmp_path):
    (tmp_path / "a.md").write_text("---\ntitle: 제목\n---\n# 머리\n\n글", encoding="utf-8")
    (tmp_path / "b.html").write_text("---\nslug: x\n---\n<p>글</p>", encoding="utf-8")
    (tmp_path / "c.html").write_bytes(b"<p>\xff\xfe</p>")
    items = read(tmp_path)
    assert texts(items) == ["머리\n글", "글"] and ids(items) == ["a-1", "b-1"]
    assert rejects(items) == [(1, "not UTF-8")]
