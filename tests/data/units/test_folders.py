"""Folders of parts: one for all settings that parts depend on, beside each other, until the corpus of one is whole."""

import errno
import os
import re
import shutil
from pathlib import Path

import pytest

from common.manifest import describe_outputs
from common.slurm_array import ShareDone
from data.corpus import build_corpus, build_units
from data.settings import CorpusSettings
from data.units.work import UnitWork

from ..building import OFF, prose, write_files
from ..building import settings as settings_of


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "in", {f"{number}.txt": prose(150, number) for number in range(3)})


def settings(inputs: Path, shortest: int = 1, **changes: object) -> CorpusSettings:
    return settings_of(inputs, pii=OFF, clean={"min_sentence_chars": shortest}, **changes)


def stopped(chosen: CorpusSettings, out: Path, units: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do all units, and end before the shards."""
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr("data.corpus.assemble", lambda *_: 1 / 0)
        build_corpus(chosen, out, units)


def found(units: Path) -> dict[str, list[str]]:
    """Return folder → names of its parts."""
    return {path.name: sorted(part.name for part in path.glob("part-*.parquet")) for path in units.iterdir()}


def test_elements_write_into_one_folder_alone(inputs, tmp_path, monkeypatch):
    units, before = tmp_path / "run/made", [*inputs.iterdir()]
    for name, value in (("TASK_ID", 1), ("TASK_MIN", 0), ("TASK_COUNT", 2), ("JOB_ID", 12)):
        monkeypatch.setenv(f"SLURM_ARRAY_{name}", str(value))
    with pytest.raises(ShareDone, match="element 1 of 2 is done with its units"):
        build_units(settings(inputs, executor="slurm-array"), units)
    assert [*inputs.iterdir()] == before and {path.name for path in tmp_path.iterdir()} == {"in", "run"}
    assert [path.name for path in units.parent.iterdir()] == ["made"]
    [(name, parts)] = found(units).items()
    assert re.fullmatch("units-[0-9a-f]{10}", name) and parts


def test_settings_side_by_side_and_earlier_ones_find_their_parts(inputs, tmp_path, monkeypatch):
    """A recipe is changed amid a corpus, and changed back: what was done under the first settings is not done again."""
    units = tmp_path / "made"
    stopped(settings(inputs), tmp_path / "first", units, monkeypatch)
    first = found(units)
    stopped(settings(inputs, 20), tmp_path / "second", units, monkeypatch)
    assert len(found(units)) == 2 and first.items() <= found(units).items()
    build_corpus(settings(inputs, 20), tmp_path / "second", units)
    assert found(units) == first, "the parts of the whole corpus are gone, and no other"
    with monkeypatch.context() as patch:
        patch.setattr(UnitWork, "__call__", None)
        build_corpus(settings(inputs), tmp_path / "first", units)
    assert found(units) == {}
    for name, shortest in (("first", 1), ("second", 20)):
        build_corpus(settings(inputs, shortest), tmp_path / "straight" / name)
        assert describe_outputs(tmp_path / name) == describe_outputs(tmp_path / "straight" / name)
    assert describe_outputs(tmp_path / "first") != describe_outputs(tmp_path / "second")


def test_settings_that_parts_do_not_depend_on_share_them(inputs, tmp_path, monkeypatch):
    stopped(settings(inputs), tmp_path / "first", tmp_path / "made", monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(UnitWork, "__call__", None)
        build_corpus(settings(inputs, shard_mb=0.02), tmp_path / "second", tmp_path / "made")
    build_corpus(settings(inputs), tmp_path / "first", tmp_path / "made")
    build_corpus(settings(inputs), tmp_path / "whole")
    assert describe_outputs(tmp_path / "first") == describe_outputs(tmp_path / "whole")


@pytest.mark.parametrize("left", range(2))
def test_a_kill_as_parts_are_removed_leaves_nothing_that_passes_for_whole_parts(left, inputs, tmp_path, monkeypatch):
    """Neither to the same corpus nor to another of the same parts, whichever files were gone already."""
    units, remove = tmp_path / "made", shutil.rmtree

    def killed(path, **options):
        files = sorted(file for file in Path(path).rglob("*") if file.is_file())
        if not files:
            return remove(path, **options)
        for file in files[left::2]:
            file.unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("data.corpus.shutil.rmtree", killed)
        build_corpus(settings(inputs), tmp_path / "out", units)
    assert (tmp_path / "out/statistics.json").exists()
    build_corpus(settings(inputs, shard_mb=0.02), tmp_path / "other", units)
    with monkeypatch.context() as patch:
        patch.setattr("data.corpus.corpus_files", None)  # nothing is read again
        counts = build_corpus(settings(inputs), tmp_path / "out", units)
    assert counts == build_corpus(settings(inputs), tmp_path / "whole")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")
    build_corpus(settings(inputs, shard_mb=0.02), tmp_path / "whole-other")
    assert describe_outputs(tmp_path / "other") == describe_outputs(tmp_path / "whole-other")
    assert [*units.iterdir()] == [] and not [*tmp_path.glob("*/.work")]


def test_where_folders_cannot_be_renamed_the_corpus_is_whole_all_the_same(inputs, tmp_path, monkeypatch, capsys):
    def refused(*_):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    rename = Path.rename
    monkeypatch.setattr(Path, "rename", lambda path, to: refused() if path.is_dir() else rename(path, to))
    assert build_corpus(settings(inputs), tmp_path / "out", tmp_path / "made")["documents"] == 450
    assert "stays, though nothing needs it any more" in " ".join(capsys.readouterr().err.split())
    assert len(found(tmp_path / "made")) == 1
