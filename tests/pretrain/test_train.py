"""Training in its own process: exact resume after kills, any number of processes, exports that change nothing."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from pretrain.checkpoint import complete_checkpoints
from pretrain.export import export_checkpoint
from pretrain.metrics import read_metrics
from pretrain.settings import PretrainSettings
from tokenizer.save import build_tokenizer, save_tokenizer

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import RUN, finish, losses, start, wait_for


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    out = tmp_path_factory.mktemp("straight")
    code, errors = finish(start(out, tokens, tokenizer))
    assert code == 0, errors
    return out


def test_learns_and_counts(straight: Path) -> None:
    values = [loss for _, loss in losses(straight)]
    assert len(values) == 15 and values[-1] < values[0]
    validation = [r for r in read_metrics(straight / "logs" / "metrics.jsonl") if "validation_loss" in r]
    assert [r["step"] for r in validation] == [0, 20, 40, 60]
    counts = json.loads((straight / "counts.json").read_bytes())
    assert 0.99 < counts["tokens"] / (60 * 16 * 16) <= 1 and counts["padding"] < 0.01


def test_killed_stopped_and_resumed_is_bit_equal(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    first = start(tmp_path, tokens, tokenizer)
    wait_for(tmp_path / "checkpoints" / "step-00000010", first)
    first.send_signal(signal.SIGKILL)
    finish(first)
    # a half-written checkpoint and a damaged one are passed over for the one before
    (tmp_path / "checkpoints" / ".step-00000099.tmp").mkdir()
    damaged = tmp_path / "checkpoints" / "step-00000059"
    (damaged / "state").mkdir(parents=True)
    (damaged / "complete.json").write_text('{"step": 59, "files": {"state/gone.pt": 10}}')
    second = start(tmp_path, tokens, tokenizer)
    resumed = complete_checkpoints(tmp_path / "checkpoints")[-1][0]
    wait_for(tmp_path / "checkpoints" / f"step-{resumed + 10:08d}", second)
    second.send_signal(signal.SIGTERM)
    code, errors = finish(second)
    assert code == 0 and "passed over" in errors
    third = start(tmp_path, tokens, tokenizer)
    code, errors = finish(third)
    assert code == 0 and "resuming at step" in errors
    name = "model/model.safetensors"
    assert (tmp_path / name).read_bytes() == (straight / name).read_bytes()
    assert losses(tmp_path) == losses(straight)


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """A run without dropout, of one process."""
    out = tmp_path_factory.mktemp("exact")
    code, errors = finish(start(out, tokens, tokenizer, **EXACT))
    assert code == 0, errors
    return out


EXACT: dict[str, Any] = {"model": {**RUN["model"], "dropout": 0.0}, "steps": 24}


@pytest.mark.parametrize(
    ("processes", "zero", "micro_batch"),
    [(2, 0, 4), (2, 0, 8), (1, 0, 16), (1, 0, 8), (2, 1, 4), (2, 2, 4), (2, 3, 4)],
)
def test_processes_accumulation_and_zero_change_no_loss(
    processes: int, zero: int, micro_batch: int, exact: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    changes = {**EXACT, "zero_stage": zero, "micro_batch": micro_batch}
    code, errors = finish(start(tmp_path, tokens, tokenizer, processes, **changes))
    assert code == 0, errors
    assert [step for step, _ in losses(tmp_path)] == [step for step, _ in losses(exact)]
    for (_, one), (_, two) in zip(losses(exact), losses(tmp_path), strict=True):
        assert one == pytest.approx(two, abs=1e-4)
    # the export is whole at every stage, its decoder still tied (hiyouga/LlamaFactory#10813, transformers#10789)
    _, checkpoint = complete_checkpoints(tmp_path / "checkpoints")[-1]
    export_checkpoint(checkpoint, PretrainSettings(**{**RUN, **changes}), tokens, tokenizer, tmp_path / "export")
    final, exported, straight_on = (
        load_file(folder / "model.safetensors") for folder in (tmp_path / "model", tmp_path / "export", exact / "model")
    )
    assert final.keys() == exported.keys() == straight_on.keys()
    for name, tensor in final.items():
        assert torch.equal(tensor, exported[name])
        torch.testing.assert_close(tensor, straight_on[name], atol=1e-3, rtol=0)


def test_validation_disturbs_nothing(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """Its masks and its forward passes draw nothing that training would (EuroBERT)."""
    code, errors = finish(start(tmp_path, tokens, tokenizer, validate_every=7))
    assert code == 0, errors
    name = "model/model.safetensors"
    assert (tmp_path / name).read_bytes() == (straight / name).read_bytes() and losses(tmp_path) == losses(straight)


def test_a_compiled_run_has_the_same_losses(exact: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    code, errors = finish(start(tmp_path, tokens, tokenizer, **EXACT, compile=True))
    assert code == 0, errors
    for (_, one), (_, two) in zip(losses(exact), losses(tmp_path), strict=True):
        assert one == pytest.approx(two, abs=1e-3)
    assert (
        load_file(tmp_path / "model" / "model.safetensors").keys()
        == load_file(exact / "model" / "model.safetensors").keys()
    )


def test_checkpoints_along_the_way_are_kept(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    code, errors = finish(start(tmp_path, tokens, tokenizer, keep_last=1, keep_every=20, steps=50))
    assert code == 0, errors
    assert [step for step, _ in complete_checkpoints(tmp_path / "checkpoints")] == [20, 40, 50]


STOP = """
import os, signal, pretrain.engine as e
step = e.Trainer.step
def stopping(self, number, *a, **k):
    if number == AT:
        os.kill(os.getpid(), signal.SIGTERM)
    return step(self, number, *a, **k)
