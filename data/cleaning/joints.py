"""Where something is taken out of a text, a blank keeps two values from running together into one that is neither."""

from __future__ import annotations

from re import Match


def run_together(before: str, after: str, letters: bool = False) -> bool:
    """Return whether `after` must not follow `before` directly: ASCII letters or digits meet, one of them a digit.

    Numbers and addresses side by side (…5678</span><span>02-…, …com</a><a>010-…) are found only apart. Two letters
    are left alone unless `letters`, since markup and soft hyphens stand inside of words (<b>A</b>BC).
    """
    left, right = before[-1:], after[:1]
    if not (left.isascii() and right.isascii() and left.isalnum() and right.isalnum()):
        return False
    return letters or left.isdigit() or right.isdigit()


def gap(match: Match[str], letters: bool = False) -> str:
    """Return what replaces a match that is taken out: a blank where its neighbours would run together, else nothing."""
    text = match.string
    start = match.start()
    end = match.end()
    return " " if start and run_together(text[start - 1], text[end : end + 1], letters) else ""


def tag_gap(match: Match[str]) -> str:
    """Return `gap` of a run of tags; two letters are kept apart where one element ends and another begins."""
    tags = match.group()
    return gap(match, tags.startswith("</") and not tags.startswith("</", tags.rfind("<")))


def join(pieces: list[str]) -> str:
    """Return the pieces of a line in one, with a blank where two of them would run together."""
    line: list[str] = []
    for piece in pieces:
        if line and piece and run_together(line[-1], piece):
            line.append(" ")
        if piece:
            line.append(piece)
    return "".join(line)
