"""Where a URL ends: before blanks, quotes, closing punctuation and Hangul particles (…/index.html를)."""

from __future__ import annotations

import re

_TAIL = re.compile(r"(?::[0-9]{1,5})?(?:[/?#][^\s\"'<>`{}|\\^“”‘’「」『』《》〈〉【】·…→←]{0,2048})?")
"""Port, and path or query as far as browsers and servers read them: without an end, many URLs glued together would each
look at all that follows."""
_HANGUL = re.compile("[가-힣ㄱ-ㅎㅏ-ㅣ]")
_AFTER_JOINT = re.compile("[/=_%+&#-]")
_PARTICLE = re.compile(
    "(?:에서|에게|에는|에도|으로|로부터|로|에|은|는|이|가|을|를|의|와|과|도|만|부터|까지|라고|라는|이라고|인|란|이란|이나|나|랑|이랑|하고|및|등|입니다|이다|이며|이고|인데|처럼|보다"
    "|합니다|하세요|하십시오|하여|해서|하고|하면|하는|됩니다|되는|되어)"
    "(?:는|도|만|의)?(?![가-힣])"
)
_CLOSING = ".,;:!?*~(["
_PAIRS = {")": "(", "]": "["}


def url_end(text: str, start: int) -> int:
    """Return the end of the URL whose scheme and host end at `start`.

    Hangul belongs to it only as a path or query part of its own (…/wiki/한국), never as a particle.
    """
    match = _TAIL.match(text, start)
    end = match.end() if match else start
    hangul = _HANGUL.search(text, start, end)
    while hangul:
        at = hangul.start()
        if not _AFTER_JOINT.match(text, at - 1) or _PARTICLE.match(text, at):
            end = at
            break
        run = at
        while run < end and _HANGUL.match(text, run):
            run += 1
        hangul = _HANGUL.search(text, run, end)
    return _strip(text, start, end)


def _strip(text: str, start: int, end: int) -> int:
    """Return `end` moved back over punctuation that closes the sentence and not the URL."""
    whole, surplus = end, dict[str, int]()
    while end > start:
        last = text[end - 1]
        if last in _PAIRS:
            if last not in surplus:
                surplus[last] = text.count(last, start, whole) - text.count(_PAIRS[last], start, whole)
            if surplus[last] <= 0:
                return end
            surplus[last] -= 1
        elif last not in _CLOSING:
            return end
        end -= 1
    return end
