"""The text of an answer as the authors' code makes it: from whitespace words, cut down to the tokens where they fit.

It is SQuAD's reference code. The words that the answer's tokens stand in are searched for the tokens' text; where that
is not found (an unknown token, a token from the inside of a word) the answer is the whole words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokenizers import normalizers, pre_tokenizers

_SPACE = re.compile("[ \t\r\n\u202f]+")
"""What parts words there; other spaces do not."""
_PUNCTUATION = pre_tokenizers.BertPreTokenizer()


def words_around(context: str, start: int, end: int) -> str:
    """Return the words that the characters from `start` to before `end` stand in, joined by blanks."""
    while start < end - 1 and _SPACE.match(context[start]):
        start += 1
    while start and not _SPACE.match(context[start - 1]):
        start -= 1
    space = _SPACE.search(context, end)
    return " ".join(_SPACE.split(context[start : space.start() if space else len(context)]))


def joined(tokens: Sequence[str]) -> str:
    """Return the text of WordPiece tokens: one inside a word keeps its ## where none is before it."""
    return " ".join(" ".join(tokens).replace(" ##", "").split())


def final_text(answer: str, words: str, lower_case: bool) -> str:
    """Return the part of `words` that the tokens' text `answer` is, or all of them where it is not found in them."""
    clean = normalizers.BertNormalizer(lowercase=lower_case, strip_accents=lower_case)
    spaced = " ".join(word for word, _ in _PUNCTUATION.pre_tokenize_str(clean.normalize_str(words)))
    start = spaced.find(answer)
    end = start + len(answer) - 1
    places, spaced_places = ([i for i, c in enumerate(text) if c != " "] for text in (words, spaced))
    if start < 0 or len(places) != len(spaced_places) or not {start, end} <= set(spaced_places):
        return words
    return words[places[spaced_places.index(start)] : places[spaced_places.index(end)] + 1]
