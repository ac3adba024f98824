"""Before the steps: 16 bits throughout, a rehearsal that finds what fails, and GPUs by their names."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch._inductor import config as inductor_config

from common.errors import UserError
from pretrain.cost.devices import known_device
from pretrain.dry_run_batch import dry_run_batch
from pretrain.kernels.compile import compile_whole, speed_up
from pretrain.kernels.precision import half_type
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model, recompute_layers
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.small_tokens import SPECIAL

SHAPE = ModelSettings(layers=2, hidden=32, heads=2, dropout=0.0)
CPU = torch.device("cpu")


def model_of(**changes: Any) -> tuple[MaskedRowsModel, PretrainSettings]:
    settings = PretrainSettings(**{"model": SHAPE, "max_seq_len": 16, **changes})
    hf_model = build_model(settings, build_config(settings, 50, SPECIAL))
    return MaskedRowsModel(hf_model, half_type(settings.dtype)), settings


def arguments() -> dict[str, torch.Tensor]:
    ids = torch.from_numpy(np.random.default_rng(0).integers(5, 50, (4, 16)))
    rows = torch.tensor([[1, 5]] * 4)
    return {"ids_BS": ids, "rows_BM": rows, "labels_BM": ids.gather(1, rows)}


@pytest.mark.parametrize(
    ("kind", "part", "norms", "near"),
    [("roberta", "roberta", 5, 1e-2), ("deberta-v2", "deberta.encoder.layer", 4, 5e-2), ("modernbert", "", 6, 5e-2)],
)
def test_in_16_bits_nothing_between_the_layers_is_wider(kind: str, part: str, norms: int, near: float) -> None:
    """Autocast's layer norms come out in fp32, and with them all that is added to them."""
    shape = SHAPE.model_copy(update={"type": kind})
    plain, _ = model_of(model=shape)
    fast, settings = model_of(dtype="bf16", model=shape)
    speed_up(fast, settings, CPU)
    seen: list[torch.dtype] = []
    for module in fast.hf_model.get_submodule(part).modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.register_forward_hook(lambda _module, inputs, output: seen.extend([inputs[0].dtype, output.dtype]))
    sums = fast(**arguments())
    # of embeddings and layers all but what the first norm reads, of layers alone all
    assert len(seen) == 2 * norms and seen[1:] == [torch.bfloat16] * (2 * norms - 1)
    assert (seen[0] == torch.bfloat16) == part.endswith("layer")
    exact = plain(**arguments())
    assert sums["loss"].item() == pytest.approx(exact["loss"].item(), rel=near)
    sums["loss"].backward()
    assert {p.grad.dtype for p in fast.parameters() if p.grad is not None} == {torch.float32}


def test_in_32_bits_nothing_is_changed() -> None:
    plain, _ = model_of()
    fast, settings = model_of(dtype="fp32")
    speed_up(fast, settings, CPU)
    assert torch.equal(fast(**arguments())["loss"], plain(**arguments())["loss"])


def test_a_compiler_that_fails_is_named_before_the_run() -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("no C++ compiler")

    model, settings = model_of(dtype="fp32")
    compile_whole(model, broken)
    with pytest.raises(UserError, match=r"torch\.compile does not work here") as raised:
        dry_run_batch(model, [arguments()], settings, 1, CPU)
    assert "pretrain.compile=false" in str(raised.value)
    torch._dynamo.reset()


def test_faults_of_the_model_itself_are_not_the_compilers() -> None:
    model, settings = model_of(dtype="fp32")
    with pytest.raises(IndexError):
        dry_run_batch(model, [{**arguments(), "ids_BS": torch.full((4, 16), 99)}], settings, 1, CPU)


def test_compile_and_stage_3_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="compile does not go with zero_stage=3"):
        PretrainSettings(compile=True, zero_stage=3)
    assert PretrainSettings(zero_stage=3).compile is None


@pytest.mark.parametrize("padded", [False, True])
def test_gradients_stand_beside_the_activations_at_a_rehearsals_peak(padded: bool) -> None:
    """The first micro-batch of a step finds none, every other does: what fits without them may not fit in a run."""
    model, settings = model_of(dtype="fp32")
    there: list[bool] = []
    model.register_forward_hook(lambda *_: there.append(all(p.grad is not None for p in model.parameters())))
    inputs = {**arguments(), **({"lengths_B": torch.tensor([16, 9, 16, 12])} if padded else {})}
    dry_run_batch(model, [inputs], settings, 1, CPU)
    assert there == [True, True] and all(p.grad is None for p in model.parameters())


def test_dropout_of_attention_alone() -> None:
    config = build_config(PretrainSettings(model=ModelSettings(dropout=0.1, attention_dropout=0.0)), 50, SPECIAL)
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == (0.1, 0.0)
    config = build_config(PretrainSettings(model=ModelSettings(dropout=0.2)), 50, SPECIAL)
    assert config.attention_probs_dropout_prob == 0.2


