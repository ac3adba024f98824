"""The lifeline: whatever ends or stops one process ends the others, with its name; a run in order ends in order."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from pretrain.lifeline import Lifeline

# of every process; `share` hands rank 0's object to the others by way of a file
PROGRAM = """
import json, os, sys, time
from pathlib import Path
from common.errors import HunminError, UserError
from pretrain.lifeline import Lifeline
from pretrain.shared_folder import probe_shared_folder

def share(value):
    file = folder / "shared.json"
    if rank == 0:
        file.with_suffix(".new").write_text(json.dumps(value))
        file.with_suffix(".new").rename(file)
    while not file.exists():
        time.sleep(0.01)
    return json.loads(file.read_text())

def begin(**options):
    os.dup2(os.open(folder / f"errors-{rank}", os.O_CREAT | os.O_WRONLY), 2)
    line = Lifeline.start(rank, world, "127.0.0.1", share, **{"interval": 0.2, "silence": 20, "grace": 0.5, **options})
    (folder / f"up-{rank}").touch()
    return line

def others_up():
    while len(list(folder.glob("up-*"))) < world:
        time.sleep(0.01)
"""


class Group:
    """Processes of one run, forked from a server that has imported torch once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members: list[BaseProcess] = []

    def start(self, body: str, world: int = 3) -> Group:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["torch", "pretrain.lifeline"])
        for rank in range(world):
            names: dict[str, Any] = {"rank": rank, "world": world, "folder": self.folder}
            self.members.append(context.Process(target=exec, args=(PROGRAM + body, names), daemon=True))
            self.members[-1].start()
        return self

    def up(self) -> Group:
        until = time.monotonic() + 30
        while len(list(self.folder.glob("up-*"))) < len(self.members):
            assert time.monotonic() < until and all(member.is_alive() for member in self.members)
            time.sleep(0.01)
        return self

    def signal(self, rank: int, number: int) -> None:
        pid = self.members[rank].pid
        assert pid
        os.kill(pid, number)

    def codes(self, seconds: float = 20, without: int | None = None) -> list[int | None]:
        """Return the exit codes; None of a process that has not ended after so many seconds."""
        until, waited = time.monotonic() + seconds, [m for rank, m in enumerate(self.members) if rank != without]
        for member in waited:
            member.join(max(0.0, until - time.monotonic()))
        return [member.exitcode for member in waited]

    def errors(self, rank: int) -> str:
        return (self.folder / f"errors-{rank}").read_text()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path)
    yield group
    for member in group.members:
        member.kill()
        member.join(10)


SILENCE = 4  # seconds; a busy machine takes more than one to start a process
HANG = f"begin(silence={SILENCE}); time.sleep(60)"
HOST = socket.gethostname()


@pytest.mark.parametrize(("stays", "code"), [(0, 2), (30, 1)])  # gloo tells the others of its end, but not of an error
def test_an_error_ends_the_others_inside_a_collective(stays: int, code: int, group: Group) -> None:
    body = (
        f"stays = {stays}"
        + """
import torch.distributed as dist
line = begin()
with line:
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=world)
    if rank == 1:
        try:
            with line:
                raise UserError("the disk is full", "it has room", "make some")
        except UserError:
            (folder / "raised").touch()
            time.sleep(stays)
            os._exit(2)
    dist.barrier()
"""
    )
    codes = group.start(body).up().codes()
    assert codes == [1, code, 1] and (group.folder / "raised").exists()
    for rank in (0, 2):
        told = group.errors(rank)
        assert f"rank {rank} ends: rank 1 on {HOST} failed: the disk is full" in told and "remedy: make some" in told
    assert "ends:" not in group.errors(1)  # its own error is its caller's to show


def test_the_failed_process_is_ended_too_when_it_hangs(group: Group) -> None:
    body = """
line = begin()
others_up()
if rank == 0:
    line.fail("the first")
    line.fail("the second")
time.sleep(60)
"""
    group.start(body).up()  # the imports are not counted
    began = time.monotonic()
    assert group.codes() == [1, 1, 1] and time.monotonic() - began < 10
    assert "the first" in group.errors(1) and "the second" not in group.errors(1)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_is_named(rank: int, group: Group) -> None:
    group.start(HANG).up().signal(rank, signal.SIGKILL)
    codes = group.codes()
    assert codes.pop(rank) == -signal.SIGKILL and codes == [1, 1]
    said = "is gone" if rank == 0 else f"gave no sign of life for {SILENCE} s"
    assert f"rank {rank} on {HOST} {said}" in group.errors(2)


