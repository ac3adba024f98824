"""The checks: Python and packages, devices and compiler, memory and disk, the hub and the keys."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import Any, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from common.files import human_size
from common.process import available_cores
from common.secrets import masked_urls
from hunmin.doctor.probes import PROBES, Answer, ask
from hunmin.version import NAME, installed

BY_THEMSELVES = ("torch", "transformers", "tokenizers", "deepspeed", "mecab-ko")
"""Packages with a line of their own."""
FOR_DEVELOPERS = ("dev", "peers")
"""Extras that no run needs."""
FEATURES = {"bf16": [8, 0], "FlashAttention": [8, 0]}
"""Feature of an NVIDIA GPU → the first compute capability that has it."""
OLDER_GPUS = "https://download.pytorch.org/whl/cu126"
"""Wheels of torch for CUDA 12.6, the last one for GPUs before Turing (V100, P100)."""
LOW_MEMORY = 4e9
LOW_SHARED = 1e9
LOW_FILES = 4096
LOW_DISK = 10e9
"""Bounds below which a run of some size fails: memory; /dev/shm, by which NCCL's processes on one machine exchange
tensors (64 MB in a container); files open at once; disk."""


@dataclass(frozen=True)
class Check:
    """A check and its result."""

    name: str
    state: Literal["ok", "note", "missing", "broken"]
    """ok; note: it works without, at a price that is named; missing, broken: it is needed."""
    found: str
    fix: str = ""
    """The command that fixes it, or what to set; "" where nothing is to be fixed."""

    @property
    def bad(self) -> bool:
        """Return whether something that is needed is not there."""
        return self.state in ("missing", "broken")


def examine(run: Path) -> list[Check]:
    """Return the results of all checks, the software first."""
    answers = ask(PROBES)
    return [
        *package_checks(answers),
        device_check(answers["torch"]),
        compiler_check(answers["torch"]),
        *memory_checks(),
        disk_check(run),
        *hub_checks(answers["hub"]),
    ]


def pip_install(*requirements: str) -> str:
    """Return the command that installs packages into this Python, at the clone's versions if there is one."""
    pins = Path(__file__).parents[2] / "constraints.txt"
    words = [f"{sys.executable} -m pip install", *([f"-c {pins}"] if pins.is_file() else [])]
    return " ".join([*words, *(f"'{line}'" for line in requirements)])


def package_checks(answers: dict[str, Answer]) -> list[Check]:
    """Return a check of Python, of each package that matters by itself, of all others, and of the extras."""
    try:
        facts = metadata(NAME)
    except PackageNotFoundError:
        return [Check(NAME, "missing", "it is not installed, so that nobody knows what it needs", "make install")]
    supported = facts["Requires-Python"]
    running = platform.python_version()
    if running not in SpecifierSet(supported):
        return [
            Check(
                "python",
                "broken",
                f"{running}; {supported} is needed",
                f"make PYTHON=python3 with a Python {supported}",
            )
        ]
    checks = [Check("python", "ok", f"{running}, hunmin {facts['Version']}")]
    lines = [Requirement(line) for line in requires(NAME) or []]
    always = {need.name: need for need in lines if _is_of(need, "")}
    for name in BY_THEMSELVES:
        checks.append(_package(always.pop(name), answers.get(name, {})))
    if problems := {_line(need): problem for need in always.values() if (problem := _problem(need))}:
        checks.append(Check("other packages", "missing", "; ".join(problems.values()), pip_install(*problems)))
    else:
        checks.append(Check("other packages", "ok", f"{len(always)} are installed, in the ranges of setup.cfg"))
    names = [extra for extra in facts.get_all("Provides-Extra") or [] if extra not in FOR_DEVELOPERS]
    extras = {extra: [need for need in lines if _is_of(need, extra) and not _is_of(need, "")] for extra in names}
    there = [extra for extra, needs in extras.items() if all(installed(need.name) for need in needs)]
    absent = [f"{extra} ({', '.join(map(_line, needs))})" for extra, needs in extras.items() if extra not in there]
    text = f"installed: {', '.join(there) or 'none'}; not: {', '.join(absent) or 'none'}"
    return [*checks, Check("extras", "ok", text)]


