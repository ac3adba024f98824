"""Waiting for node 0, which makes what training reads: it gives signs in the run's folder, and says if it fails."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from common.errors import HunminError, UserError
from common.files import atomic_write, read_bytes
from common.manifest import read_manifest
from common.progress import say
from common.stage_folders import folder_of
from hunmin.launch.cluster import FILES, Job
from hunmin.pipeline.run import judge_all, selected

LAST = "encode"
"""The last stage before training."""
MARK = FILES / "node-0.txt"
"""File in the run's folder that says what node 0 is doing before training."""
BEAT_SECONDS = 10
"""Between two signs of node 0."""
WAIT_SECONDS = 5
"""Between two looks at what node 0 has made."""
UNSEEN_SECONDS = 45
"""Seconds from which node 0 is seen to train until its files are seen: a network file system shows them late."""
SILENT_SECONDS = 600
"""Seconds without a sign of node 0 until the others give up; it has to be started in that time, too."""


@contextmanager
def first_node(run: Path) -> Iterator[None]:
    """Give signs that node 0 makes what training reads, then say how that has ended."""
    ended = threading.Event()

    def tell(state: str) -> None:
        with suppress(OSError), atomic_write(run / MARK) as stream:  # the disk may be what has failed
            stream.write(f"{state}\n{socket.gethostname()}, {time.time()}\n")

    def beat() -> None:
        while not ended.wait(BEAT_SECONDS):
            tell("works")

    tell("works")
    thread = threading.Thread(target=beat, name="node 0", daemon=True)
    thread.start()
    state = "trains"
    try:
        yield
    except BaseException as error:
        state = f"failed: {getattr(error, 'problem', '') or type(error).__name__}"
        raise
    finally:
        ended.set()
        thread.join()
        tell(state)


def wait_for_shards(job: Job) -> None:
    """Wait on a node until node 0 has made what training reads.

    Raises:
        HunminError: node 0 has failed.
        UserError: nothing has been heard of node 0 for `SILENT_SECONDS`; or it trains, and nothing of its work is seen.
    """
    if _lacking(job):
        say("waiting for node 0 to make the corpus, the vocabulary and the token shards")
    sign = first = _read(job)  # it may be of a time before: what it says counts once it changes
    trains, since = False, time.monotonic()
    while lacking := _lacking(job):
        time.sleep(WAIT_SECONDS)
        before, sign = (trains, sign), _read(job)
        trains = sign != first and sign.startswith("trains")
        if sign != first and sign.startswith("failed"):
            raise HunminError(
                f"node 0 has {sign.splitlines()[0]}",
                "it makes the corpus, the vocabulary and the token shards, for which this node waits",
                "see what node 0 says; then give the command on all nodes again",
            )
        since = since if (trains, sign) == before else time.monotonic()
        limit = UNSEEN_SECONDS if trains else SILENT_SECONDS
        if time.monotonic() - since > limit:
            raise UserError(
                f"node {job.cluster.node} ({socket.gethostname()}) does not see what node 0 has made in {job.run} "
                f"({lacking}); node 0 {'trains' if trains else f'has given no sign for {limit / 60:.0f} min'}",
                f"all nodes work in one run folder, on a file system that they share, by the same recipe; node 0 gives "
                f"signs there every {BEAT_SECONDS} s",
                f"see that node 0 runs, and that this node has {job.run} where the others have it; then give the same "
                "command again",
            )


def _lacking(job: Job) -> str:
    """Return the first stage that is not done, and why; "" where training can begin.

    Inputs, which may be many, are compared only once every stage has an output.
    """
    for stage in selected(job.recipe, None, LAST):
        if read_manifest(folder_of(job.run, stage.folder)) is None:
            return f"stage '{stage.name}': not done yet"
    undone = (f"stage '{each.stage.name}': {each.why}" for each in judge_all(job.recipe, last=LAST) if not each.done)
    return next(undone, "")


def _read(job: Job) -> str:
    with suppress(OSError):
        return read_bytes(job.run / MARK).decode()
    return ""
