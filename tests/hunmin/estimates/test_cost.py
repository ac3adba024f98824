"""`hunmin plan`: what it says, in JSON and to people, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from common import units
from common.errors import UserError
from hunmin.estimates.cost import cost_plan
from hunmin.estimates.tables import print_cost
from hunmin.main import run_command
from hunmin.recipes.recipe import Recipe
from tests.embed.tiny_encoders import write_encoder
from tokenizer.shards import write_meta, write_shard

CONFIGS = Path(__file__).parents[3] / "configs"
HERE = ["corpus.inputs=[corpora/*]", "klue.data=klue-benchmark"]


def recipe(out: str = "o", corpus: dict[str, Any] | None = None, **pretrain: Any) -> Recipe:
    tree = {"name": "t", "out": out, "corpus": {"inputs": ["x"], **(corpus or {})}, "klue": {"data": "y"}}
    return Recipe.model_validate({**tree, "pretrain": {"steps": 1000, "optimizer": {"warmup_steps": 100}, **pretrain}})


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_every_key_that_a_plan_ever_had_is_there() -> None:
    plan = cost_plan(recipe(), 8, "H100")
    assert plan.keys() >= {
        "parameters", "tokens", "flops_per_token", "flops", "device", "devices", "flops_per_second", "basis",
        "tokens_per_second", "hours", "memory_bytes_per_device", "disk_bytes",
    }  # fmt: skip
    assert (plan["device"], plan["devices"], plan["parameters"]) == ("H100", 8, 110_651_648)
    json.loads(json.dumps(plan, allow_nan=False))


@pytest.mark.parametrize("option", ["--price", "--network"])
def test_infinite_numbers_are_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["plan", str(CONFIGS / "quickstart.yaml"), option, "inf"]) == 2
    said = capsys.readouterr().err
    assert f"{option} inf" in said and "finite" in said and "Traceback" not in said


def test_nodes_network_money_and_a_stated_rate() -> None:
    asked = recipe(micro_batch=8)
    assert [cost_plan(asked, n, "A100")["nodes"] for n in (1, 8, 16, 64)] == [1, 1, 2, 8]
    slow, fast = (cost_plan(asked, 64, "H100", network=rate) for rate in (1.0, 100.0))
    assert slow["hours"] > fast["hours"] and slow["step_compute_seconds"] == fast["step_compute_seconds"]
    assert cost_plan(asked, 16, "H100", nodes=4)["scaling"][-1]["nodes"] == 16  # four in each, as said
    with pytest.raises(UserError, match="16 devices over 3 nodes"):
        cost_plan(asked, 16, "H100", nodes=3)
    eight = cost_plan(asked, 8, "H100", price=2.5)
    assert eight["cost"] == pytest.approx(eight["hours"] * 8 * 2.5)
    slices = cost_plan(asked, 2, "TPU v4-16", price=8.0)  # of eight chips each, and the network between them
    assert (slices["devices"], slices["nodes"], slices["device_name"]) == (16, 2, "TPU v4-16")
    assert slices["cost"] == pytest.approx(slices["hours"] * 2 * 8.0)
    third, half = (cost_plan(recipe(), 1, "A100", mfu=share) for share in (0.3, 0.6))
    assert third["hours"] == pytest.approx(2 * half["hours"])
    assert half["basis"] == "published peak of A100 × 0.6 stated"


def test_a_device_without_bf16_is_reckoned_in_what_it_would_compute_in() -> None:
    auto, half = cost_plan(recipe(), 8, "V100"), cost_plan(recipe(dtype="fp16"), 8, "V100")
    assert (auto["arithmetic"], half["arithmetic"]) == ("fp32, compiled", "fp16, compiled")
    # 15.7 · 0.6 against 125 · 0.5 TFLOP/s
    assert auto["flops_per_second"] == pytest.approx(8 * 9.42e12) and half["flops_per_second"] == 8 * 62.5e12
    (note,) = [note for note in auto["notes"] if "pretrain.dtype=fp16" in note]
    assert units.time(half["hours"] * 3600) in note
    assert not any("fp16" in note for note in half["notes"])


@pytest.mark.parametrize(("micro_batch", "layers"), [(256, 12), (32, 145), (2, 3000)])
def test_what_does_not_fit_is_said_with_what_would(micro_batch: int, layers: int) -> None:
    asked: dict[str, Any] = {"micro_batch": micro_batch, "model": {"layers": layers}}
    plan = cost_plan(recipe(**asked), 8, "RTX 4090")
    assert not plan["fits"]
    (note,) = [note for note in plan["notes"] if "does not fit" in note]
    if layers == 3000:
        assert "whatever the micro-batch" in note
        return
    asked["micro_batch"] = int(note.split("pretrain.micro_batch=")[1].split()[0].rstrip("."))
    asked["gradient_checkpointing"] = "checkpointing=true" in note
    assert cost_plan(recipe(**asked), 8, "RTX 4090")["fits"]


def test_tokens_of_an_epoch_once_they_are_encoded(tmp_path: Path) -> None:
    assert cost_plan(recipe(str(tmp_path)), 1, "H100")["epoch_tokens"] is None
    (tmp_path / "tokens").mkdir()
    shard = write_shard(tmp_path / "tokens", 0, np.zeros(1000, "<u2"), [0, 1000], [0, 1000])
    write_meta(tmp_path / "tokens", 32_000, dict.fromkeys(("cls", "pad", "sep", "unk", "mask"), 0), [shard], 0)
    plan = cost_plan(recipe(str(tmp_path)), 1, "H100")
    assert plan["epoch_tokens"] == 1000 and plan["epochs"] == 1000 * 2048 * 512 / 1000
    assert plan["disk"]["tokens"] == 2000
    assert plan["disk_bytes"] == 2000 + (12 + 4) * plan["parameters"]  # a checkpoint, and the model


def test_what_the_run_would_refuse_is_refused(tmp_path: Path) -> None:
    shape = {"layers": 2, "hidden": 32, "heads": 2, "feed_forward": 64}
    write_encoder(tmp_path, max_position_embeddings=514)
    for match, device, asked in (
        (r"(?s)unknown device 'H1000' \(did you mean 'H100'\?\).*A100", "H1000", {}),
        (r"pretrain\.zero_stage=1 on TPU v4", "TPU v4", {"zero_stage": 1}),
        (r"pretrain\.engine=deepspeed on TPU v4-8", "TPU v4-8", {"engine": "deepspeed", "micro_batch": 8}),
        (r"pretrain\.dtype=fp16 on TPU v4-8", "TPU v4-8", {"dtype": "fp16", "micro_batch": 8}),
        ("in a run of other stages", "H100", {"corpus": {"executor": "slurm-array"}}),
        ("nothing found at", "H100", {"init_from": str(tmp_path / "gone")}),
        (r"(?s)another shape than the recipe.*pretrain.model.layers=2", "H100", {"init_from": str(tmp_path)}),
        ("is a roberta, the run trains a bert", "H100", {"init_from": str(tmp_path), "model": {"type": "bert"}}),
    ):
        with pytest.raises(UserError, match=match):
            cost_plan(recipe(**asked), 1, device)  # type: ignore[arg-type]
    continued = recipe(init_from=str(tmp_path), model=shape)
    with pytest.raises(UserError, match=f"set tokenizer.base={tmp_path}"):
        cost_plan(continued, 1, "H100")
    tokenizer = continued.tokenizer.model_copy(update={"base": str(tmp_path)})
    assert cost_plan(continued.model_copy(update={"tokenizer": tokenizer}), 1, "H100")["devices"] == 1


@pytest.mark.parametrize(
    ("asked", "devices", "said"),
    [
        ({"global_batch": 8, "micro_batch": 2}, 12, r"global_batch \(8\)"),
        ({"global_batch": 256, "micro_batch": 64}, 3, r"global_batch \(256\)"),
    ],
)  # fmt: skip
def test_devices_that_cannot_share_a_batch_are_refused_with_what_would_do(
    asked: dict[str, Any], devices: int, said: str
) -> None:
    with pytest.raises(UserError, match=said) as caught:
        cost_plan(recipe(**asked), devices, "H100")
    name, value = re.findall(r"e\.g\. pretrain\.(\w+)=(\d+)", str(caught.value))[0]
    assert cost_plan(recipe(**{**asked, name: int(value)}), devices, "H100")["devices"] == devices


def test_more_devices_share_a_batch_in_smaller_micro_batches() -> None:
    for changes, devices, size in (({}, 8, 32), ({"batch_warmup": {"start": 64, "steps": 10}}, 4, 16), ({}, 4, 64)):
        asked = recipe(global_batch=256, micro_batch=64, **changes)
        assert cost_plan(asked, devices, "H100")["micro_batch"] == size


def test_a_machine_with_gpus_is_planned_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "NVIDIA H100 80GB HBM3")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: SimpleNamespace(total_memory=85 * 10**9))
    here, named = cost_plan(recipe(), 8), cost_plan(recipe(), 8, "H100")
    assert here["hours"] == named["hours"] and "H100" in here["basis"]
    assert (here["device_name"], here["device_memory_bytes"]) == ("H100 (this machine's)", 85e9)


def test_a_tpu_is_reckoned_by_the_engine_that_trains_on_it() -> None:
    """torch's: gradients are averaged beside the backward pass, and need no flat copy where nothing is accumulated."""
    once = cost_plan(recipe(micro_batch=256), 1, "TPU v4-16")  # 8 chips, 2048 samples
    assert once["memory"]["communication"] == 0
    # as on eight GPUs (`test_a_run_by_hand`): of the embeddings' 99,876,864 bytes 2 · 7/8 at 0.8 · 300 GB/s; 14 hops
    assert once["step_waiting_seconds"] == pytest.approx(2 * 7 / 8 * 99_876_864 / 240e9 + 14 * 3e-6, rel=1e-6)


