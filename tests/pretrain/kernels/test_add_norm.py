"""Bias, dropout, sum and norm as one operator: against torch's own norm, and by Triton's interpreter against itself."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor
from torch.nn import functional

from pretrain.kernels.add_norm import add_norm, philox, stays
from pretrain.kernels.compile import compile_whole, speed_up
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.small_tokens import SPECIAL

KNOWN = [  # kat_vectors of Random123 (Salmon et al. 2011), philox4x32, 10 rounds: counter, key, words
    ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
TENTH = 6554
"""0.1 in 65,536 steps."""


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_gives_the_published_words(counter: tuple[int, ...], key: tuple[int, ...], words: str) -> None:
    made = philox(tuple(torch.tensor([n]) for n in counter), (torch.tensor([key[0]]), torch.tensor([key[1]])))
    assert " ".join(f"{int(word):08x}" for word in made) == words


def numbers(shape: tuple[int, ...], seed: int, count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for _ in range(count)]


def gradients(normed: Tensor, total: Tensor, inputs: list[Tensor], uses_sum: bool) -> list[Tensor]:
    generator = torch.Generator().manual_seed(7)
    by_normed = torch.randn(normed.shape, generator=generator)
    loss = (normed.float() * by_normed).sum()
    if uses_sum:
        loss = loss + (total.float() * torch.randn(total.shape, generator=generator)).sum()
    return list(torch.autograd.grad(loss, inputs))


@settings(max_examples=40)
@given(
    shape=st.sampled_from([(1, 1), (3, 8), (2, 5, 24), (4, 13), (7, 20)]),
    biased=st.booleans(),
    shifted=st.booleans(),
    uses_sum=st.booleans(),
    dropout=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 2**31),
)
def test_output_and_gradients_are_those_of_torch(
    shape: tuple[int, ...], biased: bool, shifted: bool, uses_sum: bool, dropout: float, seed: int
) -> None:
    """In double precision torch computes what the formula says, with the mask that was drawn."""
    width = shape[-1]
    branch, residual = (tensor.requires_grad_() for tensor in numbers(shape, seed, 2))
    weight, shift, bias = (tensor.requires_grad_() for tensor in numbers((width,), seed + 1, 3))
    inputs = [branch, residual, weight, *([shift] if shifted else []), *([bias] if biased else [])]
    torch.manual_seed(seed)
    made = add_norm(branch, residual, weight, shift if shifted else None, bias if biased else None, 1e-5, dropout)
    torch.manual_seed(seed)
    limit = round(dropout * 65536)
    mask = torch.ones(shape, dtype=torch.bool)
    if limit:
        mask = stays(torch.randint(2**62, (1,)), branch.numel() // width, width, limit).view(shape)
    exact = {id(tensor): tensor.detach().double().requires_grad_() for tensor in inputs}
    double = [exact[id(tensor)] for tensor in inputs]
    inner = exact[id(branch)] + exact[id(bias)] if biased else exact[id(branch)]
    total = exact[id(residual)] + torch.where(mask, inner / (1 - limit / 65536), 0.0)
    normed = functional.layer_norm(total, (width,), exact[id(weight)], exact[id(shift)] if shifted else None, 1e-5)
    near: Any = {"rtol": 1e-4, "atol": 1e-4} if width > 1 else {"rtol": 1e-3, "atol": 1e-2}  # of one number: 1 / √ε
    for mine, theirs in zip(made, (normed, total), strict=True):
        assert torch.allclose(mine.double(), theirs, **near)
    for mine, theirs in zip(
        gradients(*made, inputs, uses_sum), gradients(normed, total, double, uses_sum), strict=True
    ):
        assert torch.allclose(mine.double(), theirs, **near)


def test_a_tenth_is_dropped_and_no_draw_says_anything_of_another() -> None:
    """Of 10⁶ draws: their share, and correlations of neighbours, of rows, of seeds that follow each other."""
    rows, width = 1300, 776
    masks = [1.0 - stays(torch.tensor([seed]), rows, width, TENTH).double() for seed in (5, 6, 5 + 2**32)]
    spread = (0.1 * 0.9 / (rows * width)) ** 0.5
    for mask in masks:
        assert abs(float(mask.mean()) - TENTH / 65536) < 4 * spread
    whole = [mask - mask.mean() for mask in masks]
    first = whole[0]
    pairs = [(first[:, step:], first[:, :-step]) for step in range(1, 10)]
    pairs += [(first[step:], first[:-step]) for step in (1, 2)] + [(first, other) for other in whole[1:]]
    for one_side, other_side in pairs:
        correlation = float((one_side * other_side).mean() / 0.09)
        assert abs(correlation) < 4 / (rows * width) ** 0.5
    assert not torch.equal(masks[0], masks[1]) and not torch.equal(masks[0], masks[2])


def test_a_step_has_a_mask_of_its_own_and_the_same_after_the_same_seed() -> None:
    branch, residual = numbers((64, 32), 0, 2)
    made = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        made.append([add_norm(branch, residual, torch.ones(32), None, None, 1e-5, 0.5)[1] for _ in range(2)])
    assert torch.equal(made[0][0], made[1][0]) and torch.equal(made[0][1], made[1][1])
    assert not torch.equal(made[0][0], made[0][1]) and not torch.equal(made[0][0], made[2][0])


def model_of(kind: str, **changes: Any) -> tuple[MaskedRowsModel, PretrainSettings]:
    shape = ModelSettings(type=kind, layers=2, hidden=32, heads=2, dropout=0.0)
    stated = PretrainSettings(**{"model": shape, "max_seq_len": 16, **changes})
    hf_model = build_model(stated, build_config(stated, 50, SPECIAL))
    return MaskedRowsModel(hf_model), stated


def loss_and_gradients(model: MaskedRowsModel) -> tuple[float, dict[str, Tensor]]:
    ids = torch.randint(5, 50, (4, 16), generator=torch.Generator().manual_seed(0))
    rows = torch.tensor([[1, 5]] * 4)
    loss = model(ids_BS=ids, rows_BM=rows, labels_BM=ids.gather(1, rows))["loss"]
    loss.backward()
    weights = model.named_parameters()
    return float(loss.detach()), {name: weight.grad for name, weight in weights if weight.grad is not None}


@pytest.mark.parametrize("kind", ["roberta", "bert", "modernbert"])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_model_has_the_loss_and_gradients_of_transformers_own(kind: str, compiled: bool) -> None:
    """Compiled by torch's graph capture, as a whole: the operator breaks no graph."""
    plain, _ = model_of(kind)
    expected, by_name = loss_and_gradients(plain.train())
    fused, stated = model_of(kind, fused_norms=True, compile=False)
    speed_up(fused, stated, torch.device("cpu"))
    if compiled:
        torch._dynamo.reset()
        compile_whole(fused, backend="aot_eager")
    with torch._dynamo.config.patch(error_on_recompile=True):
        loss, gradients = loss_and_gradients(fused.train())
    assert loss == pytest.approx(expected, rel=1e-6) and gradients.keys() == by_name.keys()
    for name, gradient in gradients.items():
        assert torch.allclose(gradient, by_name[name], rtol=1e-4, atol=1e-6), name
    if compiled:
        assert torch._dynamo.utils.counters["graph_break"] == {}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": {"type": "deberta-v2", "layers": 2, "hidden": 32, "heads": 2}}, "with roberta, bert, modernbert"),
        ({"zero_stage": 3}, "does not go with zero_stage=3"),
    ],
)
def test_where_it_does_not_work_it_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PretrainSettings(fused_norms=True, **changes)


