"""Whole runs in one process: resume, the guard for renamed weights, LoRA, held-out loss, what is written, answers."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_decoders import RUN, write_build, write_job
from transformers import AutoModelForCausalLM, AutoTokenizer

from common.errors import HunminError, UserError
from common.manifest import MANIFEST
from common.settings import parse_settings
from pretrain.callbacks.metrics import read_metrics
from pretrain.callbacks.tuning_checkpoints import newest_checkpoint
from pretrain.cost.tuning import plan_tuning
from pretrain.decoders.answer import answer
from pretrain.decoders.prompts import read_tokenizer
from pretrain.tuning.inputs import Examples
from pretrain.tuning.settings import TuneSettings
from pretrain.tuning.train import main

LORA = {"rank": 4, "alpha": 8, "dropout": 0.1}
SECOND_EPOCH = 8
"""A step of it: an epoch has 6."""


def contents(out: Path) -> dict[str, bytes]:
    files = [path for folder in ("model", "adapter") for path in (out / folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(out)): path.read_bytes() for path in [*files, out / "counts.json"]}


def figures(out: Path) -> list[dict[str, Any]]:
    return read_metrics(out / "logs" / "metrics.jsonl")


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Path]:
    """Runs that nothing disturbs, once each."""
    folder = tmp_path_factory.mktemp("straight")
    return {(kind, lora): folder / f"{kind}-{lora}" for kind in ("gpt_neox", "llama") for lora in (False, True)}


@pytest.fixture
def whole(straight: dict[tuple[str, bool], Path], bases: dict[str, Path], run: Any) -> Any:
    def of(kind: str, lora: bool) -> Path:
        out = straight[kind, lora]
        return out if out.exists() else run(bases[kind], out, lora=LORA if lora else None)

    return of


@pytest.mark.slow
@pytest.mark.parametrize("lora", [False, True], ids=["all", "lora"])
@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
def test_a_stopped_run_resumes_to_the_same_bytes(
    kind: str, lora: bool, bases: dict[str, Path], run: Any, whole: Any, tmp_path: Path
) -> None:
    changes = {"lora": LORA if lora else None, "checkpoint_every": 100}
    run(bases[kind], tmp_path / "run", stop_at=SECOND_EPOCH, **changes)
    assert newest_checkpoint(tmp_path / "run" / "checkpoints")[0] == SECOND_EPOCH
    assert not (tmp_path / "run" / "model").exists()
    run(bases[kind], tmp_path / "run", **changes)
    assert contents(tmp_path / "run") == contents(whole(kind, lora))
    assert figures(tmp_path / "run") == figures(whole(kind, lora))


@pytest.mark.slow
def test_without_the_guard_renamed_weights_stay_the_bases(
    bases: dict[str, Path], run: Any, whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard is needed as long as this holds; where it no longer does, the Trainer has been fixed."""
    monkeypatch.setattr("pretrain.tuning.trainer.beginning", lambda base, checkpoint, settings: base)
    for kind in ("gpt_neox", "llama"):
        run(bases[kind], tmp_path / kind, stop_at=SECOND_EPOCH)
        run(bases[kind], tmp_path / kind)
        ours, theirs = (load_file(out / "model" / "model.safetensors") for out in (tmp_path / kind, whole(kind, False)))
        differing = [name for name in theirs if not torch.equal(ours[name], theirs[name])]
        assert bool(differing) == (kind == "gpt_neox"), differing