def test_a_killed_process_is_named_although_the_error_of_another_comes_first(group: Group) -> None:
    body = """
with begin():
    while not (folder / "killed").exists():
        time.sleep(0.01)
    if rank == 2:
        raise ConnectionError("closed by peer")
    time.sleep(60)
"""
    group.start(body).up().signal(1, signal.SIGKILL)
    (group.folder / "killed").touch()
    assert group.codes() == [1, -signal.SIGKILL, 1]
    assert "closed by peer" in group.errors(0) and f"rank 1 on {HOST} does not answer" in group.errors(0)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_stopped_process_is_named(rank: int, group: Group) -> None:
    group.start(HANG).up().signal(rank, signal.SIGSTOP)
    assert group.codes(without=rank) == [1, 1]
    assert f"rank {rank} on {HOST} gave no sign of life for {SILENCE} s" in group.errors(2)


def test_a_run_that_was_suspended_goes_on(group: Group) -> None:
    body = """
with begin(silence=4) as line:
    others_up()
    until = time.monotonic() + 6
    while time.monotonic() < until:
        time.sleep(0.05)
"""
    group.start(body).up()
    time.sleep(0.3)
    group.signal(2, signal.SIGSTOP)
    time.sleep(0.5)  # rank 0 sees a heartbeat missing
    group.signal(0, signal.SIGSTOP)
    group.signal(1, signal.SIGSTOP)
    time.sleep(4.5)  # longer than the silence
    for rank in (0, 1, 2):
        group.signal(rank, signal.SIGCONT)
        time.sleep(0.1)
    assert group.codes() == [0, 0, 0]


def test_long_work_is_waited_for_and_its_result_reaches_all(group: Group) -> None:
    body = """
import ctypes

def plan():
    time.sleep(0.3)
    ctypes.PyDLL(None).sleep(2)  # keeps the interpreter's lock: no thread of Python runs
    return {"samples": [4, 5]}

with begin() as line:
    first = line.wait_for_first("plan", plan)
    second = line.wait_for_first("plan", (lambda: None) if rank == 0 else None)
    line.meet("end")
    (folder / f"got-{rank}").write_text(json.dumps([first, second]))
"""
    assert group.start(body).codes() == [0, 0, 0]
    assert {file.read_text() for file in group.folder.glob("got-*")} == {'[{"samples": [4, 5]}, null]'}
    assert len(list(group.folder.glob("got-*"))) == 3


def test_by_default_all_are_told_within_a_minute() -> None:
    """The longest way: a process falls silent right after a sign, rank 0 looks an interval later, the others another
    one, and end by force when they have not by themselves."""
    defaults = {name: one.default for name, one in inspect.signature(Lifeline.start).parameters.items()}
    assert defaults["silence"] + 3 * defaults["interval"] + defaults["grace"] < 60


def test_failing_work_ends_all(group: Group) -> None:
    body = """
line = begin(interval=0.5)
others_up()  # whoever starts only when rank 0 has gone finds no store, and says so after JOIN_SECONDS
line.wait_for_first("plan", lambda: [][1])
"""
    assert group.start(body).codes() == [1, 1, 1]
    assert f"rank 0 on {HOST} failed: IndexError: list index out of range" in group.errors(1) + group.errors(2)
    for rank in (1, 2):  # told of the error, not of the end of its process
        assert "IndexError" in group.errors(rank) and "Traceback" not in group.errors(rank)


@pytest.mark.parametrize("error", ["KeyboardInterrupt()", "SystemExit(3)"])
def test_an_interruption_is_a_failure(error: str, group: Group) -> None:
    body = f"""
with begin() as line:
    if rank == 1:
        raise {error}
    time.sleep(60)
"""
    codes = group.start(body, 2).codes()
    assert codes[0] == 1 and codes[1] != 0
    assert f"rank 1 on {HOST} failed: {error.split('(')[0]}" in group.errors(0)


