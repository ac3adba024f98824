"""`hunmin doctor`: what it says of machines that lack something. What is missing is made so: modules that cannot be
imported, folders that cannot be written, limits that are set; GPUs alone are made up, as answers of a probe."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hunmin.doctor import ask as asking
from hunmin.doctor.ask import ask
from hunmin.doctor.check import Check
from hunmin.doctor.machine import compiler_checks, device_check, disk_check, memory_checks
from hunmin.doctor.network import keys_check, network_check
from hunmin.doctor.packages import package_checks, python_check
from hunmin.doctor.probes import has_kernels
from hunmin.main import run_command

ROOT = Path(__file__).parents[2]
H100 = {"name": "NVIDIA H100 80GB HBM3", "bytes": 80e9, "bf16": True, "flash": True, "fp8": True}
V100 = {"name": "Tesla V100-SXM2-32GB", "bytes": 32e9, "bf16": False, "flash": False, "fp8": False}


def torch_with(*gpus: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"found": {"version": "2.13.0", "cuda": "12.8", "hip": None, "gpus": list(gpus), "tpu": False,
                      "warned": [], **more}}  # fmt: skip


def doctor(*options: str, path: Path | None = None, **variables: str) -> tuple[int, dict[str, Check]]:
    """Run the command with modules of `path` before all others; return its exit code and checks by name."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": f"{path or ROOT}:{ROOT}", **variables}
    command = [sys.executable, "-m", "hunmin.main", "doctor", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=200)
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout)
    assert told["ok"] == (done.returncode == 0)
    return done.returncode, {row["name"]: Check(**row) for row in told["checks"]}


@pytest.mark.slow
def test_here_nothing_is_missing(tmp_path: Path) -> None:
    secret = "a-secret-that-is-never-printed"
    code, checks = doctor("--run", str(tmp_path / "new" / "run"), HF_TOKEN=secret, HUNMIN_PII_KEY=secret)
    assert code == 0 and not [check for check in checks.values() if check.bad]
    assert "아버지 + 가 + 방 + 에" in checks["python-mecab-ko"].found
    assert str(tmp_path) in checks["disk"].found and "/new" not in checks["disk"].found
    assert "HF_TOKEN: set" in checks["keys"].found and secret not in str(checks)
    assert "not asked: HF_HUB_OFFLINE=1" in checks["network"].found


@pytest.mark.slow
def test_packages_that_cannot_be_imported(tmp_path: Path) -> None:
    """torch breaks, so does all that needs it; the command itself goes on."""
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    (tmp_path / "deepspeed.py").write_text("import os; os.abort()")
    code, checks = doctor(path=tmp_path)
    assert code == 1
    assert checks["torch"].state == "broken" and "libcudart.so.12" in checks["torch"].found
    assert "--force-reinstall" in checks["torch"].remedy and "'torch>=2.11'" in checks["torch"].remedy
    assert checks["deepspeed"].state == "broken" and "signal 6" in checks["deepspeed"].found
    assert checks["devices"].state == "broken" and checks["tokenizers"].state == "ok"


def test_a_probe_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mecab.py").write_text("import time; time.sleep(100)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    began = time.monotonic()
    assert ask(["mecab"], {"mecab": 1.5}) == {"mecab": {"error": "no answer within 1.5 s"}}
    assert time.monotonic() - began < 8
    assert asking.SECONDS.keys() <= asking.probes.PROBES.keys()


def distribution(folder: Path, name: str, version: str) -> None:
    (folder / f"{name}-{version}.dist-info").mkdir()
    (folder / f"{name}-{version}.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )


def test_versions_out_of_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "torch", "2.8.1")
    distribution(tmp_path, "deepspeed", "0.20.0")
    distribution(tmp_path, "typer", "0.1")
    monkeypatch.syspath_prepend(str(tmp_path))
    checks = {check.name: check for check in package_checks({})}
    assert checks["torch"].state == "broken" and checks["torch"].found == "torch 2.8.1 is installed, >=2.11 is needed"
    assert checks["deepspeed"].state == "broken" and "0.20.0" in checks["deepspeed"].found
    assert checks["transformers"].state == "ok"
    assert checks["other packages"].state == "missing" and "typer 0.1 is installed" in checks["other packages"].found
    assert checks["other packages"].remedy.endswith("'typer>=0.15'")


def test_packages_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])  # no metadata of anything
    (check,) = package_checks({})
    assert check.bad and "'packaging>=" in check.remedy
    monkeypatch.setattr("hunmin.doctor.packages.installed", lambda name: "99" if name == "packaging" else None)
    checks = package_checks({})
    assert all(check.state == "missing" for check in checks)
    assert checks[0].found == "not installed; needed: torch>=2.11" and "'torch>=2.11'" in checks[0].remedy


