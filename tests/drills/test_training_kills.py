"""Twenty kills and ten polite stops at random moments of a run of two processes: the weights of the undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pretrain.callbacks.metrics import read_metrics

sys.path.insert(0, str(Path(__file__).parents[1] / "pretrain"))

from small_tokens import make_tokenizer, make_tokens
from training_runs import finish, losses, start, wait_for

pytestmark = pytest.mark.drill

KILLS, STOPS = 20, 10
RUN = {"steps": 3000, "checkpoint_every": 20, "keep_last": 2, "log_every": 10, "validate_every": 500}
LONGEST = 2.8
"""Times that a run needs to begin after which it is disturbed at most: most of them have trained by then."""


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    own = [int(child) for child in children.read_text().split()] if children.exists() else []
    return own + [below for child in own for below in descendants(child)]


@pytest.mark.parametrize("zero", [0, 1])
def test_kills_and_stops_change_nothing(zero: int, tmp_path: Path) -> None:
    tokens, tokenizer = make_tokens(tmp_path / "tokens"), make_tokenizer(tmp_path / "tokenizer")
    started = time.monotonic()
    straight = start(tmp_path / "straight", tokens, tokenizer, 2, stderr=subprocess.PIPE, **RUN, zero_stage=zero)
    wait_for(tmp_path / "straight" / "logs" / "metrics.jsonl", straight)
    begin = time.monotonic() - started
    code, errors = finish(straight)
    assert code == 0, errors
    draw = random.Random(zero)
    disturbances = [signal.SIGKILL] * KILLS + [signal.SIGTERM] * STOPS
    draw.shuffle(disturbances)
    run, name = tmp_path / "run", "model/model.safetensors"
    resumed = 0
    for number in disturbances:
        process = start(run, tokens, tokenizer, 2, stderr=subprocess.PIPE, **RUN, zero_stage=zero)
        time.sleep(draw.uniform(0.1, LONGEST) * begin)
        everyone = descendants(process.pid)
        if number == signal.SIGKILL:
            victim = draw.choice([process.pid, *everyone])
            with suppress(ProcessLookupError):
                os.kill(victim, number)
        else:
            process.send_signal(number)
        code, errors = finish(process)
        if number == signal.SIGTERM and everyone:
            assert code == 0 and ("stopped as asked" in errors or (run / name).exists()), (code, errors)
        resumed += "resuming at step" in errors
        assert "Traceback" not in errors or number == signal.SIGKILL, errors
        until = time.monotonic() + 30
        while any(Path(f"/proc/{pid}").exists() for pid in everyone):
            assert time.monotonic() < until, everyone
            time.sleep(0.1)
    code, errors = finish(start(run, tokens, tokenizer, 2, stderr=subprocess.PIPE, **RUN, zero_stage=zero))
    assert code == 0 and resumed > 10, errors
    assert (run / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()
    assert losses(run) == losses(tmp_path / "straight")
    steps = [row["step"] for row in read_metrics(run / "logs" / "metrics.jsonl") if "loss" in row]
    assert steps == list(range(10, 3001, 10))
