"""Characters from tokens as the authors' code finds them, by counting and not by offsets.

Where no word holds an unknown token this is the same as ours. In a word that does, a known token gives one character
only, and the place among the tokens is not moved on as it should be, so that all labels behind it slip.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_INSIDE = ""
"""Stands for a further character of an unknown token; no token is empty."""


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
