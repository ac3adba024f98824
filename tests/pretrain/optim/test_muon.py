"""Muon against its formula in numpy, one matrix at a time; what a skipped step leaves; runs that end and resume.

Shapes: N matrices, R rows, C columns.
"""

import importlib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from common.errors import UserError
from common.settings import dump_settings, parse_settings
from pretrain.callbacks.branch import read_parent
from pretrain.callbacks.checkpoint import load_optimizer
from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size, read_metadata, write_metadata
from pretrain.cost.memory import Arithmetic, memory
from pretrain.cost.run import disk
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.optim import muon
from pretrain.optim.muon import Muon, MuonOptimizer, orthogonal
from pretrain.optim.optimizer import OptimizerState
from pretrain.optim.registry import OPTIMIZERS
from pretrain.parallel.ddp import TorchEngine
from pretrain.settings import OptimizerSettings, PretrainSettings
from tests.pretrain.spy import Spy

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_tokens import SPECIAL
from training_runs import MODEL, RUN, assert_near, assert_same_run, finish, losses, signal_at, start, train

V, CPU, KIND = 100, torch.device("cpu"), Muon()
NO, YES = torch.zeros(()), torch.ones(())
SMALL = {"layers": 2, "hidden": 32, "heads": 2}


def run(**changes: Any) -> PretrainSettings:
    optimizer = {"type": "muon", "warmup_steps": 1, **changes.pop("optimizer", {})}
    return PretrainSettings.model_validate({"model": SMALL, "max_seq_len": 16, "optimizer": optimizer, **changes})


def model_of(settings: PretrainSettings) -> MaskedRowsModel:
    return MaskedRowsModel(build_model(settings, build_config(settings, V, SPECIAL)))


def built(**changes: Any) -> tuple[MaskedRowsModel, MuonOptimizer]:
    settings = run(**changes)
    model = model_of(settings)
    return model, KIND.build(model, settings)


def give_gradients(model: MaskedRowsModel, seed: int) -> None:
    """Gradients of very different sizes, as embeddings and layers have them."""
    draw = torch.Generator().manual_seed(seed)
    for number, weight in enumerate(model.parameters()):
        weight.grad = torch.randn(weight.shape, generator=draw) * 10.0 ** -(number % 5)


def step(optimizer: MuonOptimizer, lr: float, divisor: float = 1.0, skip: torch.Tensor = NO) -> None:
    KIND.prepare(optimizer, lr, torch.tensor(divisor), skip)
    optimizer.step()
    optimizer.zero_grad()


def everything(model: MaskedRowsModel, optimizer: MuonOptimizer) -> list[torch.Tensor]:
    """All weights and all states, copied."""
    weights = list(model.parameters())
    states = [value for weight in weights for value in optimizer.state[weight].values()]
    return [value.detach().clone() for value in (*weights, *states)]


def same(first: Iterable[torch.Tensor], second: Iterable[torch.Tensor]) -> bool:
    """Whether tensors hold the same bytes, signs of zeros and NaN included."""
    return all(a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(first, second, strict=True))


def near_orthogonal(matrix: np.ndarray) -> np.ndarray:
    """The odd polynomial of Jordan et al., five times, by the singular value decomposition."""
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    s = s / np.linalg.norm(matrix)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return (u * s) @ v


@pytest.mark.parametrize("kind", ["roberta", "modernbert"])
def test_steps_are_those_of_the_formula(kind: str) -> None:
    """In float64: Muon for the layers' matrices, Adam by its paper for the rest, decay for all but vectors.

    ModernBERT's queries, keys and values are three matrices in one weight, feed-forward layer and gate two.
    """
    lr, decay, mu, divisor = 0.02, 0.1, 0.9, 4.0
    parts = {"Wqkv.weight": 3, "Wi.weight": 2} if kind == "modernbert" else {}
    model, optimizer = built(model={**SMALL, "type": kind}, optimizer={"weight_decay": decay, "muon": {"momentum": mu}})
    names = {weight: name for name, weight in model.hf_model.named_parameters()}
    values = {weight: weight.detach().double().numpy().copy() for weight in names}
    first, second = ({weight: np.zeros(weight.shape) for weight in names} for _ in range(2))
    for count in range(1, 5):
        give_gradients(model, count)
        for weight, value in values.items():
            gradient = weight.grad.double().numpy() / divisor
            if re.search(r"layers?\.\d+\..*weight$", names[weight]) and weight.ndim == 2:
                first[weight] = mu * first[weight] + (1 - mu) * gradient
                matrices = np.split(
                    mu * first[weight] + (1 - mu) * gradient, parts.get(".".join(names[weight].split(".")[-2:]), 1)
                )
                update = np.concatenate([max(matrix.shape) ** 0.5 * near_orthogonal(matrix) for matrix in matrices])
                value -= lr * (decay * value + 0.2 * update)
                continue
            first[weight] = 0.9 * first[weight] + 0.1 * gradient
            second[weight] = 0.98 * second[weight] + 0.02 * gradient**2
            mean, spread = first[weight] / (1 - 0.9**count), second[weight] / (1 - 0.98**count)
            if weight.ndim > 1:
                value -= lr * decay * value
            value -= lr * mean / (np.sqrt(spread) + 1e-6)
        step(optimizer, lr, divisor)
    for weight, value in values.items():
        np.testing.assert_allclose(weight.detach().numpy(), value, atol=2e-5, err_msg=names[weight])
    assert KIND.updates(optimizer) == 4
    assert all(int(state["step"]) == 4 for state in optimizer.state.values())


