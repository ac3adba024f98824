"""Steps after the units, shared by the elements of an array: one leads, those that are there help, none is waited for.

The leader publishes a step (function and tasks) in the folder that all see. It and the helpers take tasks by creating
a file that only one can create, and write results beside it, each by one rename. Tasks of a helper that is lost are
done by the leader in the end; a task done twice writes the same bytes twice. With no helper the leader does all.
"""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from common.errors import UserError
from common.files import disk_errors
from data.executors.failures import Failures
from data.executors.ray import code_hash

if TYPE_CHECKING:
    from data.executors.choice import Executor

BEAT_SECONDS = 10.0
"""How often the leader shows that it lives."""
LOST_SECONDS = 120.0
"""After which a leader that shows nothing is taken for lost."""
PATIENCE_SECONDS = 600.0
"""How long the leader waits for a next result of helpers before it does their tasks, too."""
POLL_SECONDS = 0.5
NEWS_SECONDS = 2.0


@dataclass(frozen=True)
class _Named:
    """A task, and what its files are named after: a hash of it."""

    key: str
    task: Any

    @property
    def name(self) -> str:
        return str(self.task.name)


@dataclass(frozen=True)
class _Take:
    """The function of a task that several processes may take.

    Args:
        function: does the task.
        folder: of the step.
        owner: who takes it.
        forced: whether tasks that others have taken are done, too.
    """

    function: Callable[[Any], Any]
    folder: Path
    owner: str
    forced: bool = False

    def __call__(self, named: _Named) -> bool:
        """Return whether the task was done here."""
        result, claim = self.folder / f"result-{named.key}", self.folder / f"taken-{named.key}"
        if result.exists() or not (self.forced or self._claims(claim)):
            return False
        try:
            value = self.function(named.task)
        except Exception:
            claim.unlink(missing_ok=True)
            raise
        _write(result, pickle.dumps(value))
        return True

    def _claims(self, claim: Path) -> bool:
        try:
            with claim.open("x", encoding="utf-8") as stream:
                stream.write(self.owner)
        except FileExistsError:
            return claim.read_text(encoding="utf-8") == self.owner
        return True


class SharedExecutor:
    """Runs functions over tasks with the other elements that do the same or help.

    Args:
        execute: runs tasks here.
        folder: that all elements see.
        owner: this element; the same when it is started again.
    """

    def __init__(self, execute: Executor, folder: Path, owner: str) -> None:
        self._execute, self._folder, self._owner = execute, folder, owner

    def __call__(
        self,
        function: Callable[[Any], Any],
        tasks: Iterable[Any],
        progress: Callable[[Any], None] | None = None,
        failures: Failures | None = None,
    ) -> list[Any]:
        """Return `function(task)` for every task, in the order of the tasks. Arguments as for any executor."""
        tasks = list(tasks)
        if not tasks:
            return []
        named = [_Named(_hash(task), task) for task in tasks]
        step = self._publish(function, named)
        news = _News(step, {one.key for one in named}, progress)
        self._execute(_Take(function, step, self._owner), named, news.hear, failures)
        changed = time.monotonic()
        while missing := [one for one in named if not (step / f"result-{one.key}").exists()]:
            if failures:
                return []
            if news.tell():
                changed = time.monotonic()
            free = [one for one in missing if not (step / f"taken-{one.key}").exists()]
            if time.monotonic() - changed > PATIENCE_SECONDS:
                self._execute(_Take(function, step, self._owner, forced=True), missing, None, failures)
            elif free:
                self._execute(_Take(function, step, self._owner), free, None, failures)
            else:
                time.sleep(POLL_SECONDS)
        news.tell()
        (step / "step").unlink(missing_ok=True)
        return [pickle.loads(_read(step / f"result-{one.key}")) for one in named]

    def _publish(self, function: Callable[[Any], Any], named: list[_Named]) -> Path:
        payload = pickle.dumps((function, named), protocol=pickle.HIGHEST_PROTOCOL)
        step = self._folder / f"step-{_hash(function)}"
        step.mkdir(exist_ok=True)
        _write(step / "step", code_hash().encode() + payload)
        return step


