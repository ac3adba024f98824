"""Texts as tokenizers read them: decomposed Hangul (NFD) composed, where its characters stood, what was cut off."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

_DECOMPOSED = re.compile(
    "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[가-힣][\u11a8-\u11c2]|[A-Za-z][\u0300-\u036f]+"
)


def composed(text: str) -> str:
    r"""Return the text with Hangul and accents composed.

    Nothing else of NFC is done: a text that is composed stays as it is, and so do its tokens.

    >>> len("\u1100\u1161\u11a8"), composed("\u1100\u1161\u11a8") == "\uac01"
    (3, True)
    """
    return text if _DECOMPOSED.search(text) is None else _DECOMPOSED.sub(_compose, text)


def origins(text: str) -> list[int]:
    r"""Return where each character of the composed text begins in the text as given, and the given length.

    >>> origins("\u1100\u1161\u11a8 a")
    [0, 3, 4, 5]
    """
    found: list[int] = []
    done = 0
    for match in _DECOMPOSED.finditer(text):
        found += range(done, match.start() + 1)
        found += range(match.start() + 1, match.start() + len(_compose(match)))  # marks that nothing composes with
        done = match.end()
    return [*found, *range(done, len(text) + 1)]


def composed_span(start: int, end: int, text: str) -> tuple[int, int]:
    """Return where a span of characters stands in the composed text, a character that it cuts being whole.

    Args:
        start: first character in the text as given.
        end: behind the last one.
        text: as given.
    """
    if _DECOMPOSED.search(text) is None:
        return start, end
    at = origins(text)
    return bisect_right(at, start) - 1, bisect_left(at, end)


def with_places(texts: Sequence[str], tokenizer: Any, **how: Any) -> Any:
    """Return what the tokenizer makes of the composed texts; its offsets are in characters of the texts as given.

    Args:
        texts: as given.
        tokenizer: one that says where its tokens stand.
        how: passed on to it.
    """
    whole = [composed(text) for text in texts]
    encoded = tokenizer(whole, return_offsets_mapping=True, return_attention_mask=False, **how)
    for number, text in enumerate(texts):
        if whole[number] is not text:
            at = origins(text)
            encoded["offset_mapping"][number] = [(at[a], at[b]) for a, b in encoded["offset_mapping"][number]]
    return encoded


def cut_rows(rows: Sequence[Sequence[int]], texts: Sequence[Sequence[str]], tokenizer: Any, room: int) -> list[bool]:
    """Return which inputs a tokenizer has cut.

    Args:
        rows: ids of the inputs, `room` tokens at most.
        texts: what they were made of: one list of texts, or two, a pair an input.
        tokenizer: what made them.
        room: the longest input.
    """
    full = [number for number, row in enumerate(rows) if len(row) >= room]
    found = [False] * len(rows)
    if full:
        columns = [[column[number] for number in full] for column in texts]
        whole = tokenizer(*columns, return_attention_mask=False, verbose=False)["input_ids"]
        for number, row in zip(full, whole, strict=True):
            found[number] = len(row) > len(rows[number])
    return found


def _compose(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", found[0])
