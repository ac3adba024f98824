"""Key-value stores by which the processes of a run meet.

Where all processes are of one machine the stores listen on the loopback alone. Between machines a store listens on all
interfaces, and torch knows no password for it: the network between them has to be trusted. The failure monitor's keys
stand under a prefix that is drawn anew for each run, those of the process group only under `pretrain.launch`. A prefix
keeps runs apart; it is no secret to whoever can reach the store, which lists its keys.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from pretrain.world import LOOPBACK, WorldInfo

PREFIX = "HUNMIN_STORE_PREFIX"
"""Variable by which `pretrain.launch` hands the prefix of the process group's keys on."""


def open_store(local: bool, port: int, patience: timedelta) -> Any:
    """Return a new store of this process, which waits for nobody.

    Args:
        local: listen on the loopback alone.
        port: to listen on; 0: any that is free.
        patience: of a call that waits for a key.

    Raises:
        OSError, RuntimeError: the port is taken.
    """
    if not local:
        return dist.TCPStore(LOOPBACK, port, None, True, patience, wait_for_workers=False)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as torch does
        listening.bind((LOOPBACK, port))
        listening.listen(socket.SOMAXCONN)
        return dist.TCPStore(
            LOOPBACK, listening.getsockname()[1], None, True, patience, wait_for_workers=False,
            master_listen_fd=listening.detach(),  # the store closes it
        )  # fmt: skip


def group_store(info: WorldInfo, environment: Mapping[str, str], patience: timedelta) -> Any:
    """Return the store of the process group, None where torch makes or finds it by the environment.

    Args:
        info: where this process is.
        environment: of this process.
        patience: for the other processes.

    Raises:
        OSError, RuntimeError: the port is taken, or nothing listens there.
    """
    # torchrun's agent may have opened it already
    if info.local_world < info.world or environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return None
    prefix = environment.get(PREFIX) or "group"
    if info.rank == 0:
        return dist.PrefixStore(prefix, open_store(True, info.port, patience))
    return join_store(LOOPBACK, info.port, prefix, patience)


def join_store(host: str, port: int, prefix: str, patience: timedelta) -> Any:
    """Return a connection to a store that is open, its keys under a prefix.

    Args:
        host: where it listens.
        port: of it.
        prefix: of the keys.
        patience: of a call that waits for a key.

    Raises:
        OSError, RuntimeError: nothing listens there.
    """
    return dist.PrefixStore(prefix, dist.TCPStore(host, port, None, False, patience, wait_for_workers=False))


def is_local(address: str) -> bool:
    """Return whether an address is one of the loopback."""
    return address in ("localhost", "::1") or address.startswith("127.")
