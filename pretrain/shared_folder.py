"""A run's folder that is not shared by its machines is found at the start, not at the first checkpoint."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from common.errors import UserError
from pretrain.lifeline import Lifeline

SHARED_SECONDS = 10
"""How long a file may take to be seen on another node: network file systems cache folders."""
PROBE = ".shared-TOKEN"
"""Name of the file that shows whether a folder is shared."""


def probe_shared_folder(folder: Path, rank: int, host: str, lifeline: Lifeline) -> None:
    """Check that all processes see one and the same folder; every process calls it.

    Args:
        folder: of the run; made where it does not exist.
        rank: of this process.
        host: name of this machine, for the message.
        lifeline: of this process.

    Raises:
        UserError: this process does not see what rank 0 has written there.
        OSError: rank 0 cannot write there.
    """
    if lifeline.world == 1:
        return

    def write() -> str:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(PROBE.replace("TOKEN", "*")):  # by a run that was killed
            left.unlink(missing_ok=True)
        token = secrets.token_hex(8)
        (folder / PROBE.replace("TOKEN", token)).write_text(token)
        return token

    # the others look for the file only once it is there: some file systems remember for a minute what was missing
    probe = folder / PROBE.replace("TOKEN", lifeline.wait_for_first("write to the run's folder", write))
    until = time.monotonic() + SHARED_SECONDS
    try:
        while not _sees(probe):
            if time.monotonic() > until:
                raise UserError(
                    f"{host} (rank {rank}) does not see what rank 0 writes to the run's folder {folder}",
                    "all machines of a run share its folder",
                    "put it on a file system that every machine mounts under the same path (NFS, Lustre)",
                )
            time.sleep(0.2)
        lifeline.meet("see the run's folder")
    finally:
        if rank == 0:
            probe.unlink(missing_ok=True)


def _sees(file: Path) -> bool:
    try:
        return file in file.parent.iterdir()  # reading a folder makes a network file system ask its server anew
    except OSError:
        return False
