"""Work done once: what is whole is never lost or written again, whatever is killed, changed or taken back."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import HunminError
from common.facts import ORDER, UNKNOWN, Facts, differences
from common.manifest import WORK_MARK, read_manifest
from common.once import Work, once_file
from common.rules import RULES
from common.settings import Settings, place
from tests.kills import killed_at


class Given(Settings):
    x: int = 1
    y: int = 0
    path: str = place("here")


class Bench:
    """A stand-in work that writes two pieces and their sum; `did` counts the pieces it made, of each folder."""

    def __init__(self, root: Path) -> None:
        self.work, self.did, self.fail = Work(root, "sum", "sum", Given), list[str](), False

    def make(self, x: int) -> Callable[[Path], dict[str, Any]]:
        def make(folder: Path) -> dict[str, Any]:
            for number in (1, 2):
                piece = folder / f"piece-{number}"
                if not piece.exists():
                    self.did.append(piece.name)
                    (temporary := folder / f".{piece.name}.tmp").write_text(str(x * number))
                    temporary.replace(piece)
                if self.fail:
                    raise KeyboardInterrupt
            (folder / "sum").write_text(str(sum(int((folder / f"piece-{n}").read_text()) for n in (1, 2))))
            return {"pieces": 2}

        return make

    def go(self, x: int = 1, inputs: dict[str, str] | None = None, rules: int = 0, **more: Any) -> Path:
        self.did.clear()
        facts = Facts({"x": x, **more}, {"a": "1"} if inputs is None else inputs, rules)
        return self.work.once(facts, self.make(x))

    def stop(self, x: int = 1, **more: Any) -> None:
        self.fail = True
        with pytest.raises(KeyboardInterrupt):
            self.go(x, **more)
        self.fail = False


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "made")


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill takes nothing from the system's cache: what is on the disk plays no part here."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_stopped_one_is_continued_and_one_of_other_facts_is_not(bench: Bench) -> None:
    bench.stop(1)
    other = bench.go(2)
    assert bench.did == ["piece-1", "piece-2"] and (other / "sum").read_text() == "6"
    assert (bench.go(1) / "sum").read_text() == "3" and bench.did == ["piece-2"]


@pytest.mark.parametrize(
    ("inputs", "more", "same"),
    [
        ({"a": "1"}, {"y": 0}, True),  # a setting that came later, at its default
        ({"a": "1"}, {"path": "there"}, True),
        ({"a": UNKNOWN}, {}, True),
        ({"a": "2"}, {}, False),
        ({"a": "1 read otherwise"}, {}, False),
        ({"a": UNKNOWN + " read otherwise"}, {}, False),
        ({}, {}, False),
        ({"a": "1", "b": UNKNOWN}, {}, False),
        ({"a": "1"}, {"y": 1}, False),
    ],
    ids=str,
)
def test_differences_that_make_none(inputs: dict[str, str], more: dict[str, Any], same: bool, bench: Bench) -> None:
    first = bench.go(1)
    assert (bench.go(1, inputs, **more) == first) is same


def test_older_rules_stay_when_whole_and_are_not_mixed_when_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(RULES, "sum", {1: "first rules"})
    first = bench.go(1, rules=1)
    bench.stop(2, rules=1)
    monkeypatch.setitem(RULES, "sum", {1: "first rules", 2: "rounding"})
    capsys.readouterr()
    assert bench.go(1, rules=2) == first and bench.did == []
    assert "was made by rules 1, changed since: 2: rounding" in " ".join(capsys.readouterr().err.split())
    bench.go(2, rules=2)
    assert bench.did == ["piece-1", "piece-2"]


def test_a_whole_one_that_lost_a_file_is_refused(bench: Bench) -> None:
    (bench.go(1) / "sum").unlink()
    with pytest.raises(HunminError, match="sum is missing or cut short"):
        bench.go(1)


@pytest.mark.parametrize("name", ["manifest.json", WORK_MARK])
def test_a_folder_that_cannot_be_read_is_left_alone(name: str, bench: Bench) -> None:
    if name == WORK_MARK:
        bench.stop(1)
    else:
        bench.go(1)
    [broken] = bench.work.root.iterdir()
    (broken / name).write_text("{")
    left = contents(broken)
    folder = bench.go(1)
    assert folder != broken and (folder / "sum").read_text() == "3" and contents(broken) == left
    assert folder.name == f"{broken.name}.2"


def test_of_several_that_fit_the_current_one_is_taken(bench: Bench) -> None:
    first = bench.go(1)
    second = shutil.copytree(first, first.with_name("sum-0123456789"))
    os.utime(first / "manifest.json", (1, 1))
    assert bench.go(1) == second
    facts = Facts({"x": 1}, {"a": "1"}, 0)
    assert bench.work.once(facts, bench.make(1), current=first) == first
    (first / "sum").unlink()
    assert bench.work.once(facts, bench.make(1), current=first) == second
    (first / "sum").write_text("3")
    (first / WORK_MARK).write_text("{}")  # of a command that was killed as it ended, long ago
    os.utime(first / WORK_MARK, (1, 1))
    os.utime(first / "manifest.json")
    assert bench.go(1) == first


def test_of_several_unfinished_ones_the_newest_is_continued_or_the_one_at_work(bench: Bench) -> None:
    bench.stop(1)
    [first] = bench.work.root.iterdir()
    second = shutil.copytree(first, first.with_name("sum-0123456789"))
    facts = Facts({"x": 1}, {"a": "1"}, 0)
    for newest, other in ((first, second), (second, first)):
        os.utime(newest / WORK_MARK, (2, 2))
        os.utime(other / WORK_MARK, (1, 1))
        assert bench.work.unfinished(facts) == newest and bench.work.unfinished(facts, at_work=other) == other
    assert bench.go(1) == second and bench.did == ["piece-2"]


def test_the_order_of_files_counts_where_they_are_the_same_files() -> None:
    before, same, more = (Facts({}, inputs, 0) for inputs in ({"a": "1", ORDER: "x"}, {"a": "1", ORDER: "y"},
                                                              {"a": "1", "b": "2", ORDER: "y"}))  # fmt: skip
    assert differences(before, same, "sum").inputs == (ORDER,)
    assert differences(before, more, "sum").inputs == ("b (new)",)


def test_no_kill_loses_what_was_finished(bench: Bench, tmp_path: Path) -> None:
    """A kill before each call that changes names: the next command ends well, in the same folder, and keeps others."""
    other = bench.go(7)
    whole, start = contents(other), tmp_path / "start"
    bench.work.root.rename(start)
    for number in range(200):
        shutil.rmtree(bench.work.root, ignore_errors=True)
        shutil.copytree(start, bench.work.root)
        if not killed_at(lambda: bench.go(1), tmp_path, number):
            break
        folder = bench.go(1)
        assert (folder / "sum").read_text() == "3", f"after a kill before call {number}"
        assert contents(other) == whole and read_manifest(folder)
        assert {path.name for path in bench.work.root.iterdir()} == {other.name, folder.name}
        assert not [*folder.rglob("*.tmp"), *folder.glob(WORK_MARK)], f"left behind by a kill before call {number}"
        assert (bench.go(1), bench.did) == (folder, [])
    assert number > 8, "it makes many such calls, and was killed before each"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=8))
def test_any_history_keeps_what_is_whole(tmp_path_factory: pytest.TempPathFactory, history: list[Any]) -> None:
    bench = Bench(tmp_path_factory.mktemp("history") / "made")
    whole: dict[int, tuple[Path, dict[str, bytes]]] = {}
    for x, stops in history:
        if stops and x not in whole:
            bench.stop(x)
            continue
        folder = bench.go(x)
        if x in whole:
            assert (folder, bench.did) == (whole[x][0], [])
        whole[x] = (folder, contents(folder))
        assert all(contents(path) == before for path, before in whole.values())
        manifest = read_manifest(folder)
        assert manifest and json.loads(json.dumps(manifest.settings)) == {"x": x} and manifest.counts == {"pieces": 2}
        assert (folder / "sum").read_text() == str(3 * x) and not (folder / WORK_MARK).exists()


def test_a_file_is_written_once_and_a_failed_one_is_not_there(tmp_path: Path) -> None:
    path, writes = tmp_path / "ranges" / "count-3f9a.txt", []

    def make(stream: Any) -> None:
        writes.append(stream.write(b"four"))
        if len(writes) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        once_file(path, make)
    assert list(path.parent.iterdir()) == []
    assert [once_file(path, make).read_bytes() for _ in range(2)] == [b"four"] * 2
    assert len(writes) == 2
