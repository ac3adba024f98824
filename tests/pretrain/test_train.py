"""Training in its own process: exact resume after kills and stops, exports that change nothing."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import sys
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size, write_metadata
from pretrain.callbacks.metrics import read_metrics
from pretrain.export import export_checkpoint
from pretrain.parallel.versions import STEP, versions_of
from tokenizer.save import build_tokenizer, save_tokenizer

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import RUN, assert_near, assert_same_run, finish, kill_when, losses, start, train, wait_for


def test_learns_and_counts(straight: Path) -> None:
    values = [loss for _, loss in losses(straight)]
    assert len(values) == 15 and values[-1] < values[0]
    validation = [r for r in read_metrics(straight / "logs" / "metrics.jsonl") if "validation_loss" in r]
    assert [r["step"] for r in validation] == [0, 20, 40, 60]
    counts = json.loads((straight / "counts.json").read_bytes())
    assert 0.99 < counts["tokens"] / (60 * 16 * 16) <= 1 and counts["padding"] < 0.01


def test_killed_stopped_and_resumed_is_bit_equal(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    kill_when(tmp_path / "checkpoints" / "step-00000010", start(tmp_path, tokens, tokenizer))
    # a half-written checkpoint and a damaged one are passed over for the one before
    (tmp_path / "checkpoints" / ".step-00000099.tmp").mkdir()
    damaged = tmp_path / "checkpoints" / "step-00000059"
    damaged.mkdir(parents=True)
    (damaged / "complete.json").write_text('{"step": 59, "files": {"gone.safetensors": 10}}')
    second = start(tmp_path, tokens, tokenizer)
    resumed = checkpoints_by_size(tmp_path / "checkpoints")[-1][0]
    wait_for(tmp_path / "checkpoints" / f"step-{resumed + 10:08d}", second)
    second.send_signal(signal.SIGTERM)
    code, errors = finish(second)
    assert code == 0 and "passed over" in errors
    newest = checkpoints_by_size(tmp_path / "checkpoints")[-1][1] / "complete.json"
    saved = json.loads(newest.read_bytes())
    assert saved["code"] == versions_of(STEP)
    write_metadata(newest.parent, {**saved, "code": {**saved["code"], "torch": "1.0", "source": "earlier"}})
    third = start(tmp_path, tokens, tokenizer)
    code, errors = finish(third)
    changed = [f"source: earlier → {saved['code']['source']}", f"torch: 1.0 → {torch.__version__}"]
    assert code == 0 and "resuming at step" in errors
    assert f"was made by other code: {', '.join(changed)}" in " ".join(errors.split())
    starts = [json.loads(line) for line in (tmp_path / "logs" / "starts.jsonl").read_text("utf-8").splitlines()]
    assert [start["step"] for start in starts][:2] == [0, resumed] and len(starts) == 3
    assert starts[2]["changed"] == changed and not any("changed" in entry for entry in starts[:2])
    assert starts[2]["step"] > resumed and {start["processes"] for start in starts} == {1}
    assert sorted(datetime.fromisoformat(start["time"]) for start in starts)[0].utcoffset() == timedelta(0)
    assert_same_run(tmp_path, straight)


@pytest.mark.slow
def test_validation_disturbs_nothing(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """Its masks and its forward passes draw nothing that training would (EuroBERT)."""
    train(tmp_path, tokens, tokenizer, validate_every=7)
    assert_same_run(tmp_path, straight)


@pytest.mark.slow
def test_checkpoints_along_the_way_are_kept(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    train(tmp_path, tokens, tokenizer, keep_last=1, keep_every=20, steps=50)
    assert [step for step, _ in checkpoints_by_size(tmp_path / "checkpoints")] == [20, 40, 50]


@pytest.mark.slow
def test_layers_computed_again_give_the_same_losses(
    straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    watch = f"""
import gc, pretrain.trainer as e
from transformers.models.roberta.modeling_roberta import RobertaIntermediate
calls, objects, forward, step = [], [], RobertaIntermediate.forward, e.Trainer.step
def counting(self, *a, **k):
    calls.append(1)
    return forward(self, *a, **k)
def stepping(self, number, *a, **k):
    calls.clear()
    found = step(self, number, *a, **k)
    objects.append(len(gc.get_objects()))
    if number > 20:
        open({str(tmp_path / "seen")!r}, "w").write(f"{{len(calls)}} {{objects[19]}} {{objects[-1]}}")
    return found
