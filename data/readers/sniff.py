"""Telling a file's format: by the settings, by its name, else by its first bytes."""

from __future__ import annotations

import io
import re

from common.errors import UserError
from common.files import suffix_of
from data.readers.containers import refuse_content
from data.readers.damage import DamagedInputError, UnfitInputError
from data.readers.delimited import SEPARATOR_LINE
from data.readers.encoding import SNIFF_BYTES, TextStream, utf8_lines
from data.readers.json_elements import place_under
from data.readers.lines import is_utf8
from data.readers.markup import require_parser
from data.readers.records import InputFile
from data.readers.registry import BY_SUFFIX, READERS
from data.readers.settings import CLEANED_FORMATS, Format

_OBJECT = re.compile(rb'\s*\{\s*["}]')
_NAMU_PAGE = re.compile(rb'\s*\[?\s*\{(?=[^{}]{0,2000}?"namespace"\s*:)(?=[^{}]{0,2000}?"title"\s*:)')
_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.DOTALL)
_COLUMN = re.compile(r"[^\W\d][\w .-]{1,39}")
_DUMPS: dict[str, re.Pattern[bytes]] = {
    "namuwiki": re.compile(rb"\A\s*[\[{]"),
    "mediawiki": re.compile(rb"<mediawiki|<page>|\A\s*<"),
}
"""What the beginnings of dumps of wikis hold."""
_NOT_LINES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb'(?:[ \t]*(?:#[^\n]*)?\r?\n)*msgid "'), "a gettext catalogue"),
    (re.compile(rb"(?s:\s*# (?:newdoc|newpar|sent_id|text|global\.columns)\b.*\n1\t)"), "a treebank in CoNLL-U"),
    (re.compile(rb"\s*= (?![= ])[^\n]*[^=\s] =[ \t]*\r?\n"), "WikiText: articles under lines `= Title =`"),
)
"""Beginnings of texts whose lines are no documents, and what they are."""
TABLE_LINES = 20
"""Lines by whose tabs a text is taken for a table, or not."""
AGREEING = 0.8
"""Share of them with as many tabs as the first, which names the columns."""
FEW_LINES = 5
"""A text of fewer lines is a table only if a column has the name of the text field."""


def resolve_format(file: InputFile, head: bytes) -> Format:
    """Return the format of a file from its settings, its name, or its first bytes `head`.

    Raises:
        StandInError: it is a pointer of git-lfs or the like.
        ContainerError: it is an archive, or a document of a program.
        DamagedInputError: the content is binary.
        UnfitInputError: it is XML that is no MediaWiki dump, wiki markup in a format for dumps alone, or without the
            columns that the settings bound.
        UserError: the settings name a data set of the hub; or (MissingParserError) a package is not installed.
    """
    format = _format_of(file, head)
    if file.settings.columns and format in (*CLEANED_FORMATS, "text", "paragraphs"):
        raise UnfitInputError(
            file.path,
            f"is in the format {format}, which has no column '{next(iter(file.settings.columns))}'",
            "leave columns out, or give the source's format",
            "bounds are of numbers that the records of a table or of JSON carry",
        )
    return format


def _format_of(file: InputFile, head: bytes) -> Format:
    setting = file.settings.format
    if setting == "hf":
        raise UserError(
            f"{file.path} is a file, not a data set of the hub",
            "format hf goes with a path hf:OWNER/NAME",
            "leave the format out, or write the path as hf:OWNER/NAME",
        )
    refuse_content(file.path, head)
    magic = next((name for name, reader in READERS.items() if reader.magic and reader.magic.match(head)), None)
    format = setting if setting != "auto" else magic or BY_SUFFIX.get(suffix_of(file.path))
    if format and (READERS[format].refer or READERS[format].is_bytes):
        return format
    require_parser("mediawiki" if setting == "mediawiki" else file.settings.markup)
    text = TextStream(head, io.BytesIO(), file.settings.encoding)
    _refuse_no_dump(file, magic, text.head)
    if _is_binary(text.head[:SNIFF_BYTES], text.encoding):
        raise DamagedInputError(
            file.path,
            "is not text (it begins with binary data)",
            "convert it to text in UTF-8, UTF-16 or CP949, or take it out of the inputs",
        )
    return format or _sniff(file, utf8_lines(text.head, text.encoding))


