"""The chunked cross-entropy against torch's own on whole logits."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from pretrain.batches.predictions import IGNORE
from pretrain.kernels import cross_entropy as losses
from pretrain.kernels.cross_entropy import linear_cross_entropy


def problem(
    rows: int, hidden: int, vocabulary: int, ignored: float, seed: int, dtype: torch.dtype
) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    tensors = [
        torch.randn(*shape, generator=generator, dtype=dtype) for shape in ((rows, hidden), (vocabulary, hidden))
    ]
    bias = torch.randn(vocabulary, generator=generator, dtype=dtype)
    labels = torch.randint(0, vocabulary, (rows,), generator=generator)
    labels[torch.rand(rows, generator=generator) < ignored] = IGNORE
    return [*(t.requires_grad_() for t in (*tensors, bias)), labels]


def by_torch(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, int]:
    logits = hidden @ weight.T + bias
    loss = functional.cross_entropy(logits, labels, ignore_index=IGNORE, reduction="sum")
    return loss, int((logits.argmax(-1) == labels).sum())


@settings(max_examples=60)
@given(
    rows=st.integers(0, 30),
    hidden=st.integers(1, 9),
    vocabulary=st.integers(2, 50),
    ignored=st.sampled_from([0.0, 0.4, 1.0]),
    chunk_rows=st.integers(1, 31),
    seed=st.integers(0, 2**31),
)
def test_loss_and_gradients_are_those_of_the_whole_logits(
    rows: int, hidden: int, vocabulary: int, ignored: float, chunk_rows: int, seed: int
) -> None:
    tensors = problem(rows, hidden, vocabulary, ignored, seed, torch.float32)
    exact = [t.detach().double().requires_grad_(t.is_floating_point()) for t in tensors[:3]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "CPU_CHUNK_BYTES", 4 * vocabulary * chunk_rows)
        loss, right, counted = linear_cross_entropy(*tensors)
    expected, expected_right = by_torch(*exact, tensors[3])
    assert torch.isclose(loss.double(), expected, rtol=1e-5, atol=1e-4)
    assert int(right) == expected_right
    assert int(counted) == int((tensors[3] != IGNORE).sum())
    (loss * 0.25).backward()
    (expected * 0.25).backward()
    for mine, theirs in zip(tensors[:3], exact, strict=True):
        assert torch.allclose(mine.grad.double(), theirs.grad, rtol=1e-4, atol=1e-4)


def test_a_validation_computes_no_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be as large as the vocabulary's weights, and thrown away."""
    asked: list[bool] = []
    compute = losses._compute

    def noting(*arguments: Any) -> tuple[torch.Tensor, ...]:
        asked.append(arguments[-2])
        return compute(*arguments)

    monkeypatch.setattr(losses, "_compute", noting)
    tensors = problem(3, 4, 5, 0.0, 0, torch.float32)
    trained = linear_cross_entropy(*tensors)[0]
    with torch.no_grad():
        validated = linear_cross_entropy(*tensors)[0]
    assert asked == [True, False] and torch.equal(trained, validated)


@pytest.mark.parametrize("rows", [1, 9, 40])
def test_the_way_of_other_devices_has_the_same_gradients(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """There nothing is scattered, and chunks are alike: 40 rows of at most 15 are 3 chunks of 14."""
    monkeypatch.setattr(losses, "CHUNK_BYTES", 4 * 50 * 15)
    hidden, weight, bias, labels = (t.detach() for t in problem(rows, 16, 50, 0.2, 5, torch.float32))
    on_cpu, other = (losses._compute(hidden, weight, bias, labels, torch.float32, True, cpu) for cpu in (True, False))
    for actual, expected in zip(other, on_cpu, strict=True):
        torch.testing.assert_close(actual, expected)


def test_large_logits_do_not_overflow() -> None:
    hidden, weight = torch.full((2, 1), 300.0), torch.tensor([[300.0], [-300.0]])
    loss, right, _ = linear_cross_entropy(hidden, weight, torch.zeros(2), torch.tensor([0, 1]))
    assert float(loss) == 180000.0
    assert int(right) == 1


def test_a_leaf_that_needs_no_gradient_gets_none() -> None:
    hidden, weight, bias, labels = problem(5, 4, 7, 0.2, 1, torch.float32)
    with torch.no_grad():
        loss, *_ = linear_cross_entropy(hidden, weight, bias, labels)
    assert not loss.requires_grad
    frozen = hidden.detach()
    linear_cross_entropy(frozen, weight, bias, labels)[0].backward()
    assert frozen.grad is None
    assert weight.grad is not None


def test_under_autocast_the_products_are_bf16_and_the_gradients_fp32() -> None:
    hidden, weight, bias, labels = problem(64, 16, 200, 0.1, 2, torch.float32)
    exact, _ = by_torch(hidden.detach(), weight.detach(), bias.detach(), labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, *_ = linear_cross_entropy(hidden, weight, bias, labels)
    loss.backward()
    assert loss.dtype == torch.float32
    value = float(loss.detach())
    assert value != float(exact)
    assert value == pytest.approx(float(exact), rel=0.02)
    assert {t.grad.dtype for t in (hidden, weight, bias)} == {torch.float32}


def test_mixed_widths_of_the_leaves() -> None:
    hidden, weight, bias, labels = problem(8, 4, 10, 0.0, 3, torch.float32)
    low = hidden.detach().bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        linear_cross_entropy(low, weight, bias, labels)[0].backward()
    assert low.grad is not None and low.grad.dtype == torch.bfloat16


def test_compiled_it_has_the_gradients_of_the_whole_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled by torch 2.11, a loss that was added to in place had none, and a compiled run learned nothing."""
    monkeypatch.setattr(losses, "CPU_CHUNK_BYTES", 4 * 50 * 7)
    *leaves, labels = problem(24, 16, 50, 0.2, 3, torch.float32)
    truth, right = by_torch(*leaves, labels)
    expected = torch.autograd.grad(truth, leaves)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(lambda *arguments: linear_cross_entropy(*arguments), backend="aot_eager", dynamic=False)
    loss, correct, _ = compiled(*leaves, labels)
    torch.testing.assert_close(loss, truth, atol=1e-3, rtol=1e-5)
    assert int(correct) == right and not torch._dynamo.utils.counters["graph_break"]
    for actual, gradient in zip(torch.autograd.grad(loss, leaves), expected, strict=True):
        torch.testing.assert_close(actual, gradient, atol=1e-4, rtol=1e-4)
