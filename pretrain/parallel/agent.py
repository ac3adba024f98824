"""Launch: the training processes of one machine by torchrun's agent.

    python -m pretrain.parallel.agent PROCESSES JOB.json

Around the agent: a stop signal reaches all processes, also those that are still starting, and they are waited for
however long their last step and their checkpoint take; the exit code of the process that failed is this process's; and
the agent's store listens on the loopback alone.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from common.errors import EXIT_FAILED
from common.output import guard_output
from common.progress import say
from pretrain.parallel.world import LOOPBACK

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def launch(command: list[str], processes: int, logs: Path | None = None) -> int:
    """Run the command in so many processes that find each other, and return the exit code of the first that fails.

    Each process's stderr is passed on line by line; the first one draws its progress on the terminal, if there is one.
    """
    # of all threads, and of the processes, too, until these can take them (`StopFlag`)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    from torch.distributed.elastic.agent.server import WorkerSpec
    from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
    from torch.distributed.elastic.rendezvous import RendezvousInfo, RendezvousStoreInfo
    from torch.distributed.elastic.rendezvous.static_tcp_rendezvous import StaticTCPRendezvous

    from pretrain.parallel.processes import open_local_store

    class OnLoopback(StaticTCPRendezvous):
        def next_rendezvous(self) -> RendezvousInfo:
            store = open_local_store(0)
            return RendezvousInfo(store, 0, 1, RendezvousStoreInfo(LOOPBACK, store.port))

    def forward() -> None:
        while True:
            number = signal.sigwait(STOP_SIGNALS)
            while None in (pids := [worker.id for worker in agent.get_worker_group().workers] or [None]):
                time.sleep(0.05)
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    logging.disable(logging.CRITICAL)  # the agent's own lines; what failed has been said
    tee = {rank: Std.NONE if not logs or (rank == 0 and sys.stderr.isatty()) else Std.ERR for rank in range(processes)}
    spec = WorkerSpec(
        "rank", processes, OnLoopback(LOOPBACK, 0, 0, 1, secrets.token_hex(4), 60),
        entrypoint=command[0], args=tuple(command[1:]), max_restarts=0, monitor_interval=0.1,
    )  # fmt: skip
    agent = LocalElasticAgent(
        spec, DefaultLogsSpecs(str(logs) if logs else os.devnull, tee=tee), log_line_prefix_template=""
    )
    threading.Thread(target=forward, daemon=True).start()
    failed = {rank: failure.exitcode for rank, failure in agent.run().failures.items()}  # the first one first
    ignore_stops()
    rank, code = next(iter(failed.items()), (0, 0))
    if code < 0:
        say(f"rank {rank} was ended by {signal.Signals(-code).name}", style="red")
    # an error's own code before that of a process which a signal ended
    return next((code for code in failed.values() if code > 0), EXIT_FAILED if failed else 0)


def ignore_stops() -> None:
    """Ignore stop signals: this process has done its work, and a signal would change its exit code.

    While an interpreter shuts down, Python's own handlers are gone, but an ignored signal stays ignored.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    guard_output()
    job = Path(sys.argv[2])
    sys.exit(launch([sys.executable, "-m", "pretrain.train", str(job)], int(sys.argv[1]), job.parent / "ranks"))
