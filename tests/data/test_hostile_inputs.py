"""Texts made to take long: each is done in seconds where the square of its length would take minutes."""

import sqlite3
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from data import nfc as nfc_module
from data.cleaning.rules import clean, keep_sentences
from data.cleaning.settings import CleanSettings
from data.deduplicate.exact import keys_of
from data.deduplicate.near import signatures
from data.nfc import MOST_MARKS, nfc, nfc_places
from data.readers.formats import parse_block, read_blocks
from data.readers.paths import list_files
from data.readers.records import Block, Document, InputFile, Reject
from data.readers.settings import SourceSettings

SECONDS = 12.0
"""Of the processor. The slowest, a mobile prefix a line that is put together with the next lines, takes three
on a quiet one; nearly all well under one."""
MARKS = "\u0301\u0323\u0327\u0302"


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


def test_a_page_nested_without_end_is_a_reject_and_one_that_is_long_is_not() -> None:
    assert parse("html", "<div>" * 80_000 + "글") == [Reject(1, "nested too deeply")]
    (page,) = parse("html", "<div>글이다.</div>" * 20_000)
    assert isinstance(page, Document) and page.text.count("글이다.") == 20_000
    (page,) = parse("html", "<div>" * 500 + "깊은 글" + "</div>" * 500)
    assert isinstance(page, Document) and page.text == "깊은 글"


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
        start, end = whole.original_span(place, place + 1)
        assert whole.text[place] in nfc(text[start:end])
