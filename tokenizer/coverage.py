"""The share of a text that a tokenizer can read, and the rule on how much it must."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, islice

from tokenizers import Tokenizer

from common.errors import UserError
from common.progress import say

TOLD, REFUSED = 0.02, 0.30
"""Shares of characters that are unread: above the first they are reported, above the second the tokenizer is refused.

Vocabularies made for Korean leave under 1% of a text's tokens unknown, multilingual ones under 2%; one made for another
language, or loaded by the wrong rules, leaves nearly every Korean word unknown and reads only digits and punctuation,
some 10% of a text. Between these there is nothing to tell apart. Byte-level and character vocabularies leave nothing.
"""
SAMPLE_CHARACTERS = 200_000
"""Characters of a text that are looked at, evenly spread over it."""

Pieces = Callable[[list[str]], Iterable[tuple[Sequence[int], Sequence[tuple[int, int]]]]]
"""Words → (ids, spans) of each: the work of a tokenizer."""


def sample(texts: Sequence[str]) -> list[str]:
    """Return texts evenly spread over those given, of at most about `SAMPLE_CHARACTERS`."""
    step = max(1, sum(map(len, texts)) // SAMPLE_CHARACTERS)
    return list(islice(texts, 0, None, step))


def unread_share(pieces: Pieces, unknown: Collection[int], texts: Iterable[str]) -> float:
    """Return the share, 0 to 1, of the characters that are no space which no known token stands for."""
    words = Counter(chain.from_iterable(text.split() for text in texts))
    ordered = list(words)
    total = unread = 0
    for word, (ids, offsets) in zip(ordered, pieces(ordered), strict=True):
        read = bytearray(len(word))
        for token, (start, end) in zip(ids, offsets, strict=True):
            if token not in unknown:
                read[start:end] = b"\1" * (end - start)
        for token, (start, end) in zip(ids, offsets, strict=True):
            if token in unknown:  # the sign of a space before it may claim its first character
                read[start:end] = bytes(end - start)
        total += words[word] * len(word)
        unread += words[word] * read.count(0)
    return unread / total if total else 0.0


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Return the id of what the model gives for a piece that it does not know; None when it knows all."""
    model = json.loads(tokenizer.to_str())["model"]
    if "unk_id" in model:  # of Unigram
        index: int | None = model["unk_id"]
        return index
    return tokenizer.token_to_id(model["unk_token"]) if model.get("unk_token") else None


def check_tokenizer(tokenizer: Tokenizer, texts: Sequence[str], name: str, source: str) -> None:
    """Apply the rule to a tokenizer that is loaded by itself; see `check_share`."""

    def pieces(words: list[str]) -> Iterable[tuple[Sequence[int], Sequence[tuple[int, int]]]]:
        return ((word.ids, word.offsets) for word in tokenizer.encode_batch(words, add_special_tokens=False))

    known, some = unknown_id(tokenizer), sample(texts)
    check_share(
        unread_share(pieces, () if known is None else (known,), some),
        name,
        source,
        f"set tokenizer.min_character_count={fitting_count(some)} (words with rarer characters become [UNK]); with "
        "tokenizer.base, also a tokenizer.vocab_size above the base's",
    )


def fitting_count(texts: Iterable[str]) -> int:
    """Return the highest `min_character_count` with at most `TOLD` of the characters in words with a rarer one."""
    words = Counter(chain.from_iterable(text.split() for text in texts))
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    rarest: Counter[int] = Counter()  # occurrences of a word's rarest character → characters of such words
    for word, count in words.items():
        rarest[min(characters[character] for character in word)] += count * len(word)
    unread, most = 0, TOLD * rarest.total()
    for occurrences in sorted(rarest):
        unread += rarest[occurrences]
        if unread > most:
            return occurrences
    return 1


def check_share(share: float, name: str, source: str, fix: str) -> None:
    """Raise UserError where more than `REFUSED` of a text cannot be read; warn where more than `TOLD` cannot."""
    if share > REFUSED:
        raise UserError(
            f"{name} cannot read {share:.0%} of the characters of {source}: they become the unknown token, or nothing",
            f"a tokenizer reads at least {1 - REFUSED:.0%}; scores of what it cannot read mean nothing",
            "use a model with a Korean vocabulary, or restore its tokenizer_config.json "
            "(without one BERT's tokenizer takes Hangul apart)",
        )
    if share > TOLD:
        say(f"warning: {name} cannot read {share:.1%} of the characters of {source}; fix: {fix}", style="yellow")
