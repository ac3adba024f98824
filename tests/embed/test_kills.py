"""Kills: SIGKILL and SIGTERM at drawn moments, within a checkpoint too; the finished run has the same bytes."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import traceback
from pathlib import Path
from typing import Any

import pytest
from tiny_encoders import losses_of, write_job

from common.settings import parse_settings
from embed.settings import EmbedSettings

pytest.importorskip("sentence_transformers")
from embed import trainer
from embed.multi_vector import TokenTuner
from embed.train import tune_embeddings
from pretrain.callbacks.hf_trainer import Follow

MOMENTS = [
    (trainer.Tuner, "training_step"), (trainer.Tuner, "_save"), (trainer.Tuner, "_save_optimizer_and_scheduler"),
    (trainer.Tuner, "_save_rng_state"), (Follow, "on_log"), (Follow, "on_step_end"), (trainer.Tuner, "save_folder"),
]  # fmt: skip
"""What a run does when it is killed, before or after: steps, the parts of a checkpoint, lines of its log, its model."""
CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "one set": (["triplets"], {}),
    "several sets": (["triplets", "scored", "distilled", "pairs"], {"matryoshka": [8]}),
    "cached loss": (["triplets", "pairs"], {"mini_batch": 3}),
    "multi-vector": (["triplets", "distilled"], {"kind": "multi-vector"}),
}


def tuned(base: Path, out: Path, data: list[Any], changes: dict[str, Any], kill: Any = None) -> int:
    """Tune in a process of its own, and return its status: 0 done, else the signal, -1 a fault."""
    job = json.loads(write_job(out, base, data, **changes).read_text())
    settings = parse_settings(EmbedSettings, job["settings"], "test")
    if child := os.fork():
        status = os.waitpid(child, 0)[1]
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)
    try:
        if kill:
            _send(*kill)
        done = tune_embeddings(settings, base, out, "tiny")
        os._exit(0) if done else os.kill(os.getpid(), signal.SIGKILL)  # stopped and saved
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def _send(owner: Any, name: str, number: int, call: int, before: bool) -> None:
    """Have this process send itself a signal in the call-th call of a function, before or after it."""
    original, calls = getattr(owner, name), [0]

    def signalling(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if before and calls[0] == call:
            os.kill(os.getpid(), number)
        result = original(*given, **named)
        if not before and calls[0] == call:
            os.kill(os.getpid(), number)
        return result

    setattr(owner, name, staticmethod(signalling) if name == "save_folder" else signalling)


@pytest.mark.drill
@pytest.mark.parametrize("case", CASES)
def test_a_killed_run_ends_in_the_same_bytes(case: str, base: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    """With dropout, into a third epoch."""
    assert json.loads((base / "config.json").read_bytes())["hidden_dropout_prob"] == 0.1
    names, changes = CASES[case]
    data, draw = [rows[name] for name in names], random.Random(case)
    epoch = sum(-(-len(Path(one["path"]).read_text().splitlines()) // 8) for one in data)
    changes = {**changes, "steps": 2 * epoch + 3, "checkpoint_every": 3}
    straight, killed, kills = tmp_path / "straight", tmp_path / "killed", 0
    assert tuned(base, straight, data, changes) == 0
    while kills < 8:
        owner, name = draw.choice(MOMENTS)
        owner = TokenTuner if "kind" in changes and owner is trainer.Tuner else owner
        call = 1 if name == "save_folder" else draw.randint(1, 2 if name.startswith("_") else 7)
        moment = (owner, name, draw.choice([signal.SIGKILL, signal.SIGTERM]), call, draw.random() < 0.5)
        status = tuned(base, killed, data, changes, moment)
        assert status in (0, signal.SIGKILL)
        if status == 0:  # it has come to its end: the next one begins anew
            assert_same_run(straight, killed, changes["steps"])
            shutil.rmtree(killed)
        kills += status == signal.SIGKILL
    assert tuned(base, killed, data, changes) == 0
    assert_same_run(straight, killed, changes["steps"])


def assert_same_run(straight: Path, killed: Path, steps: int) -> None:
    for file in ("model/model.safetensors", "counts.json", "model/README.md", "model/hunmin-embed.json"):
        assert (straight / file).read_bytes() == (killed / file).read_bytes(), file
    for path in straight.glob("model/*/*.safetensors"):
        assert path.read_bytes() == (killed / path.relative_to(straight)).read_bytes()
    assert losses_of(straight) == losses_of(killed)
    assert len(losses_of(killed)) == steps
