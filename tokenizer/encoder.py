"""Documents to ids, with exactly the ids that the saved tokenizer gives, several times as fast.

Korean eojeol repeat, so each distinct unit of text (see tokenizer/table.py) is encoded once, plain words by a trie
(tokenizer/trie.py) and all others by the HF tokenizer itself, and kept in a table; a batch of sentences then costs a
look-up a unit and a copy a token. Cutting at whitespace is exact for BERT's pipeline: NFC, cleaning, punctuation and
WordPiece never look across whitespace. Other pipelines are refused.

Text that spells a special token ("[MASK]") is text: it is split and encoded like any other, so no special id but
[UNK] ever comes out of text. `AutoTokenizer` does the same with `split_special_tokens=True`.

Array names carry their length: W units of a batch, T tokens, R rows of the table.
"""

from __future__ import annotations

import json
import threading
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from common.errors import UserError
from tokenizer.pipeline import keeps_plain_words
from tokenizer.save import special_ids, vocabulary_size
from tokenizer.shards import token_dtype
from tokenizer.table import UnitTable, gather
from tokenizer.trie import WordPieceTrie

TABLE_UNITS = 8_000_000
"""Distinct units after which a thread's table starts anew; so many take about 0.7 GB."""
FILL_GROUP = 1000
"""New units that the real tokenizer is given as one text; all texts go to it in one call."""
_LOCAL_NORMALIZERS = {"BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"}
"""Normalizers for which a whitespace word is normalised alike in and out of its sentence."""


class Batch(NamedTuple):
    """Ids of some documents, each ended by [SEP]; offsets as in a token shard (see tokenizer/shards.py)."""

    tokens_T: np.ndarray
    documents: np.ndarray
    sentences: np.ndarray


class _Growing:
    """An array that grows at its end; the buffer's part past `used` holds nothing."""

    def __init__(self, first: np.ndarray) -> None:
        self.buffer, self.used = first, len(first)

    def append(self, more: np.ndarray) -> None:
        needed = self.used + len(more)
        if needed > len(self.buffer):
            grown = np.empty((2 * needed, *self.buffer.shape[1:]), self.buffer.dtype)
            grown[: self.used] = self.buffer[: self.used]
            self.buffer = grown
        self.buffer[self.used : needed] = more
        self.used = needed


class _Known(threading.local):
    """One thread's table of units and their ids; not `cut_plain` where an added token may hold punctuation."""

    def __init__(self, cut_plain: bool, sep: int, dtype: np.dtype) -> None:
        self._first = cut_plain, sep, dtype
        self.begin()

    def begin(self) -> None:
        cut_plain, sep, dtype = self._first
        self.table = UnitTable(cut_plain)
        self.ids = _Growing(np.array([sep], dtype))
        self.spans = _Growing(np.array([[0, 1]], np.int64))

    def append(self, ids_T: np.ndarray, spans_R2: np.ndarray) -> None:
        self.spans.append(spans_R2 + self.ids.used)
        self.ids.append(ids_T)


