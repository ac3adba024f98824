"""Probes that must try what they ask: imports that take seconds, a GPU that computes, a server that answers.

Each probe runs in a process of its own with a time limit: a library that hangs or crashes takes nothing else with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SECONDS = 60.0
"""Time limit of a probe; an import of torch takes long from a cold network disk."""

Answer = dict[str, Any]
"""{"found": what a probe returned} or {"error": why it did not}."""


def ask(names: Iterable[str], seconds: float = SECONDS) -> dict[str, Answer]:
    """Return the answers of probes by their names.

    Args:
        names: of `PROBES`; all run at once.
        seconds: time limit of each.
    """
    chosen = list(names)
    with ThreadPoolExecutor(len(chosen)) as pool:
        return dict(zip(chosen, pool.map(lambda name: _ask(name, seconds), chosen), strict=True))


def _ask(name: str, seconds: float) -> Answer:
    command = [sys.executable, __file__, name]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {seconds:g} s"}
    try:
        answer: Answer = json.loads(done.stdout.rpartition("\n")[2])  # libraries print while they are loaded
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        return {"error": f"the process ended with {how}: {last}"}
    return answer


def _torch() -> dict[str, Any]:
    """Return torch's build, the driver, the compiler and the devices; each GPU multiplies two matrices."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        import torch
        from torch.utils import collect_env

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    gcc = collect_env.get_gcc_version(collect_env.run)
    clang = collect_env.get_clang_version(collect_env.run)
    return {
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "driver": collect_env.get_nvidia_driver_version(collect_env.run),
        "compiler": f"g++ {gcc}" if gcc else f"clang++ {clang}" if clang else None,
        "gpus": [_gpu(torch, index) for index in range(count)],
        "tpu": accelerator is not None and accelerator.type == "tpu",
        "warned": [str(item.message).splitlines()[0] for item in warned if "CUDA" in str(item.message)],
    }


def _gpu(torch: Any, index: int) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(index)
    fault = ""
    try:
        ones = torch.ones(64, 64, device=f"cuda:{index}")
        if (computed := (ones @ ones)[0, 0].item()) != 64:
            fault = f"it computes 64 ones to {computed}"
    except RuntimeError as error:
        fault = str(error).splitlines()[0]
    capability = [properties.major, properties.minor]
    return {"name": properties.name, "bytes": properties.total_memory, "capability": capability, "fault": fault}


def _transformers() -> dict[str, Any]:
    from transformers import AutoModelForMaskedLM, AutoTokenizer  # noqa: F401

    return {}


def _deepspeed() -> dict[str, Any]:
    if not any(os.access(path, os.R_OK) for path in ("/dev/nvidiactl", "/dev/kfd")):
        os.environ.setdefault("DS_ACCELERATOR", "cpu")  # it warns where it finds no GPU
    import deepspeed  # noqa: F401

    return {}


def _mecab() -> dict[str, Any]:
    from mecab_ko import Tagger

    return {"morphemes": Tagger("-Owakati").parse("아버지가 방에 들어가신다").split()}


def _hub() -> dict[str, Any]:
    from huggingface_hub import constants, get_session, get_token

    address = constants.ENDPOINT
    offline = constants.HF_HUB_OFFLINE
    fault = ""
    try:
        _ = offline or get_session().head(address, timeout=4)
    except Exception as error:  # of the library's HTTP client, whichever it is
        fault = str(error)
    return {"token": get_token() is not None, "address": address, "offline": offline, "fault": fault}


PROBES: dict[str, Callable[[], dict[str, Any]]] = {
    "torch": _torch,
    "transformers": _transformers,
    "deepspeed": _deepspeed,
    "mecab-ko": _mecab,
    "hub": _hub,
}
"""Package, or what else is asked for → its probe."""


def main(name: str) -> None:
    """Run one probe and print {"found": …} or {"error": …} as the last line of stdout."""
    sys.path.pop(0)  # this file's folder
    try:
        said: dict[str, Any] = {"found": PROBES[name]()}
    except BaseException as error:
        said = {"error": f"{type(error).__name__}: {error}".strip().splitlines()[0]}
    print(f"\n{json.dumps(said)}", end="", flush=True)
    os._exit(0)  # threads and handlers of what was loaded may hang at the end


if __name__ == "__main__":
    main(sys.argv[1])
