"""Corpora in little: what tests of the whole stage share."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from common.settings import parse_settings
from data.corpus import build_corpus
from data.deduplicate.exact import keys_of
from data.settings import CorpusSettings
from data.shards import read_shards, write_table
from data.units.work import PART_SCHEMA

KEY = "a key for tests only, 32 letters"
OFF = {"enabled": False}
ENDINGS = ("갔다", "왔다", "보았다", "들었다", "적었다")


def prose(count: int, seed: int) -> list[str]:
    """Return documents of invented sentences."""
    return [
        " ".join(
            f"{seed * 31 + n}번 사람은 {(n * 7 + i) % 90}번 골목으로 {ENDINGS[(n + i) % 5]}." for i in range(1 + n % 5)
        )
        for n in range(count)
    ]


def settings(*inputs: object, **changes: Any) -> CorpusSettings:
    """Return settings for these inputs: small units and shards, one worker, no benchmark."""
    tree = {
        "inputs": [str(path) if isinstance(path, Path) else path for path in inputs],
        "pii": {"key": KEY},
        "decontaminate": OFF,
        "workers": 1,
        "unit_mb": 0.02,
        "shard_mb": 0.05,
    }
    return parse_settings(CorpusSettings, {**tree, **changes}, "test")


def write_files(folder: Path, files: dict[str, bytes | list[str]]) -> Path:
    """Write files, their bytes or a document a line, into a new folder, and return it."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else "\n".join(content).encode())
    return folder


def build(chosen: CorpusSettings, out: Path) -> dict:
    out.mkdir(exist_ok=True)
    return build_corpus(chosen, out)


def parts(out: Path) -> dict[str, int]:
    """Return name → time of writing of the parts of an unfinished corpus."""
    return {path.name: path.stat().st_mtime_ns for path in (out / ".work").glob("*/part-*.parquet")}


def stop_before_the_shards(chosen: CorpusSettings, out: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Do all units, stop as Ctrl-C does, and return the parts."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("data.corpus.assemble", stop)
        build(chosen, out)
    return parts(out)


def rows(folder: Path) -> list[dict]:
    return [row for batch in read_shards(folder) for row in batch.to_pylist()]


def texts(out: Path, source: str) -> list[str]:
    """Return what is kept of a source, document by document."""
    return [" ".join(row["sentences"]) for row in rows(out) if row["source"] == source]


def listed(out: Path) -> list[dict[str, str]]:
    """Return the inputs set aside."""
    return [json.loads(line) for line in (out / "rejects/files.jsonl").read_text(encoding="utf-8").splitlines()]


def write_part(
    path: Path,
    texts: list[str],
    ids: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    split: list[list[str]] | None = None,
) -> Path:
    """Write texts as a part; without more their ids are the texts, the source is "s" and each is one sentence."""
    keys, count = keys_of(texts), len(texts)
    split = split or [[text] for text in texts]
    columns = [ids or texts, sources or ["s"] * count, [""] * count, split, keys["high"], keys["low"]]
    sizes = [sum(len(sentence.encode()) for sentence in sentences) for sentences in split]
    write_table(path, pa.table([*columns, sizes], schema=PART_SCHEMA), 100, 1)
    return path
