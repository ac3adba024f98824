"""Files of a use in their authors' layouts, as records; pairs of ParaKQC's groups, and parts of wiki articles."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from glob import escape, glob
from itertools import groupby
from pathlib import Path
from typing import Any

from common.bounded import UnreadableError, load_json
from common.compressed import COMPRESSED, decompression_errors
from common.errors import UserError, nearest
from common.files import open_bytes, stored
from data.instruct.spec import Layout, Use
from data.readers.containers import first_bytes, refuse_content
from data.splitting.scan import split_sentences

Entry = tuple[int, Any]
"""Line (or number) and record; a string in place of the record is the reason why there is none."""
FIELD_CHARS, GROUP = 1 << 19, 10
"""A quoted field with more characters is not closed; lines of ParaKQC that mean the same, one after the other."""
LEAD_CHARS = 1500
LEAST = 20
MOST = 500
"""Characters of an article that are looked at; fewest and most of a beginning, a continuation and a definition."""
PASSED_OVER = "not of the kind that is asked for: "
"""Prefix of the reason for passing over an article that is of another kind, which is no fault of the set."""
_TITLE = re.compile(r"\s*= (?![= ]).*[^=\s] =[ \t]*\r?\n?")
"""Line above an article of WikiText; its headings have more signs."""
_DEFINES = re.compile(r"(?:이다|입니다|이었다|(?<!하)였다|(?:말|뜻|칭)한다|가리킨다|일컫는다)\.$")


def files_of(name: str, use: Use, data: str) -> tuple[Layout, list[str]] | None:
    """Return the layout and the sorted files of a use in the data folder; None where there are none."""
    folder = escape(str(stored(Path(data).expanduser() / (use.folder or name))))
    for layout in use.layouts:
        patterns = [f"{folder}/**/{pattern}{suffix}" for pattern in layout.files for suffix in ("", *COMPRESSED)]
        paths = {path for pattern in patterns for path in glob(pattern, recursive=True) if Path(path).is_file()}
        if paths:
            return layout, sorted(paths)
    return None


def records_of(path: str, layout: Layout, needed: list[str], draw: Callable[[int, str], int]) -> Iterator[Entry]:
    """Yield the records of a file, a table with the columns `needed`; `draw`: a number of row and purpose, for pairs.

    Raises UserError where the file is damaged, is no JSON, its first row lacks a column, or it has no whole groups.
    """
    refuse_content(path, first_bytes(path))
    with decompression_errors(path), open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "replace", "" if layout.format == "csv" else "\n")
        if layout.format == "jsonl":
            yield from ((number, _record(line)) for number, line in enumerate(stream, 1) if line.strip())
        elif layout.format == "object":
            whole = _record(stream.read())
            if isinstance(whole, str):
                raise UserError(f"{path} is {whole}", "the file is one JSON object", "fetch the file again")
            yield from enumerate(whole.values(), 1)
        elif layout.format == "groups":
            yield from _pairs(path, _table(path, text, layout, []), draw)
        elif layout.format in ("wiki-text", "wiki-qa"):
            made = _continued if layout.format == "wiki-text" else _defined
            yield from ((number, made(title, lead)) for number, title, lead in _articles(text))
        else:
            yield from _table(path, text, layout, needed)


def _record(raw: bytes) -> dict[str, Any] | str:
    try:
        record = load_json(raw.removeprefix(BOM_UTF8))
    except UnreadableError as error:
        return str(error)
    return record if isinstance(record, dict) else "not a JSON object"


def _table(path: str, text: Iterable[str], layout: Layout, needed: list[str]) -> Iterator[Entry]:
    names = list(layout.columns)
    plain = ((number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(text, 1))
    for number, row in _quoted(text) if layout.format == "csv" else plain:
        if isinstance(row, str):
            yield number, row
        elif names and any(map(str.strip, row)):
            fits = len(row) == len(names)
            yield number, dict(zip(names, row, strict=True)) if fits else f"{len(row)} columns instead of {len(names)}"
        elif not names:
            names = [name.strip() for name in row]
            if wrong := [name for name in needed if names.count(name) != 1]:
                raise UserError(
                    f"{path} has {names.count(wrong[0])} columns '{wrong[0]}'{nearest(wrong[0], names)}",
                    f"its first row names each of the columns {', '.join(needed)} once",
                    "take the file as its authors publish it",
                )


def _quoted(text: Iterable[str]) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the line at which each row begins, and its fields or why it has none."""
    csv.field_size_limit(FIELD_CHARS)
    reader = csv.reader(text, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield number, f"quotes that are not closed ({reader.line_num + 1 - number} lines)"


def _pairs(path: str, entries: Iterator[Entry], draw: Callable[[int, str], int]) -> Iterator[Entry]:
    """Yield for each sentence a pair with one of its own group and one with another group of its topic and act."""
    kinds: dict[tuple[str, ...], list[list[str]]] = {}
    for kind, run in groupby(entries, lambda entry: () if isinstance(entry[1], str) else tuple(entry[1].values())[:2]):
        texts = [record["sentence"].strip() for _, record in run] if kind else []
        if len(texts) % GROUP or not kind:
            raise UserError(
                f"{path} has {len(texts)} sentences of topic and act {kind} in a row, or a line that is no row",
                f"{GROUP} lines of topic, act and sentence are a group of sentences that mean the same",
                "fetch the file again: it is cut, or lines are lost",
            )
        kinds.setdefault(kind, []).extend(texts[n : n + GROUP] for n in range(0, len(texts), GROUP))
    number = 0
    for groups in kinds.values():
        for place, group in enumerate(groups):
            for index, sentence in enumerate(group):
                number += 1
                alike = group[(index + 1 + draw(number, "same") % (GROUP - 1)) % GROUP]
                other_group = groups[(place + 1 + draw(number, "group") % max(len(groups) - 1, 1)) % len(groups)]
                unlike = other_group[draw(number, "different") % GROUP]
                if alike != sentence:
                    yield number, {"sentence1": sentence, "sentence2": alike, "same": "1"}
                if unlike not in group:
                    yield number, {"sentence1": sentence, "sentence2": unlike, "same": "0"}


def _articles(text: Iterable[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield each article's first line, title, and paragraphs above its first heading."""
    title = ""
    first = 1
    lead = list[str]()
    size = 0
    for number, line in enumerate(text, 1):
        heading = line.lstrip().startswith("= ")
        if heading and _TITLE.fullmatch(line):
            if title:
                yield first, title, lead
            title = line.strip().strip("=").strip()
            first = number
            lead = []
            size = 0
        elif line.strip() and size < LEAD_CHARS:
            lead += [] if heading else [line.strip()]
            size += LEAD_CHARS if heading else len(line)
    if title:
        yield first, title, lead


def _continued(title: str, lead: list[str]) -> dict[str, str] | str:
    for beginning, *later in map(split_sentences, lead):
        following = ""
        while later and len(following) + len(later[0]) < MOST:
            following += " " * bool(following) + later.pop(0)
        if LEAST <= len(beginning) <= MOST and len(following) >= LEAST and following.endswith((".", "!", "?")):
            return {"title": title, "beginning": beginning, "following": following}
    return f"{PASSED_OVER}no paragraph of several sentences"


def _defined(title: str, lead: list[str]) -> dict[str, str] | str:
    sentence = split_sentences(lead[0])[0] if lead else ""
    name = re.sub(r" \([^()]*\)$", "", title)
    quote = "['\"“”‘’《》〈〉]?"
    subject = re.compile(rf"{quote}{re.escape(name)}{quote}\s*(?:\([^()]*\))?\s*(?:은|는|이란|란)[ ,]")
    if subject.match(sentence) and _DEFINES.search(sentence) and LEAST <= len(sentence) <= MOST:
        return {"title": name, "definition": sentence}
    return f"{PASSED_OVER}the first sentence does not define the title"
