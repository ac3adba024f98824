"""What only a GPU can show: its kernels against transformers' model, a step without a wait, kill and resume.

Collected everywhere, run by `make gpu-tests` (HUNMIN_GPU_TESTS=1), where they fail without a GPU.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from pretrain.batches.inputs import prepare
from pretrain.batches.loader import Loader
from pretrain.batches.plans import plan_samples
from pretrain.callbacks.guard import StepGuard
from pretrain.kernels.attention import attend_texts, fastest_kernels
from pretrain.kernels.compile import speed_up
from pretrain.kernels.precision import half_type
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model, recompute_layers
from pretrain.parallel.own_steps import OwnSteps
from pretrain.parallel.start_engine import start_engine
from pretrain.settings import PretrainSettings
from pretrain.trainer import Trainer
from tests.pretrain.small_batches import CASES, batch_of, each_alone, make
from tests.pretrain.small_tokens import SPECIAL, both_losses, objective_of
from tokenizer.shards import TokenShards

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import RUN, finish, losses, start, wait_for

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("HUNMIN_GPU_TESTS" not in os.environ, reason="asked for by make gpu-tests"),
]
GPU = torch.device("cuda", 0)
KINDS = ["full-sentences", "doc-sentences", "contiguous", "packed"]


@pytest.mark.parametrize(("samples", "kind", "sizes"), CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_texts_side_by_side_are_each_alone(samples: str, kind: str, sizes: list[list[int]], compiled: bool) -> None:
    """The kernel in bf16 against transformers' own model in fp32, loss and gradient."""
    pairs = {"objective": "mlm+nsp", "packing": samples} if samples == "sentence-pairs" else {}
    plain, settings = make(kind, **pairs, dtype="bf16", compile=compiled)
    batch, masked = batch_of(samples, sizes)
    truth = each_alone(plain.eval(), batch, masked, samples)
    truth.backward()
    expected = torch.cat([p.grad.flatten() for p in plain.parameters() if p.grad is not None])
    model = MaskedRowsModel(plain.hf_model, torch.bfloat16).to(GPU).eval()
    speed_up(model, settings, GPU)
    assert model.unpadded
    model.zero_grad()
    made = prepare(batch, masked, samples, model.input_form(GPU), objective_of(samples))
    sums = model(**model.on_device(made.inputs, GPU))
    both_losses(sums).backward()
    actual = torch.cat([p.grad.flatten() for p in plain.parameters() if p.grad is not None]).cpu()
    assert float(both_losses(sums)) == pytest.approx(float(truth), rel=2e-2)
    assert torch.nn.functional.cosine_similarity(actual, expected, dim=0) > 0.99
    torch._dynamo.reset()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_the_kernel_of_sums_and_norms_gives_what_torch_gives(dropout: float, compiled: bool) -> None:
    """Both draw the same masks; the truth is torch's form of the operator on the CPU, in fp32."""
    limit = round(dropout * 65536)
    numbers = torch.Generator().manual_seed(0)
    branch, residual, by_normed = (torch.randn(1000, 768, generator=numbers) for _ in range(3))
    weight, shift, bias = (torch.randn(768, generator=numbers) for _ in range(3))
    seed = torch.tensor([2**61 + 5]) if limit else None

    def outputs(device: torch.device, half: torch.dtype) -> list[torch.Tensor]:
        wide = [tensor.to(device).requires_grad_() for tensor in (weight, shift, bias)]
        rows = [tensor.to(device, half).requires_grad_() for tensor in (branch, residual)]
        drawn = seed if seed is None else seed.to(device)
        operator = torch.ops.hunmin.add_norm
        call = torch.compile(operator) if compiled and device.type == "cuda" else operator
        normed, total = call(*rows, *wide, drawn, 1e-5, limit)
        gradients = torch.autograd.grad((normed * by_normed.to(device, half)).sum(), [*rows, *wide])
        return [tensor.float().cpu() for tensor in (normed, total, *gradients)]

    for half, near in ((torch.float32, 1e-4), (torch.bfloat16, 3e-2)):
        for mine, truth in zip(outputs(GPU, half), outputs(torch.device("cpu"), torch.float32), strict=True):
            assert torch.nn.functional.cosine_similarity(mine.flatten(), truth.flatten(), dim=0) > 1 - near**2
            assert float((mine - truth).abs().max() / truth.abs().max()) < near


@pytest.mark.parametrize("rate", [0.1, 0.125, 0.25])
@pytest.mark.parametrize("kernel", ["rectangles", "texts side by side"])
def test_as_many_weights_are_dropped_as_the_recipe_says(rate: float, kernel: str) -> None:
    """cuDNN drops a sixteenth where a tenth is asked for (PyTorch issue 174245), and says nothing."""
    texts, length, width = 64, 128, 128
    shape = (texts, 2, length, width)
    nothing = torch.zeros(shape, device=GPU, dtype=torch.bfloat16)  # all weights are the same
    one_hot = torch.eye(length, device=GPU, dtype=torch.bfloat16).expand(shape).contiguous()  # output: the weights
    if kernel == "rectangles":
        with fastest_kernels(rate):
            out = torch.nn.functional.scaled_dot_product_attention(nothing, nothing, one_hot, dropout_p=rate)
    else:
        query, value = (x.transpose(1, 2).reshape(texts * length, 2, width) for x in (nothing, one_hot))
        borders = torch.arange(0, texts * length + 1, length, device=GPU, dtype=torch.int32)
        out = attend_texts(query, query, value, borders, length, rate, None)
    dropped = float((out == 0).double().mean())
    assert dropped == pytest.approx(rate, abs=2e-3)  # of two million: a standard deviation of 2e-4
    assert float(out.float().sum(-1).mean()) == pytest.approx(1.0, abs=5e-3)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["roberta", "modernbert", "deberta-v2"])
