"""Archives as one task each: the parts and the bytes that come of them read by one process; damage and failures too."""

import gzip
import lzma
from pathlib import Path

import pytest

from common.errors import UserError
from common.manifest import describe_outputs
from data.readers.formats import read_blocks
from data.readers.paths import list_files
from data.readers.settings import SourceSettings
from data.units import whole
from data.units.whole import read_whole

from ..building import OFF, listed, settings, write_files
from ..building import build as build_of


def text(name: str, lines: int) -> bytes:
    return "\n".join(f"{n}번 문장이 {name} 문서에 있다. 다음 문장도 있다." for n in range(lines)).encode()


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    files = {"a.txt": text("a", 9000)}
    for number in range(6):
        files[f"g{number}.txt.gz"] = gzip.compress(text(f"g{number}", 3000 + number))
        files[f"x{number}.txt.xz"] = lzma.compress(text(f"x{number}", 2000 + number), preset=0)
    return write_files(tmp_path / "in", files)


def build(folder: Path, out: Path, workers: int) -> None:
    build_of(settings(folder, pii=OFF, workers=workers, unit_mb=0.05), out)


def test_which_files_are_one_task():
    assert read_whole([10] * 8, 2) == set(range(8))
    assert read_whole([10] * 4, 2) == set(range(4))
    assert read_whole([10] * 3, 2) == set()  # a worker's share is 15: by file, one would have 20
    assert read_whole([100, 10, 10, None], 2) == {1, 2}
    assert read_whole([10] * 8, 1) == set()


@pytest.mark.slow
def test_the_parent_reads_no_archive_and_the_bytes_are_the_same(inputs, tmp_path, monkeypatch):
    build(inputs, tmp_path / "one", 1)

    def only_first(file, size):
        assert size > 100_000 or not file.path.endswith((".gz", ".xz")), "the parent reads an archive"
        return read_blocks(file, size)

    monkeypatch.setattr("data.units.catalog.read_blocks", only_first)
    build(inputs, tmp_path / "two", 2)
    assert describe_outputs(tmp_path / "one") == describe_outputs(tmp_path / "two")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_cut_archive_is_set_aside_as_ever(inputs, tmp_path, workers):
    whole_bytes = (inputs / "g2.txt.gz").read_bytes()
    (inputs / "g2.txt.gz").write_bytes(whole_bytes[: len(whole_bytes) // 2])
    build(inputs, tmp_path / f"{workers}", workers)
    [entry] = listed(tmp_path / f"{workers}")
    assert entry["file"] == "g2.txt.gz" and "cut short" in entry["reason"]
    (inputs / "x1.txt.xz").write_bytes(b"nothing")
    with pytest.raises(UserError, match="2 of 13 inputs are damaged"):
        build(inputs, tmp_path / f"{workers}-more", workers)


def test_a_unit_that_fails_is_named_and_the_others_are_done(inputs, tmp_path):
    class Failing:
        folder = tmp_path

        def __init__(self):
            self.done = []

        def __call__(self, task):
            if task.block.number == 1:
                raise ValueError("the text of a document")
            self.done.append(task.block.number)
            return whole.UnitDone(task.block.size, 0, [])

    unit = Failing()
    (inputs / "g0.txt.gz").write_bytes(gzip.compress(text("g0", 80_000), 1))
    [file] = list_files([SourceSettings(path=str(inputs / "g0.txt.gz"))])
    result = whole.AnyWork(unit)(whole.WholeTask(0, file, 50_000))
    assert unit.done == [0, *range(2, len(result.keys))] and len(result.keys) > 3
    assert len(result.failures) == 1 and "from line" in result.failures[0].name
    assert "the text of a document" not in str(result.failures[0])