def test_the_time_of_the_corpus_by_the_size_of_its_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"x" * 4000)
    (tmp_path / "b.jsonl.zst").write_bytes(b"x" * 250)  # some 1000 unpacked
    plan = cost_plan(recipe(corpus={"inputs": [f"{tmp_path}/*"]}), 8, "H100")
    assert plan["text_bytes"] == 5000
    # a thousand bytes of text are 204 µs for the corpus, 667 µs for the vocabulary and 21 µs for the shards
    assert plan["text_core_hours"] * 3600 == pytest.approx(5 * (204.08e-6 + 666.67e-6 + 21.28e-6), rel=1e-3)
    print_cost(plan)
    assert "5.00 KB of text" in printed(capsys)
    for elsewhere in ("hf://datasets/x", "s3://bucket/x.jsonl", "gone/*"):
        assert cost_plan(recipe(corpus={"inputs": [elsewhere]}), 8, "H100")["text_core_hours"] is None
    assert any("nothing found at x" in note for note in cost_plan(recipe(), 8, "H100")["notes"])


@pytest.mark.parametrize("name", ["klue-bert-base", "klue-roberta-large"])
@pytest.mark.parametrize("where", [["--devices", "8", "--device", "H100"], ["--device", "TPU v4-8"]])
def test_the_recipes_of_the_paper(name: str, where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["plan", str(CONFIGS / f"{name}.yaml"), *HERE, *where, "--price", "2.5"]) == 0
    said = printed(capsys)
    for expected in (" tokens", "optimizer moments", "largest micro-batch", "efficiency", "$", "Scaling "):
        assert expected in said
    assert "None" not in said and "nan" not in said and "inf " not in said


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CONFIGS / "klue-roberta-base.yaml")
    command = ["plan", path, *HERE, "--devices", "4", "--device", "H100", "--nodes", "2", "--network", "50", "--json"]
    assert run_command([*command, "--price", "2.5", "--mfu", "0.4"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["nodes"], plan["network_bytes_per_second"], plan["price_per_hour"]) == (2, 50e9, 2.5)
    assert run_command(["plan", path, *HERE, "--nodes", "8", "--devices", "8", "--device", "H100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["micro_batch"] == 32
    assert run_command(["plan", path, *HERE, "--nodes", "10", "--devices", "6", "--device", "H100"]) == 2
    assert "divisible by the processes (60)" in capsys.readouterr().err
    assert run_command(["plan", path, *HERE, "--devices", "64", "--device", "H100"]) == 2  # a node's, as of launch
    assert "fix:  --nodes 8 --devices 8" in capsys.readouterr().err
    assert run_command([*command, "--mfu", "1.5"]) == 2


def test_people_are_told_how_it_is_spread(capsys: pytest.CaptureFixture[str]) -> None:
    print_cost(cost_plan(recipe(micro_batch=8, zero_stage=3), 16, "H100"))
    said = printed(capsys)
    assert "weights gathered for computing" in said and "16 × H100 in 2 nodes" in said
    assert "25.0 GB/s per node (assumed, see --network; 0.01 ms a hop)" in said
    assert "450 GB/s per device in a node (0.003 ms a hop), of which 80% assumed reachable" in said
