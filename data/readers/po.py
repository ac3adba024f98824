"""gettext catalogues (.po): each translation a document; what is fuzzy, obsolete or not translated is skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from data.readers.records import NOT_UTF8, Block, InputFile, Item, Reject, Skipped, made_document

_FIELD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)[ \t]+"(.*)"')
_MORE = re.compile(r'"(.*)"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def parse_po(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the translation of each entry; its number is the line of its msgid. The header is no entry."""
    entry = _Entry()
    for number, raw in enumerate(block.data.split(b"\n"), block.first_line):
        try:
            line = raw.decode("utf-8").removeprefix("\ufeff").strip()
        except UnicodeDecodeError:
            yield Reject(number, NOT_UTF8)
            continue
        field = _FIELD.fullmatch(line)
        if line.startswith("#") or (field and field.group(1) in ("msgctxt", "msgid")):
            if entry.translations:
                yield from entry.items(file)
                entry = _Entry()
            entry.fuzzy |= line.startswith("#,") and "fuzzy" in line
        if field:
            entry.add(number, field.group(1), field.group(2))
        elif more := _MORE.fullmatch(line):
            entry.extend(more.group(1))
        elif not line and not entry.translations:
            entry.fuzzy = False  # it was said of an obsolete entry, which is a comment
        elif line and not line.startswith("#"):
            yield Reject(number, "not a line of gettext")
    yield from entry.items(file)


class _Entry:
    """What was read of one entry."""

    def __init__(self) -> None:
        self.fuzzy = False
        self.translations: list[list[str]] = []
        self._line = 0
        self._source: list[str] = []
        self._current: list[str] | None = None

    def add(self, line: int, field: str, text: str) -> None:
        """Begin a field of the entry."""
        self._current = [text]
        if field == "msgid":
            self._line, self._source = line, self._current
        elif field.startswith("msgstr"):
            self.translations.append(self._current)

    def extend(self, text: str) -> None:
        """Continue with the field begun last."""
        if self._current is not None:
            self._current.append(text)

    def items(self, file: InputFile) -> Iterator[Item]:
        """Yield the entry's document, or that it is skipped; nothing for the header."""
        if not self.translations or not "".join(self._source):
            return
        texts = [_ESCAPE.sub(_unescape, "".join(pieces)) for pieces in self.translations]
        text = "\n".join(filter(None, texts))
        if self.fuzzy or not text:
            yield Skipped(self._line, "fuzzy translation" if text else "not translated")
        else:
            yield made_document(file, self._line, text)


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPED.get(match.group(1), match.group(1))