@pytest.mark.parametrize("order", ["rank", "world - 1 - rank"])
def test_ends_in_any_order(order: str, group: Group) -> None:
    body = f"""
with begin(silence=2.5) as line:
    others_up()
    time.sleep(2 * ({order}))  # whoever has ended is not missed
"""
    assert group.start(body).codes() == [0, 0, 0]
    assert all(not group.errors(rank) for rank in range(3))


def test_rank_0_ends_while_another_goes_on(group: Group) -> None:
    body = """
line = begin(grace=2)
others_up()
if rank:
    time.sleep(3)  # longer than rank 0 keeps the store
line.close()
line.close()
line.fail("too late to matter")
"""
    assert group.start(body, 2).codes() == [0, 0] and not group.errors(1)


def test_rank_0_leaves_right_after_the_work_that_others_wait_for(group: Group) -> None:
    body = """
with begin() as line:
    # the others look every half second by now, their threads more often: those must not let rank 0 go
    assert line.wait_for_first("work", lambda: time.sleep(1.7) or 5) == 5
"""
    assert group.start(body).codes() == [0, 0, 0]
    assert all(not group.errors(rank) for rank in range(3))


def test_an_interpreter_goes_down_cleanly(tmp_path: Path) -> None:
    ends = {"line.close()": 0, "raise SystemExit(7)": 7}
    processes = []
    for number, end in enumerate(ends):
        folder = tmp_path / str(number)
        folder.mkdir()
        names = f"from pathlib import Path; rank, world, folder = 0, 2, Path({str(folder)!r})"
        # the thread of such an interval is in the store most of the time, where the interpreter's end would abort it
        body = f"{names}\n{PROGRAM}\nline = begin(interval=0, grace=5)\n{end}"
        processes.append(subprocess.Popen([sys.executable, "-c", body]))
    assert [process.wait(30) for process in processes] == list(ends.values())


def test_a_folder_of_ones_own_is_found(group: Group) -> None:
    body = """
import pretrain.shared_folder
pretrain.shared_folder.SHARED_SECONDS = 1
(folder / "elsewhere").mkdir(exist_ok=True)
with begin() as line:
    place = folder / ("elsewhere" if rank == 2 else "run")
    probe_shared_folder(place, rank, f"node-{rank}", line)
"""
    assert group.start(body).codes() == [1, 1, 1]
    for rank in (0, 1):
        told = group.errors(rank)
        assert "node-2 (rank 2) does not see" in told and "elsewhere" in told and "remedy:" in told
    assert not list((group.folder / "run").iterdir())


def test_a_shared_folder_passes_and_stays_as_it_was(group: Group) -> None:
    body = """
with begin() as line:
    probe_shared_folder(folder / "run", rank, f"node-{rank}", line)
"""
    (group.folder / "run").mkdir()
    (group.folder / "run" / ".shared-of-a-killed-run").touch()
    (group.folder / "run" / "job.json").touch()
    assert group.start(body).codes() == [0, 0, 0]
    assert [file.name for file in (group.folder / "run").iterdir()] == ["job.json"]


def test_a_port_that_nobody_reaches(group: Group) -> None:
    body = """
import pretrain.shared_folder
pretrain.lifeline.JOIN_SECONDS = 1
if rank:
    share = lambda value: ("127.0.0.1", 1, "x", "")  # a port where nothing listens
try:
    begin(silence=3)
except UserError as error:
    (folder / "said").write_text(str(error))
time.sleep(60 if rank == 0 else 0)
"""
    assert group.start(body, 2).codes() == [1, 0]
    assert "rank 1 on" in (group.folder / "said").read_text()
    assert "rank 1 on an unknown host gave no sign of life" in group.errors(0)


def test_a_run_of_one_process_needs_nothing(tmp_path: Path) -> None:
    from pretrain.lifeline import Lifeline
    from pretrain.shared_folder import probe_shared_folder

    def never(value: Any) -> Any:
        raise AssertionError

    import threading

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), Lifeline.start(0, 1, "nowhere", never) as line:
        work: Callable[[], tuple[int, int]] = lambda: (1, 2)  # noqa: E731
        assert line.wait_for_first("plan", work) == (1, 2)
        line.meet("here")
        probe_shared_folder(tmp_path / "run", 0, "here", line)
        assert threading.active_count() == before and not list(tmp_path.iterdir())
        1 / 0  # noqa: B018
    line.close()
