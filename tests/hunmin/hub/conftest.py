"""A hub of this process, to which huggingface_hub speaks in it and in processes that it starts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from common.manifest import Manifest, describe_outputs, write_manifest
from hunmin.main import run_command
from klue.results import metrics_of

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from hub_server import TOKEN, Hub
from mini import write_further

from tests.runs import copy_run


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    import huggingface_hub.constants as constants
    import huggingface_hub.utils._http as http

    with Hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        for name, value in (("HF_ENDPOINT", server.url), ("HF_HUB_DISABLE_XET", "1"), ("HF_HUB_OFFLINE", "0")):
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # its protocol is hf_xet's own, in Rust
        monkeypatch.setattr(http.time, "sleep", lambda seconds: None)  # the library's own attempts
        yield server


@pytest.fixture(scope="session")
def run(mini_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as far as its export, steps 10 and 20, in a folder with a blank and Hangul in its name."""
    folder = tmp_path_factory.mktemp("한글 폴더")
    recipe = write_further(mini_run, folder, steps=20, checkpoint_every=10, keep_last=9, wandb="off")
    (folder / "sample").symlink_to(mini_run / "sample")
    tree = yaml.safe_load(recipe.read_text())
    tree["hub"] = {"license": "cc-by-sa-4.0", "source_licenses": {"books": "CC0"}, "note": "Made for a test."}
    recipe.write_text(yaml.safe_dump(tree), encoding="utf-8")
    assert run_command(["run", str(recipe), "--until", "export"]) == 0
    return folder / "run"


@pytest.fixture
def scored(run: Path, tmp_path: Path) -> Path:
    """A copy of the run, with scores that nobody had to wait for."""
    copy = copy_run(run, tmp_path / "scored")
    rows = [
        {
            "model": "mini", "task": "ynat", "init": init, "seed": 42, "best": dict.fromkeys(metrics_of("ynat"), value),
            "last": dict.fromkeys(metrics_of("ynat"), value), "data_note": "",
            "examples": {"train": 45678, "dev": 9107},
            "settings": {"learning_rate": 1e-4, "global_batch": 8, "epochs": 1, "warmup_share": 0.1,
                         "weight_decay": 0.0},
        }
        for init, value in (("pretrained", 61.25), ("random", 40.0))
    ]  # fmt: skip
    (copy / "klue").mkdir()
    (copy / "klue" / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    outputs = describe_outputs(copy / "klue")
    write_manifest(copy / "klue", Manifest(stage="klue", settings={}, inputs={}, outputs=outputs, counts={"jobs": 2}))
    return copy
