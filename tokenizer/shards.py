"""Token shards: the folder between the encode stage and pretraining; memory-mapped arrays that index in O(1).

    tokens-00000.bin      flat little-endian ids; no special tokens but one [SEP] at the end of every document
    documents-00000.npy   int64 offsets into the shard's tokens, one per document start, then the token count
    sentences-00000.npy   the same for sentences; a document's [SEP] belongs to its last sentence
    tokens.json           sizes, dtype, vocabulary size, special ids; a shard's `copies`, where they are not 1

A shard comes `copies` times in a pass over the corpus, and is stored once; 0: it is held out of training.

Array names carry their length: T tokens of a shard.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common.arrays import map_array, save_array
from common.errors import DamagedError, UserError
from common.files import atomic_write

META = "tokens.json"
UINT16_VOCABULARY = 1 << 16
"""Largest vocabulary whose ids fit 16 bits."""
SPECIAL_NAMES = ("cls", "pad", "sep", "unk", "mask")


def token_dtype(vocab_size: int) -> np.dtype:
    """Return the little-endian dtype that ids of a vocabulary are stored in: uint16 while they fit, else uint32."""
    return np.dtype("<u2" if vocab_size <= UINT16_VOCABULARY else "<u4")


def shard_files(index: int, prefix: str = "") -> tuple[str, str, str]:
    """Return the names of a shard's tokens, documents and sentences files."""
    return f"{prefix}tokens-{index:05d}.bin", f"{prefix}documents-{index:05d}.npy", f"{prefix}sentences-{index:05d}.npy"


def write_shard(
    folder: str | Path,
    index: int,
    tokens_T: np.ndarray,
    documents: np.ndarray | Sequence[int],
    sentences: np.ndarray | Sequence[int],
    prefix: str = "",
) -> dict[str, int]:
    """Write one shard's three files atomically and return its entry for tokens.json.

    Args:
        tokens_T: ids, already in the dtype of the folder (see `token_dtype`).
        documents: offsets in tokens, ascending from 0 to T (number of documents + 1 of them).
        prefix: put before the file names while the shard's final number is not known.

    Raises:
        ValueError: the ids are not unsigned 16- or 32-bit integers, or offsets do not run from 0 to T.
    """
    if tokens_T.dtype.kind != "u" or tokens_T.dtype.itemsize not in (2, 4):
        raise ValueError(f"tokens are {tokens_T.dtype}, not uint16 or uint32")
    arrays = [np.asarray(offsets, dtype=np.int64) for offsets in (documents, sentences)]
    for name, offsets in zip(("documents", "sentences"), arrays, strict=True):
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(tokens_T) or (np.diff(offsets) <= 0).any():
            raise ValueError(f"{name}: offsets must rise from 0 to {len(tokens_T)}")
    tokens_name, *offset_names = shard_files(index, prefix)
    folder = Path(folder)
    with atomic_write(folder / tokens_name, "wb") as stream:
        stream.write(np.ascontiguousarray(tokens_T, tokens_T.dtype.newbyteorder("<")).data)
    for name, offsets in zip(offset_names, arrays, strict=True):
        save_array(folder / name, offsets)
    return {"tokens": len(tokens_T), "documents": len(arrays[0]) - 1, "sentences": len(arrays[1]) - 1}


def write_meta(
    folder: str | Path,
    vocab_size: int,
    special_ids: Mapping[str, int],
    shards: Sequence[Mapping[str, int]],
    unk: int,
) -> dict[str, Any]:
    """Write tokens.json, which makes the folder readable, and return its contents; `unk`: [UNK] ids over all shards."""
    meta = {
        "dtype": token_dtype(vocab_size).name,
        "vocab_size": vocab_size,
        "special_ids": {name: int(special_ids[name]) for name in SPECIAL_NAMES},
        "shards": [dict(shard) for shard in shards],
        **{name: sum(shard[name] for shard in shards) for name in ("tokens", "documents", "sentences")},
        "unk": unk,
    }
    with atomic_write(Path(folder) / META) as stream:
        json.dump(meta, stream, indent=1)
        stream.write("\n")
    return meta