INTERPRETED = """
import itertools, json, sys, torch
from pretrain.kernels import add_norm as own
largest = {}
numbers = torch.Generator().manual_seed(0)
draw = lambda *shape: torch.randn(*shape, generator=numbers)
same = lambda kernel: kernel
for width, half, limit, biased, shifted, uses_sum in itertools.product(
    (8, 20, 768), (False, True), (0, 6554), (False, True), (False, True), (False, True)
):
    kind = torch.bfloat16 if half else torch.float32
    branch, residual, by_normed, by_sum = (draw(5, width).to(kind) for _ in range(4))
    weight, shift, bias = (draw(width) for _ in range(3))
    seed = torch.tensor([2**61 + 12345]) if limit else None
    inputs = branch, residual, weight, shift if shifted else None, bias if biased else None, seed, 1e-5, limit
    by_torch, by_triton = own._forward(*inputs), own.launch_forward(*inputs, same)
    back = by_normed, by_sum if uses_sum else None, by_torch[1], weight, seed, 1e-5, limit, biased, shifted
    names = "normed", "sum", "by_residual", "by_branch", "by_weight", "by_shift", "by_bias"
    gradients = own._backward(*back), own.launch_backward(*back, same)
    for name, mine, theirs in zip(names, (*by_torch, *gradients[0]), (*by_triton, *gradients[1]), strict=True):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        assert not (limit and name == "by_branch" and ((mine == 0) != (theirs == 0)).any())
        if mine.numel():
            apart = (mine.float() - theirs.float()).abs() / mine.float().abs().clamp(min=1)
            key = f"{name} {mine.dtype}".replace("torch.", "")
            largest[key] = max(largest.get(key, 0.0), float(apart.max()))
print(json.dumps(largest))
"""
"""What the kernels give by Triton's interpreter, beside torch's: the largest difference as a share of max(1, |x|)."""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no triton (make test-triton installs it)")
def test_the_kernels_give_what_torch_gives(tmp_path: Path) -> None:
    """In bf16 the interpreter cuts where a GPU rounds, by up to 2⁻⁷: a sum, and again the norm of the sum."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", INTERPRETED], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    largest = json.loads(done.stdout)
    assert largest.keys() == {
        *(
            f"{name} {kind}"
            for name in ("normed", "sum", "by_residual", "by_branch")
            for kind in ("float32", "bfloat16")
        ),
        *(f"{name} float32" for name in ("by_weight", "by_shift", "by_bias")),
    }
    for name, apart in largest.items():
        bar = 1e-6 if name.endswith("float32") else 2**-5 if name.startswith("normed") else 2**-7
        assert apart <= bar, (name, apart)
