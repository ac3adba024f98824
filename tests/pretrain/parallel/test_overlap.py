"""Gradients are averaged while the backward pass goes on, in compiled models as well: the order of both is watched."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pretrain.parallel.buckets import bucket_elements
from pretrain.settings import PretrainSettings

sys.path.insert(0, str(Path(__file__).parents[1]))
from training_runs import train

pytestmark = pytest.mark.slow

WATCH = """
import json
import torch
import torch.distributed as dist
import pretrain.setup as begin
import pretrain.kernels.compile as speed
import pretrain.trainer as trainer
import pretrain.parallel.ddp as torch_engine

events = []

# the backward pass of a layer begins: an operator that a compiler must leave in its place
@torch.library.custom_op("overlap::seen", mutates_args=())
def seen(gradient: torch.Tensor) -> torch.Tensor:
    events.append("layer")
    return gradient.clone()
@torch.library.custom_op("overlap::mark", mutates_args=())
def mark(value: torch.Tensor) -> torch.Tensor:
    return value.clone()
seen.register_fake(torch.empty_like)
mark.register_fake(torch.empty_like)
mark.register_autograd(lambda context, gradient: seen(gradient))

inner_speed_up = begin.speed_up
def speed_up(model, *args, **kwargs):
    for layer in model.hf_model.base_model.encoder.layer:  # of each: they share a graph
        layer.output.register_forward_hook(lambda _, __, value: mark(value))
    inner_speed_up(model, *args, **kwargs)
begin.speed_up = speed_up
if WHOLE:
    speed.compile_layers = lambda model: speed.compile_whole(model, "aot_eager")
else:
    speed.compile_layers.__defaults__ = ("aot_eager",)

class Watched(torch_engine.DistributedDataParallel):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.register_comm_hook(None, averaged)
def averaged(_, bucket):
    events.append("sent")
    sending = dist.all_reduce(bucket.buffer(), async_op=True)
    return sending.get_future().then(lambda future: future.value()[0] / dist.get_world_size())
torch_engine.DistributedDataParallel = Watched

def watched(name):
    inner = getattr(dist, name)
    def call(tensor, *args, **kwargs):
        if tensor.numel() > 1000:
            events.append("sent")
        return inner(tensor, *args, **kwargs)
    setattr(dist, name, call)
if STAGE:
    for name in ("all_reduce", "reduce"):
        watched(name)

inner_step = trainer.Trainer.step
def step(self, *args, **kwargs):
    events.clear()
    found = inner_step(self, *args, **kwargs)
    if self.loader.rank == 0:
        with open(PATH, "w") as stream:
            json.dump(events, stream)
    return found
trainer.Trainer.step = step
"""
MODEL = {"layers": 4, "hidden": 128, "heads": 2}
"""3.2 MB of gradients in its layers."""


def watched(out: Path, tokens: Path, tokenizer: Path, changes: dict[str, Any], whole: bool = False) -> list[str]:
    """Return what a step of two processes did, in order."""
    stage, patch = changes["zero_stage"], WATCH
    for name, value in {"WHOLE": whole, "STAGE": stage, "PATH": str(out / "events.json")}.items():
        patch = patch.replace(name, repr(value))
    changes = {
        "model": MODEL, "engine": "deepspeed" if stage else "torch", "steps": 2, "optimizer": {"warmup_steps": 1},
        "global_batch": 8, **changes,
    }  # fmt: skip
    train(out, tokens, tokenizer, 2, patch, **changes)
    return list(json.loads((out / "events.json").read_text()))


@pytest.mark.parametrize(
    ("compiled", "stage"),
    [
        ("", 0),
        ("by layers", 0),
        pytest.param("by layers", 1, marks=pytest.mark.drill),
        pytest.param("by layers", 2, marks=pytest.mark.drill),
        pytest.param("as a whole", 0, marks=pytest.mark.drill),
    ],
)
def test_the_last_layers_are_sent_before_the_first_is_reached(
    compiled: str, stage: int, tokens: Path, tokenizer: Path, tmp_path: Path
) -> None:
    changes = {"zero_stage": stage, "compile": bool(compiled), "bucket_cap_mb": 1}
    events = watched(tmp_path, tokens, tokenizer, changes, compiled == "as a whole")
    assert events.count("layer") == MODEL["layers"] and events.count("sent") >= 2
    overlaps = events[-1] == "sent" and events.index("sent") < len(events) - 1 - events[::-1].index("layer")
    assert overlaps == (compiled != "as a whole")  # as a whole it is compiled where there is nothing to send


@pytest.mark.parametrize("stage", [0, 1])
def test_a_bucket_is_as_large_as_the_settings_say(stage: int, tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    assert watched(tmp_path / "all", tokens, tokenizer, {"zero_stage": stage}).count("sent") == 1
    assert (
        3
        <= watched(tmp_path / "parts", tokens, tokenizer, {"zero_stage": stage, "bucket_cap_mb": 1}).count("sent")
        <= 6
    )


def test_buckets_by_size_of_the_model() -> None:
    run = PretrainSettings
    assert bucket_elements(run(), 8_000_000) == 25 * 262_144  # 25 MB, in numbers of four bytes
    assert bucket_elements(run(), 111_000_000) == 13_875_000
    assert bucket_elements(run(), 1_500_000_000) == 200 * 262_144
    assert bucket_elements(run(bucket_cap_mb=3), 111_000_000) == 786_432
