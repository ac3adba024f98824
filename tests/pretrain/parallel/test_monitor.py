"""The failure monitor, heartbeat by heartbeat: whoever fails or falls silent is named to all, and nobody else is."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from common.errors import DiskFullError, HunminError, UserError
from pretrain.callbacks.guard import TooManySkippedError
from pretrain.parallel import monitor
from pretrain.parallel.monitor import Monitor, report
from pretrain.parallel.processes import Process, require_shared_folder

HOSTS = ("n0", "n0", "n1")
GRACE = monitor.GRACE


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits but for what another process does."""
    monkeypatch.setattr(monitor, "GRACE", 0.0)


def group(world: int = 3) -> list[Monitor]:
    """Monitors of one run, in one process, whose heartbeats the tests make."""
    store = dist.HashStore()
    return [Monitor(rank, HOSTS[:world], lambda: store) for rank in range(world)]


def beat(members: list[Monitor], times: int = 1) -> list[str]:
    """Return what each was told in the last of so many heartbeats."""
    for _ in range(times):
        failures = [member.look() for member in members]
    return failures


def test_nobody_is_named_while_all_sign_or_have_left_or_none_has_looked() -> None:
    first, second, third = group()
    third.close()
    assert beat([first, second], 2 * monitor.SILENT) == ["", ""]
    second.close()
    assert beat([first], 2 * monitor.SILENT) == [""]


@pytest.mark.parametrize("silent", [0, 1, 2])
def test_a_silent_process_is_named_with_its_last_step(silent: int) -> None:
    members = group()
    members[silent].follow(lambda: 30)
    beat(members)
    others = members[:silent] + members[silent + 1 :]
    assert beat(others, monitor.SILENT) == ["", ""]
    beat(others)
    said = f"rank {silent} on {HOSTS[silent]} gave no sign of life for 46 s, last seen at step 30"
    assert beat(others) == [said] * 2
    assert beat([members[silent]]) == [said]  # should it only have been stopped


def test_a_minute_is_enough_until_all_are_told() -> None:
    """A process falls silent right after a sign, rank 0 looks a heartbeat later, the others another one."""
    assert monitor.INTERVAL * (monitor.SILENT + 3) + GRACE < 60


