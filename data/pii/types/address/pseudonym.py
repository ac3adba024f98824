"""Pseudonyms of addresses: invented names and numbers in the shape of the original."""

from __future__ import annotations

import re

from data.pii.places import INVENTED_NAMES, PROVINCES
from data.pii.types.address.head import PATTERN, on_one_line
from data.pii.types.address.words import BUILDINGS, FEW, LETTERS, MANY, NAMED
from data.pii.types.base import Draw

_SHORT = {"충청북": "충북", "충청남": "충남", "전라북": "전북", "전라남": "전남", "경상북": "경북", "경상남": "경남"}
_LONG = re.compile(
    "|".join(f"{name} ?(?:{'|'.join(filter(None, suffixes))})" for name, suffixes in PROVINCES.items() if any(suffixes))
)
_REMARK = re.compile(r"[(\[][^()\[\]]*[)\]]")
_SPELLINGS = (
    (re.compile(r"제 ?(?=[0-9])"), ""),
    (re.compile(r"[(\[][^0-9()\[\]]*[)\]]"), ""),
    (re.compile(r"(?<=[0-9A-Z])동[\s,./·-]*제? ?(?=[0-9]+ ?호|[0-9]{3,4}(?![0-9]))"), "-"),
    (
        re.compile(
            r"(?<=[0-9]) ?(?:번지)?(?:의|다시) ?(?=[0-9])|(?<=[0-9])=(?=[0-9])"
            r"|(?<=[0-9])번지 ?(?=[0-9])|(?<=[0-9])/(?=[0-9])"
        ),
        "-",
    ),
    (re.compile(r"(?<=-[0-9]{3})호|(?<=-[0-9]{4})호|번지"), ""),
    (re.compile(r"(?<=[0-9])(?:[\s,.·]|<[^>]*>)+(?=[0-9])"), ","),
    (re.compile(r"[\s.·/▷▶›()\[\]〈〉《》]|,(?![0-9])|<[^>]*>"), ""),
)
"""What varies between spellings of one address, and what stands for it."""
_SUFFIX = re.compile(r"(?:[동로] ?[0-9]가|대로|[시군구읍면동리가로길])\Z")
_WORD = re.compile(r"<[^>]*>|[0-9]+|[가-힣A-Za-z]+")
_KEPT = re.compile(
    rf"제?(?:지하|지상)?(?:[{LETTERS}]?(?:{MANY}|{FEW})?|{NAMED}|[산의구F]|지번|번지의?|사서함|우체국)(?:제|지하|지상)?|<.*"
)
"""Words of a tail that are no names."""
_KIND = re.compile(rf"(?:{BUILDINGS}|[동리가읍면호층])\Z")


def normalise(value: str) -> str:
    """Return an address without what varies between its spellings."""
    for spelling, plain in _SPELLINGS:
        value = spelling.sub(plain, value)
    long = _LONG.match(value)
    if long is None:
        return value
    name = next(name for name in PROVINCES if value.startswith(name))
    return _SHORT.get(name, name) + value[long.end() :]


def make(value: str, normal: str, draw: Draw) -> str:
    """Return the pseudonym: another province, invented names with the suffixes of the original, as many digits."""
    head = PATTERN.match(on_one_line(value))
    changes: list[tuple[int, int, str]] = []
    end = 0
    if head is not None:
        first = next((name for name in ("house", "lot") if head[name]), None)
        end = head.end(first) if first else head.start("building") if head["building"] else head.end()
        for group, part in head.groupdict().items():
            if part and group != "building":
                changes.append((*head.span(group), _part(group, part, normal, draw)))
    remarks = [remark.span() for remark in _REMARK.finditer(value, end)]
    words = [(*word.span(), word[0]) for word in _WORD.finditer(value, end)]
    in_remark = [any(first < start < last for first, last in remarks) for start, _, _ in words]
    for apart in (False, True):  # one that stands without its remark has the same pseudonym
        changes += [
            (start, stop, _word(word, draw))
            for (start, stop, word), within in zip(words, in_remark, strict=True)
            if within is apart
        ]
    for start, stop, text in sorted(changes, reverse=True):
        value = value[:start] + text + value[stop:]
    return value


def _part(group: str, part: str, normal: str, draw: Draw) -> str:
    if group in ("branch", "house", "lot"):
        return re.sub("[0-9]+", lambda number: _number(number[0], draw), part)
    if group == "province" or part.strip() in PROVINCES or _LONG.fullmatch(part):
        name = draw.choice(
            [name for name in PROVINCES if name != "세종" and not normal.startswith(_SHORT.get(name, name))]
        )
        name += PROVINCES[name][0 if len(part) > 2 else -1]
        # without a district an invented road could still be a road of the other province
        return name if group == "province" else f"{name} {draw.choice(INVENTED_NAMES)}구"
    return re.sub(r"[^\s,./▷▶›()<>]+(?![^<]*>)", lambda word: draw.choice(INVENTED_NAMES) + _suffix(word[0]), part)


def _suffix(word: str) -> str:
    suffix = _SUFFIX.search(word)
    return suffix[0] if suffix else ""


def _word(word: str, draw: Draw) -> str:
    if word.isdigit():
        return _number(word, draw)
    if _KEPT.fullmatch(word):
        return word
    kind = _KIND.search(word)
    return draw.choice(INVENTED_NAMES) + (kind[0] if kind else "")


def _number(number: str, draw: Draw) -> str:
    return f"{1 + draw.below(9)}{draw.digits(len(number) - 1)}"