@pytest.mark.parametrize(("rows", "columns"), [(24, 24), (16, 64), (64, 16)])
def test_an_update_is_near_orthogonal_and_the_same_in_a_stack(rows: int, columns: int) -> None:
    """Singular values from 0.3 to 10 come to the polynomial's image of them; vectors stay. So at any size."""
    draw, least = np.random.default_rng(1), min(rows, columns)
    matrices = []
    for _ in range(3):
        u, v = (np.linalg.qr(draw.normal(size=(size, least)))[0] for size in (rows, columns))
        matrices.append((u * np.geomspace(10, 0.3, least)) @ v.T)
    stack = torch.tensor(np.stack(matrices), dtype=torch.float32)
    updates = orthogonal(stack)
    assert updates.dtype == torch.float32 and updates.shape == stack.shape
    for number, matrix in enumerate(matrices):
        np.testing.assert_allclose(updates[number].numpy(), near_orthogonal(matrix), atol=2e-5)
        values = np.linalg.svd(updates[number].double().numpy(), compute_uv=False)
        assert values.min() > 0.68 and values.max() < 1.21
        torch.testing.assert_close(orthogonal(stack[number : number + 1])[0], updates[number], atol=1e-5, rtol=0)
    assert torch.equal(orthogonal(stack / 2**20), updates)
    assert not orthogonal(torch.zeros(2, rows, columns)).any()


def test_stacks_hold_all_matrices_of_a_shape_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    _, optimizer = built()
    assert [len(stack) for stack in optimizer._stacks] == [8, 2, 2]  # 4 a layer; feed-forward, in and out
    together = built(seed=1)
    monkeypatch.setattr(muon, "STACKED", 3 * 32 * 32)
    apart = built(seed=1)
    assert [len(stack) for stack in apart[1]._stacks] == [3, 3, 2, 1, 1, 1, 1]
    for model, optimizer in (together, apart):
        for number in range(3):
            give_gradients(model, number)
            step(optimizer, 0.01)
    for stacked, single in zip(together[0].parameters(), apart[0].parameters(), strict=True):
        torch.testing.assert_close(stacked, single, atol=1e-6, rtol=0)


@pytest.mark.parametrize("fault", [float("nan"), float("inf"), 1.0])
@pytest.mark.parametrize("before", [0, 2])
def test_a_skipped_step_leaves_every_bit(fault: float, before: int) -> None:
    """Of weights, momentum, moments and counts; and what follows is as if it had not been."""
    model, optimizer = built()
    other, untouched = built()
    with torch.no_grad():
        for copy_of_model in (model, other):
            next(iter(copy_of_model.architecture.layers(copy_of_model.hf_model)[0].parameters()))[0, 0] = -0.0
    for number in range(before):
        for copy_of_model, its_optimizer in ((model, optimizer), (other, untouched)):
            give_gradients(copy_of_model, number)
            step(its_optimizer, 0.01)
    was = everything(model, optimizer)
    give_gradients(model, 7)
    for weight in model.parameters():
        weight.grad.flatten()[0] *= fault
    step(optimizer, 0.01, divisor=fault, skip=YES)
    if before:  # AdamW makes its moments at its first step
        assert same(everything(model, optimizer), was)
    assert KIND.updates(optimizer) == before
    for copy_of_model, its_optimizer in ((model, optimizer), (other, untouched)):
        give_gradients(copy_of_model, 8)
        step(its_optimizer, 0.01)
    assert same(everything(model, optimizer), everything(other, untouched))
    assert KIND.updates(optimizer) == before + 1


