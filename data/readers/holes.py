"""Holes: places in a sentence where markup stood for a value that is not known. Such sentences go, and are counted."""

from __future__ import annotations

import re

from data.splitting.scan import split_sentences

HOLE = "\ufdd0"
"""Stands in a text for what could not be told; no character of any text (a noncharacter of Unicode)."""
MISSING_VALUE = "a sentence with a value that only a template knows"
_MARKS = "*#:;> \t"
_JOSA = "(?:은|는|을|를|의|와|과|로|으로|에서|에게?|보다)"
_IN_SENTENCE = re.compile(
    rf"(?<=[^\s.!?{HOLE}])[ \t]?{HOLE}+(?=[가-힣%℃°])|(?<=[가-힣])[ \t]{HOLE}+[ \t]?(?=[.,])"
    rf"|\A[{_MARKS}]*{HOLE}+(?={_JOSA}[ \t])"
)
"""A hole that a sentence needs: a particle or unit hangs on it, or the sentence ends with it."""
_BLANKS = re.compile(r"[ \t]{2,}")


def without_holes(text: str) -> tuple[str, int]:
    """Return a text without its holes and the sentences that need what stood there, and how many these were."""
    if HOLE not in text:
        return text, 0
    lines = []
    dropped = 0
    for line in text.split("\n"):
        if HOLE in line:
            sentences = split_sentences(line)
            whole = [sentence for sentence in sentences if not _IN_SENTENCE.search(sentence)]
            dropped += len(sentences) - len(whole)
            line = " ".join(whole) if len(whole) < len(sentences) else line
            line = _BLANKS.sub(" ", line.replace(HOLE, "")).strip()
        if line:
            lines.append(line)
    return "\n".join(lines), dropped