def _package(need: Requirement, answer: Answer) -> Check:
    """Return the check of a package by its metadata, and by what its probe has said."""
    name = need.name
    version = installed(need.name)
    line = _line(need)
    if problem := _problem(need):
        return Check(name, "broken" if version else "missing", problem, pip_install(line))
    if "error" in answer:
        again = pip_install(line).replace(" install ", " install --force-reinstall ", 1)
        return Check(name, "broken", f"{version} is installed and does not work: {answer['error']}", again)
    seen = answer.get("found", {})
    if "morphemes" in seen:
        return Check(name, "ok", f"{version}: {' + '.join(seen['morphemes'])}")
    if "cuda" in seen:
        built = f"CUDA {seen['cuda']}" if seen["cuda"] else f"ROCm {seen['hip']}" if seen["hip"] else "the CPU alone"
        driver = f"; driver {seen['driver']}" if seen["driver"] else ""
        return Check(name, "ok", f"{version}, built for {built}{driver}")
    return Check(name, "ok", str(version))


def _is_of(need: Requirement, extra: str) -> bool:
    return need.marker is None or need.marker.evaluate({"extra": extra})


def _line(need: Requirement) -> str:
    return str(need).partition(";")[0].strip()


def _problem(need: Requirement) -> str:
    """Return a sentence if a package is not installed or its version lies outside of its range, else ""."""
    version = installed(need.name)
    if version is None:
        return f"{_line(need)} is not installed"
    inside = need.specifier.contains(version, prereleases=True)
    return "" if inside else f"{need.name} {version} is installed, {need.specifier} is needed"