def test_the_first_failure_is_told_to_all_and_later_ones_are_not(capfd: pytest.CaptureFixture[str]) -> None:
    first, second, third = group()
    with pytest.raises(UserError), second:
        raise UserError("the disk is full", "it has room", "make some")
    assert capfd.readouterr().err == ""  # its own error is its caller's to show
    said = "rank 1 on n0 failed: the disk is full"
    assert all(failure.startswith(said) and "fix:  make some" in failure for failure in beat([first, third]))
    with pytest.raises(KeyError), third:
        raise KeyError("of no account")
    assert f"rank 2 ends: {said}" in capfd.readouterr().err
    assert first.look().startswith(said)
    assert second._code == third._code == UserError.exit_code  # srun and torchrun hand on that of any process


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), IndexError("out of range")])
def test_whatever_leaves_the_block_is_a_failure(error: BaseException) -> None:
    first, second, _ = group()
    with pytest.raises(type(error)), second:
        raise error
    assert first.look().startswith(f"rank 1 on n0 failed: {type(error).__name__}") and first._code == 1


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ((31, 30, 31), "rank 1 on n0 did not come, last seen at step 30 where others wait at 31: RuntimeError: timed"),
        ((31, 31, 31), "rank 0 on n0 failed: RuntimeError: timed out"),  # all came: the collective itself
        ((30, 31, 31), "rank 0 on n0 failed: RuntimeError: timed out"),  # its own step that raised
    ],
)
def test_the_process_that_a_collective_waits_for_is_named(
    steps: tuple[int, ...], named: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(monitor, "INTERVAL", 0.0)
    members = group()
    for member, step in zip(members, steps, strict=True):
        member.follow(lambda step=step: step)  # type: ignore[misc]
    beat(members)
    other = "did not come" in named
    with pytest.raises(SystemExit if other else RuntimeError), members[0]:
        raise RuntimeError("timed out")
    assert members[1].look().startswith(named) and (named in capfd.readouterr().err) == other


def test_a_collective_that_breaks_is_no_news_once_the_lost_process_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread finds the missing signs after few heartbeats, while the error waits for them."""
    monkeypatch.setattr(os, "_exit", lambda code: None)
    first, _, third = group()
    third.look()
    first.look()
    waited = threading.Event()

    def wait(seconds: float) -> bool:
        waited.set()
        assert seconds == (monitor.LATE + 2) * monitor.INTERVAL
        for _ in range(monitor.LATE + 2):  # rank 1 was killed
            third.look()
            if failure := first.look():
                first._end(failure)
                return True
        return False

    monkeypatch.setattr(first._failure_known, "wait", wait)
    with pytest.raises(SystemExit) as raised, first:
        raise RuntimeError("Connection closed by peer")
    assert waited.is_set() and raised.value.code == 1
    assert third.look().startswith("rank 1 on n0 gave no sign of life for 8 s, last seen at step 0")


class Broken:
    """A store whose server has gone, or does not answer."""

    def __init__(self, store: Any, fault: Callable[[], None]) -> None:
        self._store, self._fault = store, fault
        self.well = True

    def __getattr__(self, name: str) -> Any:
        if not self.well:
            self._fault()
        return getattr(self._store, name)


def test_a_store_that_closes_or_never_answers_ends_the_process_by_force(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(monitor, "INTERVAL", 0.0)
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)

    def closed() -> None:
        raise dist.DistNetworkError("Connection reset by peer")

    store = Broken(dist.HashStore(), closed)
    line = Monitor(1, HOSTS, lambda: store)
    store.well = False
    line._watch()
    assert codes == [1] and "rank 0 on n0 is gone: its connection has closed" in capfd.readouterr().err

    never = threading.Event()
    store = Broken(dist.HashStore(), lambda: never.wait() and None)
    line = Monitor(1, HOSTS, lambda: store)
    store.well = False
    threading.Thread(target=line._watch, daemon=True).start()
    line._watch_answers()
    assert codes == [1, 1] and "rank 0 on n0 gave no sign of life for" in capfd.readouterr().err
    line._stop.set()
    never.set()


def test_a_run_of_one_process_needs_nothing(tmp_path: Path) -> None:
    before = threading.active_count()
    process = Process(0, 1, "here", torch.device("cpu"))
    with pytest.raises(ZeroDivisionError), process.monitor, process.monitor.reporting(tmp_path / "file", 1):
        assert process.on_first("plan", lambda: (1, 2)) == (1, 2)
        process.meet("here")
        require_shared_folder(tmp_path / "run", process)
        assert threading.active_count() == before and not list(tmp_path.iterdir())
        1 / 0  # noqa: B018
    process.monitor.close()
    assert not list(tmp_path.iterdir())


def together(work: Callable[[Process], Any]) -> list[Any]:
    """Return what each of three processes, as threads, returns or raises."""
    results: list[Any] = [None] * 3

    def run(member: Monitor) -> None:
        process = Process(member.rank, 3, f"node-{member.rank}", torch.device("cpu"), member)
        try:
            with member:
                results[member.rank] = work(process)
        except HunminError as error:
            results[member.rank] = error

    threads = [threading.Thread(target=run, args=(member,), daemon=True) for member in group()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def test_the_first_ones_result_reaches_all() -> None:
    def work(process: Process) -> Any:
        first = process.on_first("plan", lambda: {"samples": [4, process.rank]})
        process.meet("amid")
        return first, process.on_first("plan", lambda: None)

    assert together(work) == [({"samples": [4, 0]}, None)] * 3


def test_a_shared_folder_passes_and_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / ".shared-of-a-killed-run").touch()
    (tmp_path / "job.json").touch()
    assert together(lambda process: require_shared_folder(tmp_path, process)) == [None] * 3
    assert [file.name for file in tmp_path.iterdir()] == ["job.json"]


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_of_ones_own_is_found(there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pretrain.parallel.processes.SHARED_SECONDS", 0)
    (own := tmp_path / "own").mkdir() if there else None
    own = tmp_path / "own"
    ended, seen = threading.Event(), threading.Semaphore(0)

    def stay(name: str) -> None:
        seen.release()
        ended.wait(30)

    def work(process: Process) -> None:
        process.meet = stay  # type: ignore[method-assign]
        for _ in range(2 if process.rank == 2 else 0):  # the folder's file goes when rank 2 fails
            seen.acquire(timeout=30)
        try:
            require_shared_folder(own if process.rank == 2 else tmp_path / "run", process)
        finally:
            ended.set()

    results = together(work)
    assert results[:2] == [
        None
    ] * 2 and f"node-2 (rank 2) does not see what rank 0 writes to the run's folder {own}" in str(results[2])
    assert not list((tmp_path / "run").iterdir())


def read(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text())
    return report


def test_the_file_says_how_far_a_run_is_and_how_it_ended(tmp_path: Path) -> None:
    path, (first, second) = tmp_path / "heartbeat.json", group(2)
    for member in (first, second):
        member.follow(lambda: 4)
    with first.reporting(path, 100), second.reporting(tmp_path / "other", 100):
        beat([first, second], monitor.WRITE_EVERY)
        first._writer.join()
        assert (read(path)["state"], read(path)["steps"], read(path)["step"]) == ("running", 100, 4)
        assert read(path)["seconds_in_step"] > 0 and not read(path)["late"]
    assert read(path)["state"] == "ended"
    with pytest.raises(UserError), first, first.reporting(path, 100):
        raise UserError("the disk is full")
    assert read(path)["state"] == "failed" and "rank 0 on n0 failed: the disk is full" in read(path)["failure"]
    assert (read(path)["failed_rank"], read(path)["failure_kind"]) == (0, "UserError")
    assert [file.name for file in tmp_path.iterdir()] == ["heartbeat.json"]
    with second.reporting(tmp_path / "gone" / "file", 1):  # a folder that is not there ends nothing
        pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (DiskFullError("x"), "DiskFullError"),
        (torch.OutOfMemoryError("x"), "OutOfMemoryError"),
        (TooManySkippedError("x"), "TooManySkippedError"),
        (OSError("CUDA out of memory"), "OSError"),
    ],
)
def test_the_file_names_the_class_of_another_ones_error(error: Exception, kind: str, tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(monitor, "INTERVAL", 0.0)
    path, (first, second) = tmp_path / "heartbeat.json", group(2)
    with pytest.raises(type(error)), second:
        raise error
    first._report = path
    first._write("failed", first.look())
    assert (read(path)["failed_rank"], read(path)["failure_kind"]) == (1, kind)


def test_the_file_names_who_is_silent(tmp_path: Path) -> None:
    path, (first, second) = tmp_path / "heartbeat.json", group(2)
    beat([first, second])
    beat([first], monitor.SILENT + 1)
    first._report = path
    first._write("failed", first.look())
    assert (read(path)["failed_rank"], read(path)["failure_kind"]) == (1, "silent")


def test_who_is_behind_is_told_only_where_nothing_moves() -> None:
    """Signs of different seconds have different steps: 7 and 9 of short ones say nothing yet."""
    hosts, signs = ("n0", "n0", "n1", "n1"), ["5 9", "5 8", "5 9", "5 8"]
    going = report(hosts, signs, [0] * 4, 9, still=1)
    assert going == {"step": 9, "seconds_in_step": 2.0, "processes": 4, "late_processes": 0, "late": []}
    hung = report(hosts, signs, [0] * 4, 9, still=3)
    assert hung["late_processes"] == 2 and hung["late"] == [
        {"host": "n0", "processes": 1, "ranks": [1], "step": 8, "silent_seconds": 0.0},
        {"host": "n1", "processes": 1, "ranks": [3], "step": 8, "silent_seconds": 0.0},
    ]


def test_who_is_silent_is_told_at_once_and_the_longest_first() -> None:
    state = report(("n0", "n0", "n1", "n1"), ["5 9"] * 4, [0, 4, 3, 6], 9, still=0)  # of heartbeats of 2 s
    assert [(entry["host"], entry["ranks"], entry["silent_seconds"]) for entry in state["late"]] == [
        ("n1", [3], 12.0), ("n0", [1], 8.0)
    ]  # fmt: skip
    assert not report(("n0", "n1"), ["5 9", "-1 3"], [0, 9], 9, 9)["late"]  # it has left


def test_the_file_stays_small_however_many_are_late() -> None:
    """127 of 128 machines, with 8 processes each."""
    hosts = [f"n{rank // 8}" for rank in range(1024)]
    state = report(hosts, ["5 5"] * 8 + ["5 4"] * 1016, [0] * 8 + [15] * 1016, 5, still=20)
    assert state["late_processes"] == 1016 and len(state["late"]) == 16 and state["late"][0]["ranks"] == [*range(8, 16)]
    (entry,) = report(["n0"] * 1024, ["9 1"] + ["5 0"] * 1023, [0] + [25] * 1023, 1, 25)["late"]
    assert entry["processes"] == 1023 and entry["ranks"] == [*range(1, 17)]
    assert len(json.dumps(state, indent=1)) < 6000
