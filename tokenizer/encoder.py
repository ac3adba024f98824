"""Documents to ids, with exactly the ids that the saved tokenizer gives, several times as fast.

Korean eojeol repeat, so each distinct one is encoded once, by the HF tokenizer itself, and kept in a table; a batch
of sentences then costs a look-up a word and one gather. Cutting at whitespace first is exact for BERT's pipeline:
NFC, cleaning, punctuation and WordPiece never look across whitespace. Other pipelines are refused.

Text that spells a special token ("[MASK]") is text: it is split and encoded like any other, so no special id but
[UNK] ever comes out of text. `AutoTokenizer` does the same with `split_special_tokens=True`.

Array names carry their length: W words of a batch, T tokens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from common.errors import UserError
from tokenizer.pipeline import split_eojeols
from tokenizer.save import special_ids
from tokenizer.shards import token_dtype

TABLE_WORDS = 4_000_000
"""Distinct eojeol after which the table starts anew (about 0.6 GB)."""
FILL_GROUP = 1000
"""New eojeol that the real tokenizer is given in one call."""
_END = ""
"""Table key of a document's end: no eojeol is empty."""


class Batch(NamedTuple):
    """Ids of some documents, each ended by [SEP]; offsets as in a token shard (see tokenizer/shards.py)."""

    tokens_T: np.ndarray
    documents: np.ndarray
    sentences: np.ndarray


class _Table(dict[str, int]):
    """Eojeol → row; a new eojeol gets the next row and waits in `new` for its ids."""

    def __init__(self) -> None:
        super().__init__({_END: 0})
        self.new: list[str] = []

    def __missing__(self, eojeol: str) -> int:
        row = self[eojeol] = len(self)
        self.new.append(eojeol)
        return row


class Encoder:
    """Turns documents (lists of sentences) into ids through a table of eojeol that grows as it goes.

    Args:
        tokenizer: from `load_tokenizer`.
        folder: where it came from, for messages.

    Raises:
        UserError: the tokenizer is not WordPiece with BERT's pre-tokenizer, or lacks a special token.
    """

    def __init__(self, tokenizer: Tokenizer, folder: str | Path) -> None:
        parts = json.loads(tokenizer.to_str())
        added = [token["content"] for token in parts["added_tokens"] if not token["special"]]
        if parts["model"]["type"] != "WordPiece" or (parts["pre_tokenizer"] or {}).get("type") != "BertPreTokenizer":
            raise UserError(
                f"the tokenizer in {folder} is not WordPiece with BERT's pre-tokenizer",
                "the encode stage works eojeol by eojeol, which is exact for these only",
                "train a tokenizer with: hunmin tokenizer train",
            )
        if any(character.isspace() for token in added for character in token):
            raise UserError(
                f"the tokenizer in {folder} has added tokens with whitespace in them",
                "the encode stage works eojeol by eojeol",
                "remove them from tokenizer.json",
            )
        self.tokenizer = tokenizer
        self.special_ids = special_ids(tokenizer, folder)
        self.vocab_size = tokenizer.get_vocab_size()
        self.dtype = token_dtype(self.vocab_size)
        self._reset()

    def _reset(self) -> None:
        self._table = _Table()
        self._flat = np.array([self.special_ids["sep"]], self.dtype)
        self._starts = np.array([0, 1], np.int64)

    def encode(self, documents: Sequence[Sequence[str]]) -> Batch:
        """Return the ids of documents given as lists of sentences.

        Sentences and documents that hold no token (nothing but control characters, say) are left out.
        """
        words: list[str] = []
        sentence_at: list[int] = []
        end_at: list[int] = []
        for sentences in documents:
            for sentence in sentences:
                sentence_at.append(len(words))
                words += split_eojeols(sentence)
            end_at.append(len(words))
            words.append(_END)
        rows_W = self._rows(words)
        lengths_W = self._starts[rows_W + 1] - self._starts[rows_W]
        # ends[w] tokens stand before word w
        ends = np.concatenate(([0], np.cumsum(lengths_W)))
        tokens_T = self._gather(rows_W, ends)
        return _drop_empty(tokens_T, ends[np.asarray(sentence_at, np.int64)], ends[np.asarray(end_at, np.int64)])

    def _rows(self, words: list[str]) -> np.ndarray:
        """Return the table row of each word, (W,), after the real tokenizer has filled in the new ones."""
        if len(self._table) > TABLE_WORDS:
            self._reset()
        rows_W = np.fromiter(map(self._table.__getitem__, words), np.int64, len(words))
        if self._table.new:
            self._fill(self._table.new)
            self._table.new = []
        return rows_W

    def _fill(self, eojeols: list[str]) -> None:
        """Append the ids of new eojeols; each is normalised, split and encoded by itself ("pre-tokenised" input)."""
        groups = [eojeols[start : start + FILL_GROUP] for start in range(0, len(eojeols), FILL_GROUP)]
        found = self.tokenizer.encode_batch(groups, is_pretokenized=True, add_special_tokens=False)
        flat = [self._flat]
        for group, encoding in zip(groups, found, strict=True):
            lengths = np.bincount(np.array(encoding.word_ids, np.int64), minlength=len(group))
            flat.append(np.array(encoding.ids, self.dtype))
            self._starts = np.concatenate((self._starts, self._starts[-1] + np.cumsum(lengths)))
        self._flat = np.concatenate(flat)

    def _gather(self, rows_W: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the words' ids one after the other, (T,): id t of word w is flat[start of its row + t - ends[w]]."""
        shifts_W = self._starts[rows_W] - ends[:-1]
        places_T = np.repeat(shifts_W, np.diff(ends))
        places_T += np.arange(ends[-1])
        return self._flat[places_T]


def _drop_empty(tokens_T: np.ndarray, sentence_starts: np.ndarray, separators: np.ndarray) -> Batch:
    """Return the batch without empty sentences and documents.

    Args:
        tokens_T: all ids.
        sentence_starts: where each sentence starts; an empty one starts where the next, or its document's [SEP], does.
        separators: where each document's [SEP] stands.
    """
    document_starts = np.concatenate(([0], separators[:-1] + 1)) if len(separators) else separators
    empty = separators[document_starts == separators]
    sentences = np.setdiff1d(sentence_starts, separators)
    documents = document_starts[document_starts != separators]
    if len(empty):
        tokens_T = np.delete(tokens_T, empty)
        sentences = sentences - np.searchsorted(empty, sentences)
        documents = documents - np.searchsorted(empty, documents)
    return Batch(tokens_T, np.append(documents, len(tokens_T)), np.append(sentences, len(tokens_T)))
