"""The card of a corpus: `datasets` reads the shards by it, and nothing else that lies in the folder."""

from pathlib import Path
from typing import Any

import pytest

from data.shards import read_shard_manifest, shard_paths

from .building import build, prose, rows, settings


def loaded(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    return datasets.load_dataset(str(folder), cache_dir=str(cache))


def test_datasets_loads_the_shards_and_not_the_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("\n".join([*prose(500, 1), *prose(20, 1)]), encoding="utf-8")
    out = tmp_path / "corpus"
    build(settings(tmp_path / "a.txt"), out)
    assert (out / "duplicates.jsonl").stat().st_size and len(shard_paths(out)) > 1
    splits = loaded(out, tmp_path / "cache", monkeypatch)
    assert list(splits) == ["train"]
    assert splits["train"].to_list() == rows(out)


def test_corpora_of_equal_folder_names_are_not_taken_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`datasets` keeps what it has read by the folder's name and the card: the second was the first one's rows."""
    counts = []
    for number, count in enumerate((40, 7)):
        (tmp_path / f"{number}.txt").write_text("\n".join(prose(count, number)), encoding="utf-8")
        out = tmp_path / f"run-{number}" / "corpus"
        out.parent.mkdir()
        build(settings(tmp_path / f"{number}.txt"), out)
        counts.append(loaded(out, tmp_path / "cache", monkeypatch)["train"].num_rows)
        assert counts[-1] == len(rows(out))
    assert counts[0] != counts[1]


def test_documents_held_out_are_a_split_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, (name, count) in enumerate({"large": 400, "small": 40}.items()):
        (tmp_path / f"{name}.txt").write_text("\n".join(prose(count, seed)), encoding="utf-8")
    out = tmp_path / "corpus"
    mixture = {"held_out": 0.1, "sources": {"small": {"epochs": 2}}}
    build(settings(tmp_path / "large.txt", tmp_path / "small.txt", mixture=mixture), out)
    copies = [read_shard_manifest(path).get("copies", 1) for path in shard_paths(out)]
    assert {0, 1, 2} == set(copies)
    splits = loaded(out, tmp_path / "cache", monkeypatch)
    assert set(splits) == {"train", "validation"}
    documents = rows(out)  # those held out come first
    held_out = splits["validation"].num_rows
    assert splits["validation"].to_list() == documents[:held_out]
    assert splits["train"].to_list() == documents[held_out:]
    sizes = [read_shard_manifest(path)["total"]["documents"] for path in shard_paths(out)]
    assert held_out == sum(size for size, count in zip(sizes, copies, strict=True) if not count)
