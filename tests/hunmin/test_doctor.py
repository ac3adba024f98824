"""`hunmin doctor`: what it says of machines that lack something. GPUs alone are made up, as answers of a probe."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from hunmin.doctor import probes
from hunmin.doctor.checks import (
    Check,
    compiler_check,
    device_check,
    disk_check,
    hub_checks,
    memory_checks,
    package_checks,
)
from hunmin.main import run_command

H100 = {"name": "NVIDIA H100", "bytes": 80e9, "capability": [9, 0], "fault": ""}
V100 = {"name": "Tesla V100", "bytes": 32e9, "capability": [7, 0], "fault": ""}
NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"


def torch_with(*gpus: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"found": {"cuda": "13.0", "hip": None, "driver": None, "compiler": None, "gpus": list(gpus), "tpu": False,
                      "warned": [], **more}}  # fmt: skip


@pytest.mark.slow
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Here nothing is missing, but for one package that breaks where it is loaded and one that crashes."""
    secret = "a-secret-that-is-never-printed"
    monkeypatch.setenv("HF_TOKEN", secret)
    monkeypatch.setenv("HUNMIN_PII_KEY", secret)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert run_command(["doctor", "--json", "--run", str(tmp_path / "new" / "run")]) == 0
    printed = json.loads(capfd.readouterr().out)
    checks = {row["name"]: Check(**row) for row in printed["checks"]}
    assert printed["ok"] and "아버지 + 가 + 방 + 에" in checks["mecab-ko"].found
    assert str(tmp_path) in checks["disk"].found and "/new" not in checks["disk"].found
    assert "HF_TOKEN is set" in checks["keys"].found and secret not in str(checks)
    assert "not asked: HF_HUB_OFFLINE" in checks["network"].found and "built for" in checks["torch"].found
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    (tmp_path / "deepspeed.py").write_text("import os; os.abort()")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert run_command(["doctor"]) == 1
    shown = " ".join(capfd.readouterr().out.split())
    assert "libcudart.so.12" in shown and "signal 6" in shown and "--force-reinstall" in shown
    assert "to fix: torch, transformers, deepspeed, devices" in shown


def test_a_probe_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mecab_ko.py").write_text("import time; time.sleep(100)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert probes.ask(["mecab-ko"], 1.5) == {"mecab-ko": {"error": "no answer within 1.5 s"}}


def test_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"torch": "2.8.1", "deepspeed": "0.20.0", "typer": "0.1", "transformers": "99", "tokenizers": None}
    monkeypatch.setattr("hunmin.doctor.checks.installed", lambda name: versions.get(name, "999"))
    checks = {check.name: check for check in package_checks({"transformers": {"error": "x"}})}
    assert checks["torch"].state == "broken" and checks["torch"].found == "torch 2.8.1 is installed, >=2.11 is needed"
    assert checks["torch"].fix.startswith(sys.executable) and checks["torch"].fix.endswith("'torch>=2.11'")
    assert checks["deepspeed"].state == "broken" and "0.20.0" in checks["deepspeed"].found
    assert checks["transformers"].found == "99 is installed and does not work: x"
    assert checks["tokenizers"] == Check("tokenizers", "missing", "tokenizers>=0.22 is not installed",
                                         checks["tokenizers"].fix)  # fmt: skip
    assert checks["other packages"].state == "missing" and "typer 0.1 is installed" in checks["other packages"].found
    assert "'typer>=0.15'" in checks["other packages"].fix and "kiwi" in checks["extras"].found
    monkeypatch.setattr("hunmin.doctor.checks.NAME", "no-such-package")
    assert [check.fix for check in package_checks({})] == ["make install"]
    monkeypatch.undo()
    monkeypatch.setattr("platform.python_version", lambda: "3.9.2")
    assert package_checks({}) == [Check("python", "broken", "3.9.2; <3.15,>=3.10 is needed",
                                        "make PYTHON=python3 with a Python <3.15,>=3.10")]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "state", "result", "fix"),
    [
        (torch_with(), "ok", "the CPU alone; fp32", ""),
        (torch_with(tpu=True), "ok", "TPU; bf16", ""),
        (torch_with(H100, H100, V100), "ok", "2 × NVIDIA H100, 80.0 GB, bf16, FlashAttention; "
         "1 × Tesla V100, 32.0 GB, no bf16, no FlashAttention", ""),
        (torch_with({**H100, "name": "MI300X"}, cuda=None, hip="6.4"), "ok", "1 × MI300X, 80.0 GB", ""),
        ({"error": "x"}, "broken", "torch does not work", "fix torch"),
        (torch_with(driver="550", cuda=None), "note", "built for the CPU", "--index-url https://pypi.org/simple"),
        (torch_with(driver="550", warned=["The NVIDIA driver is too old"]), "note", "driver is too old", "nvidia-smi"),
        (torch_with(driver="550"), "note", "no GPU is seen", "CUDA_VISIBLE_DEVICES"),
        (torch_with(H100, {**V100, "fault": NO_KERNEL}), "broken", "Tesla V100", "https://download.pytorch.org/whl/cu126"),
        (torch_with({**H100, "fault": "it computes 64 ones to 3"}), "broken", "64 ones to 3", "nvidia-smi"),
    ],
)  # fmt: skip
def test_devices(answer: dict[str, Any], state: str, result: str, fix: str) -> None:
    check = device_check(answer)
    assert check.state == state and result in check.found and fix in check.fix
    assert state == "ok" or "H100: CUDA" not in check.found


