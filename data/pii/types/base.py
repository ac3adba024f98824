r"""A type of personal data: one record with its pattern, gate, label, check, and a pseudonym of keyed choices.

Rules for writing a pattern: digits are [0-9] (`\d` takes other scripts' digits), never `\b` (Hangul letters are word
characters, so "010-1234-5678로" has no boundary), every repetition bounded, and a look-behind that keeps a search from
starting in the middle of a run, so that no input takes more than linear time.

A gate is the pattern without look-arounds, checks and rare alternatives, in RE2 syntax: it is found on every line on
which the pattern is found. A pattern that begins with look-behinds gets a look-ahead before them, at the characters it
can begin with: that is several times faster. All gates run at once over a whole buffer, so text without personal
data costs almost nothing. tests/data/pii/test_gate.py holds each pattern against its gate.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_SYLLABLES = [consonant + vowel for vowel in "aeiou" for consonant in "bdghjkmnprstyw"]


class Draw:
    """A stream of choices that is a function of the key, the type and the normalised original.

    `attempt` is more than 0 where the pseudonym before came out equal to the original.
    """

    def __init__(self, key: bytes, kind: str, normal: str, attempt: int = 0) -> None:
        self.key = key
        self.attempt = attempt
        message = f"{kind}\0{attempt}\0{normal}".encode("utf-8", "surrogatepass")
        self._pool = int.from_bytes(hmac.digest(key, message, "sha256"), "big")

    def below(self, bound: int) -> int:
        """Return a number in 0..bound-1."""
        self._pool, value = divmod(self._pool, bound)
        return value

    def choice(self, options: Sequence[str]) -> str:
        """Return one of the options."""
        return options[self.below(len(options))]

    def digits(self, length: int) -> str:
        """Return that many decimal digits."""
        return f"{self.below(10**length):0{length}d}" if length else ""

    def name(self, syllables: int) -> str:
        """Return an invented lower-case name of two letters a syllable."""
        return "".join([_SYLLABLES[self.below(70)] for _ in range(syllables)])


def lay(value: str, digits: str) -> str:
    """Return `value` with its last len(digits) digits replaced in order."""
    positions = [i for i, c in enumerate(value) if c in "0123456789"][-len(digits) :]
    characters = list(value)
    for position, digit in zip(positions, digits, strict=True):
        characters[position] = digit
    return "".join(characters)


Extent = tuple[int, int]
Check = Callable[[str, "re.Match[str]"], "Extent | None"]
Maker = Callable[[str, str, Draw], str]


class Found(NamedTuple):
    """A piece of personal data: characters start..end, the type, and the value in plain characters.

    The value of ０１０－１２３４－５６７８ is 010-1234-5678.
    """

    start: int
    end: int
    type: str
    value: str


_NOT_DIGIT = re.compile("[^0-9]+")


def digits_of(value: str) -> str:
    """Return the ASCII digits of a value."""
    return _NOT_DIGIT.sub("", value)


def is_blank(digits: str) -> bool:
    """Return whether the digits of a value only show its form: 000-00-00000."""
    return len(digits) > 5 and not digits[-7:].strip("0")


def whole(text: str, match: re.Match[str]) -> Extent | None:
    """Accept every match as it is."""
    return match.span()


@dataclass(frozen=True)
class PiiType:
    """One type of personal data.

    Args:
        gate: a relaxation of the pattern in RE2 syntax.
        make: the pseudonym, from the value, its normal form and keyed choices; of the value's form, and invented.
        label: words beside a value that say what it is; None where a value needs none.
        check: given a match, the extent of the value, or None when it is something else. A value that carries its own
            evidence (a check digit that fits, a typical grouping) needs no label; a bare run of digits does.
        normalise: the value without what varies between spellings of the same original.
        any_name: whether the name of any other number right before a value rules it out, not only those of things.
        exact: whether `check` returns the whole match or None, so that a match in claimed text needs no check.
        evidence: what stands in a value that `check` accepts, or near it, in RE2 syntax; "" if the gate is enough.
    """

    name: str
    pattern: re.Pattern[str]
    gate: str
    make: Maker
    label: re.Pattern[str] | None = None
    check: Check = whole
    normalise: Callable[[str], str] = digits_of
    any_name: bool = False
    exact: bool = False
    evidence: str = ""


DASH = r"\-‐‑‒–—―−ㅡ"
"""Dashes as they are typed between digit groups (inside a character class); rarer ones are folded to these."""

MASK = "*＊●○◯•#Xx"
"""Signs that stand in place of digits (inside a character class)."""

NOT_BEFORE = rf"(?:(?<![0-9A-Za-z_])|(?<=[^0-9A-Za-z_]__)|(?<=\A__))(?<![0-9A-Za-z][{DASH}.,_/=])(?<![가-힣][{DASH}])"
"""The number starts here: it is no tail of a longer number, of a version or of a code such as ABC-2021-0001."""

NOT_AFTER = rf"(?![0-9A-Za-z]|_(?!_(?![0-9A-Za-z_])))(?![{DASH}.,][0-9A-Za-z])"
"""The number ends here."""

APART_BEFORE = rf"(?<![0-9])(?<![0-9][{DASH}.])"
"""A number whose own separators are evidence starts here: after a comma, = or / and after a label's dash too."""