class Encoder:
    """Turns documents (lists of sentences) into ids through a table of units that grows as it goes.

    Threads may share an encoder: each has a table of its own.

    Raises:
        UserError: the tokenizer is not WordPiece with BERT's pre-tokenizer, lacks a special token, or has gaps between
            its ids.
    """

    def __init__(self, tokenizer: Tokenizer, folder: str | Path) -> None:
        parts = json.loads(tokenizer.to_str())
        pipeline_known = _normalizer_types(parts["normalizer"]) <= _LOCAL_NORMALIZERS
        pre_tokenizer = (parts["pre_tokenizer"] or {}).get("type")
        if parts["model"]["type"] != "WordPiece" or pre_tokenizer != "BertPreTokenizer" or not pipeline_known:
            raise UserError(
                f"the tokenizer in {folder} is not WordPiece with BERT's normalizer and pre-tokenizer",
                "the encode stage works eojeol by eojeol, which is exact for these only",
                "train a tokenizer with: hunmin tokenizer train",
            )
        added = [token["content"] for token in parts["added_tokens"] if not token["special"]]
        if any(character.isspace() for token in added for character in token):
            raise UserError(
                f"the tokenizer in {folder} has added tokens with whitespace in them",
                "the encode stage works eojeol by eojeol",
                "remove them from tokenizer.json",
            )
        self.tokenizer = tokenizer
        self.special_ids = special_ids(tokenizer, folder)
        self.vocab_size = vocabulary_size(tokenizer, folder)
        self.dtype = token_dtype(self.vocab_size)
        # for words that nothing before WordPiece would change
        self._model = parts["model"] if not added and keeps_plain_words(parts["normalizer"]) else None
        self._known = _Known(not added, self.special_ids["sep"], self.dtype)

    def encode(self, documents: pa.ListArray) -> Batch:
        """Return the ids of documents given as lists of sentences (strings).

        Sentences and documents that hold no token (nothing but control characters, say) are left out.
        """
        known = self._known
        if len(known.table) > TABLE_UNITS:
            known.begin()
        before = len(known.table)
        rows_W, sentence_at, end_at = known.table.look_up(*_buffers(documents))
        if len(known.table) > before:
            try:
                known.append(*self._ids(*known.table.units(before)))
            except BaseException:
                known.begin()  # units without ids must not be found later
                raise
        tokens_T, ends = gather(rows_W, known.spans.buffer, known.ids.buffer)
        return _drop_empty(tokens_T, ends[sentence_at], ends[end_at])

    @cached_property
    def _trie(self) -> WordPieceTrie | None:
        """The model's entries; made when there is text (a process that only hands out work needs none)."""
        if self._model is None:
            return None
        vocabulary, unk = self._model["vocab"], self._model["unk_token"]
        longest = self._model["max_input_chars_per_word"]
        return WordPieceTrie(vocabulary, self._model["continuing_subword_prefix"], vocabulary[unk], longest)

    def _ids(self, text_B: np.ndarray, ends: np.ndarray, plain_R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids (T,) of units in any order, each encoded by itself, and start and end (R, 2) of each."""
        lengths_R = np.zeros(len(plain_R), np.int64)
        order, flats = np.arange(len(plain_R)), []
        not_plain = order
        if self._trie:
            ids_T, lengths_R = self._trie.encode(text_B, ends, plain_R)
            flats.append(ids_T.astype(self.dtype))
            not_plain = np.flatnonzero(~plain_R)
            order = np.concatenate((np.flatnonzero(plain_R), not_plain))
        text = text_B.tobytes()
        groups = [not_plain[start : start + FILL_GROUP] for start in range(0, len(not_plain), FILL_GROUP)]
        texts = [[text[ends[row] : ends[row + 1]].decode() for row in group.tolist()] for group in groups]
        encodings = self.tokenizer.encode_batch(texts, is_pretokenized=True, add_special_tokens=False)
        for group, encoding in zip(groups, encodings, strict=True):
            lengths_R[group] = np.bincount(np.array(encoding.word_ids, np.int64), minlength=len(group))
            flats.append(np.array(encoding.ids, self.dtype))
        ends_R = np.empty(len(plain_R), np.int64)
        ends_R[order] = np.cumsum(lengths_R[order])
        return np.concatenate(flats), np.stack((ends_R - lengths_R, ends_R), axis=1)


def _normalizer_types(normalizer: dict[str, Any] | None) -> set[str]:
    if normalizer is None:
        return set()
    if normalizer["type"] == "Sequence":
        return set().union(*map(_normalizer_types, normalizer["normalizers"]))
    return {normalizer["type"]}


def _buffers(documents: pa.ListArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the text's bytes, the sentences' offsets in bytes and the documents' offsets in sentences, uncopied."""
    sentences = documents.flatten()
    lengths = documents.value_lengths()
    if lengths.null_count:
        lengths = lengths.fill_null(0)
    _, offset_buffer, data = sentences.buffers()
    width = np.int64 if pa.types.is_large_string(sentences.type) else np.int32
    offsets = np.zeros(1, np.int64)
    if len(sentences):
        whole = np.frombuffer(offset_buffer, width)
        offsets = whole[sentences.offset : sentences.offset + len(sentences) + 1].astype(np.int64)
    data_B = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    ends = np.cumsum(np.from_dlpack(lengths), dtype=np.int64)  # to_numpy() would import pandas
    return data_B, offsets, np.concatenate(([0], ends))


def _drop_empty(tokens_T: np.ndarray, sentence_starts: np.ndarray, separators: np.ndarray) -> Batch:
    """Return the batch without empty sentences (those that start where the next, or [SEP], does) and documents."""
    document_starts = np.concatenate(([0], separators[:-1] + 1)) if len(separators) else separators
    empty = separators[document_starts == separators]
    sentences = sentence_starts[separators[np.searchsorted(separators, sentence_starts)] != sentence_starts]
    sentences = sentences[np.diff(sentences, prepend=-1) > 0]
    documents = document_starts[document_starts != separators]
    if len(empty):
        tokens_T = np.delete(tokens_T, empty)
        sentences = sentences - np.searchsorted(empty, sentences)
        documents = documents - np.searchsorted(empty, documents)
    return Batch(tokens_T, np.append(documents, len(tokens_T)), np.append(sentences, len(tokens_T)))
