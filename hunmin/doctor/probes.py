"""What must be tried to be known: imports that take seconds, a GPU that computes, a server that answers.

Each probe runs in a process of its own, started by this file's path: a library that hangs or crashes when it is loaded
takes nothing else with it. A probe prints one JSON object; an exception says what is wrong. Nothing of this package
is imported here, so that it can be said what is wrong when the package itself cannot be loaded.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

SENTENCE = "아버지가 방에 들어가신다"
ASKED_SECONDS = 4.0


def torch_works() -> dict[str, Any]:
    """Return torch's version, what it is built for, and its devices; each GPU multiplies two matrices first."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        import torch

        cuda = torch.cuda.is_available()
    gpus = [_gpu(torch, index) for index in range(torch.cuda.device_count() if cuda else 0)]
    found = torch.accelerator.current_accelerator(check_available=True)
    return {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "gpus": gpus,
        "tpu": found is not None and found.type == "tpu",
        "warned": [str(item.message).splitlines()[0] for item in warned if "CUDA" in str(item.message)],
    }


def _gpu(torch: Any, index: int) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(index)
    capability = (properties.major, properties.minor)
    nvidia = torch.version.hip is None
    served = not nvidia or has_kernels(capability, torch.cuda.get_arch_list())
    if served:  # else it is refused by the driver
        ones = torch.ones(64, 64, device=f"cuda:{index}")
        if (ones @ ones)[0, 0].item() != 64:
            raise RuntimeError(f"GPU {index} ({properties.name}) computes 64 ones to {(ones @ ones)[0, 0].item()}")
    return {
        "served": served,
        "capability": ".".join(map(str, capability)),
        "name": properties.name,
        "bytes": properties.total_memory,
        "bf16": torch.cuda.is_bf16_supported(including_emulation=False),
        "flash": nvidia and capability >= (8, 0) and torch.backends.cuda.is_flash_attention_available(),
        "fp8": nvidia and capability >= (8, 9),
    }


def has_kernels(capability: tuple[int, int], built_for: list[str]) -> bool:
    """Return whether a GPU runs what torch is built for: binaries of its own generation, or PTX of an earlier one.

    Args:
        capability: its compute capability.
        built_for: as torch names it: "sm_75", "sm_90a", "compute_120".
    """
    known = [match for name in built_for if (match := re.fullmatch(r"(sm|compute)_(\d+)(\d)[a-z]?", name))]
    versions = [(kind, (int(major), int(minor))) for kind, major, minor in (match.groups() for match in known)]
    return not versions or any(
        version <= capability and (kind == "compute" or version[0] == capability[0]) for kind, version in versions
    )


def transformers_works() -> dict[str, Any]:
    """Return the version of transformers; the classes that runs use are loaded."""
    import transformers
    from transformers import AutoModelForMaskedLM, AutoTokenizer  # noqa: F401

    return {"version": transformers.__version__}


def deepspeed_works() -> dict[str, Any]:
    """Return the version of DeepSpeed."""
    if not any(os.access(path, os.R_OK) for path in ("/dev/nvidiactl", "/dev/kfd")):
        os.environ.setdefault("DS_ACCELERATOR", "cpu")  # it warns where it finds no GPU
    import deepspeed

    return {"version": deepspeed.__version__}


def mecab_works() -> dict[str, Any]:
    """Return the morphemes of a sentence."""
    from mecab import MeCab

    return {"sentence": SENTENCE, "morphemes": MeCab().morphs(SENTENCE)}


def triton_works() -> dict[str, Any]:
    """Return whether triton is there, and Python's headers, which it compiles its launchers with."""
    import sysconfig

    header = os.path.join(sysconfig.get_paths()["include"], "Python.h")  # noqa: PTH118
    return {"triton": find_spec("triton") is not None, "headers": os.path.exists(header)}  # noqa: PTH110


def network_works() -> dict[str, Any]:
    """Return the hub's address; an answer of any kind says that it can be reached."""
    import urllib.error
    import urllib.request

    address = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    with suppress(urllib.error.HTTPError):
        urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=ASKED_SECONDS).close()
    return {"address": address}


PROBES: dict[str, Callable[[], dict[str, Any]]] = {
    "torch": torch_works,
    "transformers": transformers_works,
    "deepspeed": deepspeed_works,
    "mecab": mecab_works,
    "triton": triton_works,
    "network": network_works,
}


def main(name: str) -> None:
    """Run one probe and print {"found": …} or {"error": …} as the last line of stdout."""
    sys.path.pop(0)  # this file's folder
    answer = os.dup(1)
    os.dup2(2, 1)  # what libraries print while they are loaded must not mix with the answer
    try:
        said: dict[str, Any] = {"found": PROBES[name]()}
    except BaseException as error:
        first = (str(error).strip().splitlines() or [""])[0]
        said = {"error": f"{type(error).__name__}: {first}" if first else type(error).__name__}
    with os.fdopen(answer, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(said))
    os._exit(0)  # threads and handlers of what was loaded may hang at the end


if __name__ == "__main__":
    main(sys.argv[1])