def help_leader(folder: Path, execute: Executor, owner: str, rank: int, count: int) -> None:
    """Do tasks of the steps that a leader publishes, until it has ended the stage or is lost.

    Args:
        folder: that all elements see.
        execute: runs tasks here.
        owner: this element.
        rank: its number; helpers begin at different tasks.
        count: of elements.
    """
    beat, changed = None, time.monotonic()
    while folder.exists() and time.monotonic() - changed < LOST_SECONDS:
        for path in sorted(folder.glob("step-*/step")):
            _help(path, execute, owner, rank, count)
        found = _beat_of(folder)
        if found != beat:
            beat, changed = found, time.monotonic()
        time.sleep(POLL_SECONDS)


def _help(path: Path, execute: Executor, owner: str, rank: int, count: int) -> None:
    try:
        published = _read(path)
    except FileNotFoundError:
        return
    size = len(code_hash())
    if published[:size].decode() != code_hash():
        return  # other code might write other bytes
    function, named = pickle.loads(published[size:])
    start = rank * len(named) // count
    left = [one for one in named[start:] + named[:start] if not (path.parent / f"taken-{one.key}").exists()]
    if left:
        execute(_Take(function, path.parent, owner), left, None, Failures())  # the leader meets what failed itself


class _News:
    """Tells the progress of the results of a step, each once, whoever made them."""

    def __init__(self, step: Path, keys: set[str], progress: Callable[[Any], None] | None) -> None:
        self._step, self._left, self._progress = step, keys, progress
        self._told = time.monotonic()

    def hear(self, _: bool) -> None:
        """Tell of them, after each task here, but not more often than a person looks: it lists a folder."""
        if time.monotonic() - self._told > NEWS_SECONDS:
            self.tell()

    def tell(self) -> bool:
        """Tell of the results that have come since, and return whether there are any."""
        self._told = time.monotonic()
        new = self._left & {path.name.removeprefix("result-") for path in self._step.glob("result-*")}
        self._left -= new
        for key in sorted(new) if self._progress else ():
            self._progress(pickle.loads(_read(self._step / f"result-{key}")))  # type: ignore[misc]
        return bool(new)


def _write(path: Path, data: bytes) -> None:
    """Write a file that only this user can change, by one rename."""
    with disk_errors(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(handle)
        Path(name).replace(path)


def _read(path: Path) -> bytes:
    """Return what `_write` wrote: unpickling runs what a file says, so it must be this user's.

    Raises:
        UserError: somebody else may have written it.
        FileNotFoundError: it is not there.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise
    except OSError:
        raise _foreign(path) from None
    with os.fdopen(handle, "rb") as stream:
        facts = os.fstat(handle)
        if facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _foreign(path)
        return stream.read()


def _foreign(path: Path) -> UserError:
    return UserError(
        f"{path} may have been written by another user",
        "elements of an array take up only what the same user has written",
        f"look who writes to {path.parent.parent}, remove {path.parent}, and run the same command again",
    )


def _hash(value: Any) -> str:
    return xxhash.xxh3_128_hexdigest(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def _beat_of(folder: Path) -> int | None:
    try:
        return (folder / "beat").stat().st_mtime_ns
    except FileNotFoundError:
        return None


def start_leading(folder: Path) -> None:
    """Show from now on that there is a leader, until its process ends or the folder is gone.

    What steps of an earlier leader gave is not taken up: shards of them may have gone since.
    """
    for step in folder.glob("step-*"):
        shutil.rmtree(step, ignore_errors=True)
    (folder / "beat").touch()

    def beat() -> None:
        with suppress(OSError):  # changing the time of a file, and not making one: the folder may be going away
            while True:
                time.sleep(BEAT_SECONDS)
                os.utime(folder / "beat")

    threading.Thread(target=beat, daemon=True).start()
