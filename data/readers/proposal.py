"""Settings under which a file can be read: its columns with text, its records, documents between blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from common.errors import HunminError
from common.secrets import masked
from data.readers.damage import UnfitInputError
from data.readers.formats import read_blocks, read_documents
from data.readers.records import Block, Document, InputFile
from data.readers.settings import Format, SourceSettings

SAMPLE_BYTES = 1 << 16
SAMPLE_DOCUMENTS = 200
MOST_COLUMNS = 60
"""How much of a file is looked at, and how many columns of it."""
PROSE = 0.5
"""Share of a text column's values with at least two Korean words."""
LABEL_CHARACTERS, DISTINCT = 40, 0.1
"""Shorter values of which fewer differ are labels."""
HEAD_CHARACTERS = 1000
"""Characters of a value that are looked at."""
FEW_PARTS, MOST_PART_LINES = 5, 50
"""Documents between blank lines are at least so many, and have fewer lines on average: a page of lines may hold one."""
_IDS = re.compile(
    r"(?:.*[._])?(?:id|ID|Id)|.*[a-z](?:Id|ID)|(?:.*\.)?(?:(?:글|게시글|게시물|문서|기사|뉴스|자료|일련|연)?번호|순번|연번)"
)
_OF_PEOPLE = re.compile(r"user|member|customer|author|writer|account|person|speaker|회원|고객|사용자|작성자", re.I)
"""Names of columns that number the documents, and words by which a column numbers people instead."""
_ABSENT = "\0"
"""No field's name."""
_TITLES = re.compile(r"(?:.*\.)?(?:title|subject|headline|heading|제목|표제|주제)", re.I)


def proposed(file: InputFile) -> SourceSettings | None:
    """Return settings that read a file's documents with their ids; None where its own do, or none are known."""
    settings = _proposed(file)
    read = InputFile(file.path, file.label, settings or file.settings)
    name = id_column(read)
    return read.settings.model_copy(update={"id_field": name}) if name else settings


def id_column(file: InputFile) -> str | None:
    """Return the column (or field) other than that of the settings that numbers the documents of a file: it is called
    so, and the first ones differ in it. None where there is none, or the settings' own is there."""
    columns = columns_of(file.with_settings(text_field=_ABSENT))
    if file.settings.id_field in columns:
        return None
    without = _ids(file, _ABSENT)
    for name in columns:
        if _IDS.fullmatch(name) and not _OF_PEOPLE.search(name):
            ids = _ids(file, name)
            if len(ids) > 1 and len(set(ids)) == len(ids) and not any(map(str.__eq__, ids, without)):
                return name
    return None


def _ids(file: InputFile, column: str) -> list[str]:
    try:
        return [document.id for document in _sample(file.with_settings(id_field=column))]
    except (HunminError, OSError):
        return []


def _sample(file: InputFile) -> Iterator[Document]:
    return islice(read_documents(file, SAMPLE_BYTES, 1), SAMPLE_DOCUMENTS)


def _beginning(file: InputFile) -> list[tuple[Format, Block]] | UnfitInputError | None:
    """Return the first block of a file, or why its settings do not fit it; None where it cannot be read."""
    try:
        return list(islice(read_blocks(file, SAMPLE_BYTES), 1))
    except UnfitInputError as error:
        return error
    except (HunminError, OSError):
        return None


def _proposed(file: InputFile) -> SourceSettings | None:
    begun = _beginning(file)
    if isinstance(begun, UnfitInputError):
        return _with_text(file, begun)
    if begun and begun[0][0] == "text" and has_parts(begun[0][1].data):
        return file.settings.model_copy(update={"format": "paragraphs"})
    return None


def columns_of(file: InputFile) -> list[str]:
    """Return the columns or fields of a file that lacks those that its settings name; none of another file."""
    begun = _beginning(file)
    return list(begun.columns) if isinstance(begun, UnfitInputError) else []


def has_parts(head: bytes) -> bool:
    """Return whether the beginning of a text holds documents of several lines between blank lines."""
    lines = [line.strip() for line in head.split(b"\n")]
    parts = sum(bool(line) and not before for before, line in zip([b"", *lines], lines, strict=False))
    filled = sum(map(bool, lines))
    return parts >= FEW_PARTS and 1.5 * parts < filled < MOST_PART_LINES * parts


def text_columns(file: InputFile, columns: Sequence[str]) -> list[str]:
    """Return those columns (or fields) of a file that hold Korean text, in their order; titles only beside others."""
    values = {name: list(_values(file, name)) for name in columns[:MOST_COLUMNS]}
    texts = {name for name, of_column in values.items() if _is_prose(of_column)}
    titles = {name for name in columns if _TITLES.fullmatch(name) and any(map(_has_hangul, values.get(name, [])))}
    return [name for name in values if name in texts | titles] if texts else []


def yaml_entry(settings: SourceSettings) -> str:
    """Return a source as an entry of `corpus.inputs`, on one line."""
    import yaml

    entry: Mapping[str, Any] = settings.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    flow = yaml.safe_dump(dict(entry), default_flow_style=True, allow_unicode=True, sort_keys=False, width=float("inf"))
    return masked(flow.strip())


def _with_text(file: InputFile, error: UnfitInputError) -> SourceSettings | None:
    if names := text_columns(file, error.columns):
        return file.settings.model_copy(update={"text_field": names[0] if len(names) == 1 else names})
    for array in error.arrays:
        inner = file.with_settings(records_field=array)
        begun = _beginning(inner)
        within = _with_text(inner, begun) if isinstance(begun, UnfitInputError) else inner.settings
        if begun is not None and within:
            return within
    return None


def _values(file: InputFile, column: str) -> Iterator[str]:
    with suppress(HunminError, OSError):
        for document in _sample(file.with_settings(text_field=column)):
            yield document.text


def _is_prose(values: Sequence[str]) -> bool:
    filled = [value[:HEAD_CHARACTERS] for value in values if value.strip()]
    prose = sum(sum(map(_has_hangul, value.split())) > 1 for value in filled)
    short = sum(map(len, filled)) < LABEL_CHARACTERS * len(filled)
    is_label = short and len(set(filled)) < DISTINCT * len(filled)
    return bool(filled) and prose >= PROSE * len(filled) and not is_label


def _has_hangul(value: str) -> bool:
    return any("가" <= sign <= "힣" for sign in value)
