"""Steps shared by elements: each task is done, with helpers, without, and when some are lost; the same results."""

import os
import pickle
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from common.errors import HunminError, UserError
from data.executors import run_local
from data.executors.phases import SharedExecutor, help_leader, start_leading
from data.executors.ray import code_hash

ONE = partial(run_local, workers=1)


@dataclass(frozen=True)
class Number:
    value: int

    @property
    def name(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Square:
    """Writes who did what, too."""

    log: Path
    refused: int = -1

    def __call__(self, task: Number) -> int:
        with self.log.open("a") as stream:
            stream.write(f"{threading.current_thread().name} {task.value}\n")
        if task.value == self.refused:
            raise HunminError("refused", "", "")
        return task.value**2


TASKS = [Number(value) for value in range(40)]
SQUARES = [value**2 for value in range(40)]


def done(log: Path) -> list[tuple[str, int]]:
    return [(line.split()[0], int(line.split()[1])) for line in log.read_text().splitlines()]


def test_alone(tmp_path):
    heard: list[int] = []
    lead = SharedExecutor(ONE, tmp_path, "1-0")
    assert lead(Square(tmp_path / "log"), TASKS, heard.append) == SQUARES
    assert sorted(heard) == SQUARES
    assert lead(Square(tmp_path / "log"), TASKS[:1]) == [0]
    assert lead(Square(tmp_path / "log"), []) == []
    assert [value for _, value in done(tmp_path / "log")] == [*range(40)]
    start_leading(tmp_path)  # a leader that begins anew takes nothing for done
    assert lead(Square(tmp_path / "log"), TASKS[:1]) == [0]
    assert [value for _, value in done(tmp_path / "log")] == [*range(40), 0]


def test_helpers_take_tasks_and_none_is_done_twice(tmp_path, monkeypatch):
    monkeypatch.setattr("data.executors.phases.POLL_SECONDS", 0.01)
    folder = tmp_path / "parts"
    folder.mkdir()
    log, gate = tmp_path / "log", threading.Event()

    def slow(function, tasks, progress=None, failures=None):
        def held():
            for number, task in enumerate(tasks):
                if number == 1:
                    gate.wait(60)  # the leader has one task while the helpers do the others
                yield task

        return ONE(function, held(), progress, failures)

    def help(rank: int) -> None:
        help_leader(folder, ONE, f"1-{rank}", rank, 3)

    helpers = [threading.Thread(target=help, args=(rank,), name=f"helper-{rank}") for rank in (1, 2)]
    for helper in helpers:
        helper.start()
    threading.Timer(1.5, gate.set).start()
    assert SharedExecutor(slow, folder, "1-0")(Square(log), TASKS) == SQUARES
    folder.rename(tmp_path / "ended")
    for helper in helpers:
        helper.join(60)
        assert not helper.is_alive()
    assert sorted(value for _, value in done(log)) == list(range(40))
    assert sum(name.startswith("helper") for name, _ in done(log)) == 39


def test_tasks_of_a_lost_helper_are_done_by_the_leader(tmp_path, monkeypatch):
    monkeypatch.setattr("data.executors.phases.POLL_SECONDS", 0.01)
    monkeypatch.setattr("data.executors.phases.PATIENCE_SECONDS", 0.2)
    lead = SharedExecutor(ONE, tmp_path, "1-0")
    assert lead(Square(tmp_path / "log"), TASKS) == SQUARES
    [step] = tmp_path.glob("step-*")
    results = {pickle.loads(path.read_bytes()): path for path in step.glob("result-*")}
    results = {value: results[value**2] for value in range(40)}

    def taken(value: int) -> Path:
        return results[value].with_name(results[value].name.replace("result", "taken"))

    for value in (3, 17):
        results[value].unlink()
        taken(value).write_text("1-2")
    results[5].unlink()
    taken(5).write_text("1-0")  # its own, from before it was killed
    (tmp_path / "log").unlink()
    assert lead(Square(tmp_path / "log"), TASKS) == SQUARES
    assert [value for _, value in done(tmp_path / "log")] == [5, 3, 17]


def test_what_fails_fails_at_the_leader(tmp_path):
    with pytest.raises(HunminError, match="refused"):
        SharedExecutor(ONE, tmp_path, "1-0")(Square(tmp_path / "log", refused=7), TASKS)
    assert len(done(tmp_path / "log")) == 40


def test_a_helper_of_a_lost_leader_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("data.executors.phases.POLL_SECONDS", 0.01)
    monkeypatch.setattr("data.executors.phases.LOST_SECONDS", 0.1)
    began = time.monotonic()
    help_leader(tmp_path, ONE, "1-1", 1, 2)
    assert 0.1 <= time.monotonic() - began < 30 and not list(tmp_path.iterdir())  # it waits, and does nothing


class Planted:
    """What runs code of its own as it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("kind", ["writable by others", "a link", "of another user"])
def test_nothing_is_unpickled_that_another_user_may_have_written(tmp_path, monkeypatch, kind):
    lead = SharedExecutor(ONE, tmp_path, "1-0")
    assert lead(Square(tmp_path / "log"), TASKS[:2]) == [0, 1]
    result = sorted(tmp_path.glob("step-*/result-*"))[0]
    step = result.parent / "step"
    for planted in (result, step):
        planted.unlink(missing_ok=True)
        place = tmp_path / f"planted-{planted.name}" if kind == "a link" else planted
        content = pickle.dumps(Planted(tmp_path / "RAN"))
        place.write_bytes(code_hash().encode() + content if planted == step else content)
        place.chmod(0o664 if kind == "writable by others" else 0o644)
        if place != planted:
            planted.symlink_to(place)
    if kind == "of another user":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UserError, match="another user"):
        help_leader(tmp_path, ONE, "1-1", 1, 2)
    with pytest.raises(UserError, match="another user"):
        lead(Square(tmp_path / "log"), TASKS[:2])
    assert not (tmp_path / "RAN").exists()


def test_what_elements_exchange_is_their_users_alone(tmp_path):
    before = os.umask(0o002)
    try:
        SharedExecutor(ONE, tmp_path, "1-0")(Square(tmp_path / "log"), TASKS[:2])
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in tmp_path.glob("step-*/result-*")] == [0o600, 0o600]
