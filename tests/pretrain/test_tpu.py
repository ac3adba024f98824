"""TPUs, without one: the step on a stand-in of the device type, and what is refused.

What XLA would have to compile is told by shapes, types and numbers of each operator: from the third step on there must
be none that the first two did not have. On a TPU the model is one compiled graph besides; that there is one of it, for
batches of all kinds, is counted by a compiler that does nothing else, and the same path is trained on a CPU against the
plain one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

import pretrain.parallel.accelerator as accelerators
from common.errors import UserError
from pretrain.batches.inputs import InputForm, prepare
from pretrain.batches.loader import Loader, plan_samples
from pretrain.kernels.compile import compile_whole, speed_up
from pretrain.kernels.precision import resolve_dtype
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.parallel.accelerator import GROUPS, device_of
from pretrain.parallel.processes import Process
from pretrain.parallel.world import world_info
from pretrain.settings import PretrainSettings
from pretrain.setup import begin
from tests.pretrain.small_tokens import both_losses, objective_of, small_run
from tokenizer.shards import TokenShards

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import losses, train

KINDS = ["full-sentences", "doc-sentences", "contiguous", "packed", "sentence-pairs"]
TPU = cast(torch.device, SimpleNamespace(type="tpu"))


@pytest.mark.slow
def test_a_step_compiles_nothing_new_and_reads_nothing(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    script = Path(__file__).parent / "tpu_stand_in.py"
    command = [sys.executable, str(script), str(tokens), str(tokenizer), str(tmp_path), *KINDS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    by_kind = json.loads(done.stdout)
    assert list(by_kind) == KINDS
    for kind, seen in by_kind.items():
        assert seen["accelerator"] == "tpu" and seen["half"] == "torch.bfloat16", kind
        assert seen["reads"] == [], kind
        first, *others = seen["new"]
        assert len(first) > 200, kind
        assert not any(others), (kind, others)


def settings_of(samples: str, **changes: Any) -> PretrainSettings:
    return small_run(samples, global_batch=1, micro_batch=1, validation_samples=3, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("samples", KINDS)
def test_the_model_is_one_graph(
    samples: str, tokens: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for training and one for validation, whatever is padded; none after the first of each."""
    graphs: list[int] = []

    def count(graph: Any, inputs: Any) -> Any:
        graphs.append(len(graph.graph.nodes))
        return graph.forward

    monkeypatch.setattr(compile_whole, "__defaults__", (count,))
    torch._dynamo.reset()
    settings = settings_of(samples)
    plan_samples(settings, tokens, tmp_path)
    loader, shards = Loader(settings, tokens, tokenizer, tmp_path, 0, 1), TokenShards(tokens)
    model = MaskedRowsModel(build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids)))
    speed_up(model, settings, TPU)
    assert model.compiles and model.one_shape and not model.unpadded

    def sums(batch: Any, masked: Any) -> Any:
        made = prepare(batch, masked, samples, model.input_form(torch.device("cpu")), objective_of(samples))
        return model(**model.on_device(made.inputs, torch.device("cpu")))

    padded = set()
    for step in range(40 if samples == "full-sentences" else 10):
        for batch, masked in loader.masked_batches(step):
            padded.add(bool(batch.padded))
            results = sums(batch, masked)
            both_losses(results).backward()
    assert len(graphs) == 1, graphs
    model.eval()
    with torch.no_grad():
        for batch, masked in loader.masked_validation():
            sums(batch, masked)
    assert len(graphs) == 2, graphs
    if samples == "full-sentences":
        assert padded == {True, False}  # what the test rests on: batches of both kinds have come


def test_without_one_shape_the_padded_batches_are_a_graph_of_their_own(
    tokens: Path, tokenizer: Path, tmp_path: Path
) -> None:
    settings = settings_of("full-sentences")
    plan_samples(settings, tokens, tmp_path)
    loader = Loader(settings, tokens, tokenizer, tmp_path, 0, 1)
    for one_shape in (False, True):
        made = [
            prepare(*masked, "full-sentences", InputForm(one_shape=one_shape), objective_of("full-sentences"))
            for step in range(40)
            for masked in loader.masked_batches(step)
        ]
        shapes = {tuple((name, tuple(value.shape)) for name, value in sorted(b.inputs.items())) for b in made}
        assert len(shapes) == (1 if one_shape else 2)


def test_lengths_of_a_batch_without_padding_change_nothing(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    settings = settings_of("full-sentences")
    plan_samples(settings, tokens, tmp_path)
    loader, shards = Loader(settings, tokens, tokenizer, tmp_path, 0, 1), TokenShards(tokens)
    hf_model = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids))
    model = MaskedRowsModel(hf_model).eval()
    compared = 0
    for step in range(40):
        for batch, masked in loader.masked_batches(step):
            if batch.padded:
                continue
            compared += 1
            with_lengths, without = (
                model(**prepare(batch, masked, "full-sentences", InputForm(one_shape=fixed), model.objective).inputs)
                for fixed in (True, False)
            )
            torch.testing.assert_close(with_lengths["loss"], without["loss"], rtol=1e-6, atol=1e-5)
    assert compared


