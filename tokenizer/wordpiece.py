"""Training WordPiece on pieces that may continue a word, to exactly the size asked for.

WordPiece must learn ##에서, ##으로, ##을 as continuations, though it sees morphemes one by one. So each character is
given to the trainer as one of two symbols: its first form (at the start of an eojeol's word) or its continuing form
(anywhere else, the start of a later morpheme included). The trainer thus learns 은 and ##은 as what they are, pools
what it saw of ##은 inside a morpheme and at the start of one, and stops at exactly the number of entries wanted. As
the symbols are its whole alphabet, in a fixed order, ties break alike on every run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import xxhash
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from common.errors import UserError
from tokenizer.pipeline import CONTINUATION

SYMBOLS_FROM = 0x10000
"""Code point of the first symbol: above it lie neither whitespace nor surrogates."""
FEED_LIMIT = 50_000_000
"""Occurrences of morphemes that the trainer is fed; counts of a larger sample are scaled down to it."""
FEWEST = 200
"""Entries of the smallest vocabulary that is worth proposing."""


def train_vocabulary(
    pieces: Iterable[Mapping[str, int]],
    alphabet: list[str],
    size: int,
    min_pair_count: int,
    seed: int,
    taken: Collection[str] = (),
) -> list[str]:
    """Return entries that with `taken` are `size`: both forms of all characters, then the merges in the order learnt.

    Raises:
        UserError: the alphabet alone is larger than the room, or the pieces yield fewer entries than that.
    """
    if 2 * len(alphabet) + len(taken) > size:
        raise UserError(
            f"vocab_size {size} is too small for {len(alphabet)} characters in two forms each",
            f"the characters, and {len(taken)} special tokens, slots and user tokens, alone take "
            f"{2 * len(alphabet) + len(taken)} entries",
            "raise vocab_size, or raise min_character_count so that rare characters become [UNK]",
        )
    # a user token may be a character or a word that is learnt, too; what is learnt first does not hang on the size
    entries = [entry for entry in learn_entries(pieces, alphabet, size, min_pair_count, seed) if entry not in taken]
    reachable = len(entries) + len(taken)
    if reachable < size:
        raise UserError(
            f"the corpus is too small for a vocabulary of {size}: it yields {reachable} entries",
            "a merge needs a pair of pieces that occurs at least min_pair_count times",
            f"set vocab_size to {reachable} or less, lower min_pair_count, or give more text"
            if reachable >= FEWEST
            else "give more text; or lower min_character_count and min_pair_count",
        )
    return entries[: size - len(taken)]


def learn_entries(
    pieces: Iterable[Mapping[str, int]], alphabet: list[str], size: int, min_pair_count: int, seed: int
) -> list[str]:
    """Return the entries for `train_vocabulary`, fewer where the pieces yield no more; never fewer than the forms.

    Args:
        pieces: marked morphemes or words (## in front of what continues a word) and how often each occurs, in parts
            that have no piece in common; gone through twice.
        alphabet: characters to cover, sorted; pieces with another are left out.
        min_pair_count: a pair that stands side by side less often is not merged.
        seed: of the rounding when counts must be scaled down.
    """
    symbols = [chr(SYMBOLS_FROM + index) for index in range(2 * len(alphabet))]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=min_pair_count,
        initial_alphabet=symbols,
        special_tokens=[],
        continuing_subword_prefix="",
        show_progress=False,
    )
    model = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    model.train_from_iterator(_feed(pieces, alphabet, seed), trainer)
    learnt = sorted((index, token) for token, index in model.get_vocab().items())
    forms = [*alphabet, *(CONTINUATION + character for character in alphabet)]
    merges = [token for _, token in learnt if len(token) > 1]
    return forms + [_from_symbols(token, alphabet) for token in merges]


def _to_symbols(piece: str, forms: Sequence[Mapping[int, str]]) -> str | None:
    """Return a piece as symbols, or None if a character is not covered.

    Args:
        forms: character → symbol of its first form, and of its continuing form; "" where it is not covered.
    """
    text = piece.removeprefix(CONTINUATION)
    symbols = text[:1].translate(forms[len(text) < len(piece)]) + text[1:].translate(forms[1])
    return symbols if len(symbols) == len(text) else None


def _from_symbols(token: str, alphabet: list[str]) -> str:
    codes = [ord(symbol) - SYMBOLS_FROM for symbol in token]
    return (CONTINUATION if codes[0] % 2 else "") + "".join(alphabet[code // 2] for code in codes)


def _feed(pieces: Iterable[Mapping[str, int]], alphabet: list[str], seed: int) -> Iterator[str]:
    """Yield lines of pieces repeated by their counts; the trainer counts, so repetition is how it is told a count.

    Pieces of one character are left out: they hold no pair. Above `FEED_LIMIT` counts are scaled, and rounded up or
    down by a seeded draw a piece, so that rare pieces keep their weight as a group.
    """
    forms = [
        defaultdict(str, {ord(character): chr(SYMBOLS_FROM + 2 * n + form) for n, character in enumerate(alphabet)})
        for form in (0, 1)
    ]
    total = sum(count for part in pieces for piece, count in part.items() if _holds_pair(piece))
    scale = min(1.0, FEED_LIMIT / total) if total else 1.0
    line: list[str] = []
    for part in pieces:
        for piece, count in sorted(part.items()):
            symbols = _to_symbols(piece, forms) if _holds_pair(piece) else None
            if symbols is None:
                continue
            repeats = count
            if scale < 1:
                repeats = int(
                    count * scale + xxhash.xxh3_64_intdigest(piece.encode(), seed=seed & (2**64 - 1)) / 2.0**64
                )
            for start in range(0, repeats, 1000):
                line.append((symbols + " ") * min(1000, repeats - start))
            if len(line) >= 200:
                yield "".join(line)
                line = []
    yield "".join(line)


def _holds_pair(piece: str) -> bool:
    return len(piece.removeprefix(CONTINUATION)) > 1