def test_matrices_without_a_gradient_stay() -> None:
    model, optimizer = built()
    give_gradients(model, 1)
    still = next(iter(optimizer.matrices))
    still.grad, was = None, still.detach().clone()
    step(optimizer, 0.01)
    assert torch.equal(still, was) and not optimizer.state[still]["momentum"].any()
    assert all(weight.grad is None for weight in model.parameters())


def test_the_host_reads_nothing_and_hands_over_as_much_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """On tensors without values, where a read is an error; 2 and 6 layers take as many operators but for views."""
    monkeypatch.setattr(importlib.import_module("torch.optim.adam"), "_device_dtype_check_for_fused", lambda *_: None)

    def operators(layers: int) -> int:
        settings = run(model={**SMALL, "layers": layers})
        model = model_of(settings).to("meta")
        optimizer = KIND.build(model, settings)
        for weight in model.parameters():
            weight.grad = torch.empty_like(weight)
        scalar = torch.empty((), device="meta")
        KIND.prepare(optimizer, 0.01, scalar, scalar)
        optimizer.adamw.step()  # makes its moments
        with Spy() as spy:
            optimizer.step()
        assert sum("bmm" in name for name in spy.names) == 3 * 5 * 3  # three shapes, five iterations, three products
        return len([name for name in spy.names if "aten" in name and "detach" not in name])

    assert operators(2) == operators(6)


def test_a_state_is_saved_and_loaded_whole() -> None:
    """By the engine and through its names: the next step of a new engine has the same bits."""
    settings = run()
    first, second = (TorchEngine(model_of(settings), settings, CPU, None) for _ in range(2))
    for number in range(2):
        give_gradients(first.model, number)
        first.apply(0.01, YES, NO)
    state = first.optimizer_state()
    matrices = {name for name, w in first.named_weights() if "encoder.layer" in name and w.ndim == 2}
    others = {name for name, _ in first.named_weights()} - matrices
    assert state.steps == 2 and len(matrices) == 12
    assert {name: values.keys() for name, values in state.moments.items()} == {
        "momentum": matrices, "exp_avg": others, "exp_avg_sq": others
    }  # fmt: skip
    second.model.load_state_dict(first.model.state_dict())
    second = TorchEngine(second.model, settings, CPU, OptimizerState(state.steps, state.moments))
    for engine in (first, second):
        give_gradients(engine.model, 5)
        engine.apply(0.01, YES, NO)
    assert same(first.model.state_dict().values(), second.model.state_dict().values())
    assert second.optimizer_state().steps == 3


@pytest.mark.parametrize("kind", sorted(ARCHITECTURES))
def test_the_plan_reckons_with_what_is_held(kind: str) -> None:
    settings = run(model={**SMALL, "type": kind})
    model = model_of(settings)
    give_gradients(model, 1)
    optimizer = KIND.build(model, settings)
    step(optimizer, 0.01)
    size = sum(value.numel() for state in optimizer.state.values() for name, value in state.items() if name != "step")
    assert KIND.state_numbers(settings, sum(weight.numel() for weight in model.parameters())) == size


def test_memory_and_disk_of_roberta_base_by_hand() -> None:
    """12 layers of 4 · 768² + 2 · 768 · 3072 = 7,077,888 numbers have one state, the other parameters two."""
    settings, parameters = run(model={}, max_seq_len=512), 110_651_648
    states = 2 * 110_651_648 - 12 * 7_077_888
    usage = memory(settings, 32_000, parameters, 1, Arithmetic("gpu", 2, compiled=True), "torch")
    assert usage.moments == 4 * states == 545_474_560
    assert disk(settings, 32_000, parameters, None).checkpoint == 4 * (parameters + states)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"zero_stage": 1}, r"optimizer\.type=muon does not go with engine=auto and zero_stage=1.*set engine=auto and"),
        ({"engine": "deepspeed"}, r"optimizer\.type=muon does not go with engine=deepspeed and zero_stage=0"),
        (
            {"optimizer": {"warmup_steps": 1, "muon": {"momentum": 0.9}}},
            r"optimizer\.muon is read with optimizer\.type=muon alone, and optimizer\.type is adamw; leave optimizer",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], said: str) -> None:
    tree = {"optimizer": {"type": "muon", "warmup_steps": 1}, **changes}
    with pytest.raises(UserError) as caught:
        parse_settings(PretrainSettings, tree, "recipe")
    assert re.search(said, str(caught.value).replace("\n", " "))


