"""Batches that grow: the same samples in the same order for any number of processes, and exact resume on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from common.settings import dump_settings
from pretrain.batches.loader import Loader
from pretrain.callbacks.metrics import read_metrics
from pretrain.settings import BatchWarmupSettings, PretrainSettings

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import RUN, kill_when, losses, start, train

GROWING: dict[str, Any] = {
    "model": {**RUN["model"], "dropout": 0.1},
    "steps": 24,
    "micro_batch": 2,
    "batch_warmup": {"start": 4, "steps": 14},
    "masking": {"rate": 0.3, "rate_end": 0.15, "max_word_tokens": 2},
    "checkpoint_every": 6,
    "validate_every": 12,
}


def sizes(count: int, global_batch: int, start: int, steps: int) -> list[int]:
    warmup = BatchWarmupSettings(start=start, steps=steps)
    settings = PretrainSettings(global_batch=global_batch, micro_batch=1, batch_warmup=warmup)
    return [settings.samples_before(n + 1) - settings.samples_before(n) for n in range(count)]


def test_stairs_are_even() -> None:
    assert sizes(10, 16, start=4, steps=8) == [4, 4, 8, 8, 12, 12, 16, 16, 16, 16]
    assert sizes(4, 16, start=4, steps=2) == [8, 16, 16, 16]  # fewer steps than stairs
    assert sizes(3, 16, start=4, steps=1) == sizes(3, 16, start=16, steps=9) == [16, 16, 16]


@given(start=st.integers(1, 8), stairs=st.integers(1, 40), steps=st.integers(1, 100))
def test_every_batch_is_a_multiple_of_the_first_stair(start: int, stairs: int, steps: int) -> None:
    batch = sizes(120, start * stairs, start=start, steps=steps)
    assert all(size % start == 0 and size >= start for size in batch)
    assert batch == sorted(batch) and set(batch[steps - 1 :]) == {start * stairs}
    # never further than a stair from the straight line
    assert all(abs(batch[n] - start * stairs * (n + 1) / steps) <= start * (1 + stairs / steps) for n in range(steps))


def test_batches_are_the_same_for_any_number_of_processes(tokens: Path, tokenizer: Path) -> None:
    settings = PretrainSettings(**{**RUN, **GROWING, "steps": 60})
    loaders = {
        world: [Loader(settings, tokens, tokenizer, Path("none"), rank, world) for rank in range(world)]
        for world in (1, 2)
    }
    seen: list[bytes] = []
    for step in range(60):
        alone, together = (
            [
                masked.ids_BS
                for parts in zip(*(loader.masked_batches(step) for loader in of_world), strict=True)
                for _, masked in parts
            ]
            for of_world in loaders.values()
        )
        assert np.array_equal(np.concatenate(alone), np.concatenate(together))
        seen += [row.tobytes() for batch, _ in loaders[1][0].masked_batches(step) for row in batch.ids_BS]
    assert len(seen) == settings.samples_before(60)
    size = loaders[1][0].order.size
    order = [row.tobytes() for row in loaders[1][0].samples.batch(loaders[1][0].order.train(0, size)[0]).ids_BS]
    assert len(seen) > size and seen[:size] == order  # every sample once, then the next epoch
    assert settings.tokens == settings.samples_before(60) * 16


@pytest.mark.slow
def test_processes_that_cannot_share_a_small_batch_are_refused(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    with pytest.raises(ValueError, match=r"batch_warmup\.start \(4\) must be divisible by the processes \(3\)"):
        PretrainSettings(**{**RUN, **GROWING, "processes": 3})
    assert PretrainSettings(**{**RUN, **GROWING, "processes": 4}).shared_by(4).micro_batch == 1
    with pytest.raises(
        ValueError, match=r"global_batch \(16\) must be divisible by pretrain\.batch_warmup\.start \(6\).*start=4"
    ):
        PretrainSettings(**{**RUN, "micro_batch": 2, "batch_warmup": {"start": 6, "steps": 5}})
    # a launcher that the settings know nothing of
    odd = {**GROWING, "micro_batch": 1, "batch_warmup": {"start": 1, "steps": 9}}
    paths = {"tokens": str(tokens), "tokenizer": str(tokenizer), "out": str(tmp_path)}
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"settings": {**RUN, **odd}, **paths}))
    command = [sys.executable, "-m", "pretrain.parallel.agent", "2", str(job)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 2 and "batch_warmup.start (1) must be divisible by" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """A run of one process that nothing disturbs, with dropout and a masking rate that falls; read only."""
    out = tmp_path_factory.mktemp("grown")
    train(out, tokens, tokenizer, **GROWING)
    return out


def test_metrics_tell_batch_rate_and_tokens(grown: Path) -> None:
    rows = [row for row in read_metrics(grown / "logs" / "metrics.jsonl") if "loss" in row]
    assert [row["batch"] for row in rows] == [8, 12, 16, 16, 16, 16]
    assert [row["masking_rate"] for row in rows] == pytest.approx(
        [0.3 - 0.15 * n / 23 for n in range(3, 24, 4)], abs=1e-5
    )
    positions = PretrainSettings(**{**RUN, **GROWING}).tokens
    counts = json.loads((grown / "counts.json").read_bytes())
    assert 0.98 < counts["tokens"] / positions <= 1 and rows[-1]["tokens"] == counts["tokens"]
    assert all(0 <= row["padding"] < 0.05 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "zero"), [(2, 0), (1, 1), pytest.param(2, 3, marks=pytest.mark.drill)])
def test_processes_and_zero_change_no_loss(
    processes: int, zero: int, tmp_path: Path, tokens: Path, tokenizer: Path, grown: Path
) -> None:
    train(tmp_path, tokens, tokenizer, processes, **{**GROWING, "zero_stage": zero})
    assert [step for step, _ in losses(tmp_path)] == [step for step, _ in losses(grown)]
    for (_, expected), (_, actual) in zip(losses(grown), losses(tmp_path), strict=True):
        assert expected == pytest.approx(actual, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [6, 18])
def test_resume_on_the_stairs_and_after_them_is_bit_equal(
    killed_at: int, grown: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    kill_when(tmp_path / "checkpoints" / f"step-{killed_at:08d}", start(tmp_path, tokens, tokenizer, **GROWING))
    errors = train(tmp_path, tokens, tokenizer, **GROWING)
    assert "resuming at step" in errors, errors
    name = "model/model.safetensors"
    assert (tmp_path / name).read_bytes() == (grown / name).read_bytes() and losses(tmp_path) == losses(grown)


@pytest.mark.slow
def test_a_run_goes_on_with_more_processes_on_the_stairs(
    grown: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    kill_when(tmp_path / "checkpoints" / "step-00000006", start(tmp_path, tokens, tokenizer, **GROWING))
    errors = train(tmp_path, tokens, tokenizer, 2, **GROWING)
    assert "resuming at step" in errors, errors
    for (_, expected), (_, actual) in zip(losses(grown), losses(tmp_path), strict=True):
        assert expected == pytest.approx(actual, abs=1e-4)


@pytest.mark.slow
def test_one_step_of_growth_is_none(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    train(tmp_path, tokens, tokenizer, batch_warmup={"start": 4, "steps": 1})
    name = "model/model.safetensors"
    assert (tmp_path / name).read_bytes() == (straight / name).read_bytes() and losses(tmp_path) == losses(straight)


@pytest.mark.parametrize(
    "change",
    [
        {"batch_warmup": {"start": 4, "steps": 15}},
        {"batch_warmup": None},
        {"masking": {**GROWING["masking"], "rate_end": 0.2}},
        {"masking": {**GROWING["masking"], "max_word_tokens": 3}},
    ],
)
def test_a_changed_schedule_is_refused(change: dict[str, Any], grown: Path, tokens: Path, tokenizer: Path) -> None:
    from pretrain.callbacks.checkpoint_metadata import check_metadata, fingerprint, newest_checkpoint

    def facts(**more: Any) -> dict[str, Any]:
        stated = dump_settings(PretrainSettings(**{**RUN, **GROWING, **more}))
        return {"dtype": "fp32", "fingerprint": fingerprint(stated, tokens), "settings": stated}

    path, mark = newest_checkpoint(grown / "checkpoints")
    assert path is not None
    check_metadata(path, mark, facts())
    (section,) = change
    with pytest.raises(UserError, match=f"made with other settings or another corpus: {section}"):
        check_metadata(path, mark, facts(**change))
