"""What the benchmark authors' code makes of a model's outputs where ours makes something else: `…_as_published`.

Answers: it is SQuAD's reference code. An answer is made from whitespace words, cut down to the tokens where they fit:
the words that the answer's tokens stand in are searched for the tokens' text; where that is not found (an unknown
token, a token from the inside of a word) the answer is the whole words.

Entities: characters are found from tokens by counting, not by offsets. Where no word holds an unknown token this is the
same as ours. In a word that does, a known token gives one character only, and the place among the tokens is not moved
on as it should be, so that all labels behind it slip.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from tokenizers import normalizers, pre_tokenizers

_SPACE = re.compile("[ \t\r\n\u202f]+")
"""What parts words there; other spaces do not."""
_PUNCTUATION = pre_tokenizers.BertPreTokenizer()
_INSIDE = ""
"""Stands for a further character of an unknown token; no token is empty."""


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


def token_places(
    words: Sequence[str], tokens: Sequence[Sequence[str]], sign: str, unknown: str, tokens_there: int, limit: int
) -> np.ndarray:
    """Return which token labels each character, and whether with the label inside of the entity, (characters,).

    The numbers are 2 × the token's place in the input, plus 1 for a label inside.

    Args:
        sign: what tokens have where a word begins or continues: "▁" or "##".
        tokens_there: tokens of the input, special ones included.
        limit: the longest input: a token at its end labels nothing.
    """
    codes: list[int] = []
    at = 1  # behind [CLS]
    for word, pieces in zip(words, tokens, strict=True):
        if unknown not in pieces:
            for piece in pieces:
                if at >= limit - 1:
                    break
                codes += [2 * at + (number > 0) for number in range(len(piece.replace(sign, "")))]
                at += 1
            continue
        open_ = False
        for step in spread(word, pieces, sign, unknown):
            if at >= limit - 1:
                break
            if step == unknown:
                open_ = True
                codes.append(2 * at)
            elif step == _INSIDE:
                codes.append(2 * at + 1)
            elif open_:  # moved on over the unknown token, but not over this one
                at, open_ = at + 1, False
                codes.append(2 * at)
            else:
                codes.append(2 * at)
                at += 1
    last = 2 * (tokens_there - 1)
    return np.minimum(np.array(codes, np.int64), last)


def spread(word: str, tokens: Sequence[str], sign: str, unknown: str) -> list[str]:
    """Return a word's tokens with "" for every further character of an unknown one.

    An unknown token takes characters up to the first that the next token begins with, or to the end of the word. Of
    some words (characters that the tokenizer changes or drops) the authors' code makes no end, or stops with an error;
    here the word then ends where it does.
    """
    steps: list[str] = []
    character = place = 0
    inside = False
    while not (character == len(word) and place == len(tokens) - 1):
        token = tokens[place]
        steps.append(_INSIDE if inside else token)
        character += 1 if token == unknown else len(token.replace(sign, ""))
        if token == unknown and place + 1 < len(tokens) and tokens[place + 1] != unknown:
            if character >= len(word):
                break
            inside = word[character] != tokens[place + 1][0]
            place += not inside
        else:
            place += 1
            inside = place == len(tokens)
            place -= inside
        if character > len(word):
            break
    return steps