APART_AFTER = rf"(?![0-9])(?![{DASH}.][0-9])"
"""A number whose own separators are evidence ends here: cells of a row follow each other with a comma."""

GATE_GAP = f"[ {DASH}.)·]"
"""What stands between digits of one value, for gates."""
TEN_DIGITS = f"[0-9](?:{GATE_GAP}{{0,3}}[0-9]){{9}}"
"""Gate of values of ten digits and more."""

BEFORE = 40
"""Characters before a value in which a label counts: a line of a form, or a short clause."""
BESIDE = 18
"""The same for values that are likely to be something else."""
RIGHT_BEFORE = 8
"""The same for values that are almost always something else."""
AFTER = 15
"""Characters after a value in which a label counts ("… (신한은행)")."""


DATE = re.compile(
    r"(?:19|20)[0-9]{2}(?P<gap>[^0-9]{1,3})(?:0?[1-9]|1[0-2])(?P=gap)(?:0?[1-9]|[12][0-9]|3[01])(?![0-9])"
)


def in_a_row(text: str, start: int, end: int) -> bool:
    """Return whether digits stand beside text[start:end], at most a blank away: a table and no value by itself."""
    return text[max(0, start - 2) : start].strip(" ").isdigit() or text[end : end + 2].strip(" ").isdigit()


def labelled(label: re.Pattern[str], text: str, start: int, end: int, before: int = BEFORE) -> bool:
    """Return whether a label stands at most `before` characters before text[start:end], or just after it.

    Labels that end in $ must stand right before the value.
    """
    return (
        label.search(text[max(0, start - before) : start]) is not None
        or label.search(text[end : end + AFTER]) is not None
    )


_THINGS = (
    "바코드|상품|제품|품목|부품|모델|기종|주문|송장|운송장|등기|우편|일련|시리얼|접수|승인|거래|문서|이력|허가|특허|출원|상표"
    "|관리|사건|계약|증권|자재|도면|포인트|쿠폰|전표|입찰|공고|과제|논문|도서|청구|순번|예약|재고|로트|제조|식별|물품"
)
_THING = (
    rf"(?:{_THINGS}) ?(?:번호|코드|명|[nN][oO]\.?)|품번|학번|사번|군번|바코드|일련|시리얼|모델|송장"
    r"|주문|문서|이력|허가|승인|특허|(?<![가-힣])코드|(?<![A-Za-z])(?i:isbn|issn|doi|s/n|sn(?![a-z])|serial|sku|model|order|tracking|invoice|part|ref|iban|upc"
    r"|ean|patent|lot|imei|uuid|code|p/n)(?:[ _-]?(?i:no|number|id|code|#))?\.?"
)
"""Names of numbers of things: they speak against any type but the one whose label they hold."""
_ANY_NAME = (
    r"(?:[가-힣]{1,8}(?<![요다음옛새])(?<!이전)(?<!기존)|[A-Za-z]{2,12}) ?(?:번호|코드|[nN][oO]\.?)"
    "|모델명?|제품명|품번|시리얼"
)
_RIGHT_BEFORE = r"(?: ?[)\]])?[^0-9가-힣A-Za-z\n]{0,6}[은는이가]?\s?(?:[가-힣A-Za-z]{2,8}\s)?\Z"
_NAMED = {True: re.compile(f"(?:{_ANY_NAME}){_RIGHT_BEFORE}"), False: re.compile(f"(?:{_THING}){_RIGHT_BEFORE}")}
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: {0,2}[0-9A-Z]{1,4}){0,7} {0,2}\Z")


def named_otherwise(label: re.Pattern[str], text: str, start: int, any_name: bool = False) -> bool:
    """Return whether right before `start` stands the name of a number that `label` is not of.

    Args:
        any_name: whether any name counts (회원번호:), or only those of numbers of things (주문번호:, S/N).
    """
    first = max(0, start - BEFORE)
    named = _NAMED[False].search(text, first, start) or (_NAMED[True].search(text, first, start) if any_name else None)
    if named is not None:
        return label.search(named[0]) is None
    return _IBAN.search(text, first, start) is not None


def accepted(kind: PiiType, text: str, match: re.Match[str]) -> Extent | None:
    """Return the extent of a value by its type's check; None for zeros alone, and behind another number's name."""
    extent = kind.check(text, match)
    if extent is None or kind.label is None:
        return extent
    value = text[slice(*extent)]
    blank = kind.name != "TEL" and ":" not in value and is_blank(digits_of(value))
    return None if blank or named_otherwise(kind.label, text, extent[0], kind.any_name) else extent


def speaks_for(label: re.Pattern[str], against: re.Pattern[str], text: str, start: int, end: int) -> bool | None:
    """Return whether the nearest word beside text[start:end] speaks for the label's type; None without such words."""
    gaps = []
    for words in (label, against):
        before = [start - match.end() for match in words.finditer(text, max(0, start - BEFORE), start)]
        after = words.search(text, end, end + AFTER)
        gaps.append(min([*before, *([after.start() - end + 1] if after else [])], default=BEFORE + AFTER))
    own, opposed = gaps
    return None if own == opposed == BEFORE + AFTER else own <= opposed
