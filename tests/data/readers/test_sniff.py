"""Formats told from names and first bytes."""

import pytest

from common.errors import UserError
from data.readers.damage import UnfitInputError
from data.readers.records import InputFile
from data.readers.settings import SourceSettings
from data.readers.sniff import resolve_format


def sniffed(name: str, head: bytes | str, **fields) -> str:
    head = head.encode() if isinstance(head, str) else head
    return resolve_format(InputFile(name, "a", SourceSettings(path=name, **fields)), head)


@pytest.mark.parametrize(
    ("head", "format"),
    [
        ('{"text": "a"}\n{"text": "b"}\n', "jsonl"),
        ("그냥 글이다.\n", "text"),
        ("[단독] 기사 제목\n", "text"),
        ('[{"text": "a"}]', "json"),
        ('{\n "text": "a"\n}\n', "json"),
        ('[{"namespace":"0","title":"가","text":"나"}]', "namuwiki"),
        ('{"id":"N","metadata":{},"document":[{"id":"x"}]}', "nikl"),
        ('{"text":"가","document":{"id":1}}\n{"text":"나","document":{"id":2}}\n', "jsonl"),
        ('{\n "id": "N",\n "document": [\n', "nikl"),
        ('{\n "text": "가",\n "meta": {"document": []}\n}', "json"),
        ('<mediawiki xmlns="x">', "mediawiki"),
        ("<!DOCTYPE html>\n<html>", "html"),
        ("id\tdocument\tlabel\n" + "1\t글\t0\n" * 4, "tsv"),
        ("id\tdocument\tlabel\n" + "1\t글\t0\n" * 3, "text"),  # four lines
        ("id\tdocument\n" + "1\t글\n" * 7 + "글\n" * 2, "tsv"),  # eight of ten
        ("id\tdocument\n" + "1\t글\n" * 6 + "글\n" * 3, "text"),
        ("id\ttext\n1\t글\n", "tsv"),
        ("탭이\t있는 글\n그러나\t표가\t아니다\n", "text"),
        ("1\t2\n3\t4\n5\t6\n7\t8\n9\t10\n11\t12\n", "text"),
        (b"PAR1...", "parquet"),
        (b"SQLite format 3\0", "sqlite"),
        ("", "text"),
        (b'{"text": "' + b"x" * 5000, "jsonl"),
    ],
)
def test_by_content(head, format):
    assert sniffed("dump", head) == format


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.JSONL.gz", "jsonl"), ("a.csv", "csv"), ("a.tsv.zst", "tsv"), ("a.parquet", "parquet"), ("a.md", "markdown"),
     ("a.htm", "html"), ("a.sqlite3", "sqlite")],
)  # fmt: skip
def test_by_name(name, format):
    assert sniffed(name, b"x") == format


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (" = 제목 = \n 본문 \n", "WikiText"),
        ("# sent_id = 1\n# text = 가\n1\t가\t_\n", "a treebank in CoNLL-U"),
        ('# 머리\n#, fuzzy\nmsgid ""\nmsgstr ""\n', "a gettext catalogue"),
        ('\r\nmsgid "a"\r\nmsgstr "가"\r\n', "a gettext catalogue"),
    ],
)
def test_lines_that_are_no_documents_are_refused_unless_asked_for(head, kind):
    with pytest.raises(UnfitInputError, match=f"is {kind}(?s:.*)convert it to JSON Lines"):
        sniffed("a", head)
    assert sniffed("a", head, format="text") == "text"


def test_the_settings_come_first():
    assert sniffed("a.csv", "a,b\n", format="text") == "text"
    assert sniffed("a.txt", "a\n\nb\n", format="paragraphs") == "paragraphs"


def test_other_xml_is_refused():
    with pytest.raises(UserError, match="no dump of a MediaWiki"):
        sniffed("a.xml", "<rss></rss>")
