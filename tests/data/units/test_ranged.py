"""Files read by range in the stage: the same corpus as when they are read from their beginning, damage as ever."""

from pathlib import Path

import pytest

from common.manifest import describe_outputs

from ..building import OFF, listed, settings, write_files
from ..building import build as build_of


def build(folder: Path, out: Path, workers: int = 1) -> list[dict[str, str]]:
    build_of(settings(folder, pii=OFF, workers=workers, unit_mb=0.1), out)
    return listed(out)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    return write_files(
        tmp_path / "in", {"a.txt": [*(f"{n}번 문장이 여기에 있다. 또 있다." for n in range(30_000)), ""]}
    )


@pytest.mark.slow
def test_ranges_give_the_corpus_of_a_reader_from_the_beginning(inputs, tmp_path, monkeypatch):
    for workers in (1, 2):
        assert build(inputs, tmp_path / f"ranges-{workers}", workers) == []
    monkeypatch.setattr("data.units.ranged.seekable", lambda file, size: None)
    build(inputs, tmp_path / "stream")
    expected = describe_outputs(tmp_path / "stream")
    assert describe_outputs(tmp_path / "ranges-1") == describe_outputs(tmp_path / "ranges-2") == expected


def test_only_what_was_added_to_a_file_is_done_anew(inputs, tmp_path, monkeypatch):
    """Units go by content: a run that is killed goes on with what it has, though the file has grown since."""
    done: list[int] = []
    from data.units.work import UnitWork

    original = UnitWork.__call__

    def counted(self, task):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(task.block.number)
        return original(self, task)

    monkeypatch.setattr(UnitWork, "__call__", counted)
    with pytest.raises(KeyboardInterrupt):
        build(inputs, tmp_path / "out")
    with (inputs / "a.txt").open("a", encoding="utf-8") as stream:
        stream.write("새 문장이 하나 더 있다. 또 있다.\n")
    done.clear()
    with pytest.raises(KeyboardInterrupt):
        build(inputs, tmp_path / "out")
    assert min(done) == 5  # what the first five hold was not done again