@pytest.mark.parametrize("kind", ["roberta", "bert"])
def test_norms_of_a_tpu_get_numbers_of_the_type_of_their_weights(
    kind: str, tokens: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TorchTPU does not lower others, and its autocast leaves layer norms alone (`test_xla.py` compiles them)."""
    samples = "sentence-pairs" if kind == "bert" else "full-sentences"
    settings = settings_of(samples, compile=False)
    plan_samples(settings, tokens, tmp_path)
    loader, shards = Loader(settings, tokens, tokenizer, tmp_path, 0, 1), TokenShards(tokens)
    hf_model = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids))
    model = MaskedRowsModel(hf_model, torch.bfloat16)
    speed_up(model, settings, TPU)
    seen, inner = [], torch.nn.functional.layer_norm

    def watch(values: Any, shape: Any, weight: Any, *more: Any) -> Any:
        seen.append((values.dtype, weight.dtype))
        return inner(values, shape, weight, *more)

    monkeypatch.setattr(torch.nn.functional, "layer_norm", watch)
    (batch, masked), *_ = loader.masked_batches(0)
    model(**prepare(batch, masked, samples, InputForm(one_shape=True), objective_of(samples)).inputs)
    assert len(seen) == 6 and set(seen) == {(torch.float32, torch.float32)}  # of embeddings, 2 layers, the head


ON_A_TPU = """
import json
from types import SimpleNamespace
import torch, pretrain.setup as begin, pretrain.kernels.compile as speed, pretrain.trainer as trainer
inner, validating = begin.speed_up, trainer.Trainer.validate
begin.speed_up = lambda model, settings, device, **more: inner(model, settings, SimpleNamespace(type="tpu"), **more)
speed.compile_whole.__defaults__ = ("aot_eager",)
def validate(self, *given):
    found = validating(self, *given)
    with open(PATH, "a") as stream:
        print(torch._dynamo.utils.counters["stats"]["unique_graphs"], file=stream)
    return found
trainer.Trainer.validate = validate
"""
"""Patch after which a run on a CPU takes the path of a TPU: all batches alike, fused products, one compiled graph."""


@pytest.mark.slow
@pytest.mark.parametrize("samples", ["full-sentences"])
def test_the_path_of_a_tpu_trains_as_the_plain_one(samples: str, tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    """50 steps: losses within 1e-3, at most 3 graphs, and checkpoints go both ways."""
    counts = tmp_path / "graphs"
    patch = ON_A_TPU.replace("PATH", repr(str(counts)))
    run = {
        "packing": samples,
        "max_seq_len": 24,
        "steps": 50,
        "validate_every": 10,
        "checkpoint_every": 25,
        "log_every": 1,
    }
    plain, tpu = tmp_path / "plain", tmp_path / "tpu"
    for out, how in ((plain, ""), (tpu, patch)):
        train(out, tokens, tokenizer, patch=how, **run)
    assert [step for step, _ in losses(tpu)] == list(range(1, 51))
    for (_, loss), (_, other) in zip(losses(plain), losses(tpu), strict=True):
        assert abs(loss - other) < 1e-3
    graphs = [int(line) for line in counts.read_text().split()]
    assert 0 < graphs[-1] <= 3 and graphs[-1] == graphs[1], graphs
    for source, how in ((plain, patch), (tpu, "")):
        out = tmp_path / f"from-{source.name}"
        shutil.copytree(source, out, ignore=shutil.ignore_patterns("sitecustomize.py", "step-00000050", "model"))
        errors = train(out, tokens, tokenizer, patch=how, **run)
        assert "resuming at step 25" in errors, errors
        for (_, loss), (_, other) in zip(losses(plain), losses(out), strict=True):
            assert abs(loss - other) < 1e-3


def as_tpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available=False: TPU)
    monkeypatch.setattr(accelerators.torch, "device", lambda kind, *_: SimpleNamespace(type=kind))


def test_a_process_on_a_tpu_is_told_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    as_tpu(monkeypatch)
    four = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
    alone, of_four = world_info({}), world_info({**four, "MASTER_ADDR": "a", "MASTER_PORT": "1"})
    assert device_of(alone, {}).type == "tpu"
    with pytest.raises(UserError, match="TORCH_TPU_TOPOLOGY and TORCH_TPU_SLICEBUILDER_ADDRESSES"):
        device_of(of_four, {})
    known = {"TORCH_TPU_TOPOLOGY": "2,2,1", "TORCH_TPU_SLICEBUILDER_ADDRESSES": "a:1,a:2,a:3,a:4"}
    assert device_of(of_four, known).type == "tpu"
    with pytest.raises(UserError, match="4 processes on TPUs with 2 addresses"):
        device_of(of_four, {**known, "TORCH_TPU_SLICEBUILDER_ADDRESSES": "a:1,a:2"})
    with pytest.raises(UserError, match="without TORCH_TPU_TOPOLOGY"):
        device_of(of_four, {**known, "TORCH_TPU_TOPOLOGY": ""})


def test_types_and_refusals_on_a_tpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_tpu(monkeypatch)
    assert resolve_dtype("auto") == "bf16"
    assert GROUPS["tpu"] == "cpu:gloo,tpu:tpu_dist"
    process = Process(0, 1, "here", TPU)
    refused = [({"zero_stage": 1}, "DeepSpeed"), ({"engine": "deepspeed"}, "DeepSpeed"), ({"dtype": "fp16"}, "bf16")]
    for changes, message in refused:
        with pytest.raises(UserError, match=message):
            begin(settings_of("contiguous", **changes), tmp_path, tmp_path, tmp_path, process)