def device_check(torch: Answer) -> Check:
    """Return the devices that training would compute on."""
    if "error" in torch:
        return Check("devices", "broken", "not known: torch does not work", "fix torch first")
    seen = torch["found"]
    if seen["tpu"]:
        return Check("devices", "ok", "TPU; bf16")
    if faults := [f"{gpu['name']}: {gpu['fault']}" for gpu in seen["gpus"] if gpu["fault"]]:
        text = "; ".join(dict.fromkeys(faults))
        fix = "look at nvidia-smi"
        if "no kernel image" in text:
            text += f": this torch, for CUDA {seen['cuda']}, has no kernels for it"
            fix = f"{pip_install('torch')} --force-reinstall --index-url {OLDER_GPUS}"
        return Check("devices", "broken", text, fix)
    if seen["gpus"]:
        names = [_described(gpu, bool(seen["hip"])) for gpu in seen["gpus"]]
        return Check("devices", "ok", "; ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)))
    if seen["driver"]:
        why = "; ".join(seen["warned"]) or "no GPU is seen" if seen["cuda"] else "this torch is built for the CPU"
        fix = f"{pip_install('torch')} --force-reinstall --index-url https://pypi.org/simple"
        if seen["cuda"]:
            fix = "look at nvidia-smi and CUDA_VISIBLE_DEVICES"
        return Check("devices", "note", f"the CPU alone, though an NVIDIA driver is here: {why}", fix)
    return Check("devices", "ok", "the CPU alone; fp32")


def _described(gpu: dict[str, Any], amd: bool) -> str:
    if amd:
        return f"{gpu['name']}, {human_size(gpu['bytes'])}"
    words = [name if gpu["capability"] >= since else f"no {name}" for name, since in FEATURES.items()]
    return ", ".join([gpu["name"], human_size(gpu["bytes"]), *words])


def compiler_check(torch: Answer) -> Check:
    """Return whether torch.compile finds what it compiles with: it is used on GPUs unless switched off."""
    seen = torch.get("found", {})
    compiler = os.environ.get("CXX") or seen.get("compiler")
    lacks = [] if compiler else ["a C++ compiler"]
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
        lacks.append("Python.h")
    if not lacks:
        return Check("compiler", "ok", f"{compiler}, with Python's headers")
    return Check(
        "compiler",
        "missing" if seen.get("gpus") else "note",
        f"{' and '.join(lacks)} not found; pretrain.compile needs both, and is on by default on a GPU",
        "apt install g++ python3-dev (or: conda install gxx_linux-64), or set pretrain.compile=false",
    )


def memory_checks() -> list[Check]:
    """Return cores and memory, shared memory, and the number of files that may be open."""
    free = free_memory()
    shared = shutil.disk_usage("/dev/shm").total if Path("/dev/shm").exists() else 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files, most = ("no limit", LOW_FILES) if soft == resource.RLIM_INFINITY else (f"{soft:,}", soft)
    return [
        _enough("cores, memory", free, LOW_MEMORY, f"{available_cores()} cores, {human_size(free)} of memory free",
                "end other programs, or set corpus.workers=1 and a smaller pretrain.micro_batch"),
        _enough("/dev/shm", shared, LOW_SHARED, human_size(shared),
                "docker run --shm-size=8g …; in Kubernetes an emptyDir of medium Memory at /dev/shm"),
        _enough("open files", most, LOW_FILES, files, f"ulimit -n {65536 if hard == resource.RLIM_INFINITY else hard}"),
    ]  # fmt: skip


def _enough(name: str, amount: float, bound: float, shown: str, fix: str) -> Check:
    return Check(name, "ok", shown) if amount >= bound else Check(name, "note", shown, fix)


def free_memory() -> float:
    """Return the bytes of memory that are free, for this process's container where it has a limit."""
    free = int(Path("/proc/meminfo").read_text(encoding="ascii").partition("MemAvailable:")[2].split()[0]) * 1024.0
    group = Path("/sys/fs/cgroup")
    try:
        limit = float((group / "memory.max").read_text(encoding="ascii"))
        return max(0.0, min(free, limit - float((group / "memory.current").read_text(encoding="ascii"))))
    except (OSError, ValueError):  # no such group, or "max"
        return free


def disk_check(run: Path) -> Check:
    """Return whether a run's folder can be written, and how much room there is.

    Args:
        run: the folder; where it is not there yet, the nearest one above it that is.
    """
    here = run.absolute()
    while not here.exists():
        here = here.parent
    try:
        with tempfile.TemporaryFile(dir=here) as probe:
            probe.write(b"1")
    except OSError as error:
        fix = "name another folder: out=DIR in the recipe, --run DIR here"
        return Check("disk", "broken", f"{here} cannot be written to: {error.strerror}", fix)
    free = shutil.disk_usage(here).free
    return _enough(
        "disk", free, LOW_DISK, f"{human_size(free)} free in {here}", "hunmin plan RECIPE says what a run takes"
    )


def hub_checks(hub: Answer) -> list[Check]:
    """Return whether the hub can be reached, and which keys are set, never one's value."""
    seen = hub.get("found", {"offline": False, "token": False, "fault": hub.get("error"), "address": ""})
    network = Check("network", "ok", f"{masked_urls(seen['address'])} answers")
    if seen["offline"]:
        network = Check("network", "ok", "not asked: HF_HUB_OFFLINE is set; only local files are used")
    elif seen["fault"]:
        network = Check(
            "network",
            "note",
            f"the hub cannot be reached ({masked_urls(seen['fault'])}); runs on local files do not need it",
            "export HF_HUB_OFFLINE=1, so that nothing waits for it; HTTPS_PROXY for a proxy, HF_ENDPOINT for a mirror",
        )
    there = {"HF_TOKEN": seen["token"], "HUNMIN_PII_KEY": bool(os.environ.get("HUNMIN_PII_KEY"))}
    variables = ", ".join(f"{name} is {'set' if is_set else 'not set'}" for name, is_set in there.items())
    if there["HUNMIN_PII_KEY"]:
        return [network, Check("keys", "ok", variables)]
    fix = (
        "[ -s ~/.hunmin-pii-key ] || (umask 077; openssl rand -hex 32 > ~/.hunmin-pii-key); "
        "export HUNMIN_PII_KEY=$(cat ~/.hunmin-pii-key)"
    )
    return [network, Check("keys", "note", f"{variables}; pseudonyms in a corpus of yours need HUNMIN_PII_KEY", fix)]