class TokenShards:
    """A finished token folder, opened for reading; arrays are mapped into memory when first asked for.

    Raises:
        UserError: the folder holds no tokens.json.
        HunminError: tokens.json is damaged, or a shard's file is gone or cut short.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._checked: set[tuple[int, int]] = set()
        path = self.folder / META
        if not path.is_file():
            raise UserError(
                f"{self.folder} holds no {META}", "a token folder is what the encode stage wrote", "run it to its end"
            )
        try:
            meta = json.loads(path.read_text(encoding="utf-8"))
            self.vocab_size: int = meta["vocab_size"]
            self.special_ids: dict[str, int] = {name: meta["special_ids"][name] for name in SPECIAL_NAMES}
            self.dtype = np.dtype(meta["dtype"]).newbyteorder("<")
            self.shards: list[dict[str, int]] = meta["shards"]
            self.total_tokens: int = meta["tokens"]
            self.total_documents: int = meta["documents"]
            self.total_sentences: int = meta["sentences"]
            self.total_unk: int = meta["unk"]
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedError(f"{path} is damaged ({error})", "tokens.json is whole", "encode again") from None
        for index, shard in enumerate(self.shards):
            self._check(index, shard)

    def copies(self, index: int) -> int:
        """Return how often a shard comes in a pass over the corpus; 0: it is held out of training."""
        return self.shards[index].get("copies", 1)

    @property
    def tokens_in_a_pass(self) -> int:
        """Return the tokens of all shards, each as often as it comes."""
        return sum(shard["tokens"] * self.copies(index) for index, shard in enumerate(self.shards))

    def _check(self, index: int, shard: Mapping[str, int]) -> None:
        path = self.folder / shard_files(index)[0]
        expected = shard["tokens"] * self.dtype.itemsize
        size = path.stat().st_size if path.is_file() else None
        if size != expected:
            state = "is gone" if size is None else f"has {size} bytes"
            raise DamagedError(
                f"{path} {state}", f"tokens.json says {expected} bytes", "delete the folder, encode again"
            )

    def tokens(self, index: int) -> np.ndarray:
        """Return a shard's ids, (T,), mapped read-only."""
        return np.memmap(self.folder / shard_files(index)[0], dtype=self.dtype, mode="r")

    def documents(self, index: int) -> np.ndarray:
        """Return a shard's document offsets, (documents + 1,) int64, mapped read-only."""
        return self._offsets(index, 1, "documents")

    def sentences(self, index: int) -> np.ndarray:
        """Return a shard's sentence offsets, (sentences + 1,) int64, mapped read-only."""
        return self._offsets(index, 2, "sentences")

    def check_ids(self) -> None:
        """Raise HunminError for an id that the vocabulary lacks: a table looked up by it would be left."""
        for index in range(len(self.shards)):
            ids_T = self.tokens(index)
            if len(ids_T) and (largest := int(ids_T.max())) >= self.vocab_size:
                raise DamagedError(
                    f"{self.folder / shard_files(index)[0]} holds the id {largest:,}",
                    f"the vocabulary has {self.vocab_size:,} entries",
                    "delete the folder, encode again",
                )

    def _offsets(self, index: int, file: int, name: str) -> np.ndarray:
        """Return a file of offsets, checked when it is opened: wrong ones would lead outside of the arrays."""
        path = self.folder / shard_files(index)[file]
        shard = self.shards[index]
        try:
            offsets = map_array(path)
        except (OSError, ValueError, EOFError) as error:
            raise DamagedError(
                f"{path} is damaged: {error}", "offsets are whole", "delete the folder, encode again"
            ) from None
        if (index, file) not in self._checked:
            whole = offsets.dtype == np.int64 and offsets.shape == (shard[name] + 1,)
            if not whole or offsets[0] != 0 or offsets[-1] != shard["tokens"] or (np.diff(offsets) <= 0).any():
                raise DamagedError(
                    f"{path} holds offsets that do not fit its tokens",
                    f"{shard[name] + 1:,} offsets rise from 0 to {shard['tokens']:,}",
                    "delete the folder, encode again",
                )
            self._checked.add((index, file))
        return offsets
