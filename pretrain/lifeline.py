"""Lifeline: the processes of a run, told within seconds when one of them fails.

A process that fails leaves the others waiting in a collective until its timeout. Beside the process group, and whatever
its backend, rank 0 therefore keeps a small key-value store that a thread of every process signs every few seconds.
A thread that reads there of a failure, or loses the store, ends its process; rank 0's also looks for missing signs.

The keys of the store:
    sign/RANK     a `Sign`, new at every heartbeat
    failed        the first failure, as JSON: its rank and a text
    ended         set once rank 0 has ended in order and is about to take the store away
    work/N/NAME   what rank 0's work returned, as JSON
    meet/N/NAME   how many processes have come to a meeting
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import torch.distributed as dist

from common.errors import EXIT_FAILED, HunminError, UserError
from common.progress import say
from pretrain.addresses import own_address
from pretrain.heartbeat import Heartbeat
from pretrain.signs import CLOSED, RELEASED, RUNNING, TOLD, UNMET, Sign, read_sign
from pretrain.stores import is_local, join_store, open_store
from pretrain.world import LOOPBACK

T = TypeVar("T")

JOIN_SECONDS = 30
"""For the first connection to the store; less than the silence after which a process counts as failed."""
LONGEST_MESSAGE = 3000
"""Characters of an error's text that the others are told; those of collectives carry pages of stack."""


