"""Texts side by side are computed as transformers computes each one alone.

On a GPU that takes a kernel of torch: `tests/pretrain/test_gpu.py` compares it there with the same truth.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from pretrain.batches.inputs import RECTANGLES, InputForm, model_inputs, prepare
from pretrain.kernels import attention
from pretrain.kernels.attention import FILL, NAME
from pretrain.kernels.compile import compile_layers, compile_whole, speed_up
from pretrain.models.encoder import Sums, recompute_layers
from tests.pretrain.small_batches import CASES, ROWS, batch_of, each_alone, make, one_operator
from tests.pretrain.small_tokens import both_losses, objective_of

CPU = torch.device("cpu")


def slow_loop(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, borders: torch.Tensor, longest: int, dropout: float,
    scaling: float | None,
) -> torch.Tensor:  # fmt: skip
    """Attention of each text by its definition."""
    ends = borders.tolist()
    assert ends[0] == 0 and ends[-1] == len(query) and ends == sorted(ends) and borders.dtype == torch.int32
    out = torch.zeros_like(query)
    for start, end in pairwise(ends):
        assert end - start <= longest
        scores = torch.einsum("qad,kad->aqk", query[start:end], key[start:end]) * scaling
        out[start:end] = torch.einsum("aqk,kad->qad", functional.dropout(scores.softmax(-1), dropout), value[start:end])
    return out


@pytest.mark.parametrize(("samples", "kind", "sizes"), CASES)
@pytest.mark.parametrize("recomputed", [False, True])
def test_side_by_side_is_each_alone(samples: str, kind: str, sizes: list[list[int]], recomputed: bool) -> None:
    pairs = {"objective": "mlm+nsp", "packing": samples} if samples == "sentence-pairs" else {}
    model, _ = make(kind, **pairs)
    model.eval()
    batch, masked = batch_of(samples, sizes)
    truth = each_alone(model, batch, masked, samples)
    truth.backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    dense = model(**prepare(batch, masked, samples, RECTANGLES, objective_of(samples)).inputs)
    torch.testing.assert_close(both_losses(dense), truth, atol=1e-4, rtol=0)
    if recomputed:
        recompute_layers(model.hf_model)
        model.train()
    model.hf_model.set_attn_implementation(NAME)
    inputs = prepare(batch, masked, samples, InputForm(texts=True), objective_of(samples)).inputs
    assert not {"lengths_B", "segment_ids_BS"} & inputs.keys() and inputs["ids_BS"].shape[1] % FILL == 0
    sums: Sums = model(**inputs)
    both_losses(sums).backward()
    torch.testing.assert_close(both_losses(sums), truth, atol=1e-4, rtol=0)
    for name, p in model.named_parameters():
        if name in expected:
            torch.testing.assert_close(p.grad, expected[name], atol=1e-4, rtol=1e-4, msg=name)
    for field in (name for name in sums if not name.endswith("loss")):
        assert sums[field] == dense[field]


def test_texts_on_a_cpu_against_the_definition() -> None:
    torch.manual_seed(0)
    borders = torch.tensor([0, 3, 3, 10, 11, 16, 16], dtype=torch.int32)
    results = []
    for attend_texts in (slow_loop, attention.attend_texts):
        torch.manual_seed(0)
        inputs = [torch.randn(16, 2, 8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
        out = attend_texts(*inputs, borders, 10, 0.0, 0.3)
        (out * torch.arange(256.0).view(16, 2, 8).sin()).sum().backward()
        results.append([out, *(x.grad for x in inputs)])
    torch.testing.assert_close(results[0], results[1])
    ones = torch.ones(16, 2, 8)
    dropped = attention.attend_texts(ones, ones, ones, borders, 10, 0.5, 0.3)
    assert (dropped != 1).any() and abs(float(dropped.mean()) - 1) < 0.5


@pytest.mark.parametrize(
    ("length", "changes", "taken"),
    [(511, {}, False), (512, {}, True), (512, {"compile": True}, False), (512, {"dtype": "bf16"}, True)],
)
def test_a_cpu_takes_long_texts_one_after_the_other(length: int, changes: dict[str, Any], taken: bool) -> None:
    model, settings = make(**changes, max_seq_len=length)
    speed_up(model, settings, CPU)
    assert model.unpadded == taken
    assert (model.hf_model.config._attn_implementation == NAME) == taken


def test_shapes_repeat_and_little_is_filled() -> None:
    rng = np.random.default_rng(0)
    shapes = set()
    for seed in range(20):
        sizes = [[int(rng.integers(18, 25))] for _ in range(64)]
        batch, masked = batch_of("full-sentences", sizes, seed)
        arrays = model_inputs(batch, masked, "full-sentences", InputForm(texts=True), objective_of("full-sentences"))
        filled = arrays["ids_BS"].size - int(batch.lengths_B.sum())
        assert 0 <= filled < FILL
        shapes.add((arrays["cu_seqlens_K"].shape, arrays["rows_BM"].shape))
    assert shapes == {((66,), (1, 64 * ROWS))}


@pytest.mark.parametrize("kind", ["roberta", "bert"])
def test_one_product_for_queries_keys_and_values_changes_nothing(kind: str) -> None:
    plain, settings = make(kind)
    fused, _ = make(kind)
    speed_up(fused, settings, CPU, fuse=True)
    batch, masked = batch_of("doc-sentences", [[12], [24]])
    results = []
    for model in (plain, fused):
        sums = model(**prepare(batch, masked, "doc-sentences", RECTANGLES, objective_of("doc-sentences")).inputs)
        sums["loss"].backward()
        results.append((sums["loss"], {n: p.grad for n, p in model.named_parameters() if p.grad is not None}))
    torch.testing.assert_close(results[0][0], results[1][0])
    for name, gradient in results[0][1].items():
        torch.testing.assert_close(gradient, results[1][1][name], atol=1e-5, rtol=1e-4)
    assert plain.state_dict().keys() == fused.state_dict().keys()


def test_nothing_of_it_is_exported() -> None:
    model, settings = make(dtype="bf16")
    model.half = torch.bfloat16
    before = model.hf_model.config.to_dict()
    speed_up(model, settings, torch.device("meta"))
    assert model.unpadded and NAME in str(model.hf_model.config._attn_implementation)
    assert NAME not in str(model.hf_model.config.to_dict().values()) and model.hf_model.config.to_dict() == before


@pytest.mark.parametrize("by_layers", [False, True])
@pytest.mark.parametrize(("samples", "kind"), [("full-sentences", "roberta"), ("packed", "bert")])
def test_one_graph_serves_batches_of_all_sizes(
    samples: str, kind: str, by_layers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_operator(monkeypatch)
    model, settings = make(kind)
    speed_up(model, settings, CPU, fuse=True)
    model.hf_model.set_attn_implementation(NAME)
    model.unpadded = model.compiles = True
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    counted: list[int] = []
    (compile_layers if by_layers else compile_whole)(model.eval(), lambda graph, _: counted.append(1) or graph)
    with torch.no_grad():
        shapes = set()
        for seed, size in enumerate((20, 24, 5, 12)):
            sizes = [[size // (2 + seed)] * (2 + seed) if samples == "packed" else [size]] * 12
            made = prepare(*batch_of(samples, sizes, seed), samples, InputForm(texts=True), objective_of(samples))
            inputs = model.on_device(made.inputs, CPU)
            shapes.add((inputs["ids_BS"].shape, inputs["cu_seqlens_K"].shape))
            model(**inputs)
        assert len(shapes) >= 3
    # embeddings, head, and the layers' one
    assert len(counted) == (3 if by_layers else 1) and not torch._dynamo.utils.counters["graph_break"]
    torch._dynamo.reset()
