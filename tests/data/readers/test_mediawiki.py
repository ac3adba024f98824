"""MediaWiki dumps: which pages are read, compressed in streams, and wikitext to text."""

import bz2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .reading import CASES, ids, read, rejects, skipped, texts

wikicode_to_text = pytest.importorskip("data.readers.wikicode").wikicode_to_text

HEAD = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo><sitename>W</sitename></siteinfo>\n'


def page(number: int, text: str, ns: int = 0, more: str = "") -> str:
    head = f"<title>T{number}</title><ns>{ns}</ns><id>{number}</id>{more}\n"
    body = f'<id>9</id><model>wikitext</model><text bytes="3" xml:space="preserve">{text}</text>'
    return f"  <page>\n    {head}    <revision>{body}</revision>\n  </page>\n"


def test_pages(tmp_path):
    path = tmp_path / "kowiki-pages-articles.xml.bz2"
    dump = [
        HEAD + page(5, "'''수도'''는 [[나라]]의 도시다."),
        page(6, "#넘겨주기 [[수도]]") + page(7, "x", more='<redirect title="수도" />') + page(8, "토론이다", ns=1),
        page(9, "A &amp;amp; B &lt;br /&gt;다음 줄") + page(10, "본").replace("wikitext</model>", "json</model>"),
        page(11, "깨진 & 글") + "</mediawiki>",
    ]
    path.write_bytes(b"".join(bz2.compress(part.encode()) for part in dump))  # as the multistream dumps are
    items = read(path)
    assert texts(items) == ["수도는 나라의 도시다.", "A & B\n다음 줄"]
    assert ids(items) == ["kowiki-pages-articles-5", "kowiki-pages-articles-9"]
    assert skipped(items) == [(2, "redirect"), (3, "redirect"), (4, "other namespace"), (6, "no wikitext")]
    assert rejects(items) == [(7, "not well-formed XML")]


def test_a_dump_that_breaks_off_is_a_reject(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + page(1, "글") + page(2, "둘")[:60], encoding="utf-8")
    items = read(path)
    assert texts(items) == ["글"] and rejects(items) == [(2, "cut short")]


def test_the_last_revision_counts(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + page(1, "옛글").replace("</revision>", "</revision><revision><text>새 글</text></revision>"))
    assert texts(read(path)) == ["새 글"]


@pytest.mark.parametrize("case", CASES["wikitext (and how many sentences went)"], ids=" > ".join)
def test_wikitext(case):
    source, text, *gone = case
    assert wikicode_to_text(source) == (text, int(gone[0] if gone else 0))


@given(st.text("[]{}|<>/='*:# \nab!-&;가", max_size=80))
def test_anything_is_converted(source):
    for line in wikicode_to_text(source)[0].split("\n"):
        assert line == line.strip()


def test_sentences_that_went_are_counted(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + page(1, "첫 글이다. 인구는 {{인구}}명이다.") + "</mediawiki>", encoding="utf-8")
    assert texts(read(path)) == ["첫 글이다."]
    assert skipped(read(path)) == [(1, "a sentence with a value that only a template knows")]
