"""Branches: a new run from a checkpoint of another, and going on under settings that compute the same."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from common.errors import UserError
from common.settings import dump_settings
from pretrain.batches.loader import Loader
from pretrain.batches.plans import plan_samples
from pretrain.callbacks.branch import read_parent
from pretrain.callbacks.checkpoint_metadata import (
    checkpoints_by_size,
    read_metadata,
    step_folder,
    tokens_fingerprint,
    write_metadata,
)
from pretrain.callbacks.metrics import read_metrics
from pretrain.settings import PretrainSettings

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import MODEL, RUN, assert_same_run, finish, losses, signal_at, start, train

STABLE: dict[str, Any] = {
    "learning_rate": 1e-3,
    "warmup_steps": 5,
    "schedule": "warmup-stable-decay",
    "decay_share": 0.5,
}


@pytest.fixture(scope="module")
def stable(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """A run that stays at its peak for 40 steps of 80."""
    out = tmp_path_factory.mktemp("stable")
    train(out, tokens, tokenizer, optimizer=STABLE, steps=80)
    return out


@pytest.mark.parametrize(("batch", "seen"), [(16, 480), (32, 480), (8, 480), (16, 700), (32, 700)])
def test_a_branch_begins_with_the_sample_behind_its_parents_last(
    batch: int, seen: int, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """The parent has taken 30 batches of 16 samples; one that is a branch itself has seen more."""
    before, now = (PretrainSettings(**{**RUN, "global_batch": size}) for size in (16, batch))
    path = step_folder(tmp_path, 30)
    path.mkdir()
    guard = {"average": 3.5, "scale": 1.0, "clean_steps": 30, "overflows": 1, "faults": 2, "skipped": [4, 9]}
    write_metadata(path, {
        "step": 30, "files": {}, "settings": dump_settings(before), "tokens_fingerprint": tokens_fingerprint(tokens),
        "fingerprint": "", "dtype": "fp32", "positions": 18, "positions_seen": seen * 16, "guard": guard,
        "tokens": seen * 15, "tokens_logged": 0,
    })  # fmt: skip
    saved = read_parent(path, dump_settings(now), now, tokens)
    assert saved["step"] == 30 and saved["guard"] == {"average": 3.5, "clean_steps": 30}
    assert saved["tokens"] == saved["tokens_logged"] == seen * 15
    plan_samples(now, tokens, tmp_path / "plans")
    loader = Loader(now, tokens, tokenizer, tmp_path / "plans", 0, 1, first_position=saved["first_position"])
    taken = [ids.tolist() for step in (30, 31) for rows, _ in loader.masked_batches(step) for ids in rows.ids_BS]
    next_ids, _ = loader.order.train(seen, 2 * batch)
    assert taken == loader.samples.batch(next_ids).ids_BS.tolist()
    with pytest.raises(UserError, match="has 30 steps, the run is to end after 30"):
        ending = now.model_copy(update={"steps": 30})
        read_parent(path, dump_settings(ending), ending, tokens)


def branch(
    out: Path, tokens: Path, tokenizer: Path, parent: Path, processes: int = 1, **changes: Any
) -> tuple[int, str]:
    return finish(start(out, tokens, tokenizer, processes, branch_from=str(parent), **changes))


@pytest.mark.slow
def test_a_decay_begun_from_a_stable_phase_is_that_of_the_run_that_had_it_in_its_schedule(
    stable: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """80 steps of which the last 20 decay, in one go, and branched off the run that decays from step 40 on."""
    decaying = {"optimizer": {**STABLE, "decay_share": 0.25}, "steps": 80}
    train(tmp_path / "whole", tokens, tokenizer, **decaying)
    code, errors = branch(tmp_path / "run", tokens, tokenizer, step_folder(stable / "checkpoints", 40), **decaying)
    assert code == 0 and "branching from" in errors and "at step 40 of 80" in errors, errors
    assert (tmp_path / "run" / MODEL).read_bytes() == (tmp_path / "whole" / MODEL).read_bytes()
    assert (tmp_path / "run" / MODEL).read_bytes() != (stable / MODEL).read_bytes()
    later = [(step, loss) for step, loss in losses(tmp_path / "whole") if step > 40]
    assert losses(tmp_path / "run") == later
    counts, whole = (json.loads((tmp_path / out / "counts.json").read_bytes()) for out in ("run", "whole"))
    parent = counts.pop("parent")
    assert counts == whole and parent["step"] == 40 and parent["checkpoint"].endswith("step-00000040")
    mark = read_metadata(checkpoints_by_size(tmp_path / "run" / "checkpoints")[-1][1]) or {}
    assert mark["parent"] == parent and mark["positions_seen"] == 80 * 16 * 16


@pytest.mark.slow
def test_a_killed_branch_goes_on_as_itself_and_needs_its_parent_no_more(
    stable: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    parent = shutil.copytree(step_folder(stable / "checkpoints", 30), tmp_path / "step-00000030")
    changes = {"optimizer": {**STABLE, "learning_rate": 5e-4}, "steps": 60}
    code, errors = branch(tmp_path / "straight", tokens, tokenizer, parent, **changes)
    assert code == 0, errors
    run, kill = tmp_path / "run", signal_at(45, "SIGKILL")
    code, _ = finish(start(run, tokens, tokenizer, patch=kill, branch_from=str(parent), **changes))
    assert code != 0
    (run / "sitecustomize.py").unlink()
    shutil.rmtree(parent)
    code, errors = branch(run, tokens, tokenizer, parent, **changes)
    assert code == 0 and "resuming at step 40" in errors, errors
    assert_same_run(run, tmp_path / "straight")


@pytest.mark.slow
def test_another_batch_another_stage_and_more_processes_go_on_where_the_data_stood(
    stable: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """The parent has taken 30 × 16 samples; the branch takes the next ones, 32 at a time."""
    parent = step_folder(stable / "checkpoints", 30)
    changes = {"optimizer": STABLE, "steps": 40, "global_batch": 32, "zero_stage": 2, "micro_batch": 8}
    code, errors = branch(tmp_path / "run", tokens, tokenizer, parent, 2, **changes)
    assert code == 0, errors
    mark = read_metadata(checkpoints_by_size(tmp_path / "run" / "checkpoints")[-1][1]) or {}
    assert mark["positions_seen"] == (30 * 16 + 10 * 32) * 16
    settings = PretrainSettings(**{**RUN, **changes})
    plan_samples(settings, tokens, tmp_path / "plans")
    loader = Loader(settings, tokens, tokenizer, tmp_path / "plans", 0, 1, first_position=mark["first_position"])
    old = Loader(PretrainSettings(**RUN), tokens, tokenizer, tmp_path / "plans", 0, 1)
    taken = [ids.tolist() for batch, _ in loader.masked_batches(30) for ids in batch.ids_BS]
    expected = [ids.tolist() for step in (30, 31) for batch, _ in old.masked_batches(step) for ids in batch.ids_BS]
    assert taken == expected


@pytest.mark.slow
def test_what_says_what_weights_and_data_are_may_not_differ(
    stable: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    parent = step_folder(stable / "checkpoints", 30)
    for changes, said in (
        ({"seed": 7}, "seed: 42 → 7"),
        ({"packing": "packed"}, "packing"),
        ({"model": {**RUN["model"], "layers": 3}}, r"model.layers: 2 → 3"),
        ({"steps": 30}, "has 30 steps, the run is to end after 30"),
    ):
        code, errors = branch(tmp_path / said[:4], tokens, tokenizer, parent, **{"optimizer": STABLE, **changes})
        assert code == 2 and said in errors and "Traceback" not in errors, errors
    code, errors = branch(tmp_path / "none", tokens, tokenizer, tmp_path / "step-1", optimizer=STABLE)
    assert code == 2 and "is not a whole checkpoint" in errors


@pytest.mark.slow
def test_what_computes_the_same_may_change_on_the_way_and_is_noted(
    straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """Bound of spikes, logging, validation, keeping, ZeRO stage: refused once, all of them."""
    run = tmp_path / "run"
    shutil.copytree(straight, run)
    for _, path in checkpoints_by_size(run / "checkpoints")[3:]:
        shutil.rmtree(path)
    changes = {"spike": 3.0, "max_skipped": 3, "log_every": 2, "validate_every": 60, "keep_last": 1, "zero_stage": 1}
    errors = train(run, tokens, tokenizer, **changes)
    assert "resuming at step 30" in errors and "zero_stage: 0 → 1" in errors, errors
    assert "engine: torch → deepspeed" in errors
    now = dict(losses(run))
    for step, loss in losses(straight):
        if step <= 30:
            assert now[step] == loss
    weights = [load_file(out / MODEL) for out in (run, straight)]
    assert all((weights[0][name] - weights[1][name]).abs().max() < 1e-3 for name in weights[0])


@pytest.mark.slow
def test_the_remedy_for_a_run_that_diverges_can_be_taken(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """A rate a thousand times too high: the run stops, names the command that goes on, and that run ends."""
    optimizer = {"learning_rate": 3.0, "warmup_steps": 50, "max_grad_norm": 0}
    changes = {"checkpoint_every": 2, "keep_last": 2, "optimizer": optimizer}
    code, errors = finish(start(tmp_path / "wild", tokens, tokenizer, **changes))
    assert code == 1 and "11 batches had no finite loss" in errors and "Traceback" not in errors, errors
    message = " ".join(errors.split())
    assert "hunmin pretrain RECIPE pretrain.branch_from=" in message
    source = Path(message.partition("pretrain.branch_from=")[2].split()[0])
    rate = float(message.partition("pretrain.optimizer.learning_rate=")[2].split()[0])
    assert source.parent == tmp_path / "wild" / "checkpoints" and 0 < rate < optimizer["learning_rate"] / 2
    changes["optimizer"] = {**optimizer, "learning_rate": rate}
    code, errors = branch(tmp_path / "tamed", tokens, tokenizer, source, **changes)
    assert code == 0 and "branching from" in errors, errors
    rows = [row for row in read_metrics(tmp_path / "tamed" / "logs" / "metrics.jsonl") if "skipped" in row]
    assert rows[-1]["step"] == RUN["steps"] and rows[-1]["skipped"] == 0