def test_another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert python_check().state == "ok"
    monkeypatch.setattr("platform.python_version", lambda: "3.9.2")
    assert python_check() == Check("python", "broken", "python 3.9.2 is installed, >=3.10 is needed",
                                   "make PYTHON=python3 with a Python >=3.10")  # fmt: skip


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_check(torch_with()).found == "the CPU alone; fp32"
    assert device_check(torch_with(tpu=True)).found == "TPU; bf16"
    assert device_check(torch_with(H100, H100, V100)).found == (
        "2 × NVIDIA H100 80GB HBM3, 80.0 GB, bf16, FlashAttention, FP8; "
        "1 × Tesla V100-SXM2-32GB, 32.0 GB, no bf16 or FlashAttention or FP8"
    )
    assert device_check({"error": "x"}).bad
    monkeypatch.setattr(Path, "exists", lambda path: "nvidia" in str(path))
    built = device_check(torch_with(cuda=None))
    assert built.state == "note" and "built for the CPU" in built.found and "--index-url" in built.remedy
    old = device_check(torch_with(warned=["CUDA initialization: The NVIDIA driver on your system is too old"]))
    assert "driver on your system is too old" in old.found


def test_a_gpu_that_this_torch_has_no_kernels_for() -> None:
    """torch for CUDA 13 has none for a V100; its wheels for CUDA 12.6 do."""
    left = {**V100, "served": False, "capability": "7.0"}
    check = device_check(torch_with({**H100, "served": True, "capability": "9.0"}, left, left, cuda="13.0"))
    assert check.bad and "Tesla V100-SXM2-32GB (compute capability 7.0)" in check.found and "CUDA 13.0" in check.found
    assert "H100" not in check.found and "--index-url https://download.pytorch.org/whl/cu126" in check.remedy


@pytest.mark.parametrize(
    ("capability", "served"),
    [((7, 0), False), ((6, 1), False), ((7, 5), True), ((8, 6), True), ((8, 9), True), ((9, 0), True), ((12, 1), True)],
)
def test_which_gpus_a_torch_for_cuda_13_serves(capability: tuple[int, int], served: bool) -> None:
    """Binaries run on their own generation from their version on, PTX on every later one (CUDA's programming guide)."""
    built_for = ["sm_75", "sm_80", "sm_86", "sm_90a", "sm_100", "sm_120", "compute_120"]
    assert has_kernels(capability, built_for) == served
    assert has_kernels(capability, ["sm_50", "compute_50"]) and has_kernels(capability, [])


def test_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {"found": {"triton": True, "headers": True}}
    assert [check.state for check in compiler_checks(torch_with(H100), whole)] == ["ok", "ok"]
    *_, bare = compiler_checks(torch_with(H100), {"found": {"triton": True, "headers": False}})
    assert bare.state == "missing" and "Python.h" in bare.found and "python3-dev" in bare.remedy
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert [check.state for check in compiler_checks(torch_with(), whole)] == ["note"]
    assert [check.state for check in compiler_checks(torch_with(H100), whole)] == ["missing"]


def test_limits() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert {check.state for check in memory_checks()} <= {"ok", "note"}
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        (files,) = [check for check in memory_checks() if check.name == "open files"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (files.state, files.found) == ("note", "256") and files.remedy.startswith("ulimit -n ")


def test_disk(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert disk_check(tmp_path / "실행 폴더" / "run").state in ("ok", "note")
    assert disk_check(tmp_path / "file" / "run").found == f"{tmp_path / 'file'} is a file"
    refused = disk_check(Path("/proc/self/run"))  # nobody may write there, root included
    assert refused.bad and "cannot be written to" in refused.found


def test_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens on it
    lost = network_check(ask(["network"])["network"])
    assert lost.state == "note" and "Connection refused" in lost.found and "HF_HUB_OFFLINE=1" in lost.remedy
    assert network_check({"found": {"address": "x"}}).state == "ok"
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")
    assert "TRANSFORMERS_OFFLINE=1" in network_check(None).found


def test_keys_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "HF_TOKEN_PATH", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert keys_check().found.startswith("HF_TOKEN: not set, WANDB_API_KEY: not set, HUNMIN_PII_KEY: not set")
    (tmp_path / "token").write_text("hf_secret")
    (tmp_path / ".netrc").write_text("machine api.wandb.ai login user password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    found = keys_check().found
    assert found.startswith("HF_TOKEN: set, WANDB_API_KEY: set") and "secret" not in found


def test_the_table(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [Check("python", "ok", "3.11"), Check("torch", "missing", "not installed [x]", "pip install 'torch>=2.11'")]
    monkeypatch.setattr("hunmin.doctor.examine.examine", lambda run: rows)
    assert run_command(["doctor"]) == 1
    out = capfd.readouterr().out
    assert "not installed [x]" in out and "pip install 'torch>=2.11'" in out and "to be mended: torch" in out
    monkeypatch.setattr("hunmin.doctor.examine.examine", lambda run: rows[:1])
    assert run_command(["doctor"]) == 0
    assert "nothing that is needed is missing" in capfd.readouterr().out
