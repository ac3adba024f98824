"""The markup of text fields, whatever file holds them: read where the settings say so, told where they do not."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
from pydantic import ValidationError

from common.errors import UserError
from data.readers.damage import UnfitInputError
from data.readers.markup import holds_wiki_markup, require_parser
from data.readers.settings import SourceSettings
from data.units.fields import check_fields

from .reading import read, skipped, texts, write_rows

NAMU = (
    "[[분류:도서관]]\n== 개요 ==\n'''도서관'''은 [[책|책들]]을 빌려 주는 곳이다.[* 각주다.]\n|| 이름 || 값 ||\n끝이다."
)
WIKI = (
    "'''도서관'''은 [[책]]을 빌려 주는 곳이다.<ref>출처</ref>\n== 역사 ==\n"
    "{{출처 필요}}산 아래에 있다.&nbsp;크다.\n[[분류:책]]"
)
HTML = "<p>첫 문단&amp;글</p><script>x()</script><p>둘째 <b>문단</b></p>"
MARKDOWN = "# 제목\n\n**굵은** 글과 [링크](http://a.example).\n\n```python\nx = 1\n```\n"
PLAIN = {
    "namuwiki": (NAMU, "개요\n도서관은 책들을 빌려 주는 곳이다.\n끝이다."),
    "mediawiki": (WIKI, "도서관은 책을 빌려 주는 곳이다.\n역사\n산 아래에 있다.\u00a0크다."),
    "html": (HTML, "첫 문단&글\n둘째 문단"),
    "markdown": (MARKDOWN, "제목\n굵은 글과 링크."),
}


def titled(texts: list[str]) -> list[dict[str, str]]:
    return [{"title": "도서관", "text": text} for text in texts]


NO_PARSER = find_spec("mwparserfromhell") is None


def needs_parser(*values: str):
    """Return parameters of a test that the package reading MediaWiki markup is needed for."""
    return pytest.param(*values, marks=pytest.mark.skipif(NO_PARSER, reason="mwparserfromhell is not installed"))


@pytest.mark.parametrize("suffix", [".parquet", ".db", ".csv", ".tsv", ".jsonl", ".json"])
@pytest.mark.parametrize("markup", [needs_parser("mediawiki") if name == "mediawiki" else name for name in PLAIN])
def test_markup_is_read_whatever_file_holds_it(tmp_path, markup, suffix):
    source, plain = PLAIN[markup]
    path = write_rows(tmp_path / f"a{suffix}", titled([source, "표시 없는 글이다."]))
    assert texts(read(path, markup=markup)) == [plain, "표시 없는 글이다."]
    assert texts(read(path, markup=markup, text_field=["title", "text"])) == [
        f"도서관\n{plain}",
        "도서관\n표시 없는 글이다.",
    ]
    assert source in texts(read(path))


@pytest.mark.parametrize(
    ("markup", "source"),
    [
        ("namuwiki", "#redirect 책"),
        needs_parser("mediawiki", "#넘겨주기 [[책]]"),
        needs_parser("mediawiki", "#REDIRECT [[책]]"),
    ],
)
def test_pages_that_only_lead_to_others_are_skipped(tmp_path, markup, source):
    items = read(write_rows(tmp_path / "a.parquet", titled([source, "글이다."])), markup=markup)
    assert skipped(items) == [(1, "redirect")] and texts(items) == ["글이다."]


@pytest.mark.skipif(NO_PARSER, reason="mwparserfromhell is not installed")
def test_sentences_with_a_value_that_only_the_wiki_knows_are_skipped_and_counted(tmp_path):
    items = read(write_rows(tmp_path / "a.csv", titled(["인구는 {{인구|서울}}명이다. 넓다."])), markup="mediawiki")
    assert texts(items) == ["넓다."] and len(skipped(items)) == 1


@pytest.mark.parametrize("markup", ["namuwiki", needs_parser("mediawiki")])
def test_headings_of_pages_whose_line_ends_were_made_blanks(tmp_path, markup):
    path = write_rows(
        tmp_path / "a.parquet", titled(["'''책'''은 글이다. == 역사 == 오래되었다. ===자료=== 많다. a == b 이다."])
    )
    assert texts(read(path, markup=markup)) == ["책은 글이다.\n역사\n오래되었다.\n자료\n많다. a == b 이다."]


@pytest.mark.parametrize("format", ["namuwiki", needs_parser("mediawiki")])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".db"])
def test_a_format_for_dumps_says_so_of_tables(tmp_path, format, suffix):
    path = write_rows(tmp_path / f"a{suffix}", titled([NAMU]))
    with pytest.raises(UnfitInputError) as caught:
        read(path, format=format)
    assert f"markup to {format}" in caught.value.fix and "not text" not in caught.value.problem


@pytest.mark.parametrize("format", ["namuwiki", "mediawiki", "html", "markdown", "warc"])
def test_markup_goes_with_no_format_that_reads_its_own(format):
    with pytest.raises(ValidationError, match="reads its own markup"):
        SourceSettings(path="a", format=format, markup="namuwiki")


def test_without_the_parser_there_is_one_clear_error_before_anything_runs(tmp_path, monkeypatch):
    from data.readers.paths import list_files

    monkeypatch.setattr("data.readers.markup.find_spec", lambda name: None)
    path = write_rows(tmp_path / "a.jsonl", titled([WIKI]))
    for needs in (
        lambda: check_fields(list_files([SourceSettings(path=str(path), markup="mediawiki")])),
        lambda: read(path, markup="mediawiki"),
    ):
        with pytest.raises(UserError, match="needs mwparserfromhell") as caught:
            needs()
        assert "3.14" in caught.value.rule
    dump = tmp_path / "dump.xml"
    dump.write_text("<mediawiki><page><revision><text>가</text></revision></page></mediawiki>")
    for needs in (lambda: check_fields(list_files([str(dump)])), lambda: read(dump)):
        with pytest.raises(UserError, match="needs mwparserfromhell"):
            needs()
    assert texts(read(path, markup="namuwiki")) and texts(read(path))
    require_parser("html")


@pytest.mark.parametrize("text", [NAMU, WIKI, "== 개요 ==\n'''책'''이다.", "[[파일:a.png]] {{틀|가}} 글이다."])
def test_wiki_markup_is_told(text):
    assert holds_wiki_markup(text)


@pytest.mark.parametrize(
    "text",
    [
        "평범한 글이다.",
        "배열은 [[1, 2], [3, 4]] 로 적는다.",
        "if (a == b || c == d) { return {{x}}; }",
        "제목\n=====\n본문이다.",
        "그는 '''라고 적었다.",
        "|| 연산자는 또는을 뜻한다.",
        "{{ user.name }} 님, 안녕하세요.",
        "a == b == c",
    ],
)
def test_other_texts_are_not_taken_for_it(text):
    assert not holds_wiki_markup(text)


def test_the_parser_is_imported_where_wiki_markup_is_read_and_nowhere_else():
    without = "import sys; sys.modules['mwparserfromhell'] = None"
    code = f"{without}; import data.corpus, data.units.warm, data.readers.mediawiki"
    subprocess.run([sys.executable, "-c", code], check=True)
