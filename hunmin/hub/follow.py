"""Pushes a run's checkpoints while it trains, from a process of its own: training never waits for it or fails by it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.errors import EXIT_FAILED, HunminError
from common.files import append_line
from common.lock import is_locked
from common.process import own_package
from common.progress import say
from hunmin.hub.push import EXPORTS, steps_pushed
from hunmin.pipeline.watch import checkpoints
from hunmin.recipes.recipe import Recipe

LOG = Path("logs") / "hub.log"
"""In the run's folder: what the uploads have printed."""
LOOK_EVERY, LONGEST_WAIT = 10.0, 600.0
"""Seconds between two looks for checkpoints; doubled after each upload that failed, up to the second."""
UPLOAD_SECONDS = 7200.0
"""Time limit of an upload; one that takes longer is ended, and tried again."""
SILENT_SECONDS = 1.0
"""Time in which an upload may end before it is said that it is waited for."""
PLACES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
"""Variables by which a process knows its place in a training; an upload has none."""


@contextmanager
def following(recipe: Recipe, run: Path, look_every: float = LOOK_EVERY, last: bool = True) -> Iterator[None]:
    """Push checkpoints of a run that its repository lacks during the body, one at a time, the oldest first.

    The repository's tags say what has been pushed, so that a resumed command pushes whatever is missing. An upload that
    fails is logged to `LOG` and tried again. Where the body ends in order, what is lacking then is pushed, the
    last checkpoint with it; else the upload that is under way is waited for.

    Args:
        recipe: the run; without `hub.repository` nothing is done, without `hub.every` the last checkpoint alone.
        run: its folder.
        look_every: seconds between two looks.
        last: push the last checkpoint at the end; False where it is pushed later, with its scores.
    """
    if not recipe.hub.repository:
        yield
        return
    for left in () if is_locked(run) else (run / "logs").glob(f"{EXPORTS}*"):  # a killed command's
        shutil.rmtree(left, ignore_errors=True)
    follower = _Follower(recipe, run)
    end = threading.Event()
    thread = threading.Thread(target=follower.follow, args=(end, look_every), name="hub", daemon=True)
    if recipe.hub.every:
        thread.start()
    try:
        yield
    finally:
        end.set()
        if thread.is_alive():
            thread.join(SILENT_SECONDS)
        if thread.is_alive():
            say(f"waiting for an upload to {follower.repository} to end; Ctrl-C leaves it to the next command")
            thread.join(UPLOAD_SECONDS)
    problem = ""
    if thread.is_alive():
        problem = f"an upload to {follower.repository} does not end; the same command pushes what is lacking"
    elif missing := follower.push_lacking(last):
        problem = f"{follower.repository} lacks step {missing:,}; the same command pushes what is there still"
    if problem:
        say(problem, style="yellow")


class _Follower:
    def __init__(self, recipe: Recipe, run: Path) -> None:
        self.recipe = recipe
        self.run = run
        self.repository = str(recipe.hub.repository)
        self.done: set[int] | None = None
        """Steps that the repository has; None as long as it has not been asked."""
        self.waiting: set[int] = set()
        """Steps that are due and not pushed."""
        self.told: set[int] = set()

    def follow(self, end: threading.Event, look_every: float) -> None:
        """Push what is due until `end`."""
        wait = look_every
        while not end.wait(wait):
            wait = look_every if self.push_lacking(end=end) is None else min(2 * wait, LONGEST_WAIT)

    def push_lacking(self, last: bool = False, end: threading.Event | None = None) -> int | None:
        """Push the checkpoints that are due and lacking, and return the first step that could not be, else None.

        Args:
            last: the last one is due in any case.
            end: after which no other one is begun.
        """
        every, there = self.recipe.hub.every, checkpoints(self.run)
        for step in sorted(self.waiting - {step for step, _ in there}):
            say(f"step {step:,} was removed before it was pushed; pretrain.keep_every keeps more", style="yellow")
        due = {s: path for s, path in there if (every and s % every == 0) or (last and s == there[-1][0])}
        if due and self.done is None:
            try:
                self.done = steps_pushed(self.repository)
            except HunminError as error:
                append_line(self.run / LOG, str(error))
                return self._tell(min(due))
        self.waiting = due.keys() - (self.done or set())
        for step in sorted(self.waiting):
            if end is not None and end.is_set():
                break
            if _push(self.recipe, self.run, due[step]):
                return self._tell(step)
            say(f"step {step:,} pushed to {self.repository}")
            self.done = {*(self.done or ()), step}
            self.waiting.discard(step)
        return None

    def _tell(self, step: int) -> int:
        if step not in self.told:
            self.told.add(step)
            where = f"see {LOG} in the run's folder"
            say(f"step {step:,} was not pushed to {self.repository}; {where}; it is tried again", style="yellow")
        return step


def _push(recipe: Recipe, run: Path, checkpoint: Path) -> int:
    hub = recipe.hub
    with tempfile.TemporaryDirectory(dir=run / "logs", prefix=EXPORTS) as folder, (run / LOG).open("ab") as log:
        command = [sys.executable, "-m", "hunmin.main", "export", str(checkpoint), "--out", f"{folder}/model"]
        command += ["--push-to-hub", str(hub.repository), "--dtype", hub.dtype, *([] if hub.private else ["--public"])]
        environment = {name: value for name, value in os.environ.items() if name not in PLACES}
        environment |= {**own_package(), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        try:
            return subprocess.run(
                ["nice", "-n", "10", *command], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                timeout=UPLOAD_SECONDS,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            log.write(f"{checkpoint.name}: no end within {UPLOAD_SECONDS:g} s\n".encode())
            return EXIT_FAILED
