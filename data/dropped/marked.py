"""A change of a text, shown in place: `앞 [-<b>-]글[-</b>-] 뒤 &[-amp;-]`, as wdiff marks it."""

from __future__ import annotations

CONTEXT, SPAN = 30, 240
"""Characters shown before the first change, and of the text in all, about."""
JOINTS = {1: 2, 2: 8, 3: 20, 6: 80, 12: 400, 24: 1 << 60}
"""Characters that must be the same behind a change of at most so many: few of them may be the same by chance."""
MOST_ADDED = 8
LONGEST, END = 100, 20
"""Characters shown of what was removed in one place, and of these at its end."""


def marked(before: str, after: str) -> str:
    """Return the beginning of a change: removed text as [-…-], added text as {+…+}, with what stands around it."""
    at, at_after = (_shared(before, 0, after, 0),) * 2
    start = max(at - CONTEXT, 0)
    shown = ["… " if start else "", before[start:at]]
    while at < len(before) or at_after < len(after):
        removed, added = _change(before, at, after, at_after)
        shown += [f"[-{_visible(before[at : at + removed])}-]"] if removed else []
        shown += [f"{{+{_visible(after[at_after : at_after + added])}+}}"] if added else []
        at, at_after = at + removed, at_after + added
        room = SPAN - sum(map(len, shown))
        same = _shared(before, at, after, at_after)
        if same > room:
            return "".join([*shown, before[at : at + max(room, CONTEXT)], " …"])
        shown.append(before[at : at + same])
        at, at_after = at + same, at_after + same
    return "".join(shown)


def _shared(before: str, at: int, after: str, at_after: int) -> int:
    count = 0
    while at + count < len(before) and at_after + count < len(after) and before[at + count] == after[at_after + count]:
        count += 1
    return count


def _change(before: str, at: int, after: str, at_after: int) -> tuple[int, int]:
    """Return how many characters go and come at a place where the texts differ: the fewest after which they go on."""
    candidates = {length: _fewest(before, at, after, at_after, length) for length in JOINTS}
    likely = [lengths for length, lengths in candidates.items() if lengths and sum(lengths) <= JOINTS[length]]
    longest_first = filter(None, reversed(candidates.values()))
    return next(iter([*likely, *longest_first]), (len(before) - at, len(after) - at_after))


def _fewest(before: str, at: int, after: str, at_after: int, length: int) -> tuple[int, int] | None:
    changes = []
    for added in range(min(MOST_ADDED, len(after) - at_after - length) + 1):
        place = before.find(after[at_after + added : at_after + added + length], at)
        if place >= 0:
            changes.append((place - at, added))
    return min(changes, key=sum, default=None)


def _visible(text: str) -> str:
    """Return a piece, cut in its middle, with line ends and characters that are not seen as escapes."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - END]} … {text[-END:]}"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
