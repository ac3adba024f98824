"""The tokenizer stage: a morpheme-aware WordPiece vocabulary of exactly the size asked for (KLUE paper, section 4.1).

    corpus ─► sample ─► words and counts ─► morphemes and counts ─► WordPiece trainer ─► vocabulary ─► folder

WordPiece must learn ##에서, ##으로, ##을 as continuations, though it sees morphemes one by one. So each character is
given to the trainer as one of two symbols: its first form (at the start of an eojeol's word) or its continuing form
(anywhere else, the start of a later morpheme included). The trainer thus learns 은 and ##은 as what they are, pools
what it saw of ##은 inside a morpheme and at the start of one, and stops at exactly the number of entries wanted. As
the symbols are its whole alphabet, in a fixed order, ties break alike on every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import xxhash
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from common.errors import UserError
from common.progress import say
from data.executors import available_workers, run_local
from tokenizer.morphemes import count_pieces
from tokenizer.pipeline import CONTINUATION
from tokenizer.sampling import source_shares
from tokenizer.save import save_tokenizer
from tokenizer.settings import SPECIAL_TOKENS, TokenizerSettings
from tokenizer.words import add_counts, corpus_pieces, count_characters, count_words, source_sizes

__all__ = ["TokenizerSettings", "train_tokenizer", "train_vocabulary"]

SYMBOLS_FROM = 0x10000
"""Code point of the first symbol: above it lie neither whitespace nor surrogates."""
FEED_LIMIT = 50_000_000
"""Occurrences of morphemes that the trainer is fed; counts of a larger sample are scaled down to it."""
SEGMENT_WORDS = 50_000
"""Distinct words of one segmentation task."""


def train_tokenizer(settings: TokenizerSettings, corpus: Path, out: Path) -> dict[str, Any]:
    """Train a tokenizer on a corpus, write its folder into `out`, and return the counts.

    Args:
        corpus: a finished corpus folder, a text file (a document a line), or a glob of such.
        out: an existing folder.

    Raises:
        UserError: the corpus is missing, empty, or too small for the size asked for (the message says which size it
            reaches), or the size is too small for the characters that must be covered.
    """
    pieces = corpus_pieces(corpus)
    workers = min(settings.workers or available_workers(), len(pieces))
    sizes = add_counts(run_local(source_sizes, pieces, workers=workers))
    shares = source_shares(sizes, settings.sample_mb * 1e6)
    say(f"tokenizer: counting words of {sum(sizes[name] * shares[name] for name in sizes) / 1e6:.1f} MB")
    words = add_counts(run_local(partial(count_words, shares=shares, seed=settings.seed), pieces, workers=workers))
    if not words:
        raise UserError(f"{corpus} holds no words", "a vocabulary is trained on text", "check the corpus")
    marked = words if settings.pretokenizer == "none" else _segment(words, settings.workers)
    characters = count_characters(words)
    alphabet = sorted(c for c, count in characters.items() if count >= settings.min_character_count)
    special = [*SPECIAL_TOKENS[settings.special], *(f"[unused{slot}]" for slot in range(settings.unused))]
    say(f"tokenizer: training on {len(marked)} pieces of {len(words)} words, {len(alphabet)} characters")
    entries = train_vocabulary(
        marked, alphabet, settings.vocab_size - len(special), settings.min_pair_count, settings.seed, len(special)
    )
    vocabulary = special + entries
    save_tokenizer(vocabulary, settings.special, settings.max_length, out)
    return {
        "vocab_size": len(vocabulary),
        "alphabet": len(alphabet),
        "characters": len(characters),
        "characters_left_out": sum(count for c, count in characters.items() if count < settings.min_character_count),
        "sources": len(sizes),
        "corpus_bytes": sum(sizes.values()),
        "sampled_bytes": round(sum(sizes[name] * shares[name] for name in sizes)),
        "words": sum(words.values()),
        "distinct_words": len(words),
        "distinct_pieces": len(marked),
    }


class _Chunk(NamedTuple):
    """Some distinct words with their counts: one segmentation task."""

    name: str
    words: list[tuple[str, int]]


def _count_chunk(chunk: _Chunk) -> dict[str, int]:
    return count_pieces(chunk.words)


def _segment(words: dict[str, int], workers: int | None) -> dict[str, int]:
    """Return marked morphemes and their counts."""
    say(f"tokenizer: segmenting {len(words)} distinct words into morphemes")
    ordered = sorted(words.items())
    starts = range(0, len(ordered), SEGMENT_WORDS)
    chunks = [_Chunk(f"words from {start}", ordered[start : start + SEGMENT_WORDS]) for start in starts]
    return add_counts(run_local(_count_chunk, chunks, workers=min(workers or available_workers(), len(chunks))))


def train_vocabulary(
    pieces: Mapping[str, int], alphabet: list[str], size: int, min_pair_count: int, seed: int, special: int = 0
) -> list[str]:
    """Return `size` entries: both forms of every character of the alphabet, then the merges in the order learnt.

    Args:
        pieces: marked morphemes or words (## in front of what continues a word) and how often each occurs.
        alphabet: characters to cover, sorted; pieces with another are left out.
        size: entries wanted, special tokens not counted.
        min_pair_count: a pair that stands side by side less often is not merged.
        seed: of the rounding when counts must be scaled down.
        special: number of special tokens, only for the sizes named in messages.

    Raises:
        UserError: the alphabet alone is larger than `size`, or the pieces yield fewer entries than that.
    """
    if 2 * len(alphabet) > size:
        raise UserError(
            f"vocab_size {size + special} is too small for {len(alphabet)} characters in two forms each",
            f"the characters and {special} special tokens alone take {2 * len(alphabet) + special} entries",
            "raise vocab_size, or raise min_character_count so that rare characters become [UNK]",
        )
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
    if len(learnt) < size:
        reachable = len(learnt) + special
        raise UserError(
            f"the corpus is too small for a vocabulary of {size + special}: it yields {reachable} entries",
            "a merge needs a pair of pieces that occurs at least min_pair_count times",
            f"set vocab_size to {reachable} or less, lower min_pair_count, or give more text",
        )
    forms = [*alphabet, *(CONTINUATION + character for character in alphabet)]
    merges = [token for _, token in learnt if len(token) > 1]
    return forms + [_from_symbols(token, alphabet) for token in merges]


def _to_symbols(piece: str, numbers: Mapping[str, int]) -> str | None:
    """Return a piece as symbols (even: first form, odd: continuing form), or None if a character is not covered."""
    continuing = piece.startswith(CONTINUATION)
    text = piece.removeprefix(CONTINUATION)
    found = [numbers.get(character) for character in text]
    codes = [SYMBOLS_FROM + 2 * n + (continuing or place > 0) for place, n in enumerate(found) if n is not None]
    return "".join(map(chr, codes)) if len(codes) == len(text) else None


def _from_symbols(token: str, alphabet: list[str]) -> str:
    codes = [ord(symbol) - SYMBOLS_FROM for symbol in token]
    return (CONTINUATION if codes[0] % 2 else "") + "".join(alphabet[code // 2] for code in codes)


def _feed(pieces: Mapping[str, int], alphabet: list[str], seed: int) -> Iterator[str]:
    """Yield lines of pieces repeated by their counts; the trainer counts, so repetition is how it is told a count.

    Pieces of one character are left out: they hold no pair. Above `FEED_LIMIT` counts are scaled, and rounded up or
    down by a seeded draw a piece, so that rare pieces keep their weight as a group.
    """
    numbers = {character: index for index, character in enumerate(alphabet)}
    useful = {piece: count for piece, count in pieces.items() if len(piece.removeprefix(CONTINUATION)) > 1}
    total = sum(useful.values())
    scale = min(1.0, FEED_LIMIT / total) if total else 1.0
    line: list[str] = []
    for piece, count in sorted(useful.items()):
        symbols = _to_symbols(piece, numbers)
        if symbols is None:
            continue
        draw = xxhash.xxh3_64_intdigest(piece.encode(), seed=seed & (2**64 - 1)) / 2.0**64
        repeats = count if scale == 1.0 else int(count * scale + draw)
        for start in range(0, repeats, 1000):
            line.append((symbols + " ") * min(1000, repeats - start))
        if len(line) >= 200:
            yield "".join(line)
            line = []
    yield "".join(line)
