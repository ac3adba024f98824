"""The tokenizer stage: a morpheme-aware WordPiece vocabulary of exactly the given size (KLUE paper, section 4.1)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from common.progress import say
from common.settings import dump_settings
from tokenizer.card import write_card
from tokenizer.counting import Counted, count_corpus
from tokenizer.save import build_tokenizer, frame, save_tokenizer, vocabulary_size
from tokenizer.settings import SPECIAL_TOKENS, TokenizerSettings
from tokenizer.unigram import train_unigram
from tokenizer.wordpiece import train_vocabulary

__all__ = ["TokenizerSettings", "train_tokenizer"]

WORK = ".work"


def train_tokenizer(settings: TokenizerSettings, corpus: str | Path, out: Path) -> dict[str, Any]:
    """Train a tokenizer on a corpus, write its folder into `out`, and return the counts.

    Args:
        corpus: a finished corpus folder, a file in one of the corpus's formats or of a document a line, or a glob.
        out: an existing folder, empty or with what a killed run left: what that one counted is not counted again.

    Raises:
        UserError: the corpus is missing, empty, or too small for the size asked for (the message says which size it
            reaches), or the size is too small for the characters that must be covered.
    """
    counted = count_corpus(settings, corpus, out / WORK)
    alphabet = covered(counted, settings)
    special = [*SPECIAL_TOKENS[settings.special], *(f"[unused{slot}]" for slot in range(settings.unused))]
    special += settings.user_tokens
    say(
        f"tokenizer: training on {counted.facts['distinct_pre_tokens']:,} distinct pre-tokens, "
        f"{len(alphabet):,} characters"
    )
    if settings.model == "unigram":
        built = train_unigram(counted.pieces, special, alphabet, settings.vocab_size, out / WORK)
        frame(built, settings.special, settings.user_tokens)
    else:
        entries = train_vocabulary(
            counted.pieces, alphabet, settings.vocab_size, settings.min_pair_count, settings.seed, special
        )
        built = build_tokenizer(special + entries, settings.special, settings.user_tokens)
    save_tokenizer(built, settings.special, settings.max_seq_len, out)
    left_out = sum(count for c, count in counted.characters.items() if count < settings.min_character_count)
    facts = {"alphabet": len(alphabet), "characters_left_out": left_out, **counted.facts}
    origin = f"Corpus: `{counted.corpus or 'of a version nobody knows'}`."
    figures = write_card(out, dump_settings(settings), origin, facts, counted.held_out)
    shutil.rmtree(out / WORK)
    return {"vocab_size": vocabulary_size(built, out), "corpus": counted.corpus, **facts, **figures}


def covered(counted: Counted, settings: TokenizerSettings) -> list[str]:
    """Return the characters that the vocabulary must cover, sorted."""
    return sorted(c for c, count in counted.characters.items() if count >= settings.min_character_count)
