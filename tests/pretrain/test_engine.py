"""The engine: 16 bits throughout, a compiler that fails, and counts of steps where the optimizer can read them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from common.errors import UserError
from pretrain import engine as engines
from pretrain import processes
from pretrain.model import MaskedRowsModel, build_config, build_model
from pretrain.peak import known_device
from pretrain.settings import ModelSettings, PretrainSettings

SPECIAL = {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}
SHAPE = ModelSettings(layers=2, hidden=32, heads=2, dropout=0.0)


def model_of(**changes: Any) -> tuple[MaskedRowsModel, PretrainSettings]:
    settings = PretrainSettings(**{"model": SHAPE, "length": 16, **changes})
    return MaskedRowsModel(build_model(settings, build_config(settings, 50, SPECIAL))), settings


def arguments() -> dict[str, torch.Tensor | None]:
    ids = torch.from_numpy(np.random.default_rng(0).integers(5, 50, (4, 16)))
    rows = torch.tensor([[1, 5]] * 4)
    return {"ids_BS": ids, "rows_BM": rows, "labels_BM": ids.gather(1, rows)}


def test_in_16_bits_nothing_between_the_layers_is_wider() -> None:
    """Autocast's layer norms come out in fp32, and with them all that is added to them."""
    plain, _ = model_of()
    fast, settings = model_of(dtype="bf16")
    engines.speed_up(fast, settings)
    seen: list[torch.dtype] = []
    for module in fast.hub.base_model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.register_forward_hook(lambda _module, given, output: seen.extend([given[0].dtype, output.dtype]))
    with processes.computing_in("bf16", torch.device("cpu")):
        sums = fast(**arguments())
    assert seen[1:] == [torch.bfloat16] * 9  # five norms; what the first one reads are the embeddings
    exact = plain(**arguments())
    assert sums.loss.item() == pytest.approx(exact.loss.item(), rel=1e-2)
    sums.loss.backward()
    assert {p.grad.dtype for p in fast.parameters() if p.grad is not None} == {torch.float32}


def test_in_32_bits_nothing_is_changed() -> None:
    plain, _ = model_of()
    fast, settings = model_of(dtype="fp32")
    engines.speed_up(fast, settings)
    assert torch.equal(fast(**arguments()).loss, plain(**arguments()).loss)


def test_a_compiler_that_fails_is_named_before_the_run() -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("no C++ compiler")

    model, settings = model_of(dtype="fp32")
    model.compile(backend=broken)
    with pytest.raises(UserError, match=r"torch\.compile does not work here") as raised:
        engines.rehearse(model, arguments(), settings, 1)
    assert "pretrain.compile=false" in str(raised.value)
    torch._dynamo.reset()


def test_faults_of_the_model_itself_are_not_the_compilers() -> None:
    model, settings = model_of(dtype="fp32")
    with pytest.raises(IndexError):
        engines.rehearse(model, {**arguments(), "ids_BS": torch.full((4, 16), 99)}, settings, 1)


def test_compile_and_stage_3_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="compile does not go with zero_stage=3"):
        PretrainSettings(compile=True, zero_stage=3)
    assert PretrainSettings(zero_stage=3).compile is None


def test_counts_of_steps_lie_beside_their_weights() -> None:
    """DeepSpeed's universal checkpoint leaves them on the CPU; a GPU's fused kernel reads them as its own."""
    parameter = torch.nn.Parameter(torch.empty(3, device="meta"))
    state = {parameter: {"step": torch.tensor(7.0), "exp_avg": torch.empty(3, device="meta")}}
    loaded: list[tuple[str, str]] = []
    engine = SimpleNamespace(
        load_checkpoint=lambda folder, tag: (loaded.append((folder, tag)) or folder, {}),
        basic_optimizer=SimpleNamespace(state=state),
    )
    engines.restore(engine, "folder", "tag")
    assert loaded == [("folder", "tag")] and state[parameter]["step"].device.type == "meta"


def test_dropout_of_attention_alone() -> None:
    config = build_config(PretrainSettings(model=ModelSettings(dropout=0.1, attention_dropout=0.0)), 50, SPECIAL)
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == (0.1, 0.0)
    config = build_config(PretrainSettings(model=ModelSettings(dropout=0.2)), 50, SPECIAL)
    assert config.attention_probs_dropout_prob == 0.2


def test_a_model_whose_layers_are_computed_again_is_one_graph() -> None:
    """transformers warns, amid the forward pass, of a cache that an encoder has not: a break in the graph."""
    model, _ = model_of()
    model.hub.activation_checkpointing_enable({"use_reentrant": False})
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    model.train().compile(dynamic=False, backend="aot_eager")
    model(**arguments()).loss.backward()
    assert sum(torch._dynamo.utils.counters["graph_break"].values()) == 0
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    torch._dynamo.reset()


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
        ("NVIDIA GeForce RTX 4090", None),
    ],
)
def test_a_gpu_is_known_by_the_whole_words_of_its_name(name: str, known: str | None) -> None:
    assert known_device(name) == known