def test_settings_name_the_optimizers_that_there_are() -> None:
    assert {*get_args(OptimizerSettings.model_fields["type"].annotation)} == OPTIMIZERS.keys()


# runs, as processes

MUON: dict[str, Any] = {
    "optimizer": {**RUN["optimizer"], "type": "muon", "schedule": "warmup-stable-sqrt", "decay_share": 0.5},
    "steps": 24,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """A run that nothing disturbs."""
    out = tmp_path_factory.mktemp("muon")
    train(out, tokens, tokenizer, **MUON)
    return out


@pytest.mark.slow
def test_a_run_that_is_stopped_and_killed_ends_with_the_same_bytes(
    whole: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    first, last = losses(whole)[0][1], losses(whole)[-1][1]
    assert last < first
    stop, kill = signal_at(6, "SIGTERM"), signal_at(17, "SIGKILL")
    code, errors = finish(start(tmp_path, tokens, tokenizer, patch=stop, **MUON))
    assert "stopped as asked after step 7" in errors, errors
    code, errors = finish(start(tmp_path, tokens, tokenizer, patch=kill, **MUON))
    assert code == -signal.SIGKILL and "resuming at step 7" in errors, errors
    (tmp_path / "sitecustomize.py").unlink()
    errors = train(tmp_path, tokens, tokenizer, **MUON)
    assert "resuming at step 10" in errors, errors
    assert_same_run(tmp_path, whole)
    states = [load_optimizer(checkpoints_by_size(out / "checkpoints")[-1][1]) for out in (whole, tmp_path)]
    assert states[0].steps == states[1].steps == 24
    for name, values in states[0].moments.items():
        assert same(values.values(), states[1].moments[name].values())


@pytest.mark.slow
def test_two_processes_give_the_weights_of_one(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """And of each other: every process updates all weights."""
    exact = {**MUON, "model": {**RUN["model"], "dropout": 0.0}}
    note = f"""
import os, torch, pretrain.parallel.ddp as d
gathered = d.TorchEngine.weights
def noted(self):
    own = {{name: weight.detach().clone() for name, weight in self.named_weights()}}
    torch.save(own, os.path.join({str(tmp_path)!r}, os.environ.get("RANK", "0") + ".pt"))
    return gathered(self)
d.TorchEngine.weights = noted
"""
    train(tmp_path / "one", tokens, tokenizer, **exact)
    train(tmp_path / "two", tokens, tokenizer, 2, note, stderr=subprocess.PIPE, **exact)
    ranks = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1)]
    assert all(torch.equal(ranks[0][name], ranks[1][name]) for name in ranks[0])
    assert_near(tmp_path / "one", tmp_path / "two", 1e-4)
    alone, together = (load_file(tmp_path / name / MODEL) for name in ("one", "two"))
    for name, weight in alone.items():
        torch.testing.assert_close(weight, together[name], atol=1e-4, rtol=0)


@pytest.mark.slow
def test_a_branch_keeps_the_optimizer_and_may_change_the_rest(whole: Path, tmp_path: Path, tokens: Path) -> None:
    _, parent = checkpoints_by_size(whole / "checkpoints")[0]

    def branch(path: Path, **optimizer: Any) -> dict[str, Any]:
        changed = {**MUON["optimizer"], **optimizer}
        settings = PretrainSettings.model_validate({**RUN, **MUON, "optimizer": changed})
        return read_parent(path, dump_settings(settings), settings, tokens)

    assert branch(parent, learning_rate=3e-4, muon={"momentum": 0.9}, schedule="linear")["step"] == 10
    with pytest.raises(UserError) as caught:
        branch(parent, type="adamw")
    said = " ".join(str(caught.value).split())
    assert 'optimizer.type: "muon" → "adamw"' in said and "keeps optimizer.type" in said
    assert "pretrain.init_from" in said
    # of a version that had AdamW alone
    older = shutil.copytree(parent, tmp_path / parent.name)
    saved = read_metadata(older) or {}
    del saved["settings"]["optimizer"]["type"]
    write_metadata(older, saved)
    assert branch(older, type="adamw")["step"] == 10
    with pytest.raises(UserError, match=r"optimizer\.type"):
        branch(older)
