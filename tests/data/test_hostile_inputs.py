"""Texts made to take long: each is done in seconds where the square of its length would take minutes."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import nfc as nfc_module
from data.cleaning import CleanSettings, clean, keep_sentences
from data.deduplicate import keys_of
from data.deduplicate.near import signatures
from data.nfc import MOST_MARKS, nfc, nfc_places
from data.pii import find_many
from data.readers import Block, Document, InputFile, Reject, SourceSettings, list_files, parse_block, read_blocks
from data.splitting import split_sentences

SECONDS = 12.0
"""Of the processor. The slowest, a mobile prefix a line that is put together with the next lines, takes three
on a quiet one; nearly all well under one."""
MARKS = "\u0301\u0323\u0327\u0302"
PIECES = (
    *(
        "<div>",
        "<div ",
        '<div a="',
        "<div a='x' ",
        "<",
        "<b",
        "<!",
        "<!--",
        "<script>",
        "<script></style>",
        "<!doctype ",
        "<p>가 ",
        "<p>HTML\n\n ",
    ),
    *("&amp;", "&", "&lt;b&gt;", "#", "#가", "(", "()", "( ", "[", "{", " ", "\n", "\n ", "\t\u3000", "“", '"다." '),
    *(
        "홍길동 기자 ",
        "[서울=",
        "사진=",
        "출처: ",
        "ⓒ",
        "Copyright ",
        "저작권자 ",
        "무단 전재 ",
        "▲",
        "a@",
        "다.",
        "다. ",
        "(다. ",
    ),
    *("가", "a", ".", "같은 줄이 있다\n", "\u115f\u1160", "1\u200b", "\ue000", "가\u0301", MARKS),
    *("010-", "010\n", "1 ", "공일", "http://", "a.", "서울 강남구 ", "12가", "aa:bb:", "1.2.3.", "a[at]b", "０１０－"),
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
def test_a_text_of_one_piece(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    began = time.process_time()
    cleaned = clean(text, CleanSettings(news=True), {})
    find_many([text, cleaned], on_request=True)
    sentences = split_sentences(cleaned)
    keep_sentences(sentences, CleanSettings(), {})
    keys_of([text])
    assert time.process_time() - began < SECONDS


WHOLE_VALUES = (
    "０１０－１２３４－５６７８ ",
    "９００１０１－１２３４５６７,",
    "hong[at]naver[dot]com, ",
    "hong 골뱅이 네이버 닷컴, ",
    "공일공 일이삼사 오육칠팔 ",
    "O1O-l234-5678 ",
    "010/1234/5678 ",
    "0 1 0 - 1 2 3 4 - 5 6 7 8, ",
    "5<br>가나 ",
    "010-12<br>34-5678 ",
    "010-1234-5678 ",
    "010-1234-\n",
    "서울 중구 을지로 100, ",
    "http://a.b/c ",
    "12가3456,",
    "h o n g @ n a v e r . c o m ",
    "hong_AT_naver_DOT_com ",
    "hong at naver.com ",
    "hong@네이버.com ",
    "IP 211 . 234 . 12 . 34 ",
    "여권 M 123 4567 8 ",
    "주소 래미안아파트 101동 1203호 ",
    "010-1234-5678/5679 ",
    "010-1234-5678",
    "9001011234567,",
    "90.01.01-1234567 ",
    "①⓪⓪-",
    "010%2D1234%2D5678 ",
    "ㅇ1ㅇ-1234-5678 ",
    "Naver.com ",
    "한글.kr ",
    "서울 강남구 역삼동 래미안 101-1203 ",
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", WHOLE_VALUES)
def test_a_line_of_whole_values_takes_time_by_its_length(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        find_many([text], on_request=True)
        return time.process_time() - began

    seconds(1000)
    short, long = min(seconds(20_000) for _ in range(2)), min(seconds(160_000) for _ in range(2))
    assert long < 16 * max(short, 0.02)  # eight times as long; the square would be sixty-four


def test_combining_marks_without_end() -> None:
    text = "가" + MARKS * 100_000
    began = time.process_time()
    assert len(clean(text, CleanSettings(), {})) <= 1 + MOST_MARKS
    keys_of([text])
    signatures([text])
    assert time.process_time() - began < SECONDS


def test_no_character_combines_beyond_those_that_are_looked_at() -> None:
    assert not any(unicodedata.combining(chr(code)) for code in range(nfc_module._NO_MARKS_FROM, sys.maxunicode + 1))


@given(st.text(st.sampled_from("가a\u1100\u1161\u11a8 " + MARKS), max_size=60))
def test_up_to_thirty_marks_in_a_row_it_is_unicodes_nfc(text: str) -> None:
    runs = 0
    for character in unicodedata.normalize("NFD", text):
        runs = runs + 1 if unicodedata.combining(character) else 0
        if runs > MOST_MARKS:
            return
    assert nfc(text) == unicodedata.normalize("NFC", text)


def parse(format: str, content: str) -> list[object]:
    file = InputFile("a", "a", SourceSettings.model_validate({"path": "a", "format": format}))
    return list(parse_block(file, format, Block(0, 1, content.encode())))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "piece", ["<div>", "<ul><li>", "<p>", "<b><i>", "<table><tr><td>", "</div>", "<!--", '<a href="']
)
def test_a_page_of_one_tag(piece: str) -> None:
    began = time.process_time()
    parse("html", piece * 80_000)
    parse("markdown", piece * 20_000)
    assert time.process_time() - began < SECONDS


def test_a_page_nested_without_end_is_a_reject_and_one_that_is_long_is_not() -> None:
    assert parse("html", "<div>" * 80_000 + "글") == [Reject(1, "nested too deeply")]
    (page,) = parse("html", "<div>글이다.</div>" * 20_000)
    assert isinstance(page, Document) and page.text.count("글이다.") == 20_000
    (page,) = parse("html", "<div>" * 500 + "깊은 글" + "</div>" * 500)
    assert isinstance(page, Document) and page.text == "깊은 글"


@pytest.mark.parametrize("piece", ["[", "![](", "> ", "* ", "`", "**a", "| ", "# ", "[a](", "_a ", "- - "])
def test_a_page_of_one_mark(piece: str) -> None:
    began = time.process_time()
    parse("markdown", piece * 20_000)
    assert time.process_time() - began < SECONDS


WIKI = (
    "[[",
    "{{",
    "{{{",
    "[[파일:",
    "|| ",
    "'''",
    "{{{#!wiki ",
    "~~",
    "== ",
    "[[a|",
    "{{a|",
    "<ref>",
    "{|",
    "<nowiki>",
)


@pytest.mark.parametrize("piece", WIKI)
def test_an_article_of_one_mark(piece: str) -> None:
    began = time.process_time()
    parse("namuwiki", json.dumps([{"namespace": "0", "title": "t", "text": piece * 10_000}]))
    text = (piece * 10_000).replace("<", "&lt;")
    parse("mediawiki", f"<page><title>t</title><ns>0</ns><revision><text>{text}</text></revision></page>\n")
    assert time.process_time() - began < SECONDS


def test_a_word_without_end_is_dropped_and_counted() -> None:
    counts: dict[str, dict[str, int]] = {}
    sentences = ["짧은 문장이다.", "가" * 3_400_000, "앞말 " + "QUJD" * 300 + " 뒷말이다.", "나" * 1000]
    assert keep_sentences(sentences, CleanSettings(), counts) == [True, False, False, True]
    assert counts["max_word_chars"]["hits"] == 2
    assert keep_sentences(sentences, CleanSettings(max_word_chars=None), {})[1]


def test_one_outlying_row_id_leaves_the_rows_in_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
        rows = [(n, f"{n}번 글이 여기에 있다.") for n in (*range(1, 2001), 2**60)]
        database.executemany("INSERT INTO t VALUES (?, ?)", rows)
    [file] = list_files([str(path)])
    blocks = list(read_blocks(file, 20_000))
    read: list[Callable[[], object] | object] = []
    sizes = []
    for format, block in blocks:
        items = list(parse_block(file, format, block))
        sizes.append(len(items))
        read += items
    assert len(blocks) > 3 and max(sizes) <= 2 * min(sizes[:-1])
    assert [item.text for item in read if isinstance(item, Document)] == [text for _, text in rows]


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\u1100\u1161\u11a8\u0301\u0323é각가"), max_size=40))
def test_composed_text_knows_its_places(text: str) -> None:
    whole = nfc_places(text)
    assert whole.text == nfc(text)
    assert len(whole.starts) == len(whole.ends) == len(whole.text)
    assert whole.starts == sorted(whole.starts) and whole.ends == sorted(whole.ends)
    assert all(start < end for start, end in zip(whole.starts, whole.ends, strict=True))
    for place in range(len(whole.text)):
        start, end = whole.given(place, place + 1)
        assert whole.text[place] in nfc(text[start:end])