def test_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    (tmp_path / "Python.h").touch()
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"include": str(tmp_path)})
    assert compiler_check(torch_with(H100, compiler="g++ 12")).found == "g++ 12, with Python's headers"
    assert [compiler_check(torch_with(*gpus)).state for gpus in ((), (H100,))] == ["note", "missing"]
    (tmp_path / "Python.h").unlink()
    assert "Python.h not found" in compiler_check(torch_with(H100, compiler="g++ 12")).found


def test_limits_and_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        memory, _, files = memory_checks()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert "cores" in memory.found and memory.found.endswith("of memory free")
    assert (files.state, files.found) == ("note", "256") and files.fix.startswith("ulimit -n ")
    monkeypatch.setattr("hunmin.doctor.checks.free_memory", lambda: 1e9)
    assert memory_checks()[0].state == "note" and "1.0 GB of memory free" in memory_checks()[0].found
    assert disk_check(tmp_path / "실행 폴더" / "run").state in ("ok", "note")
    refused = disk_check(Path("/proc/self/run"))  # nobody may write there, root included
    assert refused.bad and "cannot be written to" in refused.found


def test_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://user:pass@127.0.0.1:9")  # nobody listens on it
    (tmp_path / "token").write_text("hf_secret")
    network, keys = hub_checks(probes.ask(["hub"])["hub"])
    assert network.state == "note" and "Connection refused" in network.found and "HF_HUB_OFFLINE=1" in network.fix
    assert keys.found.startswith("HF_TOKEN is set, HUNMIN_PII_KEY is not set") and "secret" not in str(keys)
    answers = {"token": False, "address": "http://user:pass@hub", "offline": False, "fault": ""}
    network, keys = hub_checks({"found": answers})
    assert network.state == "ok" and "pass" not in network.found and "HF_TOKEN is not set" in keys.found
    assert hub_checks({"error": "no answer within 60 s"})[0].found.count("no answer within 60 s") == 1


def test_the_table(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [Check("python", "ok", "3.11"), Check("torch", "missing", "not installed [x]", "pip install 'torch>=2.11'")]
    monkeypatch.setattr("hunmin.doctor.checks.examine", lambda run: rows)
    assert run_command(["doctor"]) == 1
    out = capfd.readouterr().out
    assert "not installed [x]" in out and "pip install 'torch>=2.11'" in out and "to fix: torch" in out
    monkeypatch.setattr("hunmin.doctor.checks.examine", lambda run: rows[:1])
    assert run_command(["doctor", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"ok": True, "checks": [asdict(rows[0])]}
