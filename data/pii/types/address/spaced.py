"""Addresses whose letters stand apart (서 울 시  중 구  가 나 로  1 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from data.pii.places import PROVINCES
from data.pii.types.address.head import PATTERN, check
from data.pii.types.base import Found

_SPACED = re.compile(r"(?<![가-힣0-9A-Za-z])[가-힣](?: {1,3}[가-힣](?![가-힣])){3,40} {1,3}[0-9][^\n]{0,160}")
_GAP = re.compile(
    r"(?<![가-힣0-9A-Za-z][가-힣0-9]) (?=(?:[가-힣](?![가-힣])|[0-9-](?![0-9]{1,3}[동호층단])))(?<! {2})(?! )|(?<= ) "
)
"""A blank that stands between two letters, and all but the first where several divide words."""
_PROVINCE = "|".join(PROVINCES)
_LEAD = re.compile(rf"(?<![가-힣])(?!{_PROVINCE})[가-힣]{{1,2}}(?={_PROVINCE})")
"""A particle, or the end of the word for it, before a region."""
SPACED_GATE = r"[가-힣]  ?[가-힣]  ?[시군구읍면동세남북]  ?(?:[가-힣]  ?)+[0-9]"


def spaced_address(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield the addresses in text[start:end] whose head has a blank between any two letters."""
    for match in _SPACED.finditer(text, start, end):
        dropped = {gap.start() for gap in _GAP.finditer(text, *match.span())}
        places = [at for at in range(*match.span()) if at not in dropped]
        joined = _LEAD.sub(lambda lead: " " * len(lead[0]), "".join(text[at] for at in places))
        position = 0
        while (head := PATTERN.search(joined, position)) is not None:
            extent = check(joined, head)
            position = extent[1] if extent else head.start() + 1
            if extent:
                yield Found(places[extent[0]], places[extent[1] - 1] + 1, "ADDRESS", joined[slice(*extent)])
