"""The mixture in the whole stage: the same bytes whatever the workers and after a stop, and what is counted."""

import json
from pathlib import Path

import pytest

from common.manifest import describe_outputs
from data.shards import read_shard, read_shard_manifest, shard_paths
from data.statistics.table import format_statistics, load_statistics

from ..building import build, parts, prose, settings, stop_before_the_shards, write_files

MIXTURE = {"alpha": 0.5, "held_out": 0.1, "sources": {"small": {"epochs": 2}}, "seed": 3}


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    sizes = {"large": 400, "middle": 100, "small": 40}
    return write_files(tmp_path / "in", {f"{name}.txt": prose(sizes[name], seed) for seed, name in enumerate(sizes)})


def test_the_same_bytes_and_counts_from_any_workers_units_and_after_a_stop(corpora, tmp_path, monkeypatch):
    build(settings(corpora, mixture=MIXTURE), tmp_path / "one")
    build(settings(corpora, mixture=MIXTURE, workers=2, unit_mb=1), tmp_path / "two")
    stopped = stop_before_the_shards(settings(corpora), tmp_path / "three", monkeypatch)
    monkeypatch.setattr("data.corpus.shutil.rmtree", lambda *a, **k: None)
    build(settings(corpora, mixture=MIXTURE), tmp_path / "three")
    assert parts(tmp_path / "three") == stopped  # parts do not depend on the mixture
    monkeypatch.undo()
    build(settings(corpora, mixture=MIXTURE), tmp_path / "three")
    assert describe_outputs(tmp_path / "one") == describe_outputs(tmp_path / "two")
    assert describe_outputs(tmp_path / "one") == describe_outputs(tmp_path / "three")

    stored = {}
    for path in shard_paths(tmp_path / "one"):
        for batch in read_shard(path, ["source"]):
            for source in batch.column("source").to_pylist():
                key = source, read_shard_manifest(path).get("copies", 1)
                stored[key] = stored.get(key, 0) + 1
    statistics = load_statistics(tmp_path / "one")
    for source, documents in {"large": 400, "middle": 100, "small": 40}.items():
        counts = statistics["mixture"][source]
        mine = {copies: n for (name, copies), n in stored.items() if name == source}
        assert counts["before"]["documents"] == documents
        assert counts["held_out"]["documents"] == mine[0]
        assert counts["pass"]["documents"] == sum(copies * n for copies, n in mine.items())
        assert counts["left_out"]["documents"] == documents - sum(mine.values())
    assert statistics["mixture"]["small"]["rate"] == 2 and set(stored) > {("small", 2), ("small", 0), ("middle", 1)}
    sizes = {name: statistics["mixture"][name]["pass"]["bytes"] for name in ("large", "middle")}
    assert sizes["large"] / sizes["middle"] == pytest.approx(2, rel=0.25)  # (4 : 1) ^ 0.5, of a hundred documents
    assert "Mixture" in " ".join(str(table.title) for table in format_statistics(statistics))


def test_a_document_held_out_stays_so_when_another_source_comes(corpora, tmp_path):
    def held_out(out: Path) -> set[str]:
        return {
            id
            for path in shard_paths(out)
            if read_shard_manifest(path).get("copies") == 0
            for batch in read_shard(path, ["id"])
            for id in batch.column("id").to_pylist()
        }

    build(settings(corpora, mixture={"held_out": 0.1}), tmp_path / "before")
    (corpora / "new.txt").write_text("\n".join(prose(200, 9)), encoding="utf-8")
    build(settings(corpora, mixture={"held_out": 0.1}), tmp_path / "after")
    before, after = held_out(tmp_path / "before"), held_out(tmp_path / "after")
    assert before == {id for id in after if not id.startswith("new-")} and len(after) > len(before) > 20


def test_a_source_can_be_left_out_whole(corpora, tmp_path):
    build(settings(corpora, mixture={"held_out": 0.1, "sources": {"small": {"epochs": 0}}}), tmp_path / "out")
    statistics = json.loads((tmp_path / "out/statistics.json").read_text())
    assert "small" not in {name for name, counts in statistics["sources"].items() if counts["kept"]}
    assert statistics["mixture"]["small"]["left_out"] == statistics["mixture"]["small"]["before"]
