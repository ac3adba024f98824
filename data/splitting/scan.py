"""The scan: where a line may be cut, and the decision at each such place.

One pattern stops only at characters that may end a sentence or open a quotation. Quotations and brackets that close
soon are passed over whole; a full stop ends a sentence unless it belongs to a number, a date, a list mark or an
abbreviation; an ending of `endings.FINAL` ends one without a stop, unless what follows leans on it. Every look around
is bounded and what is matched is not looked at again, so the work is linear in the length of the text.
"""

from __future__ import annotations

import re
import string
import unicodedata

from data.nfc import nfc_places
from data.splitting.endings import FINAL, FUSED, LEANS

QUOTE_CHARS = 300
"""Longest quotation or bracket, in characters, that is passed over as a whole. Bounds the work of an unclosed one."""

_STOPS = ".!?。！？…"
_EMOTION = "ㄱ-ㅎㅏ-ㅣ~^;♡♥★☆♪"
_BLANK = " \t\u00a0\u3000"
_TAIL = rf"[{_EMOTION}]*(?: [{_EMOTION}.!?…]+(?=\s|$))?"
"""What may trail a sentence's end: single letters (ㅋㅋ), emoticons, stops: at once, or a space, a run, a space."""
_CLOSERS = r"[\"'”’)\]」』》〉】]*"
_BRACKETS = ("“”", "‘’", "()", "[]", "「」", "『』", "《》")


def _scan() -> re.Pattern[str]:
    """Return the pattern; each alternative begins with a literal, so that the engine skips to those characters."""
    stops = [rf"{re.escape(stop)}[{_STOPS}]*[{_EMOTION}]*{_CLOSERS}{_TAIL}" for stop in _STOPS]
    endings = [
        rf"{last}(?:(?= ?[{_EMOTION}][{_EMOTION}])|(?=[{_EMOTION}{_BLANK}])(?:{before})){_TAIL}"
        for last, before in FINAL.items()
    ]
    fused = [rf"{last}(?=ㅋ){_TAIL}" for last in FUSED]
    spans = [rf"{re.escape(pair[0])}[^{re.escape(pair)}]{{1,{QUOTE_CHARS}}}{re.escape(pair[1])}" for pair in _BRACKETS]
    quotes = [
        rf"\"(?<![\w.!?,]\")(?=\S)[^\"]{{1,{QUOTE_CHARS}}}\"",
        rf"'(?<![\w.!?,]')(?=\S)[^']{{1,{QUOTE_CHARS}}}'(?!\w)",
        *(rf"{mark}(?<!\S{mark})\s[^{mark}.!?]{{1,{QUOTE_CHARS}}}[.!?]*\s{mark}(?!\S)" for mark in "\"'"),
    ]
    return re.compile("|".join(stops + endings + fused + spans + quotes))


_SCAN = _scan()
_DATE = re.compile(r"\d{1,4}\. ?\d{1,2}$")
_LATIN = re.compile(r"(?<![A-Za-z.])(?:(?:[A-Za-z]\.)*[A-Za-z]|[A-Za-z]{2,8}|Ph\.D)$")
_LEANS_QUOTE = re.compile(
    r"[\"'”’>}]\s?(?:이?라[고는며]|고|하[고며는]|는|며)\b"
    r"|이?라[고는며면던]|이?란|이?라면서|이?라지만|하[고며는던]|했|한다|고\b|며\b|면서|는\b|은\b|를\b|을\b|로\b|등\b"
)
"""What shows that a quotation is part of the sentence that continues."""
_LEANS_STOP = re.compile(r"[\"'}>]\s?(?:이?라[고는며]|고|하[고며는]|는|며)\b|이?라[고는며]\b")
"""What shows the same of a quotation without marks that ends in one full stop: it began as a sentence."""
_LIST_MARK = re.compile(
    r"(?:(?:\d{1,3}|[IVXivx]{1,4}|[가나다라마바사아자차카타파하①-⑳]|[A-Za-z])[.)] ?){0,3}"
    r"(?:\d{1,3}|[IVXivx]{1,4}|[가나다라마바사아자차카타파하①-⑳])"
)
"""What, at the beginning of a sentence and before a full stop, marks a list's item: 1. 나. 2.가. iv."""
_LIST_LETTERS = frozenset("가나다라마바사아자차카타파하①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳" + string.ascii_letters + string.digits)
"""What may stand before a full stop that is no sentence's: the last of a list mark, a number, an abbreviation."""
LIST_MARK_CHARS = 12
"""Longest list mark, in characters, with those above it (1. 가. 나)."""
_ASIDE = re.compile(r"\((?!(?:\d{1,2}|[가-하]|[A-Za-z])\))(?:[^().!?=]|\d\.|p\.){1,80}\)[.!?]*(?!\S)")
"""A remark in brackets after a sentence, without a stop of its own, belongs to the sentence before: (웃음), (12p.)."""
ABBREVIATIONS = frozenset(
    re.findall(
        r"\w+",
        "mr mrs ms dr prof st jr sr vs etc no vol fig eq sec ch pp p ed eds inc ltd co corp dept univ rep sen gov gen"
        " col capt lt sgt rev hon jan feb mar apr jun jul aug sep sept oct nov dec approx est cf al ca min max tel",
    )
)
"""Latin words, in lower case, whose full stop does not end a sentence."""
ELLIPSIS_CHARS = 12
"""An ellipsis after fewer characters (글쎄... 잘 모르겠다) is a hesitation, unless after a final syllable."""
_ELLIPSIS_FINAL = frozenset("다요죠까네군음함임됨오라지자야")
"""Syllables that end Korean sentences: after them an ellipsis ends one too."""

