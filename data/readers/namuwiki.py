"""The Namuwiki dump, and its markup (namumark) to plain text, in time linear in its length.

The dump is one JSON array of {namespace, title, text, …}, of which the pages of the main namespace are read. The
markup takes one pass over the marks with a stack of what is open, then one over the lines. Tables, footnotes, files,
categories, templates and macros go, as does text that is struck out; of links, sizes, colours and boxes the text
stays; headings, lists and quotations stay as lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from common.bounded import UnreadableError, load_json
from data.cleaning.markup import RAISED, raised
from data.readers.holes import HOLE, MISSING_VALUE, without_holes
from data.readers.records import InputFile, Item, Skipped, made_document

MAIN_NAMESPACE = ("0", "", "문서")
"""Dumps before 2021 number the namespaces (as strings or numbers), later ones may name them."""
_REDIRECT = re.compile(r"\s*#(?:redirect|넘겨주기)[ \t]", re.I)
_MACROS = (
    "목차|tableofcontents|각주|footnote|br|clearfix|date|datetime|include|youtube|kakaotv|nicovideo|vimeo|navertv|tvpot"
    "|age|dday|anchor|ruby|math|pagecount|pagevisitcount"
)
_VALUE_MACROS = ("math", "age", "dday", "date", "datetime", "pagecount", "pagevisitcount")
"""Macros that sentences are made with, and whose value only the wiki knows."""
_TOKEN = re.compile(rf"\\.|\{{\{{\{{|\}}\}}\}}|\[\[|\]\]|\[\*|\[(?=(?:{_MACROS})[\](])|\]|\|\||\n", re.I)

BOX = "{{{"
LINK = "[["
NOTE = "[*"
TABLE = "||"
MACRO = "["
MAX_DEPTH = 64
"""Marks nested deeper are taken for text: what is closed is put together once for each mark around it."""
_GONE_LINKS = ("파일:", "분류:", "이미지:", "file:", "category:", "image:")
_GONE_BOXES = ("#!html", "#!syntax", "#!latex", "#!if")
_BOX_STYLE = re.compile(r"#!(?:wiki|folding)[^\n]*\n?|[+-][1-5] |#[A-Za-z0-9]{3,20}(?:,#[A-Za-z0-9]{3,20})? ")

_ITEM = re.compile(r"(?:[ \t]*>)*(?:[ \t]+(?:\*|[1AaIi]\.(?:#\d+)?)[ \t]?)?[ \t]*")
_RULE = re.compile(r"-{4,9}[ \t]*")
_RAISED = re.compile(rf"(\^\^|,,)({RAISED})\1")
_STYLE = re.compile(r"'''''|'''|''|__|\^\^|,,")
_STRUCK = re.compile(r"(~~|--)(?=[^\s~-])(?:[^~-]|[~-](?![~-]))*?\1")


def parse_page(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    """Yield a page, and a skipped record for each of its sentences that went; of redirects and other namespaces one.

    Raises:
        UnreadableError: it is no page.
    """
    page = load_json(raw)
    if not isinstance(page, dict) or not isinstance(page.get("text"), str):
        raise UnreadableError("no field 'text'")
    if str(page.get("namespace", "0")) not in MAIN_NAMESPACE:
        yield Skipped(number, "other namespace")
    elif is_redirect(page["text"]):
        yield Skipped(number, "redirect")
    else:
        text, dropped = namumark_to_text(page["text"])
        yield made_document(file, number, text)
        yield from [Skipped(number, MISSING_VALUE)] * dropped


def is_redirect(source: str) -> bool:
    """Return whether a page only leads to another."""
    return bool(_REDIRECT.match(source))


def namumark_to_text(source: str) -> tuple[str, int]:
    """Return the text of a page, a line for each line of it that holds any, and how many sentences went with holes."""
    lines = _Converter().run(source.replace("\r\n", "\n").replace(HOLE, "")).split("\n")
    return without_holes("\n".join(filter(None, map(_line, lines))))


class _Converter:
    def __init__(self) -> None:
        self._marks: list[str] = [""]
        self._texts: list[list[str]] = [[]]
        self._open: Counter[str] = Counter()
        self._cell_end = -1
        """Position after the last || of a table."""
        self._line_start = True
        """Whether nothing but blanks came since the line began."""

    def run(self, source: str) -> str:
        done = 0
        for match in _TOKEN.finditer(source):
            if match.start() > done:
                self._text(source[done : match.start()])
            done = match.end()
            self._token(match.group(), match.start(), source)
        self._text(source[done:])
        while len(self._marks) > 1:
            self._give_up()
        return "".join(self._texts[0])

    def _text(self, text: str) -> None:
        self._texts[-1].append(text)
        self._line_start = self._line_start and not text.strip()

    def _token(self, token: str, place: int, source: str) -> None:
        if token == "\n":
            self._newline(place, source)
            return
        if token == TABLE:
            self._bars(place)
        elif token in (BOX, LINK, NOTE, MACRO) and len(self._marks) < MAX_DEPTH:
            self._marks.append(token)
            self._texts.append([])
            self._open[token] += 1
        elif token == "}}}" and self._open[BOX]:
            self._close(BOX)
        elif token == "]]" and self._open[LINK]:
            self._close(LINK)
        elif token == "]]" and self._marks[-1] in (NOTE, MACRO):
            self._close(self._marks[-1])
            self._token("]", place + 1, source)
            return
        elif token == "]" and self._marks[-1] in (NOTE, MACRO):
            self._close(self._marks[-1])
        else:
            self._text(token[1:] if token[0] == "\\" else token)
        self._line_start = False

    def _newline(self, place: int, source: str) -> None:
        while self._marks[-1] == LINK:
            self._give_up()
        if self._marks[-1] == TABLE and self._cell_end == place and not source.startswith("||", place + 1):
            self._close(TABLE)
        self._texts[-1].append("\n")
        self._line_start = True

    def _bars(self, place: int) -> None:
        while self._marks[-1] == LINK and self._open[TABLE]:
            self._give_up()
        if self._marks[-1] == TABLE:
            self._texts[-1].append(" ")
        elif self._line_start and len(self._marks) < MAX_DEPTH:
            self._marks.append(TABLE)
            self._texts.append([])
            self._open[TABLE] += 1
        else:
            self._texts[-1].append("||")
        self._cell_end = place + 2

    def _give_up(self) -> None:
        text = self._pop()  # before what it goes to is looked up
        self._texts[-1].append(text)

    def _pop(self) -> str:
        self._open[self._marks.pop()] -= 1
        return "".join(self._texts.pop())

    def _close(self, mark: str) -> None:
        while self._marks[-1] != mark:
            self._give_up()
        show = {BOX: _box, LINK: _link, MACRO: _macro}.get(mark)
        text = self._pop()
        self._texts[-1].append(show(text) if show else "")


def _box(text: str) -> str:
    if text[:9].lower().startswith(_GONE_BOXES):
        return HOLE if text[:7].lower() == "#!latex" else ""
    style = _BOX_STYLE.match(text)
    return text[style.end() :] if style else text


def _link(text: str) -> str:
    target, bar, label = text.partition("|")
    target = target.strip()
    if target.lower().startswith(_GONE_LINKS):
        return ""
    if bar:
        return label.strip()
    if "://" in target:
        return ""
    return target.removeprefix(":").split("#", 1)[0].strip("/.")


def _macro(text: str) -> str:
    name, _, arguments = text.partition("(")
    if name.lower() == "br":
        return "\n"
    if name.lower() in _VALUE_MACROS:
        return HOLE
    return arguments.partition(",")[0].removesuffix(")") if name.lower() == "ruby" else ""


def _line(line: str) -> str:
    if line.startswith("##") or _RULE.fullmatch(line):
        return ""
    line = _heading(line.strip()) if line.startswith("=") else line
    line = line[_ITEM.match(line).end() :]  # type: ignore[union-attr]
    if "~~" in line or "--" in line:
        line = _STRUCK.sub("", line)
    line = _RAISED.sub(lambda match: raised(match[2], "sup" if match[1] == "^^" else "sub"), line)
    return _STYLE.sub("", line).strip()


def _heading(line: str) -> str:
    level = len(line) - len(line.lstrip("="))
    if level > 6 or len(line) <= 2 * level or not line.endswith("=" * level):
        return line
    return line[level:-level].removeprefix("#").removesuffix("#").strip()