def _refuse_no_dump(file: InputFile, magic: Format | None, head: bytes) -> None:
    setting = file.settings.format
    is_dump = _DUMPS[setting].search(head) if setting in _DUMPS and head.strip() else True
    if magic is None and is_dump:
        return
    fix = "leave the format out"
    if setting in _DUMPS:
        fix += (
            f", and set the source's markup to {setting}: it reads the markup of text fields, whatever file holds them"
        )
    raise UnfitInputError(
        file.path,
        f"is {'in the format ' + magic if magic else 'no dump of a wiki'}, and the source's format is {setting}",
        fix,
        "format namuwiki reads the JSON dump of Namuwiki alone, mediawiki XML dumps" if setting in _DUMPS else "",
    )


def _is_binary(sample: bytes, encoding: str) -> bool:
    """Return whether bytes are no text: half of their lines hold zeros, or are in no encoding beside lines that do."""
    if b"\0" not in sample:
        return False
    lines = utf8_lines(sample, encoding).split(b"\n")
    return 2 * sum(b"\0" in line or not is_utf8(line) for line in lines) >= len(lines)


def _sniff(file: InputFile, head: bytes) -> Format:
    suffix = suffix_of(file.path)
    if b"<mediawiki" in head[:SNIFF_BYTES]:
        require_parser("mediawiki")
        return "mediawiki"
    if suffix == ".xml":
        raise UnfitInputError(
            file.path,
            "is XML, and no dump of a MediaWiki",
            "convert the file, or give the source's format",
            "of XML only pages-articles dumps are read",
        )
    if head[:SNIFF_BYTES].lstrip()[:1] == b"[":
        if _NAMU_PAGE.match(head):
            return "namuwiki"
        # a text may begin with a bracket, as a headline does
        return "json" if suffix == ".json" or re.match(rb"\s*\[\s*\{\s*\"", head) else "text"
    if _OBJECT.match(head):
        return "json" if file.settings.records_field else _objects(head, suffix)
    if _HTML.match(head[:SNIFF_BYTES]):
        return "html"
    for beginning, kind in _NOT_LINES:
        if beginning.match(head):
            raise UnfitInputError(
                file.path,
                f"is {kind}",
                "convert it to JSON Lines, or give the source's format (text: a document a line)",
                "a text file has a document on each line, or is in a format that is read",
            )
    if SEPARATOR_LINE.match(head):
        return "csv"
    if _is_table(file, head):
        return "tsv"
    return "text"


def _objects(head: bytes, suffix: str) -> Format:
    first, _, behind = head.lstrip().partition(b"\n")
    whole = first.rstrip().endswith(b"}")
    if whole and behind.lstrip().startswith(b"{"):
        return "jsonl"
    if place_under(head, "document") is not None:
        return "nikl"
    return "jsonl" if (whole and not behind.strip()) or (suffix != ".json" and first.strip() != b"{") else "json"


def _is_table(file: InputFile, head: bytes) -> bool:
    lines = [line.rstrip(b"\r") for line in head.split(b"\n")[: TABLE_LINES + 1]]
    lines = [line for line in (lines if len(lines) <= TABLE_LINES else lines[:-1]) if line]
    tabs = lines[0].count(b"\t") if lines else 0
    if not tabs:
        return False
    names = [name.strip('"') for name in lines[0].decode("utf-8", "replace").split("\t")]
    if len(lines) < FEW_LINES and not set(names) & set(file.settings.text_fields):
        return False
    named = len(set(names)) == len(names) and all(_COLUMN.fullmatch(name) for name in names)
    return named and sum(line.count(b"\t") == tabs for line in lines) >= AGREEING * len(lines)