e.Trainer.step = stopping
"""


@pytest.mark.parametrize(("zero", "worlds"), [(0, (1, 2, 4)), (1, (2, 1, 4)), (2, (4, 2, 1))])
def test_a_run_goes_on_with_another_number_of_processes(
    zero: int, worlds: tuple[int, ...], exact: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """The same global batches and the same losses, wherever the optimizer state was split."""
    for number, world in enumerate(worlds):
        patch = STOP.replace("AT", str(8 * number + 7))
        code, errors = finish(start(tmp_path, tokens, tokenizer, world, patch=patch, **EXACT, zero_stage=zero))
        assert code == 0 and ("stopped as asked" in errors) == (number < 2) and "Traceback" not in errors, errors
        assert ("resuming at step" in errors) == (number > 0)
    assert [step for step, _ in losses(tmp_path)] == [step for step, _ in losses(exact)]
    for (_, one), (_, two) in zip(losses(exact), losses(tmp_path), strict=True):
        assert one == pytest.approx(two, abs=1e-4)
    assert not list((tmp_path / "checkpoints").glob(".*"))


def test_layers_computed_again_give_the_same_losses(
    straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    code, errors = finish(start(tmp_path, tokens, tokenizer, gradient_checkpointing=True, steps=60))
    assert code == 0, errors
    assert losses(tmp_path) == losses(straight)


def test_a_run_goes_on_from_a_published_model(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """Its first validation loss is the last one of the run that made the model, and its checkpoints can be exported."""
    source = tmp_path / "published"
    shutil.copytree(straight / "model", source)
    entries = (tokenizer / "vocab.txt").read_text(encoding="utf-8").split()
    save_tokenizer(build_tokenizer(entries, "roberta"), "roberta", 16, source)
    changes = {"init_from": str(source), "steps": 10, "optimizer": {**RUN["optimizer"], "lr": 1e-5}}
    code, errors = finish(start(tmp_path / "run", tokens, tokenizer, **changes))
    assert code == 0, errors
    before, after = (
        [row["validation_loss"] for row in read_metrics(run / "logs" / "metrics.jsonl") if "validation_loss" in row]
        for run in (straight, tmp_path / "run")
    )
    assert after[0] == before[-1] and after[0] < before[0]
    _, checkpoint = complete_checkpoints(tmp_path / "run" / "checkpoints")[-1]
    export_checkpoint(checkpoint, PretrainSettings(**{**RUN, **changes}), tokens, tokenizer, tmp_path / "model")
    code, errors = finish(start(tmp_path / "other", tokens, tokenizer, init_from=str(tmp_path / "none"), steps=10))
    assert code == 2 and "no model that transformers can load" in errors and "Traceback" not in errors


@pytest.mark.parametrize("kind", ["packed", "sentence-pairs"])
def test_other_samples_train_resume_and_export(kind: str, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """KLUE-BERT's way (static masks, next-sentence prediction), and packed documents that do not see each other."""
    changes: dict[str, Any] = {"samples": kind, "length": 24, "steps": 40, "model": {**RUN["model"], "dropout": 0.1}}
    if kind == "sentence-pairs":
        changes |= {"objective": "mlm+nsp", "masking": {"kind": "static", "dupe_factor": 3}}
        changes["model"] |= {"type": "bert"}
    code, errors = finish(start(tmp_path / "straight", tokens, tokenizer, **changes))
    assert code == 0, errors
    run = tmp_path / "run"
    first = start(run, tokens, tokenizer, **changes)
    wait_for(run / "checkpoints" / "step-00000010", first)
    first.send_signal(signal.SIGKILL)
    finish(first)
    code, errors = finish(start(run, tokens, tokenizer, **changes))
    assert code == 0 and "resuming at step" in errors, errors
    assert losses(run) == losses(tmp_path / "straight")
    name = "model/model.safetensors"
    assert (run / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()
    rows = read_metrics(run / "logs" / "metrics.jsonl")
    counts = json.loads((run / "counts.json").read_bytes())
    assert counts["tokens"] == rows[-2 if "loss" not in rows[-1] else -1]["tokens"] <= 40 * 16 * 24
    assert ("pair_accuracy" in rows[1]) == (kind == "sentence-pairs") and not list(run.glob("samples-*"))
    config = json.loads((run / "model" / "config.json").read_bytes())
    assert config["architectures"] == ["BertForPreTraining" if kind == "sentence-pairs" else "RobertaForMaskedLM"]


def test_another_corpus_is_refused(straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    shutil.copytree(straight, tmp_path / "run")
    code, errors = finish(start(tmp_path / "run", tokens, tokenizer, seed=43))
    assert code == 2 and "other settings or another corpus" in errors and "Traceback" not in errors


def test_exported_checkpoint_has_the_final_weights(
    straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    from transformers import AutoModelForMaskedLM

    step, checkpoint = complete_checkpoints(straight / "checkpoints")[-1]
    assert step == 60
    export_checkpoint(checkpoint, PretrainSettings(**RUN), tokens, tokenizer, tmp_path / "model")
    weights = load_file(tmp_path / "model" / "model.safetensors")
    for name, tensor in load_file(straight / "model" / "model.safetensors").items():
        assert torch.equal(tensor, weights[name])
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "model", local_files_only=True)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


def test_a_diverged_loss_stops_the_run_and_never_replaces_a_good_checkpoint(
    tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    wild = {"lr": 1e30, "warmup_steps": 0, "clip": 0}
    changes = {"optimizer": wild, "checkpoint_every": 1, "log_every": 50, "validate_every": 60}
    code, errors = finish(start(tmp_path, tokens, tokenizer, **changes))
    assert code == 1 and "batches had no finite loss" in errors and "Traceback" not in errors
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11" in errors and "the checkpoint of step 1 is kept" in errors
    for _, checkpoint in complete_checkpoints(tmp_path / "checkpoints"):
        window = json.loads((checkpoint / "complete.json").read_bytes())["window"]
        assert all(abs(value) < float("inf") for value in window)


FAULT = """
import torch, pretrain.engine as e, pretrain.model as m
class Wild(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss):
        return loss.clone()
    @staticmethod
    def backward(ctx, gradient):
        return gradient * float("nan")
forward, step, at = m.MaskedRowsModel.forward, e.Trainer.step, []
def faulty(self, *a, **k):
    sums = forward(self, *a, **k)
    return sums._replace(loss=sums.loss * FACTOR) if at[-1:] in ([7], [23]) and self.training else sums
def stepping(self, number, *a, **k):
    at.append(number)
    return step(self, number, *a, **k)
m.MaskedRowsModel.forward, e.Trainer.step = faulty, stepping
"""
PASSED_OVER = """
import torch, pretrain.engine as e
step = e.Trainer.step
def stepping(self, number, *a, **k):
    self.skipped = number in (7, 23)
    return torch.zeros(7, dtype=torch.float64) if self.skipped else step(self, number, *a, **k)
e.Trainer.step = stepping
"""


@pytest.mark.parametrize(
    ("factor", "zero", "processes"),
    [
        ("float('nan')", 0, 1),
        ("9.0", 0, 1),
        ("float('nan')", 1, 2),
        ("9.0", 2, 2),
        ("float('inf')", 3, 2),
        ("GRADIENT", 0, 1),
        ("GRADIENT", 0, 2),
        ("GRADIENT", 1, 2),
        ("GRADIENT", 2, 1),
    ],
)
def test_a_batch_that_fails_changes_nothing(
    factor: str, zero: int, processes: int, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """A loss that is not finite or leaps up: as if the batch had not been; killed between two such, too."""
    changes = {"zero_stage": zero, "steps": 30, "processes": processes}
    code, errors = finish(start(tmp_path / "without", tokens, tokenizer, patch=PASSED_OVER, **changes))
    assert code == 0, errors
    run, patch = tmp_path / "run", FAULT.replace("FACTOR", factor)
    if factor == "GRADIENT":  # the loss is fine, its gradient is not
        patch = FAULT.replace("loss=sums.loss * FACTOR", "loss=Wild.apply(sums.loss)")
    first = start(run, tokens, tokenizer, patch=patch, **changes)
    wait_for(run / "checkpoints" / "step-00000010", first)
    first.send_signal(signal.SIGTERM)
    finish(first)
    code, errors = finish(start(run, tokens, tokenizer, patch=patch, **changes))
    assert code == 0 and "batch 23 is skipped" in errors and "Traceback" not in errors, errors
    name = "model/model.safetensors"
    assert (run / name).read_bytes() == (tmp_path / "without" / name).read_bytes()
    assert losses(run) == losses(tmp_path / "without")
    assert read_metrics(run / "logs" / "metrics.jsonl")[-2]["skipped"] == 2


def test_a_micro_batch_that_does_not_fit_is_found_before_the_run(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    full = """
import torch, pretrain.model as m
def forward(self, *a, **k):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
m.MaskedRowsModel.forward = forward
"""
    code, errors = finish(start(tmp_path, tokens, tokenizer, patch=full))
    assert code == 2 and "halve pretrain.micro_batch" in errors and "Traceback" not in errors
    assert not list((tmp_path / "checkpoints").glob("step-*")) and not (tmp_path / "logs" / "metrics.jsonl").exists()


def test_bf16_on_a_cpu_stays_near_fp32(exact: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    code, errors = finish(start(tmp_path, tokens, tokenizer, **EXACT, dtype="bf16"))
    assert code == 0, errors
    for (_, one), (_, two) in zip(losses(exact), losses(tmp_path), strict=True):
        assert one == pytest.approx(two, abs=0.02)
    assert all(tensor.dtype == torch.float32 for tensor in load_file(tmp_path / "model" / "model.safetensors").values())


def test_a_full_disk_keeps_the_last_checkpoint_and_says_so(
    straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """torch raises no OSError for a write that fails; a limit on the size of files stands in for a full disk."""
    full = """
import resource, signal, pretrain.engine as e
step = e.Trainer.step
def stepping(self, number, *a, **k):
    if number == 15:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    return step(self, number, *a, **k)
e.Trainer.step = stepping
"""
    code, errors = finish(start(tmp_path, tokens, tokenizer, patch=full))
    assert code == 1 and "the disk is full" in errors and "Traceback" not in errors, errors
    assert [step for step, _ in complete_checkpoints(tmp_path / "checkpoints")] == [10]
    (tmp_path / "sitecustomize.py").unlink()
    code, errors = finish(start(tmp_path, tokens, tokenizer))
    assert code == 0, errors
    name = "model/model.safetensors"
    assert (tmp_path / name).read_bytes() == (straight / name).read_bytes()


def test_a_stop_while_batches_fail_saves_the_next_good_step(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    patch = (
        FAULT.replace("FACTOR", "float('nan')")
        + """
inner = e.Trainer.step
def asked(self, number, *a, **k):
    import os, signal
    if number == 7:
        os.kill(os.getpid(), signal.SIGTERM)
    return inner(self, number, *a, **k)
e.Trainer.step = asked
"""
    )
    code, errors = finish(start(tmp_path, tokens, tokenizer, patch=patch))
    assert code == 0 and "stopped as asked after step 9" in errors, errors
    assert [step for step, _ in complete_checkpoints(tmp_path / "checkpoints")] == [9]