_GLUED_FINAL = frozenset("다요죠까")
"""Syllables after which a full stop ends a sentence although no white space follows it."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, in order, without white space at their borders.

    Joined, they give back every character of the text that is not white space, in order. A line end is a border. The
    work is linear in the length of the text.
    """
    if not unicodedata.is_normalized("NFC", text):
        return _split_decomposed(text)
    sentences: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        if line:
            _split_line(line, sentences)
    return sentences


def _split_decomposed(text: str) -> list[str]:
    whole = nfc_places(text)
    sentences = []
    place = 0
    for sentence in split_sentences(whole.text):
        place = whole.text.index(sentence, place)
        start, end = whole.original_span(place, place + len(sentence))
        sentences.append(text[start:end])
        place += len(sentence)
    return sentences


def _split_line(line: str, sentences: list[str]) -> None:
    start = 0
    size = len(line)
    for match in _SCAN.finditer(line):
        begin, end = match.span()
        if begin < start:
            continue
        if end >= size:
            break
        first = line[begin]
        leans = LEANS.get(first)
        if not line[end].isspace():
            border = _glued(line, begin, end) if leans is None else _glued_ending(line, begin, end, leans)
        else:
            if leans is not None:
                border = leans.match(line, end + 1) is None
            elif first in _STOPS:
                border = _stop_ends(line, start, begin, end)
            else:
                border = _span_ends(line, start, begin, end)
            if border and line[end + 1] == "(" and (aside := _ASIDE.match(line, end + 1)):
                end = aside.end()
                border = leans is None or leans.match(line, end + 1) is None
        if border:
            sentences.append(line[start:end])
            start = end
            while start < size and line[start].isspace():
                start += 1
    if start < size:
        sentences.append(line[start:])


def _stop_ends(line: str, start: int, stop: int, end: int) -> bool:
    """Return whether the stops at line[stop:end], followed by white space, end the sentence that begins at `start`."""
    before = line[stop - 1] if stop > start else ""
    if end - stop == 1 and line[stop] == ".":
        if before in _LIST_LETTERS:
            if stop - start <= LIST_MARK_CHARS and _LIST_MARK.fullmatch(line, start, stop):
                return False
            if before.isdigit():
                return not (line[end + 1].isdigit() or _DATE.search(line, max(start, stop - 9), stop))
            if before.isascii() and before.isalpha():
                word = _LATIN.search(line, max(start, stop - 12), stop)
                letters = word.group() if word else ""
                return not (len(letters) == 1 or "." in letters or letters.lower() in ABBREVIATIONS)
        return line[end + 1] not in "\"'}>라이" or _LEANS_STOP.match(line, end + 1) is None
    if _LEANS_QUOTE.match(line, end + 1):
        return False
    if line.startswith(("..", "…"), stop, end):
        return before in _ELLIPSIS_FINAL or stop - start >= ELLIPSIS_CHARS
    return True


def _span_ends(line: str, start: int, opening: int, end: int) -> bool:
    """Return whether a sentence ends after the quotation or bracket line[opening:end], followed by white space."""
    if _LEANS_QUOTE.match(line, end + 1):
        return False
    if opening > start:
        return line[opening] in "([" and line[opening - 1] in ".!?"
    return line[opening + 1 : end - 1].rstrip()[-1:] in tuple(".!?…")


def _glued(line: str, stop: int, end: int) -> bool:
    """Return whether a stop without white space after it ends a sentence (재미있다.그런데, 그래?몰랐네)."""
    before = line[stop - 1 : stop]
    last = line[end - 1]
    after = line[end]
    if last not in ".!?" or _LEANS_QUOTE.match(line, end):
        return False
    if before in _GLUED_FINAL:
        return after.isalnum()
    return last != "." and "가" <= before <= "힣" and "가" <= after <= "힣"


def _glued_ending(line: str, last: int, end: int, leans: re.Pattern[str]) -> bool:
    """Return whether an ending with an emoticon, but no white space, after it ends a sentence (좋아요~또 올게요)."""
    return end - last > 1 and line[last] in _GLUED_FINAL and "가" <= line[end] <= "힣" and not leans.match(line, end)
