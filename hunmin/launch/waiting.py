"""Waiting for node 0, which makes what training reads: it gives signs in the run's folder, and says if it fails."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write
from common.manifest import read_manifest
from common.progress import say
from hunmin.launch.cluster import Job
from hunmin.run import judge_all, selected

LAST = "encode"
"""The last stage before training."""
MARK = Path("launch") / "node-0.json"
"""In the run's folder: what node 0 is doing before training."""
BEAT_SECONDS = 10
"""Between two signs of node 0."""
WAIT_SECONDS = 5
"""Between two looks at what node 0 has made."""
UNSEEN_SECONDS = 45
"""For which node 0 may be seen to train before its files are: a network file system shows them late."""
SILENT_SECONDS = 600
"""For which nothing may be heard of node 0: the time in which it has to be started, too."""


class FirstNode:
    """Node 0 while it makes what training reads: as a context manager it gives signs, and says how that has ended.

    Args:
        run: the run's folder.
    """

    def __init__(self, run: Path) -> None:
        self._path, self._beats = run / MARK, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="node 0", daemon=True)

    def __enter__(self) -> FirstNode:
        self._say("works")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is None:
            self._say("trains")
            return
        with suppress(OSError):  # the disk may be what has failed
            self._say("failed", getattr(error, "problem", "") or type(error).__name__)

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            with suppress(OSError):
                self._say("works")

    def _say(self, state: str, failure: str = "") -> None:
        self._beats += 1
        content = {"state": state, "host": socket.gethostname(), "beats": self._beats, "began": id(self)}
        with atomic_write(self._path) as stream:
            json.dump({**content, "failure": failure}, stream, ensure_ascii=False)


def wait_for_shards(job: Job) -> None:
    """Wait on a node until node 0 has made what training reads.

    Raises:
        HunminError: node 0 has failed, or nothing has been heard of it for `SILENT_SECONDS`.
        UserError: node 0 has gone on to training, and nothing of it is seen here.
    """
    path, me = job.run / MARK, f"node {job.cluster.node} ({socket.gethostname()})"
    said = first = _read(path)  # it may be of a time before: what it says counts once it changes
    heard, trains, told = time.monotonic(), 0.0, False
    while lacking := _lacking(job):
        if not told:
            say("waiting for node 0 to make the corpus, the vocabulary and the token shards")
        told = True
        began = time.monotonic()
        time.sleep(WAIT_SECONDS)
        before, said = said, _read(path)
        heard = time.monotonic() if said != before else heard
        state = said.get("state") if said != first else None
        if state == "failed":
            raise HunminError(
                f"node 0 ({said['host']}) has failed: {said['failure']}",
                "it makes the corpus, the vocabulary and the token shards, for which this node waits",
                "see what node 0 says; then give the command on all nodes again",
            )
        there = state == "trains" or _node_0_trains(job)
        trains = trains + time.monotonic() - began if there else 0.0
        if trains > UNSEEN_SECONDS:
            raise UserError(
                f"{me} does not see what node 0 has made in {job.run} ({lacking})",
                "all nodes work in one run folder, on a file system that they share, by the same recipe",
                f"mount it on this node where the others have {job.run}, and give the same command again",
            )
        if not there and time.monotonic() - heard > SILENT_SECONDS:
            raise HunminError(
                f"{me} has heard nothing of node 0 for {SILENT_SECONDS / 60:.0f} min: {job.run / MARK} "
                + (f"stays as it is ({said['state']})" if said else "is not there"),
                f"while node 0 makes what training reads, it writes there every {BEAT_SECONDS} s",
                "start node 0 with the same command, or see how it ended; all nodes see the same run folder",
            )


def _lacking(job: Job) -> str:
    """Return the first stage that is not done, and why; "" where training can begin.

    Inputs, which may be many, are compared only once every stage has an output.
    """
    for stage in selected(job.recipe, None, LAST):
        if read_manifest(job.run / stage.folder) is None:
            return f"stage '{stage.name}': not done yet"
    for verdict in judge_all(job.recipe, last=LAST):
        if not verdict.done:
            return f"stage '{verdict.stage.name}': {verdict.why}"
    return ""


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        loaded = json.loads(path.read_bytes())
        return loaded if isinstance(loaded, dict) else {}
    return {}


def _node_0_trains(job: Job) -> bool:
    """Return whether something answers where the processes meet: node 0 is there when its shards are done."""
    host, port = job.cluster.host_and_port
    host = host or (job.cluster.hosts[0] if job.cluster.hosts else "")
    if not host:
        return False
    with suppress(OSError), socket.create_connection((host, port), 2):
        return True
    return False
