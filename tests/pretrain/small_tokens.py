"""A token folder and a tokenizer folder that a small model learns from in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pretrain.objectives.objective import Objective
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import PretrainSettings
from tokenizer.shards import token_dtype, write_meta, write_shard

SPECIAL = {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}
WORDS, PIECES = 60, 35


def objective_of(packing: str) -> Objective:
    """Return what an encoder learns from samples of a kind."""
    return OBJECTIVES["mlm+nsp" if packing == "sentence-pairs" else "mlm"]


def small_run(packing: str, **changes: Any) -> PretrainSettings:
    """Return settings of a small run on samples of a kind, with the model and the objective that it needs."""
    pairs = packing == "sentence-pairs"
    shape = {"type": "bert" if pairs else "roberta", "layers": 2, "hidden": 32, "heads": 2}
    learned = {"objective": "mlm+nsp", "masking": {"kind": "static", "dupe_factor": 2}} if pairs else {}
    return PretrainSettings(**{
        "model": shape, "packing": packing, "max_seq_len": 24, "steps": 50, "global_batch": 16, "micro_batch": 8,
        "validation_samples": 8, "optimizer": {"warmup_steps": 5}, **learned, **changes,
    })  # fmt: skip


def both_losses(sums: Any) -> Any:
    """Return the sums of a batch's losses."""
    return sum(value for name, value in sums.items() if name.endswith("loss"))


def make_tokens(folder: Path, seed: int = 0, documents: int = 120, shards: int = 2) -> Path:
    """Write token shards whose sentences follow a pattern that a small model can learn."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    dtype = token_dtype(5 + WORDS + PIECES)
    entries = []
    for shard in range(shards):
        tokens: list[int] = []
        document_offsets, sentence_offsets = [0], [0]
        for _ in range(documents):
            topic = int(rng.integers(0, 4))
            for _ in range(int(rng.integers(1, 6))):
                for _ in range(int(rng.integers(2, 9))):
                    word = int(rng.integers(0, WORDS // 4)) * 4 + topic
                    tokens.append(5 + word)
                    tokens += [5 + WORDS + (word + j) % PIECES for j in range(int(rng.integers(0, 3)))]
                sentence_offsets.append(len(tokens))
            tokens.append(SPECIAL["sep"])
            sentence_offsets[-1] = len(tokens)
            document_offsets.append(len(tokens))
        entries.append(write_shard(folder, shard, np.array(tokens, dtype), document_offsets, sentence_offsets))
    write_meta(folder, 5 + WORDS + PIECES, SPECIAL, entries, unk=0)
    return folder


def make_tokenizer(folder: Path) -> Path:
    """Write the vocabulary of those shards."""
    folder.mkdir()
    entries = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    entries += [f"w{i}" for i in range(WORDS)] + [f"##p{i}" for i in range(PIECES)]
    (folder / "vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    return folder