def test_a_model_whose_layers_are_computed_again_is_one_graph() -> None:
    """transformers warns, amid the forward pass, of a cache that an encoder has not: a break in the graph."""
    model, _ = model_of()
    recompute_layers(model.hf_model)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compile_whole(model.train(), "aot_eager")
    model(**arguments())["loss"].backward()
    assert sum(torch._dynamo.utils.counters["graph_break"].values()) == 0
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    torch._dynamo.reset()


@pytest.mark.parametrize(
    ("model", "compile", "aligned"),
    [
        ({"dropout": 0.1}, True, True),
        ({"dropout": 0.0, "attention_dropout": 0.1}, True, True),
        ({"dropout": 0.0}, True, False),
        ({"dropout": 0.1}, False, False),
    ],
)
def test_masks_of_dropout_are_those_of_eager_torch(
    model: dict[str, float], compile: bool, aligned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inductor draws a mask by the shape of its kernel, and in the backward pass by another kernel (issue 198333)."""
    fast, settings = model_of(model=SHAPE.model_copy(update=model), compile=compile)
    with inductor_config.patch(align_random_eager=False):
        speed_up(fast, settings, CPU)
        assert inductor_config.align_random_eager == aligned
    monkeypatch.setattr("pretrain.kernels.compile.inductor_config", older := SimpleNamespace())
    speed_up(model_of(model=SHAPE.model_copy(update=model))[0], settings, CPU)
    assert not vars(older)  # torch before 2.13 has no such option, and draws masks in one way alone


def gradients(again: bool, compile: bool, kind: str = "roberta") -> tuple[float, torch.Tensor]:
    """Loss and gradient of a model with dropout, its layers kept or computed again."""
    shape = SHAPE.model_copy(update={"type": kind, "dropout": 0.2, "initializer_range": 0.2})
    model, settings = model_of(model=shape, compile=compile)
    if again:
        recompute_layers(model.hf_model)
    speed_up(model, settings, CPU)
    torch.manual_seed(11)
    loss = model.train()(**arguments())["loss"]
    loss.backward()
    grown = [weight.grad.flatten() for weight in model.parameters() if weight.grad is not None]
    return loss.item(), torch.cat(grown)


@pytest.mark.parametrize(
    ("kind", "compile"),
    [("roberta", False), ("deberta-v2", False), pytest.param("roberta", True, marks=pytest.mark.slow)],
)
def test_layers_that_are_computed_again_draw_the_same_masks(kind: str, compile: bool) -> None:
    """On a CPU; `tests/pretrain/test_gpu.py` has the GPU's kernels, which draw otherwise."""
    torch._dynamo.reset()
    with inductor_config.patch(align_random_eager=False):
        (loss, expected), (again, recomputed) = (gradients(again, compile, kind) for again in (False, True))
    assert again == pytest.approx(loss, rel=1e-5)
    torch.testing.assert_close(recomputed, expected, atol=1e-4, rtol=1e-4)
    torch._dynamo.reset()


def test_other_masks_are_another_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above would see."""
    _, gradient = gradients(False, False)
    monkeypatch.setattr(torch, "manual_seed", lambda _, seed=torch.manual_seed: seed(12))
    _, other = gradients(False, False)
    assert torch.nn.functional.cosine_similarity(other, gradient, dim=0) < 0.99


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("Tesla V100-SXM2-32GB", "V100"),
        ("NVIDIA RTX A1000", None),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA L40", None),
    ],
)
def test_a_gpu_is_known_by_the_whole_words_of_its_name(name: str, known: str | None) -> None:
    assert known_device(name) == known


COMPILING = """
import sys, torch
from pathlib import Path
from pretrain.kernels.compile import load_compiled, save_compiled
load_compiled(Path(sys.argv[1]))
torch.compile(lambda x: (x.sin() + 1).sum())(torch.ones(8))
save_compiled(Path(sys.argv[1]))
found = torch._dynamo.utils.counters["inductor"]
print(found["fxgraph_cache_miss"], found["fxgraph_cache_hit"])
"""


@pytest.mark.slow
def test_a_resumed_run_on_another_node_compiles_nothing_again(tmp_path: Path) -> None:
    """Each node has caches of its own; the run's folder carries what was compiled from one to the other."""
    said = []
    for node in ("one", "other"):
        caches = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / node), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        command = [sys.executable, "-c", COMPILING, str(tmp_path / "run")]
        done = subprocess.run(command, env={**os.environ, **caches}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split())
    assert said == [["1", "0"], ["0", "1"]]
    assert [path.name for path in (tmp_path / "run").rglob("*") if path.is_file()] == ["artifacts"]
