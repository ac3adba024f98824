"""A Slurm array in little: elements one after another or lost, one end, and the bytes of a run by one process."""

import contextlib
import gzip
import sys
from pathlib import Path

import pytest

import data.corpus as corpus_module
from common.errors import UserError
from common.manifest import describe_outputs
from common.settings import parse_settings
from data.corpus import CorpusSettings, build_corpus
from data.executors.slurm import ShareDone
from data.readers import damage, ranges
from data.units.catalog import Catalog


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, lines in (("a.txt", 25_000), ("b.txt", 900), ("c.txt", 900), ("d.txt", 900)):
        text = "\n".join(f"{n}번 문장이 {name[0]} 문서에 있다. 다음 문장도 있다." for n in range(lines))
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def settings(folder: Path, executor: str = "local") -> CorpusSettings:
    tree = {
        "inputs": [str(folder)],
        "pii": {"enabled": False},
        "decontaminate": {"enabled": False},
        "workers": 1,
        "unit_mb": 1,
        "shard_mb": 1,
        "executor": executor,
    }
    return parse_settings(CorpusSettings, tree, "test")


def element(
    monkeypatch, inputs: Path, out: Path, rank: int, count: int, job: int = 1, units_only: bool = False
) -> None:
    for name, value in (("TASK_ID", rank), ("TASK_MIN", 0), ("TASK_COUNT", count), ("JOB_ID", job)):
        monkeypatch.setenv(f"SLURM_ARRAY_{name}", str(value))
    build_corpus(settings(inputs, "slurm-array"), out, units_only)