class Lifeline:
    """A process's tie to the others of its run; as a context manager it announces the error that leaves the block.

    After a failure the process is ended by force if it has not ended by itself `grace` seconds later.
    """

    def __init__(self, rank: int, world: int, interval: float, silence: float, grace: float) -> None:
        self.rank, self.world = rank, world
        self.host = socket.gethostname()
        self._interval, self._silence, self._grace = interval, silence, grace
        self._store: Any = None  # the main thread's connection: a call holds it until the answer has come
        self._own: Any = None  # that of the thread
        self._state, self._count, self._steps = RUNNING, 0, 0
        self._first_host = self.host
        self._progress: Callable[[], int] = lambda: 0
        self._heartbeat: Heartbeat | None = None
        self._stop, self._failed = threading.Event(), threading.Event()
        self._saying, self._ending = threading.Lock(), threading.Lock()  # taken by the first, and never given back
        self._quiet = threading.Event()  # the thread makes no more calls to the store
        self._announced = self._named_missing = self._waiting = False
        self._unanswered = 0.0  # seconds since the store's last answer

    @classmethod
    def start(
        cls,
        rank: int,
        world: int,
        address: str,
        share: Callable[[Any], Any],
        interval: float = 2.0,
        silence: float = 45.0,
        grace: float = 5.0,
    ) -> Lifeline:
        """Return this process's lifeline; every process calls it. A run of one process gets one that does nothing.

        Args:
            rank: of this process.
            world: number of processes.
            address: where the processes have met; with torchrun not always the machine of rank 0.
            share: returns on every process what rank 0 called it with.
            interval: seconds between two heartbeats.
            silence: seconds without a heartbeat after which a process counts as failed.
            grace: seconds that a process has to end by itself once it was told of a failure.

        Raises:
            HunminError: rank 0 cannot open a port.
            UserError: this process cannot reach that port.
        """
        line = cls(rank, world, interval, silence, grace)
        if world == 1:
            return line
        patience = timedelta(seconds=JOIN_SECONDS)
        opened: tuple[str, int, str, str] = ("", 0, "", "")
        if rank == 0:
            try:
                store, prefix = open_store(is_local(address), 0, patience), secrets.token_hex(16)
                line._store = dist.PrefixStore(prefix, store)
                unmet = [Sign(UNMET, 0, 0, "an unknown host").text()] * world
                line._store.multi_set([f"sign/{other}" for other in range(world)], unmet)
                line._sign(line._store)
                opened = own_address(address), store.port, prefix, ""
            except (RuntimeError, OSError) as error:
                opened = "", 0, "", _describe(error)
        address, port, prefix, fault = share(opened)
        if fault:
            raise HunminError(f"rank 0 cannot open a port for the run's processes: {fault}")
        host = LOOPBACK if rank == 0 or is_local(address) else address
        try:
            line._own = join_store(host, port, prefix, patience)
            line._store = line._store or join_store(host, port, prefix, patience)
            line._first_host = read_sign(line._store.get("sign/0")).host
        except (RuntimeError, OSError) as error:
            raise UserError(
                f"rank {rank} on {line.host} cannot reach port {port} of {address}: {_describe(error)}",
                "the processes of a run reach a free port of the machine of rank 0",
                "open the ports between the machines, or set MASTER_ADDR to an address that all of them reach",
            ) from None
        for work in (line._watch,) if rank == 0 else (line._watch, line._watch_answers):
            threading.Thread(target=work, name="lifeline", daemon=True).start()
        # a daemon thread that is inside the store's C++ while the interpreter goes down aborts the process
        atexit.register(line._stop_thread)
        return line

    def fail(self, message: str) -> None:
        """Tell all other processes that this one has failed; never raises, and only the first failure of a run counts.

        Rank 0 returns when the others know, or do not answer: with its process their store goes.

        Args:
            message: what failed.
        """
        if self.world == 1 or self._stop.is_set():
            return
        self._announced = True
        with suppress(Exception):
            first = self._announce(self._store, self.rank, f"rank {self.rank} on {self.host} failed: {message}")
            self._say_cause(**first)  # a collective raises when the process at its other end has gone
            self._report_failure(first["text"])
            self._state = TOLD
            self._sign(self._store)
            self._see_others_leave(self._store, first["rank"])
        # the thread does the same, unless the interpreter stops it first and then hangs in its last steps
        end = threading.Timer(self._grace, os._exit, (EXIT_FAILED,))
        end.daemon = True
        end.start()

    def wait_for_first(self, name: str, work: Callable[[], T] | None) -> T:
        """Return what `work` returns on rank 0, on every process; all call it, in the same order.

        The others wait however long it takes, and no collective runs meanwhile. An error of the work is told to them.

        Args:
            name: of the work.
            work: called on rank 0 alone; returns what JSON can carry (for the others a tuple becomes a list).

        Raises:
            SystemExit: another process has failed.
        """
        self._steps += 1
        key, result = f"work/{self._steps}/{name}", None
        if self.rank == 0:
            assert work
            try:
                result = work()
                if self.world > 1:
                    self._store.set(key, json.dumps(result))
            except BaseException as error:
                self.fail(_describe(error))
                raise
            return result
        self._until(lambda: self._store.check([key]))
        return json.loads(self._store.get(key))

    def meet(self, name: str) -> None:
        """Wait until all processes have come here, however long it takes; all call it, in the same order.

        Args:
            name: of the meeting.

        Raises:
            SystemExit: another process has failed.
        """
        if self.world == 1:
            return
        self._steps += 1
        key = f"meet/{self._steps}/{name}"
        come: list[int] = []

        def all_here() -> bool:
            if not come:
                come.append(self._store.add(key, 1))
            return self._store.add(key, 0) == self.world

        self._until(all_here)

    def follow(self, progress: Callable[[], int]) -> None:
        """Report in every heartbeat how far this process is.

        Args:
            progress: returns of how many steps it has done its own part; called in the thread.
        """
        self._progress = progress

    @contextmanager
    def reporting(self, path: Path, steps: int) -> Iterator[None]:
        """Keep a file in the body on rank 0 that tells which processes the run waits for; none of one process.

        Args:
            path: of the file.
            steps: of the whole run.
        """
        if self.world == 1 or self.rank:
            yield
            return
        heartbeat = self._heartbeat = Heartbeat(path, steps, self._interval)
        yield  # of an error that leaves the body `fail` learns the cause
        self._heartbeat = None
        heartbeat.finish("ended", self._progress())

    def close(self) -> None:
        """End in order: this process is not missed any more. Rank 0 keeps the store for some seconds for the others."""
        if self.world == 1 or self._stop.is_set():
            return
        with suppress(Exception):  # who has ended in order does not care what became of the store
            if self.rank == 0:
                self._store.set("ended", "")
                self._see_others_leave(self._store)
            if self._stop_thread():
                self._state = CLOSED
                self._sign(self._store)
        self._stop.set()
        atexit.unregister(self._stop_thread)
        self._store = self._own = None

    def __enter__(self) -> Lifeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.fail(_describe(error))
            # a collective raises when the process at its other end has gone: that one has been named, this is no news
            if isinstance(error, RuntimeError) and self._saying.locked():
                raise SystemExit(EXIT_FAILED) from None

    def _stop_thread(self) -> bool:
        self._stop.set()
        return self._quiet.wait(2 * self._interval + 1)  # no longer: the store may never answer

    def _sign(self, store: Any) -> None:
        self._count += 1
        store.set(f"sign/{self.rank}", Sign(self._state, self._count, self._progress(), self.host).text())

    def _announce(self, store: Any, rank: int, text: str) -> dict[str, Any]:
        """Return the first failure of the run, which is this one where there was none."""
        return json.loads(store.compare_set("failed", "", json.dumps({"rank": rank, "text": text[:LONGEST_MESSAGE]})))

    def _say_cause(self, rank: int, text: str) -> None:
        """Say why this process ends, once; its own error is on its way to the user already."""
        if not (rank == self.rank and self._announced) and self._saying.acquire(blocking=False):
            say(f"rank {self.rank} ends: {text}", style="red")

    def _report_failure(self, text: str) -> None:
        heartbeat, self._heartbeat = self._heartbeat, None
        if heartbeat:
            heartbeat.finish("failed", self._progress(), text)

    def _until(self, ready: Callable[[], bool]) -> None:
        """Poll: a call that waits inside the store could not be told of a failure."""
        pause = 0.01
        self._waiting = True  # what is waited for must not go with the store of a rank 0 that is ahead
        while True:
            try:
                if ready():
                    self._waiting = False
                    return
            except (RuntimeError, OSError):  # the store is gone; the thread finds out too, and says so
                if not self._failed.wait(self._silence):
                    raise
            if self._failed.is_set():
                raise SystemExit(EXIT_FAILED)  # says nothing: the thread has said it
            time.sleep(pause)
            pause = min(2 * pause, 0.5)

    def _watch(self) -> None:
        """Sign and look for failures, in a thread, until the run ends."""
        try:
            failure = self._heartbeats()
        except Exception:
            failure = {"rank": 0, "text": f"rank 0 on {self._first_host} is gone: its connection has closed"}
        if failure and not self._stop.is_set():
            self._end(**failure)
        self._quiet.set()

    def _heartbeats(self) -> dict[str, Any] | None:
        """Return the failure of the run, or None when it has ended in order."""
        began = time.monotonic()
        signs, silent = [b""] * self.world, [0.0] * self.world
        while not self._stop.is_set():
            self._sign(self._own)
            if self._own.check(["failed"]):
                self._state = TOLD
                self._sign(self._own)
                return json.loads(self._own.get("failed"))
            if self.rank and not self._waiting and self._own.check(["ended"]):
                self._state = RELEASED
                self._sign(self._own)
                self._stop.set()
            if self.rank == 0:
                # a stretch in which this thread itself was held up (a suspended job) counts for little
                began, step = time.monotonic(), min(time.monotonic() - began, 2 * self._interval)
                self._find_silent(signs, silent, step)
                if heartbeat := self._heartbeat:
                    heartbeat.look(signs, silent, self._progress())
            self._unanswered = 0.0
            self._stop.wait(self._interval)
        return None

    def _find_silent(self, signs: list[bytes], silent: list[float], step: float) -> None:
        """Announce the first process that has not signed for too long; `signs` and `silent` are brought up to date."""
        latest = self._own.multi_get([f"sign/{rank}" for rank in range(self.world)])
        for rank in range(1, self.world):
            same = latest[rank] == signs[rank] and not read_sign(latest[rank]).leaves
            silent[rank] = silent[rank] + step if same else 0.0
            if silent[rank] > self._silence:
                host = read_sign(latest[rank]).host
                self._announce(self._own, rank, f"rank {rank} on {host} gave no sign of life for {self._silence:g} s")
        signs[:] = latest

    def _see_others_leave(self, store: Any, failed: int | None = None) -> None:
        """Wait on rank 0, for three heartbeats at most, until the others have ended or know of the failure of `failed`.

        A killed process closes its connections without a word, and the error of another, in a collective, may come
        first: after a failure those that do not answer are named.
        """
        if self.rank:
            return
        until = time.monotonic() + 3 * self._interval
        while True:
            signs = store.multi_get([f"sign/{rank}" for rank in range(self.world)])
            others = [(r, read_sign(sign)) for r, sign in enumerate(signs) if r not in (0, failed)]
            missing = [(r, sign.host) for r, sign in others if not sign.leaves]
            if not missing or time.monotonic() > until:
                break
            time.sleep(min(0.1, self._interval / 10))
        if missing and failed is not None and not self._named_missing:
            self._named_missing = True
            for rank, host in missing:
                say(f"rank {rank} on {host} does not answer", style="red")

    def _watch_answers(self) -> None:
        """End this process when the store does not answer: a call to a stopped process or a lost node never returns."""
        began = time.monotonic()
        while not self._stop.wait(self._interval) and not self._failed.is_set():
            began, step = time.monotonic(), min(time.monotonic() - began, 2 * self._interval)
            self._unanswered += step
            if self._unanswered > self._silence:
                return self._end(0, f"rank 0 on {self._first_host} gave no sign of life for {self._silence:g} s")

    def _end(self, rank: int, text: str) -> None:
        """End this process because of a failure, by force if it does not end by itself."""
        if not self._ending.acquire(blocking=False):
            return
        deadline = time.monotonic() + self._grace
        with suppress(Exception):  # a closed stderr
            self._say_cause(rank, text)
        self._failed.set()
        with suppress(Exception):
            self._report_failure(text)
        with suppress(Exception):
            self._see_others_leave(self._own, rank)
        self._quiet.set()
        time.sleep(max(0.0, deadline - time.monotonic()))
        os._exit(EXIT_FAILED)


def _describe(error: BaseException) -> str:
    name = type(error).__name__
    return str(error) if isinstance(error, HunminError) else f"{name}: {error}" if str(error) else name
