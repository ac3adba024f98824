"""Sentence splitting by one compiled pattern: linear in length, deterministic, and no character is lost.

A scan stops only at characters that may end a sentence or open a quotation. Quotations and brackets that close soon
are passed over whole; a full stop ends a sentence unless it belongs to a number, a date, a list mark or an
abbreviation; colloquial endings (…다, …요, …죠) end one without a stop, unless what follows leans on them.
"""

from __future__ import annotations

import re

QUOTE_CHARS = 300
"""Longest quotation or bracket, in characters, that is passed over as a whole. Bounds the work of an unclosed one."""

_EMOTION = "ㄱ-ㅎㅏ-ㅣ~^;♡♥★☆♪"
_TAIL = rf"(?: [{_EMOTION}.!?…]+(?=\s|$))?"
"""What may trail a sentence's end: single letters (ㅋㅋ), emoticons, stops: a space, a run, a space."""
_CLOSERS = r"[\"'”’)\]」』》〉】]*"

_SCAN = re.compile(
    r"[.!?。！？…\"'“‘(\[「『《다요죠까줘음]"
    r"(?:"
    rf"(?<=[.!?。！？…])(?P<stop>[.!?。！？…]*[{_EMOTION}]*{_CLOSERS}{_TAIL})"
    rf"|(?P<span>(?<=\")(?<![\w.!?,]\")(?=\S)[^\"]{{1,{QUOTE_CHARS}}}\""
    rf"|(?<=')(?<![\w.!?,]')(?=\S)[^']{{1,{QUOTE_CHARS}}}'(?!\w)"
    rf"|(?<=“)[^“”]{{1,{QUOTE_CHARS}}}”"
    rf"|(?<=‘)[^‘’]{{1,{QUOTE_CHARS}}}’"
    rf"|(?<=\()[^()]{{1,{QUOTE_CHARS}}}\)"
    rf"|(?<=\[)[^\[\]]{{1,{QUOTE_CHARS}}}\]"
    rf"|(?<=「)[^「」]{{1,{QUOTE_CHARS}}}」"
    rf"|(?<=『)[^『』]{{1,{QUOTE_CHARS}}}』"
    rf"|(?<=《)[^《》]{{1,{QUOTE_CHARS}}}》)"
    rf"|(?=[{_EMOTION} ])"
    r"(?:(?<=니다)|(?<=[었았였했됐갔왔겠렸졌쳤켰봤났섰줬뒀한된없같싶]다)"
    r"|(?<=[네어아해세예에여워거래군나지데대구고든돼봐와줘져게려켜겨혀펴쳐까죠러라써셔내]요)|(?<=[인은던는먼]가요)"
    r"|(?<=[었았겠하이거되있없시]죠)|(?<=[려여아해어]줘)|(?<=[었았했]음)|(?<=[습입십합됩랍갑옵큽춥깁랩]니까))"
    rf"(?P<ending>[{_EMOTION}]*{_TAIL})"
    r")"
)
_DATE = re.compile(r"\d{1,4}\. ?\d{1,2}$")
_LATIN = re.compile(r"[A-Za-z.]{1,12}$")
_QUOTE_LEFT = r"[\"'”’]\s?(?:이?라[고는며]|고|하[고며는]|는|며)\b"
_LEANS_QUOTE = re.compile(
    rf"(?:{_QUOTE_LEFT}|이?라[고는며면던]|이?란|이?라면서|이?라지만|하[고며는던]|했|한다|고\b|며\b|면서|는\b|은\b|를\b|을\b|로\b"
    r"|등\b)"
)
"""What shows that a quotation is part of the sentence that goes on."""
_LEANS_ENDING = re.compile(
    rf"(?:{_QUOTE_LEFT}|고\b|라[고는며]|는\b|며\b|면\b|면서|해도|하더라도|하(?:여|면|고|니|지|는|던)?\b|해서\b|해야|한다\b"
    r"|했[다을던]|싶|말[하했]|보니\b|치더라도|치자|할\b|갔다|[ㄱ-ㅎㅏ-ㅣ.!?~^;,)\]])"
)
"""What shows that an ending without a stop is not the sentence's last."""
LIST_MARKS = frozenset("가나다라마바사아자차카타파하①②③④⑤⑥⑦⑧⑨⑩")
"""One such character and a full stop at the beginning are a list mark, not a sentence."""
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
_FINAL = frozenset("다요죠까네군음함임됨오라지자야")
"""Syllables that end Korean sentences: after them an ellipsis ends one too."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, in order, without white space at their borders.

    Joined, they give back every character of the text that is not white space, in order. A line end is a border.

    Args:
        text: a text of any length; the work is linear in it.
    """
    sentences: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        if line:
            _split_line(line, sentences)
    return sentences


def _split_line(line: str, sentences: list[str]) -> None:
    start, size = 0, len(line)
    for match in _SCAN.finditer(line):
        end = match.end()
        if end >= size:
            break
        kind = match.lastgroup
        if line[end].isspace():
            if kind == "stop":
                border = _stop_ends(line, start, match.start(), end)
            elif kind == "ending":
                border = _LEANS_ENDING.match(line, end + 1) is None
            else:
                border = _span_ends(line, start, match.start(), end)
        else:
            border = kind == "stop" and _glued(line, match.start(), end)
        if border:
            sentences.append(line[start:end])
            start = end
            while line[start].isspace():
                start += 1
    sentences.append(line[start:])


def _stop_ends(line: str, start: int, stop: int, end: int) -> bool:
    """Return whether the stops at line[stop:end], followed by white space, end the sentence that begins at `start`."""
    before = line[stop - 1] if stop > start else ""
    run = line[stop:end]
    if run == ".":
        if before.isdigit():
            return not (
                (stop - start <= 3 and line[start:stop].isdigit())
                or line[end + 1].isdigit()
                or _DATE.search(line, max(start, stop - 9), stop)
            )
        if before.isascii() and before.isalpha():
            word = _LATIN.search(line, max(start, stop - 12), stop)
            letters = word.group() if word else before
            return not (len(letters) == 1 or "." in letters or letters.lower() in ABBREVIATIONS)
        return not (stop - start == 1 and before in LIST_MARKS)
    if _LEANS_QUOTE.match(line, end + 1):
        return False
    if run.startswith(("..", "…")):
        return before in _FINAL or stop - start >= ELLIPSIS_CHARS
    return True


def _span_ends(line: str, start: int, opening: int, end: int) -> bool:
    """Return whether a sentence ends after the quotation or bracket line[opening:end], followed by white space."""
    if _LEANS_QUOTE.match(line, end + 1):
        return False
    if opening > start:
        return line[opening] in "([" and line[opening - 1] in ".!?"
    return line[end - 2] in ".!?…"


def _glued(line: str, stop: int, end: int) -> bool:
    """Return whether a stop without white space after it ends a sentence (재미있다.그런데)."""
    return line[stop - 1 : stop] in ("다", "요", "죠") and line[end - 1] in ".!?" and "가" <= line[end] <= "힣"
