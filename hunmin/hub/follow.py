"""Pushes a run's checkpoints while it trains, from a process of its own: training never waits for it or fails by it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.progress import say
from hunmin.recipe import Recipe
from hunmin.watch import checkpoints

LOG = Path("logs") / "hub.log"
"""In the run's folder: what the uploads have printed."""
LOOK_EVERY = 10.0
"""Seconds between two looks for checkpoints."""


@contextmanager
def following(recipe: Recipe, run: Path, look_every: float = LOOK_EVERY) -> Iterator[None]:
    """Push checkpoints that appear in a run during the body, one at a time, the newest that is due.

    An upload that fails is told and written to `LOG`; a later checkpoint is tried again. At the end the upload that is
    under way is waited for.

    Args:
        recipe: the run; without `hub.repository` and `hub.every` nothing is done.
        run: its folder.
        look_every: seconds between two looks.
    """
    if not (recipe.hub.repository and recipe.hub.every):
        yield
        return
    end = threading.Event()
    thread = threading.Thread(target=_follow, args=(recipe, run, end, look_every), name="hub", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def _follow(recipe: Recipe, run: Path, end: threading.Event, look_every: float) -> None:
    every = recipe.hub.every
    assert every is not None
    done = max((step for step, _ in checkpoints(run)), default=0)  # those that were there have been pushed
    while not end.wait(look_every):
        due = [(step, path) for step, path in checkpoints(run) if step > done and step % every == 0]
        if not due:
            continue
        step, path = due[-1]
        code = _push(recipe, run, path)
        done = step
        if code:
            say(
                f"step {step:,} was not pushed to {recipe.hub.repository}; see {LOG} in the run's folder",
                style="yellow",
            )
        else:
            say(f"step {step:,} pushed to {recipe.hub.repository}")


def _push(recipe: Recipe, run: Path, checkpoint: Path) -> int:
    """Export and push a checkpoint, and return the exit code."""
    hub = recipe.hub
    with tempfile.TemporaryDirectory(dir=run / "logs", prefix="hub-") as folder, (run / LOG).open("ab") as log:
        command = [sys.executable, "-m", "hunmin.main", "export", str(checkpoint), "--out", f"{folder}/model"]
        command += ["--push-to-hub", str(hub.repository), "--dtype", hub.dtype]
        if not hub.private:
            command.append("--public")
        places = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")  # it is no process of the training
        environment = {name: value for name, value in os.environ.items() if name not in places}
        environment |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.run(
            ["nice", "-n", "10", *command], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        ).returncode
