"""A Slurm array in little: elements do their units, killed or requeued or not, and a later command ends the stage."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from common.manifest import describe_outputs
from common.slurm_array import ArrayElement, ShareDone
from data.corpus import build_corpus, build_units
from data.readers import damage, ranges
from data.readers.ranges import Seekable
from data.readers.records import InputFile
from data.readers.volume import FileVersion
from data.settings import CorpusSettings
from data.units import work
from data.units.catalog import Catalog
from data.units.quarantine import Quarantine
from data.units.ranged import LookTask, LookThrough

from ..building import OFF, parts, rows, stop_before_the_shards, write_files
from ..building import settings as settings_of


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    sizes = {"a": 4_000, "b": 150, "c": 150, "d": 150}
    line = "{}번 문장이 {} 문서에 있다. 다음 문장도 있다."
    files = {f"{name}.txt": [line.format(n, name) for n in range(count)] for name, count in sizes.items()}
    return write_files(tmp_path / "in", files)


@pytest.fixture(autouse=True)
def small_and_settled(monkeypatch) -> None:
    monkeypatch.setattr("data.units.ranged.LOOK_BYTES", 50_000)
    monkeypatch.setattr("data.readers.volume.SETTLED_SECONDS", -1.0)


def settings(folder: Path, executor: str = "local") -> CorpusSettings:
    return settings_of(folder, pii=OFF, unit_mb=0.1, shard_mb=0.1, executor=executor)


def element(monkeypatch, inputs: Path, out: Path, rank: int, count: int) -> None:
    for name, value in (("TASK_ID", rank), ("TASK_MIN", 0), ("TASK_COUNT", count), ("JOB_ID", 12)):
        monkeypatch.setenv(f"SLURM_ARRAY_{name}", str(value))
    with pytest.raises(ShareDone, match=r"--dependency=afterok:12 .* --executor local"):
        build_corpus(settings(inputs, "slurm-array"), out)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_elements_do_their_units_and_a_local_run_ends_the_stage(count, inputs, tmp_path, monkeypatch):
    out, done = tmp_path / "out", {}
    for rank in reversed(range(count)):
        before = len(parts(out))
        element(monkeypatch, inputs, out, rank, count)
        done[rank] = len(parts(out)) - before
    before = parts(out)
    units = [*range(len(before) - 3), 1, 2, 3]  # of file 0, and the others, of one unit each
    assert len(units) > 5 and done == {rank: sum(unit % count == rank for unit in units) for rank in range(count)}
    element(monkeypatch, inputs, out, 0, count)  # requeued, it finds its units done
    assert parts(out) == before
    assert not (out / "shards").exists()
    with monkeypatch.context() as patch:
        patch.setattr(work.UnitWork, "__call__", None)  # nothing of the units is left to the local run
        build_corpus(settings(inputs), out)
    build_corpus(settings(inputs), tmp_path / "whole")
    assert describe_outputs(out) == describe_outputs(tmp_path / "whole")


def test_a_killed_element_leaves_its_units_to_whoever_comes(inputs, tmp_path, monkeypatch):
    build_corpus(settings(inputs), tmp_path / "whole")
    for name in ("requeued", "another array", "local"):
        out, unit = tmp_path / name, work.UnitWork.__call__
        element(monkeypatch, inputs, out, 1, 2)

        def killed(self, task, out=out, before=len(parts(out)), unit=unit):
            if len(parts(out)) > before:
                raise KeyboardInterrupt
            return unit(self, task)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(work.UnitWork, "__call__", killed)
            element(monkeypatch, inputs, out, 0, 2)
        left = parts(out)
        for rank, count in {"requeued": [(0, 2)], "another array": [(2, 3), (0, 3), (1, 3)], "local": []}[name]:
            element(monkeypatch, inputs, out, rank, count)
        assert left.items() <= parts(out).items()
        build_corpus(settings(inputs), out)
        assert describe_outputs(out) == describe_outputs(tmp_path / "whole")


def test_inputs_that_grow_between_elements_lose_nothing(inputs, tmp_path, monkeypatch):
    """A file comes first, so that all units have other numbers, and another grows: the ending job has them all."""
    out = tmp_path / "out"
    element(monkeypatch, inputs, out, 0, 2)
    first = parts(out)
    (inputs / "0.txt").write_text("\n".join(f"{n}번 문장이 새 문서에 있다." for n in range(4_000)), encoding="utf-8")
    with (inputs / "d.txt").open("a", encoding="utf-8") as stream:
        stream.write("\n뒤에 온 문장이 하나 더 있다.")
    element(monkeypatch, inputs, out, 1, 2)
    second = parts(out)
    assert first.items() < second.items()
    ended = stop_before_the_shards(settings(inputs), out, monkeypatch)
    assert second.items() < ended.items()
    build_corpus(settings(inputs), out)
    build_corpus(settings(inputs), tmp_path / "whole")
    assert describe_outputs(out) == describe_outputs(tmp_path / "whole")
    texts = [text for row in rows(out) for text in row["sentences"]]
    assert "3999번 문장이 새 문서에 있다." in texts and "뒤에 온 문장이 하나 더 있다." in texts


def test_units_only_on_one_machine(inputs, tmp_path):
    build_corpus(settings(inputs), tmp_path / "whole")
    with pytest.raises(ShareDone, match="all units are done; run the same command without --units-only"):
        build_units(settings(inputs), tmp_path / "out/.work")
    build_corpus(settings(inputs), tmp_path / "out")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")


def test_an_element_that_comes_when_the_shards_are_written_leaves_them(inputs, tmp_path, monkeypatch):
    build_corpus(settings(inputs), tmp_path / "out")
    before = describe_outputs(tmp_path / "out")
    element(monkeypatch, tmp_path / "gone", tmp_path / "out", 0, 2)
    assert describe_outputs(tmp_path / "out") == before


def test_elements_read_a_large_file_twice_in_all_however_many_they_are(tmp_path, monkeypatch):
    """Once to count its lines, whoever is there first, and once by unit; of an archive one element reads all."""
    folder = tmp_path / "in"
    folder.mkdir()
    text = "\n".join(f"{n}번 문장이 문서에 있다. 다음 문장도 있다." for n in range(20_000)).encode()
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
        taken = take(self, count)
        if self._path.endswith(".gz"):
            read["archive"] = read.get("archive", 0) + len(taken)
        return taken

    monkeypatch.setattr(ranges, "_chunks", counted)
    monkeypatch.setattr(ranges._RangeStream, "__iter__", counted_by_unit)
    monkeypatch.setattr(damage.UntilDamage, "read", counted_too)
    out, taken = tmp_path / "out", []
    for rank in range(6):
        read.clear()
        element(monkeypatch, folder, out, rank, 6)
        taken.append(dict(read))
    assert sum(read.get("plain", 0) for read in taken) == 2 * len(text)
    assert max(read.get("plain", 0) for read in taken[1:]) < 0.35 * len(text)
    assert [read.get("archive", 0) for read in taken if read.get("archive", 0) > 1 << 18] == [len(text)]


def test_what_a_range_holds_is_noted_for_one_content_of_a_file_alone(tmp_path):
    look, path = LookThrough(100, tmp_path), tmp_path / "a.txt"
    path.write_text("글\n" * 30, encoding="utf-8")

    def found(version: int, settled: bool) -> int:
        task = LookTask(
            0, str(path), FileVersion([version], settled), Seekable("text", path.stat().st_size, 0, "utf-8"), 0, 1
        )
        return sum(lines.lines for lines in look(task) or ())

    assert found(1, False) == 26 and not list(tmp_path.glob("lines-*"))
    assert found(1, True) == 26 and len(list(tmp_path.glob("lines-*"))) == 1
    path.write_text("글이다\n" * 12, encoding="utf-8")
    assert found(2, True) == 11 and found(1, True) == 26


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 9), st.lists(st.integers(0, 50)))
def test_every_unit_belongs_to_the_element_of_its_number(cut, count, blocks):
    files = [InputFile(f"{n}.txt", None, f"{n}") for n in range(len(cut))]  # type: ignore[arg-type]
    for rank in range(count):
        catalog = Catalog(Path(), files, 1, Quarantine(1, 0.0), ArrayElement(rank, count, "0"))
        catalog._ranges_known = dict(enumerate(cut))
        for number, in_parts in enumerate(cut):
            for block in blocks:
                mine = (number + block * in_parts) % count == rank
                assert catalog._has(number, block) == mine
                assert catalog._reads(number) or not mine
            assert catalog._reads(number) == (in_parts or number % count == rank)


def environment(own: int, count: int, first: int = 0, **more: str) -> dict[str, str]:
    names = {"ID": own, "COUNT": count, "MIN": first}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in names.items()} | more


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (environment(0, 4), ArrayElement(0, 4, "0")),
        (environment(7, 4, 5, SLURM_ARRAY_JOB_ID="99"), ArrayElement(2, 4, "99")),
        (environment(20, 3, 0, SLURM_ARRAY_TASK_STEP="10"), ArrayElement(2, 3, "0")),
        (environment(3, 1, 3), ArrayElement(0, 1, "0")),
        ({}, "SLURM_ARRAY_TASK_ID is not set"),
        ({"SLURM_ARRAY_TASK_ID": "1"}, "SLURM_ARRAY_TASK_COUNT is not set"),
        (environment(0, 4) | {"SLURM_ARRAY_TASK_ID": "x"}, "no number"),
        (environment(7, 2, 3), "id 7 is not one of 2 consecutive array ids from 3"),
        (environment(3, 4, 0, SLURM_ARRAY_TASK_STEP="2"), "not one of"),
    ],
)
def test_the_environment_says_which_element_this_is(variables, expected):
    if isinstance(expected, ArrayElement):
        assert ArrayElement.from_environment(variables) == expected
    else:
        with pytest.raises(UserError, match=expected):
            ArrayElement.from_environment(variables)
