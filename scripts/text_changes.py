"""What differs between a text and the same text after something was done to it: pieces taken out, pieces put in.

It knows nothing of what was done. Where whole lines went, these are the changes. Otherwise the two are walked along
together; where they part, the nearest place is looked for at which both go on alike, near ones by a few characters, far
ones by more; what lies before it is compared by difflib, which would be slow on whole documents. Each list of changes
turns the one text into the other.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

REACH = ((8, 6, 4), (64, 12, 8), (64, 6, 16), (1000, 16, 64), (4000, 16, 1000), (1 << 40, 32, 1000))
"""Characters of the first text looked ahead, how many must agree there, characters of the second looked ahead."""
COMPARED = 4_000_000
"""Pairs of characters that difflib compares at most."""


class Change(NamedTuple):
    """`before[start:end]` became `put`."""

    start: int
    end: int
    put: str


def changes_between(before: str, after: str) -> list[Change]:
    """Return the changes that turn `before` into `after`, in order, none touching the next."""
    if (lines := _whole_lines(before, after)) is not None:
        return lines
    changes: list[Change] = []
    i = j = 0
    while True:
        same = _same(before, after, i, j)
        i, j = i + same, j + same
        if i == len(before) and j == len(after):
            return changes
        taken, put = _nearest(before, after, i, j)
        for start, end, new in _apart(before[i : i + taken], after[j : j + put]):
            changes.append(Change(i + start, i + end, new))
        i, j = i + taken, j + put


def _whole_lines(before: str, after: str) -> list[Change] | None:
    """Return the runs of lines that are missing from `after`; None where anything else differs."""
    lines, kept = before.split("\n"), after.split("\n")
    changes: list[Change] = []
    position = number = 0
    for line in lines:
        end = position + len(line) + 1
        if number < len(kept) and line == kept[number]:
            number += 1
        elif changes and changes[-1].end == position:
            changes[-1] = changes[-1]._replace(end=end)
        else:
            changes.append(Change(position, end, ""))
        position = end
    if number < len(kept):
        return None
    if changes and changes[-1].end > len(before):  # the last line goes with the line end before it
        changes[-1] = Change(changes[-1].start - 1, len(before), "")
    return changes


def _apart(before: str, after: str) -> list[tuple[int, int, str]]:
    """Return the changes of a short piece."""
    if not after or len(before) * len(after) > COMPARED:
        return [(0, len(before), after)]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [(i, i2, after[j:j2]) for kind, i, i2, j, j2 in matcher.get_opcodes() if kind != "equal"]


def _same(before: str, after: str, i: int, j: int) -> int:
    """Return how many characters agree from two places on."""
    most = min(len(before) - i, len(after) - j)
    done, size = 0, 32
    while done < most:
        if before[i + done : i + done + size] == after[j + done : j + done + size]:
            done, size = min(done + size, most), size * 2
        elif size == 1:
            break
        else:
            size = max(size // 4, 1)
    return done


def _nearest(before: str, after: str, i: int, j: int) -> tuple[int, int]:
    """Return how many characters of each text to pass over, so that they agree again."""
    for ahead, agree, most in REACH:
        if best := _agreement(before, after, i, j, ahead, agree, most):
            return best
    return len(before) - i, len(after) - j


def _agreement(before: str, after: str, i: int, j: int, ahead: int, agree: int, most: int) -> tuple[int, int] | None:
    best: tuple[int, int] | None = None
    for put in range(min(most, len(after) - j) + 1):
        anchor = after[j + put : j + put + agree]
        if not anchor:  # nothing is left of the text: what is left of the other was taken out
            found = len(before)
        else:
            limit = ahead if best is None else min(ahead, sum(best) - put)
            found = before.find(anchor, i, i + limit + len(anchor))
        if found >= 0 and (found > i or put) and (best is None or found - i + put < sum(best)):
            best = found - i, put
    return best