RobertaIntermediate.forward, e.Trainer.step = counting, stepping
"""
    train(tmp_path, tokens, tokenizer, patch=watch, gradient_checkpointing=True, steps=60)
    assert losses(tmp_path) == losses(straight)
    calls, early, late = map(int, (tmp_path / "seen").read_text().split())
    assert calls == 2 * 2 * 4  # both layers of four micro-batches, twice
    assert late < early + 500  # the cycles that it leaves behind are collected


@pytest.mark.slow
def test_a_run_goes_on_from_a_published_model(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """Its first validation loss is the last one of the run that made the model, and its checkpoints can be exported."""
    source = tmp_path / "published"
    shutil.copytree(straight / "model", source)
    entries = (tokenizer / "vocab.txt").read_text(encoding="utf-8").split()
    save_tokenizer(build_tokenizer(entries, "roberta"), "roberta", 16, source)
    changes = {"init_from": str(source), "steps": 10, "optimizer": {**RUN["optimizer"], "learning_rate": 1e-5}}
    train(tmp_path / "run", tokens, tokenizer, **changes)
    before, after = (
        [row["validation_loss"] for row in read_metrics(run / "logs" / "metrics.jsonl") if "validation_loss" in row]
        for run in (straight, tmp_path / "run")
    )
    assert after[0] == before[-1] and after[0] < before[0]
    _, checkpoint = checkpoints_by_size(tmp_path / "run" / "checkpoints")[-1]
    export_checkpoint(checkpoint, tmp_path / "model")
    # what the checkpoint holds is not looked for again
    source.rename(tmp_path / "moved")
    errors = train(tmp_path / "run", tokens, tokenizer, **changes)
    assert "resuming at step 10" in errors, errors
    code, errors = finish(start(tmp_path / "other", tokens, tokenizer, init_from=str(tmp_path / "none"), steps=10))
    assert code == 2 and "has no config.json" in errors and "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["packed", "sentence-pairs"])
def test_other_samples_train_resume_and_export(kind: str, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """KLUE-BERT's way (static masks, next-sentence prediction), and packed documents that do not see each other."""
    changes: dict[str, Any] = {
        "packing": kind,
        "max_seq_len": 24,
        "steps": 40,
        "model": {**RUN["model"], "dropout": 0.1},
    }
    if kind == "sentence-pairs":
        changes |= {"objective": "mlm+nsp", "masking": {"kind": "static", "dupe_factor": 3}}
        changes["model"] |= {"type": "bert"}
    train(tmp_path / "straight", tokens, tokenizer, **changes)
    run = tmp_path / "run"
    kill_when(run / "checkpoints" / "step-00000010", start(run, tokens, tokenizer, **changes))
    errors = train(run, tokens, tokenizer, **changes)
    assert "resuming at step" in errors, errors
    assert_same_run(run, tmp_path / "straight")
    rows = read_metrics(run / "logs" / "metrics.jsonl")
    counts = json.loads((run / "counts.json").read_bytes())
    assert counts["tokens"] == rows[-2 if "loss" not in rows[-1] else -1]["tokens"] <= 40 * 16 * 24
    assert ("pair_accuracy" in rows[1]) == (kind == "sentence-pairs") and not list(run.glob("samples-*"))
    config = json.loads((run / "model" / "config.json").read_bytes())
    assert config["architectures"] == ["BertForPreTraining" if kind == "sentence-pairs" else "RobertaForMaskedLM"]


def test_other_settings_are_refused_by_name(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(straight, run)
    changes = {"seed": 43, "packing": "packed"}
    code, errors = finish(start(run, tokens, tokenizer, **changes))
    assert code == 2 and "other settings or another corpus" in errors and "Traceback" not in errors
    assert "seed: 42 → 43" in errors and '"contiguous" → "packed"' in errors
    assert not list(run.glob("samples-*"))  # nothing was worked out for it


@pytest.mark.slow
def test_a_run_goes_on_with_other_micro_batches(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """The advice for a full memory can be taken by a run that has begun."""
    changes: dict[str, Any] = {"model": {**RUN["model"], "dropout": 0.0}, "steps": 20}
    for out in ("straight", "run"):
        train(tmp_path / out, tokens, tokenizer, **changes)
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00000020")
    errors = train(tmp_path / "run", tokens, tokenizer, **{**changes, "micro_batch": 2})
    assert "resuming at step 10" in errors, errors
    assert_near(tmp_path / "straight", tmp_path / "run", 1e-4)


@pytest.mark.slow
def test_a_terminal_shows_how_far_a_run_is(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    terminal, theirs = pty.openpty()
    process = start(tmp_path, tokens, tokenizer, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the end of what is shown
        while some := os.read(terminal, 4096):
            shown += some
    os.close(terminal)
    assert process.wait(60) == 0
    text = shown.decode(errors="replace")
    assert "━" in text and "100%" in text and "tokens/s" in text and "MFU" in text


def test_exported_checkpoint_has_the_final_weights(straight: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    step, checkpoint = checkpoints_by_size(straight / "checkpoints")[-1]
    assert step == 60
    export_checkpoint(checkpoint, tmp_path / "model")
    weights = load_file(tmp_path / "model" / "model.safetensors")
    for name, tensor in load_file(straight / "model" / "model.safetensors").items():
        assert torch.equal(tensor, weights[name])
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "model", local_files_only=True)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
