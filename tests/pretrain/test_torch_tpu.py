"""What Hunmin asks of TorchTPU, in the version that the constraints name: `make test-tpu`.

Without a TPU it neither computes nor meets other processes, so nothing is trained here; see `test_tpu.py`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pretrain.parallel.accelerator import TPU_VARIABLES

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch_tpu") is None, reason="TorchTPU is not installed (make install-tpu)"
)

REGISTERED = """
import json, sys
import torch
from pretrain.parallel.accelerator import GROUPS, accelerator
assert accelerator() == "cpu", accelerator()  # installed is not there
from torch_tpu._loader import _init_device
_init_device("tpu")  # what `import torch` does where there is one
import torch._dynamo
from torch.distributed.distributed_c10d import Backend, BackendConfig
assert torch.accelerator.current_accelerator().type == "tpu"
assert accelerator() == "cpu"  # not available
assert "tpu" in torch._dynamo.list_backends(None)
config = BackendConfig(Backend(GROUPS["tpu"])).get_device_backend_map()
assert config == {"cpu": "gloo", "tpu": "tpu_dist"}, config
assert "tpu_dist" in Backend.backend_list
assert torch.bfloat16 in torch.tpu.get_amp_supported_dtype()
assert torch.utils._foreach_utils._get_fused_kernels_supported_devices().count("tpu")
print("ok")
"""


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TPU_SKIP_MDS_QUERY": "1", **variables}
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=120, env=environment, cwd=root
    )


def test_it_registers_what_a_run_uses() -> None:
    done = run("-c", REGISTERED)
    assert done.stdout.strip().endswith("ok"), done.stderr[-2000:]


def test_its_command_prints_what_the_launcher_hands_on() -> None:
    done = run(
        "-m", "torch.tpu.distributed", TPU_WORKER_HOSTNAMES="t0,t1", JOB_COMPLETION_INDEX="1", NODE_RANK="1",
        TORCH_TPU_TOPOLOGY="2x4", TORCH_TPU_DEVICES_PER_HOST="4",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    printed = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert set(TPU_VARIABLES) <= printed.keys()
    assert printed["NODE_RANK"] == '"1"' and printed["MASTER_ADDR"] == '"t0"' and printed["MASTER_PORT"] == '"29500"'
    assert len(printed["TORCH_TPU_SLICEBUILDER_ADDRESSES"].split(",")) == 8


def test_its_compiled_kernels_are_kept_where_a_run_keeps_them() -> None:
    import torch_tpu

    library = Path(torch_tpu.__file__).parent / "csrc" / "common" / "libxla_base.so"
    glue = Path(torch_tpu.__file__).parent.rglob("*_common.so")
    assert any(b"TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT" in path.read_bytes() for path in (library, *glue))
