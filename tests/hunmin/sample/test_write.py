"""The whole sample: files, size, same bytes for a seed, truth that holds and does not leak."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from common.errors import UserError
from hunmin.sample import write_sample
from hunmin.sample.pii import KINDS


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    out = tmp_path_factory.mktemp("sample")
    return out, write_sample(out)


def lines_of(path: Path) -> list[str]:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    elif path.suffix == ".zst":
        content = zstandard.ZstdDecompressor().decompressobj().decompress(content)
    return content.decode().rstrip("\n").split("\n")


def texts_of(out: Path) -> dict[tuple[str, Any], str]:
    texts: dict[tuple[str, Any], str] = {}
    for path in sorted((out / "corpora").iterdir()):
        for number, line in enumerate(lines_of(path), 1):
            if ".jsonl" in path.name:
                record = json.loads(line)
                assert set(record) == {"text", "id", "source", "licence"}
                texts[f"corpora/{path.name}", record["id"]] = record["text"]
            else:
                texts[f"corpora/{path.name}", number] = line
    return texts


def test_size(sample: tuple[Path, dict[str, int]]) -> None:
    out, counts = sample
    assert counts["sentences"] >= 30_000
    names = {path.name for path in (out / "corpora").iterdir()}
    assert names == {"news.jsonl.gz", "web.jsonl.zst", "books.txt", "dialogue.txt.gz", "encyclopedia.jsonl"}
    assert len(texts_of(out)) == counts["documents"]


def test_truth_holds(sample: tuple[Path, dict[str, int]]) -> None:
    out, counts = sample
    texts = texts_of(out)
    truth = [json.loads(line) for line in (out / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {record["type"] for record in truth if record["kind"] == "pii"} == set(KINDS)
    for record in truth:
        text = texts[record["file"], record["document"]]
        if record["kind"] == "pii":
            assert record["value"] in text
        elif record["kind"] == "benchmark":
            assert record["text"] in text
        elif record["kind"] == "duplicate":
            assert (texts[record["file"], record["of"]] == text) is (record["how"] == "exact")
    kinds = Counter(record["kind"] for record in truth)
    assert kinds["noise"] == counts["planted_noise"]
    assert kinds["duplicate"] == counts["planted_duplicates"]
    assert kinds["pii"] >= counts["planted_pii"]


def test_benchmark_only_where_planted(sample: tuple[Path, dict[str, int]]) -> None:
    out, _ = sample
    truth = [json.loads(line) for line in (out / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    planted = {record["text"] for record in truth if record["kind"] == "benchmark"}
    records = [
        record
        for split in ("train", "dev")
        for record in json.loads((out / f"klue/klue-nli-v1.1/klue-nli-v1.1_{split}.json").read_text(encoding="utf-8"))
    ]
    sentences = {record[key] for record in records for key in ("premise", "hypothesis")} - planted
    for text in texts_of(out).values():
        assert not sentences.intersection(part + "." for part in text.split(". "))


def test_truth_does_not_leak(sample: tuple[Path, dict[str, int]]) -> None:
    out, _ = sample
    inputs = " ".join(texts_of(out).values())
    assert "guid" not in inputs
    assert "klue" not in inputs.lower()


def test_same_bytes(tmp_path: Path) -> None:
    first, second, other = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    assert write_sample(first, 7, 3000) == write_sample(second, 7, 3000)
    write_sample(other, 8, 3000)
    files = [path.relative_to(first) for path in sorted(first.rglob("*")) if path.is_file()]
    assert len(files) >= 20
    for name in files:
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert (first / "corpora/books.txt").read_bytes() != (other / "corpora/books.txt").read_bytes()


def test_texts_are_those_that_the_documented_figures_were_made_with(sample: tuple[Path, dict[str, int]]) -> None:
    out, _ = sample
    digest = hashlib.sha256()
    for path in sorted((out / "corpora").iterdir()):
        digest.update("\n".join(lines_of(path)).encode())
    for path in sorted((out / "klue").rglob("*")):
        # the mark of invented data is in guids alone
        digest.update(path.read_bytes().replace(b"hunmin-sample-", b"") if path.is_file() else b"")
    assert digest.hexdigest()[:16] == "9029da244501c525"


def test_too_small(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="2,000"):
        write_sample(tmp_path, sentences=10)