def test_a_clock_set_back_removes_no_new_checkpoint(
    bases: dict[str, Path], run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each checkpoint has a time an hour before that of the one before it."""
    from transformers.trainer_callback import TrainerState

    save = TrainerState.save_to_json

    def save_earlier(state: TrainerState, path: str) -> None:
        save(state, path)
        os.utime(Path(path).parent, (2e9 - 3600 * state.global_step,) * 2)

    monkeypatch.setattr(TrainerState, "save_to_json", save_earlier)
    out = run(bases["gpt_neox"], tmp_path / "run", epochs=1, keep_last=1, checkpoint_every=2)
    assert [path.name for path in (out / "checkpoints").glob("checkpoint-*")] == ["checkpoint-6"]
    assert (out / "model" / "model.safetensors").is_file()


@pytest.mark.slow
def test_unfinished_checkpoints_are_passed_over(bases: dict[str, Path], run: Any, whole: Any, tmp_path: Path) -> None:
    out = run(bases["gpt_neox"], tmp_path / "run", stop_at=SECOND_EPOCH)
    folder = out / "checkpoints"
    good = folder / f"checkpoint-{SECOND_EPOCH}"
    for step, state in ((9, None), (10, b""), (11, (good / "trainer_state.json").read_bytes()[:-20])):
        cut = shutil.copytree(good, folder / f"checkpoint-{step}")
        (cut / "model.safetensors").write_bytes(b"cut")
        (cut / "trainer_state.json").unlink()
        if state is not None:
            (cut / "trainer_state.json").write_bytes(state)
        (cut / MANIFEST).unlink()
    assert newest_checkpoint(folder) == (SECOND_EPOCH, good)
    assert not [path for path in folder.glob("checkpoint-*") if path.name in ("checkpoint-9", "checkpoint-11")]
    run(bases["gpt_neox"], out)
    assert contents(out) == contents(whole("gpt_neox", False))


def test_a_run_that_is_trained_is_only_written(bases: dict[str, Path], run: Any, whole: Any, tmp_path: Path) -> None:
    out = shutil.copytree(whole("llama", True), tmp_path / "run")
    before = contents(out)
    for name in ("model", "adapter"):
        shutil.rmtree(out / name)
    (out / "counts.json").unlink()
    run(bases["llama"], out, lora=LORA)
    assert contents(out) == before


def test_a_checkpoint_of_other_settings_is_refused(bases: dict[str, Path], run: Any, tmp_path: Path) -> None:
    out = run(bases["llama"], tmp_path / "run", stop_at=2)
    with pytest.raises(UserError, match="checkpoint-2 is of another run"):
        run(bases["llama"], out, optimizer={"learning_rate": 1e-2})


def test_lora_merged_is_the_adapter(bases: dict[str, Path], whole: Any) -> None:
    from peft import PeftModel

    for kind in ("gpt_neox", "llama"):
        out = whole(kind, True)
        written = json.loads((out / "adapter" / "adapter_config.json").read_text())
        assert written["base_model_name_or_path"] == kind and written["r"] == 4
        base = AutoModelForCausalLM.from_pretrained(bases[kind]).eval()
        merged = AutoModelForCausalLM.from_pretrained(out / "model").eval()
        ids = torch.arange(20)[None]
        with torch.no_grad():
            before = base(ids).logits
            apart = PeftModel.from_pretrained(base, str(out / "adapter")).eval()(ids).logits
            assert (merged(ids).logits - apart).abs().max() < 1e-5
        assert (apart - before).abs().max() > 1e-3


def test_held_out_losses_are_those_of_single_examples(build: Path, whole: Any) -> None:
    out = whole("gpt_neox", False)
    tokenizer, model = read_tokenizer(out / "model"), AutoModelForCausalLM.from_pretrained(out / "model").eval()
    sums: dict[str, list[float]] = {}
    for example in Examples(build / "held_out.jsonl", tokenizer, 96).accepted:
        ids = torch.from_numpy(example.ids)[None].long()
        labels = ids.clone()
        labels[0, : example.prompt] = -100
        count = len(example.ids) - example.prompt
        with torch.no_grad():
            loss = model(input_ids=ids, labels=labels).loss.item()
        for use in (example.use, "all"):
            sums.setdefault(use, [0, 0])
            sums[use] = [sums[use][0] + loss * count, sums[use][1] + count]
    by_use = json.loads((out / "counts.json").read_text())["held_out_loss"]
    assert set(by_use) == {"all", "shop", "where"} and all(len(losses) == RUN["epochs"] for losses in by_use.values())
    for use, (total, tokens) in sums.items():
        assert by_use[use][-1] == pytest.approx(total / tokens, abs=5e-6)
    logged = [row for row in figures(out) if "eval_loss" in row]
    assert [row["step"] for row in logged] == [6, 12] and logged[1]["eval_loss_shop"] == pytest.approx(
        by_use["shop"][1], abs=1e-6
    )


def test_what_is_written(bases: dict[str, Path], whole: Any) -> None:
    for kind, lora in (("gpt_neox", False), ("llama", True)):
        out = whole(kind, lora)
        names = {path.name for folder in ("model", "adapter") for path in (out / folder).glob("*")}
        assert {"model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja", "README.md"} <= names
        assert not [name for name in names if not name.endswith((".safetensors", ".json", ".jinja", ".md"))]
        for name, content in contents(out).items():
            assert str(bases[kind].parent).encode() not in content and str(out).encode() not in content, name
        card = (out / "model" / "README.md").read_text("utf-8")
        assert "| shop set | CC-BY-SA-4.0 | 11 |" in card and f"base: {kind}" in card
        assert json.loads((out / "model" / "config.json").read_text())["use_cache"] is True
        counts = json.loads((out / "counts.json").read_text())
        assert counts["steps"] == 12 and counts["examples"] == 22 and counts["set_aside"] == 0


def test_set_aside_examples_are_counted_and_named(bases: dict[str, Path], run: Any, tmp_path: Path) -> None:
    build = write_build(tmp_path / "build", train=9, held_out=0)
    examples = Examples(build / "train.jsonl", read_tokenizer(bases["llama"]), 128).accepted
    middle = sorted(len(example.ids) for example in examples)[4]
    out = run(bases["llama"], tmp_path / "run", instructions=build, max_seq_len=middle, epochs=1)
    counts = json.loads((out / "counts.json").read_text())
    rejects = [json.loads(line) for line in (out / "rejects" / "examples.jsonl").read_text().splitlines()]
    assert 0 < counts["set_aside"] == len(rejects) < 9 and counts["examples"] == 9 - len(rejects)
    assert counts["held_out_loss"] == {}
    with pytest.raises(UserError, match="none of 9 examples"):
        run(bases["llama"], tmp_path / "none", instructions=build, max_seq_len=8)


@pytest.mark.slow
@pytest.mark.parametrize("lora", [None, LORA], ids=["all", "lora"])
def test_the_plan_is_what_the_run_counts(
    lora: dict[str, Any] | None, bases: dict[str, Path], build: Path, whole: Any
) -> None:
    settings = parse_settings(TuneSettings, {**RUN, "base": str(bases["gpt_neox"]), "lora": lora}, "test")
    plan = plan_tuning(settings, build)
    counts = json.loads((whole("gpt_neox", lora is not None) / "counts.json").read_text())
    assert {**counts, "bytes": plan["bytes"], "held_out_loss": {}} == {**plan, "held_out_loss": {}}
    weights = load_file(bases["gpt_neox"] / "model.safetensors")
    whole_model = sum(tensor.numel() for tensor in weights.values())
    # rank 4 beside query_key_value 32 → 96, dense 32 → 32, up 32 → 64, down 64 → 32, in two layers
    added = 2 * 4 * ((32 + 96) + (32 + 32) + (32 + 64) + (64 + 32))
    assert plan["trained_parameters"] == (added if lora else whole_model)
    assert plan["parameters"] == whole_model + (added if lora else 0)
    parts = plan["bytes"]
    assert parts["weights"] == 4 * plan["parameters"] and parts["optimizer"] == 8 * plan["trained_parameters"]
    assert parts["total"] == sum(value for name, value in parts.items() if name != "total")


def test_zero_shares_bytes(bases: dict[str, Path], build: Path) -> None:
    changes = {"base": str(bases["llama"]), "processes": 2, "dtype": "bf16"}
    stages = [
        plan_tuning(parse_settings(TuneSettings, {**RUN, **changes, "zero_stage": stage}, "test"), build)
        for stage in range(4)
    ]
    n = stages[0]["parameters"]
    got = [(s["bytes"]["weights"], s["bytes"]["gradients"], s["bytes"]["optimizer"]) for s in stages]
    assert got == [(4 * n, 4 * n, 8 * n), (2 * n, 2 * n, 6 * n), (2 * n, n, 6 * n), (n, n, 6 * n)]


@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
def test_answers_are_greedy_whatever_stands_beside_them(kind: str, whole: Any) -> None:
    folder = whole(kind, False) / "model"
    messages = ["어디인지 답하세요.", "서울에서 파는 것을 고르세요.\n\n### 입력:\n서울의 사과 서울의 배", "고르세요."]
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    alone = []
    for message in messages:
        inputs = tokenizer.apply_chat_template(
            [{"role": "user", "content": message}], add_generation_prompt=True, return_tensors="pt"
        )
        ids = inputs["input_ids"]
        for _ in range(12):
            following = model(ids).logits[0, -1].argmax()
            if following == tokenizer.eos_token_id:
                break
            ids = torch.cat([ids, following[None, None]], 1)
        alone.append(tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True).strip())
    assert list(answer(folder, messages, max_new_tokens=12, batch_size=2)) == alone
    with pytest.raises(UserError, match="128 positions"):
        list(answer(folder, messages, max_new_tokens=120))


def test_a_base_without_a_template_is_asked_by_the_layout(bases: dict[str, Path]) -> None:
    assert len(list(answer(bases["llama"], ["무엇?"], max_new_tokens=3))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("lora", [None, LORA], ids=["all", "lora"])
def test_bf16_computes_and_writes_bf16_and_resumes(
    lora: dict[str, Any] | None, bases: dict[str, Path], run: Any, tmp_path: Path
) -> None:
    changes = {"dtype": "bf16", "lora": lora, "gradient_checkpointing": True}
    out = run(bases["gpt_neox"], tmp_path / "straight", **changes)
    run(bases["gpt_neox"], tmp_path / "run", stop_at=SECOND_EPOCH, **changes)
    run(bases["gpt_neox"], tmp_path / "run", **changes)
    assert contents(tmp_path / "run") == contents(out)
    weights = load_file(out / "model" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}
    saved = load_file(next((out / "checkpoints" / "checkpoint-12").glob("*model.safetensors")))
    assert {tensor.dtype for tensor in saved.values()} == {torch.float32}


def test_a_run_that_diverges_ends(bases: dict[str, Path], run: Any, tmp_path: Path) -> None:
    with pytest.raises(HunminError, match=r"the loss is (nan|inf) at step \d"):
        run(bases["llama"], tmp_path / "run", optimizer={"learning_rate": 1e30}, checkpoint_every=1)
    assert not (tmp_path / "run" / "model").exists()


def test_too_little_memory_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("pretrain.tuning.train.tune", full)
    assert main(str(write_job(tmp_path, tmp_path, tmp_path))) == 2
    assert "lower tune.micro_batch" in capsys.readouterr().err