def test_the_last_element_ends_the_stage(inputs, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(ShareDone, match=r"not there yet: .*a\.txt \(\d units\)"):
        element(monkeypatch, inputs, out, 2, 3)
    with pytest.raises(ShareDone, match="of elements 1"):
        element(monkeypatch, inputs, out, 0, 3)
    element(monkeypatch, inputs, out, 1, 3)
    build_corpus(settings(inputs), tmp_path / "whole")
    assert describe_outputs(out) == describe_outputs(tmp_path / "whole")


def test_what_a_lost_element_left_is_done_by_a_local_run_or_another_array(inputs, tmp_path, monkeypatch):
    build_corpus(settings(inputs), tmp_path / "whole")
    for name in ("local", "array"):
        out = tmp_path / name
        for rank in (0, 2):
            with pytest.raises(ShareDone, match=r"of elements [^\n]*1[^$]* --executor local does the rest"):
                element(monkeypatch, inputs, out, rank, 3)
        if name == "local":
            build_corpus(settings(inputs), out)
        else:
            element(monkeypatch, inputs, out, 0, 1, job=2)
        assert describe_outputs(out) == describe_outputs(tmp_path / "whole")


def test_an_array_that_does_units_only_leaves_the_rest_to_another(inputs, tmp_path, monkeypatch):
    build_corpus(settings(inputs), tmp_path / "whole")
    out = tmp_path / "out"
    with pytest.raises(ShareDone, match=r"not there yet: [^$]*\n  should none be left, the same command"):
        element(monkeypatch, inputs, out, 1, 2, units_only=True)
    with pytest.raises(ShareDone, match="all units are done; the same command without --units-only goes on"):
        element(monkeypatch, inputs, out, 0, 2, units_only=True)
    assert not (out / "shards").exists() and not list(out.rglob("finish-*"))
    element(monkeypatch, inputs, out, 0, 2, job=2)
    assert describe_outputs(out) == describe_outputs(tmp_path / "whole")


def test_units_only_on_one_machine(inputs, tmp_path):
    build_corpus(settings(inputs), tmp_path / "whole")
    with pytest.raises(ShareDone, match="all units are done"):
        build_corpus(settings(inputs), tmp_path / "out", units_only=True)
    build_corpus(settings(inputs), tmp_path / "out")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")


def test_only_one_of_two_ends_the_stage(inputs, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(ShareDone):
        element(monkeypatch, inputs, out, 0, 2)

    def other_first(*arguments):
        # while this element writes the shards, the other one (started again) finds everything done
        with monkeypatch.context() as patch, pytest.raises(ShareDone, match="element 1 writes the shards"):
            patch.setattr("data.corpus.assemble", original)
            patch.setattr("data.executors.phases.LOST_SECONDS", 0.1)  # it helps nobody: the leader stands still
            element(monkeypatch, inputs, out, 0, 2)
        return original(*arguments)

    original = sys.modules["data.corpus"].assemble
    monkeypatch.setattr("data.corpus.assemble", other_first)
    element(monkeypatch, inputs, out, 1, 2)
    assert (out / "statistics.json").exists()


def test_elements_read_a_large_file_twice_in_all_however_many_they_are(tmp_path, monkeypatch):
    """Once to count its lines, whoever is there first, and once by unit; of an archive one element reads all."""
    folder = tmp_path / "in"
    folder.mkdir()
    text = "\n".join(f"{n}번 문장이 문서에 있다. 다음 문장도 있다." for n in range(100_000)).encode()
    (folder / "a.txt").write_bytes(text)
    (folder / "b.txt.gz").write_bytes(gzip.compress(text, 1))
    read: dict[str, int] = {}
    chunks, by_unit, take = ranges._chunks, ranges._RangeStream.__iter__, damage.UntilDamage.read

    def counted(stream, start, end):
        for chunk in chunks(stream, start, end):
            read["plain"] = read.get("plain", 0) + len(chunk)
            yield chunk

    def counted_by_unit(self):
        for chunk in by_unit(self):
            read["plain"] = read.get("plain", 0) + len(chunk)
            yield chunk

    def counted_too(self, count):
        found = take(self, count)
        if self._path.endswith(".gz"):
            read["archive"] = read.get("archive", 0) + len(found)
        return found

    monkeypatch.setattr(ranges, "_chunks", counted)
    monkeypatch.setattr(ranges._RangeStream, "__iter__", counted_by_unit)
    monkeypatch.setattr(damage.UntilDamage, "read", counted_too)
    out, taken = tmp_path / "out", []
    for rank in range(6):
        read.clear()
        with contextlib.suppress(ShareDone):
            element(monkeypatch, folder, out, rank, 6)
        taken.append(dict(read))
    assert sum(one.get("plain", 0) for one in taken) == 2 * len(text)
    assert max(one.get("plain", 0) for one in taken[1:]) < 0.35 * len(text)
    assert [one.get("archive", 0) for one in taken if one.get("archive", 0) > 1 << 20] == [len(text)]
    build_corpus(settings(folder), tmp_path / "whole")
    assert describe_outputs(out) == describe_outputs(tmp_path / "whole")


@pytest.mark.parametrize("moment", [(corpus_module, "_benchmark"), (Catalog, "missing")])
def test_an_element_that_comes_after_the_end_says_so(moment, inputs, tmp_path, monkeypatch):
    out = tmp_path / "out"
    owner, name = moment
    original = getattr(owner, name)

    def late(*arguments):
        out.rename(tmp_path / "published")
        return original(*arguments)

    monkeypatch.setattr(owner, name, late)
    with pytest.raises(ShareDone, match="another element has ended it"):
        element(monkeypatch, inputs, out, 1, 2)
    assert not out.exists()


def test_inputs_without_a_version_cannot_be_shared_out(tmp_path, monkeypatch):
    monkeypatch.setattr("data.units.catalog.read_blocks", None)
    source = settings(tmp_path, "slurm-array").model_copy(update={"inputs": ["hf:someone/text"]})
    for name, value in (("ID", 0), ("MIN", 0), ("COUNT", 2)):
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", str(value))
    with pytest.raises(UserError, match="neither size nor version"):
        build_corpus(source, tmp_path / "out")