def test_layers_that_are_computed_again_draw_the_same_masks(kind: str, compiled: bool) -> None:
    """Gradient with `gradient_checkpointing` = gradient without, with dropout (PyTorch issue 198333)."""
    shape = {"type": kind, "layers": 4, "hidden": 128, "heads": 2, "dropout": 0.2, "initializer_range": 0.1}
    changes = {"max_seq_len": 128, "dtype": "bf16", "compile": compiled}
    generator = torch.Generator().manual_seed(0)
    ids_BS = torch.randint(5, 50, (16, 128), generator=generator).to(GPU)
    rows_BM = torch.arange(3, 123, 6, device=GPU).expand(16, -1)
    inputs = {"ids_BS": ids_BS, "rows_BM": rows_BM, "labels_BM": ids_BS.gather(1, rows_BM)}

    def gradient(again: bool, seed: int) -> torch.Tensor:
        settings = PretrainSettings.model_validate({"model": shape, "gradient_checkpointing": again, **changes})
        hf_model = build_model(settings, build_config(settings, 50, SPECIAL))
        if again:
            recompute_layers(hf_model)
        model = MaskedRowsModel(hf_model, torch.bfloat16).to(GPU).train()
        speed_up(model, settings, GPU)
        torch.manual_seed(seed)
        with fastest_kernels(0.2):
            model(**inputs)["loss"].backward()
        torch._dynamo.reset()
        return torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None]).cpu()

    likeness = torch.nn.functional.cosine_similarity
    expected = gradient(False, 1)
    assert likeness(gradient(True, 1), expected, dim=0) > 0.999
    assert likeness(gradient(True, 2), expected, dim=0) < 0.99  # other masks, another gradient


def trainer_of(samples: str, tokens: Path, tokenizer: Path, plans: Path, **changes: Any) -> Trainer:
    settings = PretrainSettings(
        **{
            **RUN,
            "packing": samples,
            "max_seq_len": 64,
            "global_batch": 16,
            "micro_batch": 8,
            "dtype": "bf16",
            **changes,
        }
    )
    plan_samples(settings, tokens, plans)
    shards = TokenShards(tokens)
    hf_model = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids))
    model = MaskedRowsModel(hf_model, half_type("bf16"))
    speed_up(model, settings, GPU)
    loader = Loader(settings, tokens, tokenizer, plans, 0, 1, form=model.input_form(GPU))
    return Trainer(start_engine(model, settings, GPU), loader, StepGuard(settings, False, GPU))


@pytest.mark.parametrize("samples", KINDS)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_waits_for_nothing(samples: str, compiled: bool, tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    trainer = trainer_of(samples, tokens, tokenizer, tmp_path, compile=compiled)
    own = OwnSteps(GPU)
    trainer.engine.before_waiting = own.add
    torch._dynamo.utils.counters.clear()
    with fastest_kernels(0.1):
        for step in range(3):
            trainer.step(step, 1e-3, trainer.loader.micro_batches(step))
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        batches = [trainer.loader.micro_batches(step) for step in range(3, 9)]
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            for step, batch in enumerate(batches, 3):
                trainer.step(step, 1e-3, batch)
                own.count()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    assert own.count() == 9
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == graphs
    assert not torch._dynamo.utils.counters["graph_break"]
    torch._dynamo.reset()


@pytest.mark.parametrize(("engine", "zero"), [("torch", 0), ("deepspeed", 0), ("deepspeed", 1), ("deepspeed", 2)])
def test_engines_have_the_same_losses(engine: str, zero: int, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    changes = {"model": {**RUN["model"], "dropout": 0.0}, "dtype": "fp32", "compile": False, "steps": 24}
    for name, settings in (("one", {}), ("two", {"engine": engine, "zero_stage": zero})):
        process = start(tmp_path / name, tokens, tokenizer, stderr=subprocess.PIPE, **changes, **settings)
        code, errors = finish(process)
        assert code == 0, errors
    for (_, first), (_, second) in zip(losses(tmp_path / "one"), losses(tmp_path / "two"), strict=True):
        assert first == pytest.approx(second, abs=1e-3)


def test_a_killed_run_is_back_within_seconds(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """From the command to the first new step, with the compiler's cache that the run keeps: prints the seconds."""
    changes = {"steps": 4000, "packing": "full-sentences", "max_seq_len": 64, "checkpoint_every": 50, "log_every": 1}
    first = start(tmp_path, tokens, tokenizer, stderr=subprocess.PIPE, **changes)
    wait_for(tmp_path / "checkpoints" / "step-00000100", first)
    first.send_signal(signal.SIGKILL)
    finish(first)
    rows = tmp_path / "logs" / "metrics.jsonl"
    began = time.monotonic()
    second = start(tmp_path, tokens, tokenizer, stderr=subprocess.PIPE, **changes)
    before = json.loads(rows.read_text().splitlines()[-1])["step"]
    while time.monotonic() - began < 120 and max((step for step, _ in losses(tmp_path)), default=0) <= before:
        time.sleep(0.05)
    seconds = time.monotonic() - began
    second.send_signal(signal.SIGTERM)
    code, errors = finish(second)
    assert code == 0 and "resuming at step" in errors, errors
    print(f"\nresume: {seconds:.1f} s from the command to a new step")
    assert seconds < 60
