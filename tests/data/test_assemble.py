"""Assembly: which rows go to which shard, for any number of workers and after a stop."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.files import sha256_file
from common.manifest import describe_outputs
from data.assemble import assemble
from data.cleaning.settings import CleanSettings
from data.deduplicate.settings import DeduplicateSettings
from data.executors.local import LocalPool
from data.shards import read_shard, read_shard_manifest, read_shards, shard_paths

from .building import OFF, build, rows, write_part
from .building import settings as settings_of


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    contents = [["aaaa", "bbbb", "aaaa"], [], ["aaaa", "cccc"], ["dddd", "eeee", "ffff"]]
    return [write_part(tmp_path / f"part-{number}.parquet", texts) for number, texts in enumerate(contents)]


@pytest.mark.parametrize("workers", [1, 2])
def test_shards_are_cut_by_bytes_in_input_order(tmp_path, parts, workers):
    with LocalPool(workers) as run:
        made = assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 8e-6, run)
    assert made.shards == len(shard_paths(tmp_path / "out")) == 3
    assert made.duplicates == {"documents": 2, "near": 0, "paragraphs": 0, "sentences": 0, "emptied": 0}
    assert made.statistics["sources"]["s"]["bytes"] == 24
    ids = [batch.column("id").to_pylist() for batch in read_shards(tmp_path / "out")]
    assert ids == [["aaaa", "bbbb"], ["cccc", "dddd"], ["eeee", "ffff"]]


def test_shards_are_of_one_size(tmp_path):
    """A last shard of a few documents would leave all but one worker idle in every stage after this one."""
    part = write_part(tmp_path / "part-0.parquet", [f"{number:04d}" for number in range(25)])
    made = assemble([part], tmp_path / "out", tmp_path, DeduplicateSettings(), 80e-6, LocalPool(1))
    sizes = [batch.num_rows for batch in read_shards(tmp_path / "out")]
    assert made.shards == 2 and sizes == [13, 12]


def test_duplicates_stay_where_the_rule_is_off(tmp_path, parts):
    made = assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(documents=False), 1, LocalPool(1))
    assert (made.shards, made.duplicates["documents"], made.statistics["sources"]["s"]["documents"]) == (1, 0, 8)


def test_each_shard_has_its_manifest_and_they_add_up(tmp_path, parts):
    made = assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 8e-6, LocalPool(1))
    manifests = [read_shard_manifest(path) for path in shard_paths(tmp_path / "out")]
    for path, facts in zip(shard_paths(tmp_path / "out"), manifests, strict=True):
        assert facts["file"] == path.name
        assert facts["sha256"] == sha256_file(path)
        assert facts["file_bytes"] == path.stat().st_size
        assert facts["total"] == facts["sources"]["s"]
        assert facts["total"]["documents"] == sum(batch.num_rows for batch in read_shard(path))
    for name, number in made.statistics["sources"]["s"].items():
        assert number == sum(facts["total"][name] for facts in manifests)


def modified(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "out/shards").iterdir()}


@pytest.mark.parametrize("lost", ["shard-00001.parquet", "shard-00001.json"])
def test_finished_shards_are_not_written_again(tmp_path, parts, lost):
    first = assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 8e-6, LocalPool(1))
    before = modified(tmp_path)
    (tmp_path / "out/shards" / lost).unlink()
    assert assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 8e-6, LocalPool(1)) == first
    after = modified(tmp_path)
    assert before.keys() == after.keys()
    assert {name for name in after if after[name] == before[name]} == {n for n in after if "00001" not in n}


def test_another_part_makes_other_shards_and_strangers_go(tmp_path, parts):
    """Shards of other inputs must not be taken for finished ones, nor be left behind: a store that does not tell the
    version of a file may hold another one when the corpus is continued."""
    assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 4e-6, LocalPool(1))
    assert len(modified(tmp_path)) == 12
    parts[3] = write_part(tmp_path / "part-9.parquet", ["dddd", "gggg"])
    assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 4e-6, LocalPool(1))
    assert len(modified(tmp_path)) == 10
    ids = [batch.column("id").to_pylist() for batch in read_shards(tmp_path / "out")]
    assert ids == [["aaaa"], ["bbbb"], ["cccc"], ["dddd"], ["gggg"]]


def test_a_kill_between_shard_and_manifest_is_mended(tmp_path, parts, monkeypatch):
    assemble(parts, tmp_path / "whole", tmp_path / "w1", DeduplicateSettings(), 8e-6, LocalPool(1))
    for name in ("shard_statistics", "write_shard_manifest"):
        out, work = tmp_path / name, tmp_path / f"work-{name}"
        with monkeypatch.context() as patch:
            patch.setattr(f"data.assemble.{name}", lambda *_: 1 / 0)
            with pytest.raises(Exception, match="ZeroDivisionError"):
                assemble(parts, out, work, DeduplicateSettings(), 8e-6, LocalPool(1))
        assert list(out.glob("shards/*.parquet"))
        assemble(parts, out, work, DeduplicateSettings(), 8e-6, LocalPool(1))
        assert describe_outputs(out) == describe_outputs(tmp_path / "whole")


@pytest.mark.parametrize("killed_in", ["unlink", "note"])
@pytest.mark.parametrize("goes_on_with", ["before", "after"])
def test_a_kill_amid_a_change_of_the_plan_is_mended(tmp_path, parts, monkeypatch, killed_in, goes_on_with):
    shard_mb, out = {"before": 4e-6, "after": 8e-6}, tmp_path / "out"
    assemble(parts, out, tmp_path, DeduplicateSettings(), shard_mb["before"], LocalPool(1))

    def killed(*arguments):
        if killed_in == "note" or arguments[0].name == "shard-00003.json":
            raise KeyboardInterrupt
        unlink(*arguments)

    unlink, name = Path.unlink, "pathlib.Path.unlink" if killed_in == "unlink" else "data.assemble.write_text"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(name, killed)
        assemble(parts, out, tmp_path, DeduplicateSettings(), shard_mb["after"], LocalPool(1))
    for folder in (out, tmp_path / "whole"):
        assemble(parts, folder, tmp_path, DeduplicateSettings(), shard_mb[goes_on_with], LocalPool(1))
    assert describe_outputs(out) == describe_outputs(tmp_path / "whole")


def test_nothing_to_assemble(tmp_path):
    made = assemble([], tmp_path / "out", tmp_path, DeduplicateSettings(), 1, LocalPool(1))
    assert (made.shards, made.statistics) == (0, {"lengths": {}, "sources": {}})


NO_RULES = {name: False for name, field in CleanSettings.model_fields.items() if field.annotation is bool}


@settings(max_examples=15)
@given(st.lists(st.text('가나다.요! \n"(한국어1', min_size=1, max_size=80), min_size=1, max_size=8))
def test_the_sentences_of_a_document_joined_are_the_document(tmp_path_factory, texts):
    """Where no rule takes anything out, no character gets lost and none moves, from the input to the shards."""
    folder = tmp_path_factory.mktemp("corpus")
    texts = [*texts, "적어도 한 문장은 여기에 있다."]
    (folder / "a.jsonl").write_bytes(b"\n".join(orjson.dumps({"text": text}) for text in texts))
    chosen = settings_of(
        folder / "a.jsonl",
        clean={**NO_RULES, "min_hangul_share": 0},
        pii=OFF,
        deduplicate={"documents": False},
        max_reject_share=1,
    )
    build(chosen, folder / "out")
    expected = [solid for text in texts if (solid := "".join(text.split()))]
    assert ["".join("".join(row["sentences"]).split()) for row in rows(folder / "out")] == expected


def test_the_report_names_what_each_dropped_document_copies(tmp_path, parts):
    assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 8e-6, LocalPool(1))
    lines = [orjson.loads(line) for line in (tmp_path / "out/duplicates.jsonl").read_bytes().splitlines()]
    assert [(line["id"], line["kept"]) for line in lines] == [("aaaa", "aaaa")] * 2
