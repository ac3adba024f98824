"""A made-up Korean text, tokenizers trained on it, and a corpus folder in the corpus stage's format."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from data.shards import COPIES, shard_name, write_shard, write_shard_manifest
from data.statistics.counts import shard_statistics
from tokenizer.settings import TokenizerSettings
from tokenizer.train import train_tokenizer

sys.path.insert(0, str(Path(__file__).parent))
from made_up_text import made_up_lines

SMALL = TokenizerSettings(vocab_size=240, min_character_count=2, workers=1)


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "made_up.txt"
    path.write_text("\n".join(made_up_lines(3000)) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tokenizer_folder(text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("morpheme")
    train_tokenizer(SMALL, text_file, out)
    return out


@pytest.fixture(scope="session")
def baseline_folder(text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("none")
    train_tokenizer(SMALL.model_copy(update={"pretokenizer": "none"}), text_file, out)
    return out


def write_corpus(folder: Path, shards: list[list[list[str]]], copies: Sequence[int] = ()) -> Path:
    """Write a corpus folder: shards of documents of sentences, the sources "a" and "b" in turn, in so many copies."""
    (folder / "shards").mkdir(parents=True)
    for number, documents in enumerate(shards):
        table = pa.table(
            {
                "id": [f"{number}-{index}" for index in range(len(documents))],
                "source": ["ab"[index % 2] for index in range(len(documents))],
                "licence": [""] * len(documents),
                "sentences": pa.array(documents, pa.list_(pa.string())),
            }
        )
        path = folder / "shards" / shard_name(number)
        write_shard(path, [table.slice(start, 40) for start in range(0, len(table), 40)])
        mixed = {COPIES: copies[number]} if copies else {}
        write_shard_manifest(path, {**mixed, **shard_statistics(path)})
    return folder


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = made_up_lines(1200, seed=2)
    documents = [lines[start : start + 1 + start % 5] for start in range(0, 1200, 4)]
    documents[7], documents[11] = [], ["\u200b", "끝이 빈 문서.", "\u200b\x01"]
    return write_corpus(tmp_path_factory.mktemp("corpus") / "c", [documents[:120], documents[120:121], documents[121:]])
