"""Where fine-tuning jobs run: how many at once on each device, by the memory that each needs.

Lengths: B examples a batch, S tokens of an input, H hidden width, A heads, L layers, V vocabulary.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from common.errors import HunminError
from common.process import available_cores, own_package
from klue.plan import Job
from klue.settings import KlueSettings
from klue.tasks import get_task
from klue.tasks.klue.wos import SLOTS

GPU_JOBS = 8
"""Jobs at once on a GPU at most: more only wait for each other."""
CONTEXT = 1 << 30
"""Bytes that a process takes of a GPU before it computes anything: context, kernels, workspaces."""
MARGIN = 1.3
"""Factor of the estimate for memory that the allocator holds in pieces, heads, batches of the evaluation."""
_ASK = "import torch; print([torch.cuda.mem_get_info(i)[0] for i in range(torch.cuda.device_count())])"


class Devices:
    """Places for jobs: `free` bytes on each device, for `most` jobs at once."""

    def __init__(self, free: dict[str, float], most: dict[str, int]) -> None:
        self._free, self._most = dict(free), dict(most)
        self._running = dict.fromkeys(free, 0)

    def take(self, need: float) -> str | None:
        """Return the least busy device with room for a job of `need` bytes, or None; it holds the job from now on. A
        device without a job has room for any: `need` is an estimate, and nowhere else would there be more."""
        fits = [
            device
            for device, running in self._running.items()
            if running < self._most[device] and (not running or need <= self._free[device])
        ]
        if not fits:
            return None
        device = min(fits, key=self._running.__getitem__)
        self._running[device] += 1
        self._free[device] -= need
        return device

    def give(self, device: str, need: float) -> None:
        """Take a job that has ended off its device."""
        self._running[device] -= 1
        self._free[device] += need


def find_devices(settings: KlueSettings, jobs: Sequence[Job]) -> tuple[Devices, dict[str, float]]:
    """Return the devices for one model's jobs, and bytes that each job needs by name (0: their number alone counts).
    Raises HunminError where jobs are for GPUs and there are none, or these do not answer."""
    places = max(1, available_cores() // settings.threads)
    needs = {job.name: 0.0 for job in jobs}
    workers = settings.workers if settings.workers != 0 else 1
    if jobs[0].device == "cpu":
        return Devices({"cpu": math.inf}, {"cpu": workers or places}), needs
    import torch

    gpus = torch.cuda.device_count()
    if not gpus:
        raise HunminError("no GPU is visible", "klue.device=cuda needs one", "set klue.device=auto")
    names = [f"cuda:{i}" for i in range(gpus)]
    if workers:  # so many, whatever they need
        limits = {name: len(range(i, workers, gpus)) for i, name in enumerate(names)}
        return Devices(dict.fromkeys(names, math.inf), limits), needs
    limits = dict.fromkeys(names, max(1, min(GPU_JOBS, places // gpus)))
    from transformers import AutoConfig  # only here: not every encoder's configuration has the same fields

    config = AutoConfig.from_pretrained(jobs[0].model, local_files_only=True, trust_remote_code=False)
    needs = {job.name: memory_needed(job, config) for job in jobs}
    # asked by a process of its own, since asking takes memory of them all
    environment = {**os.environ, **own_package()}
    answer = subprocess.run(
        [sys.executable, "-c", _ASK], capture_output=True, encoding="utf-8", check=False, env=environment
    )
    if answer.returncode:
        raise HunminError(
            "the GPUs do not say how much memory is free: " + (answer.stderr.strip().splitlines() or [""])[-1],
            "so many jobs run at once as fit",
            "look at nvidia-smi, or set klue.workers",
        )
    return Devices(dict(zip(names, map(float, json.loads(answer.stdout)), strict=True)), limits), needs


def memory_needed(job: Job, config: Any) -> float:
    """Return an estimate, rather high, of the bytes that a job takes of a GPU.

    Weights, gradients and both Adam moments in single precision with the weights' copies in half: 18 bytes a parameter
    of V·H + 12·L·H². Activations in half precision, nothing recomputed (Korthikanti et al. 2022, formula 2):
    L·S·B·H·(34 + 5·A·S/H). TRADE holds its scores over the vocabulary for every slot and token of a value: two of
    them for most, each four times in single precision.
    """
    rows = job.training.global_batch * get_task(job.task).choices
    length = job.training.max_seq_len
    hidden, layers = config.hidden_size, config.num_hidden_layers
    weights = 18 * (config.vocab_size * hidden + 12 * layers * hidden**2)
    activations = layers * length * rows * hidden * (34 + 5 * config.num_attention_heads * length / hidden)
    scores = 2 * 16 * rows * len(SLOTS) * config.vocab_size if get_task(job.task).head == "trade" else 0
    return CONTEXT + MARGIN * (weights + activations + scores)
