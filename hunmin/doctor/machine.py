"""Checks of the machine: devices, compilers, memory, limits, disk, locale."""

from __future__ import annotations

import fcntl
import locale
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common.files import human_size
from common.process import available_cores
from hunmin.doctor.ask import Answer
from hunmin.doctor.check import Check, pip_install

LOW_MEMORY = 4e9
"""Bytes below which even a small run is tight."""
LOW_SHARED = 1e9
"""Bytes of /dev/shm below which NCCL's processes on one machine cannot exchange tensors: a container has 64 MB."""
LOW_FILES = 4096
"""Files that may be open: a corpus of many shards, read by many workers."""
OLDER_GPUS = "https://download.pytorch.org/whl/cu126"
"""Wheels of torch for CUDA 12.6, the last one for GPUs before Turing (V100, P100)."""
LOW_DISK = 10e9
"""Bytes below which only a small run fits."""


def device_check(torch: Answer) -> Check:
    """Return the devices that training would compute on.

    Args:
        torch: answer of the probe.
    """
    if "error" in torch:
        return Check("devices", "broken", "not known: torch does not work", "mend torch first")
    found = torch["found"]
    if found["tpu"]:
        return Check("devices", "ok", "TPU; bf16")
    if left := [gpu for gpu in found["gpus"] if not gpu.get("served", True)]:
        named = ", ".join(dict.fromkeys(f"{gpu['name']} (compute capability {gpu['capability']})" for gpu in left))
        return Check(
            "devices",
            "broken",
            f"{named}: this torch, {found['version']} with CUDA {found['cuda']}, has no kernels for it",
            f"{pip_install('torch')} --force-reinstall --index-url {OLDER_GPUS}",
        )
    if found["gpus"]:
        names = [_described(gpu) for gpu in found["gpus"]]
        counted = [f"{names.count(name)} × {name}" for name in dict.fromkeys(names)]
        return Check("devices", "ok", "; ".join(counted))
    if Path("/proc/driver/nvidia/version").exists():
        why = "this torch is built for the CPU" if not found["cuda"] else "; ".join(found["warned"]) or "no GPU is seen"
        remedy = (
            f"{pip_install('torch')} --force-reinstall --index-url https://pypi.org/simple"
            if not found["cuda"]
            else "look at nvidia-smi and CUDA_VISIBLE_DEVICES"
        )
        return Check("devices", "note", f"the CPU alone, though an NVIDIA driver is here: {why}", remedy)
    return Check("devices", "ok", "the CPU alone; fp32")


def _described(gpu: dict[str, Any]) -> str:
    has = {"bf16": gpu["bf16"], "FlashAttention": gpu["flash"], "FP8": gpu["fp8"]}
    lacks = [name for name, there in has.items() if not there]
    words = [name for name, there in has.items() if there] + ([f"no {' or '.join(lacks)}"] if lacks else [])
    return f"{gpu['name']}, {human_size(gpu['bytes'])}, {', '.join(words)}"


def compiler_checks(torch: Answer, triton: Answer) -> list[Check]:
    """Return whether torch.compile finds what it compiles with: it is used on GPUs unless switched off.

    Args:
        torch: answer of the probe.
        triton: likewise.
    """
    gpu = bool(torch.get("found", {}).get("gpus"))
    name, price = "C++ compiler", "pretrain.compile needs one" + (", and is on by default on a GPU" if gpu else "")
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["g++", "clang++", "c++"]
    path = next(filter(None, map(shutil.which, names)), None)
    remedy = "apt install g++ python3-dev (or: conda install gxx_linux-64), or set pretrain.compile=false"
    if path is None:
        return [Check(name, "missing" if gpu else "note", f"none is found; {price}", remedy)]
    checks = [Check(name, "ok", _first_line([path, "--version"]) or path)]
    if gpu:
        there = triton.get("found", {"triton": False, "headers": False})
        lacks = [what for what, has in (("triton", there["triton"]), ("Python.h", there["headers"])) if not has]
        if lacks:
            fix = pip_install("triton") if "triton" in lacks else "apt install python3-dev"
            return [*checks, Check("triton", "missing", f"{' and '.join(lacks)} not found; {price}", fix)]
        checks.append(Check("triton", "ok", "installed, with Python's headers"))
    return checks


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.splitlines() or [""])[0]


def memory_checks() -> list[Check]:
    """Return cores and memory, shared memory, and the number of files that may be open."""
    import resource

    total, free = _memory()
    found = f"{available_cores()} cores, {human_size(free)} of {human_size(total)} memory free"
    low = free < LOW_MEMORY
    fix = "end other programs, or set corpus.workers=1 and a smaller pretrain.micro_batch" if low else ""
    checks = [Check("cores, memory", "note" if low else "ok", found, fix)]
    try:
        shared = shutil.disk_usage("/dev/shm").total
        small = shared < LOW_SHARED
        fix = "docker run --shm-size=8g …; in Kubernetes an emptyDir of medium Memory at /dev/shm" if small else ""
        checks.append(Check("/dev/shm", "note" if small else "ok", human_size(shared), fix))
    except OSError:
        checks.append(Check("/dev/shm", "note", "it is not there; processes of one machine exchange tensors by it"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = soft != resource.RLIM_INFINITY and soft < LOW_FILES
    most = hard if hard != resource.RLIM_INFINITY else 65536
    checks.append(Check("open files", "note" if few else "ok", f"{soft:,}" if soft >= 0 else "no limit",
                        f"ulimit -n {most}" if few else ""))  # fmt: skip
    return checks


def _memory() -> tuple[float, float]:
    """Return the bytes of memory there are and that are free, for this process's container where it has a limit."""
    total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    free = total
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            used = float((group / "memory.current").read_text(encoding="ascii"))
            total, free = min(total, float(limit)), min(free, max(0.0, float(limit) - used))
    except (OSError, StopIteration):
        pass
    return total, free


def disk_check(run: Path) -> Check:
    """Return whether a run's folder can be written, and how much room there is.

    Args:
        run: the folder; where it is not there yet, the nearest one above it that is.
    """
    name, here = "disk", run.absolute()
    while not here.exists():
        here = here.parent
    remedy = "name another folder: out=DIR in the recipe, --run DIR here"
    if not here.is_dir():
        return Check(name, "broken", f"{here} is a file", remedy)
    try:
        with tempfile.TemporaryFile(dir=here) as probe:
            probe.write(b"1")
            probe.flush()
            locks = _locks(probe)
    except OSError as error:
        return Check(name, "broken", f"{here} cannot be written to: {error.strerror}", remedy)
    free = shutil.disk_usage(here).free
    found = f"{human_size(free)} free in {here}"
    if not locks:
        return Check(name, "note", f"{found}, whose file system knows no locks", "run one command at a time in it")
    if free < LOW_DISK:
        return Check(name, "note", found, "hunmin plan RECIPE says what a run takes")
    return Check(name, "ok", found)


def _locks(stream: Any) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def locale_check() -> Check:
    """Return whether names of files and what is printed are UTF-8."""
    codings = {
        "names of files": sys.getfilesystemencoding(),
        "files": locale.getpreferredencoding(False),
        "the terminal": getattr(sys.stdout, "encoding", None) or "utf-8",
    }
    other = [f"{what}: {coding}" for what, coding in codings.items() if coding.lower().replace("-", "") != "utf8"]
    if other:
        return Check("locale", "broken", f"not UTF-8 ({'; '.join(other)})", "export LC_ALL=C.UTF-8 PYTHONUTF8=1")
    return Check("locale", "ok", "UTF-8")
