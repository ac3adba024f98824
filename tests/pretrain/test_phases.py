"""Phases: a run of several stretches is exact at every step, and one of a single phase is a run without any."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from common.errors import UserError
from pretrain.batches.loader import Loader
from pretrain.batches.plans import plan_samples
from pretrain.callbacks.checkpoint_metadata import OPTIMIZER, WEIGHTS, checkpoints_by_size, read_metadata, step_folder
from pretrain.callbacks.metrics import read_metrics
from pretrain.cost.memory import Arithmetic, memory
from pretrain.cost.step import flops_per_token, micro_batches
from pretrain.export import load_checkpoint
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.optim.schedules import learning_rate
from pretrain.settings import PretrainSettings
from tokenizer.shards import META, TokenShards

sys.path.insert(0, str(Path(__file__).parent))
from small_tokens import make_tokens
from training_runs import MODEL, RUN, assert_near, finish, start, train

CPU = torch.device("cpu")
MODERN: dict[str, Any] = {
    "type": "modernbert", "layers": 2, "hidden": 32, "heads": 2, "dropout": 0.1,
    "modernbert": {"global_every": 2, "global_theta": 10_000.0},
}  # fmt: skip
BORDERS = (6, 12)
PHASED: dict[str, Any] = {
    "model": MODERN, "packing": "packed", "steps": 18, "checkpoint_every": 1, "keep_last": 50, "log_every": 1,
    "validate_every": 4, "masking": {"rate": 0.3, "rate_end": 0.2},
    "phases": [
        {"steps": 6, "objective": "clm"},
        {"steps": 6, "global_batch": 8, "learning_rate": 5e-4, "masking_rate": 0.4},
        {"steps": 6, "global_batch": 4, "max_seq_len": 40, "global_theta": 160_000.0},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tokens of which a shard is held out of training."""
    folder = make_tokens(tmp_path_factory.mktemp("held-out") / "tokens", shards=3)
    meta = json.loads((folder / META).read_bytes())
    meta["shards"][2]["copies"] = 0
    (folder / META).write_text(json.dumps(meta))
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, held_out: Path, tokenizer: Path) -> Path:
    """A run of three phases with a checkpoint after each step; read only."""
    out = tmp_path_factory.mktemp("whole")
    train(out, held_out, tokenizer, **PHASED)
    return out


def run_of(**changes: Any) -> PretrainSettings:
    return PretrainSettings(**{**RUN, **changes})


def state_of(out: Path, step: int) -> dict[str, Any]:
    folder = step_folder(out / "checkpoints", step)
    saved = read_metadata(folder) or {}
    names = ("config", "fingerprint", "guard", "tokens", "tokens_logged", "window", "positions_seen", "positions")
    return {**{name: (folder / name).read_bytes() for name in (WEIGHTS, OPTIMIZER)}, **{n: saved[n] for n in names}}


def lines(out: Path) -> list[dict[str, Any]]:
    """What the log says of what was learned, the clock aside."""
    clock = ("tokens_per_second", "data_wait_share", "tflops", "mfu")
    rows = read_metrics(out / "logs" / "metrics.jsonl")
    return [{name: value for name, value in row.items() if name not in clock} for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("step", [border + shift for border in BORDERS for shift in (-1, 0, 1)])
def test_a_run_resumes_at_any_step_with_the_same_bytes(
    whole: Path, step: int, tmp_path: Path, held_out: Path, tokenizer: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    for later, path in checkpoints_by_size(run / "checkpoints"):
        if later > step:
            shutil.rmtree(path)
    shutil.rmtree(run / "model")
    assert f"resuming at step {step}" in train(run, held_out, tokenizer, **PHASED)
    for each in range(1, 19):
        assert state_of(run, each) == state_of(whole, each)
    assert (run / MODEL).read_bytes() == (whole / MODEL).read_bytes()
    assert lines(run) == lines(whole)
    assert (run / "counts.json").read_bytes() == (whole / "counts.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "phases",
    [
        [{"steps": 60}],
        [{"steps": 60, "objective": "mlm", "max_seq_len": 16, "global_batch": 16, "masking_rate": 0.15,
          "learning_rate": 1e-3}],
    ],
    ids=["bare", "stated"],
)  # fmt: skip
def test_one_phase_is_a_run_without_phases(
    phases: list[dict[str, Any]], straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    train(tmp_path, tokens, tokenizer, phases=phases)
    for step in range(10, 61, 10):
        one, none = state_of(tmp_path, step), state_of(straight, step)
        assert one.pop("fingerprint") != none.pop("fingerprint") and one == none
    assert (tmp_path / MODEL).read_bytes() == (straight / MODEL).read_bytes()
    assert lines(tmp_path) == lines(straight)
    assert (tmp_path / "counts.json").read_bytes() == (straight / "counts.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("stage", [0, 3])
def test_several_processes_learn_the_same_in_every_phase(
    stage: int, tmp_path: Path, held_out: Path, tokenizer: Path
) -> None:
    still = {**PHASED, "model": {**MODERN, "dropout": 0.0}}
    train(tmp_path / "one", held_out, tokenizer, **still)
    train(tmp_path / "two", held_out, tokenizer, 2, **still, zero_stage=stage)
    assert_near(tmp_path / "two", tmp_path / "one", 1e-4)


@pytest.mark.slow
def test_log_and_checkpoints_say_what_held_in_their_phase(whole: Path) -> None:
    rows = {row["step"]: row for row in read_metrics(whole / "logs" / "metrics.jsonl") if "loss" in row}
    assert [rows[step]["batch"] for step in (1, 6, 7, 12, 13, 18)] == [16, 16, 8, 8, 4, 4]
    assert [rows[step]["objective"] for step in (6, 7)] == ["clm", "mlm"]
    assert rows[7]["masking_rate"] == rows[12]["masking_rate"] == 0.4
    assert rows[13]["masking_rate"] == pytest.approx(0.3 - 0.1 * 12 / 17, abs=1e-5) and rows[18]["masking_rate"] == 0.2
    for step, theta in ((6, 10_000.0), (12, 10_000.0), (13, 160_000.0), (18, 160_000.0)):
        config = load_checkpoint(step_folder(whole / "checkpoints", step)).config
        assert config.rope_parameters["full_attention"]["rope_theta"] == theta
        assert config.rope_parameters["sliding_attention"]["rope_theta"] == 10_000.0
        assert config.max_position_embeddings == 40
    config = json.loads((whole / "model" / "config.json").read_bytes())
    assert config["rope_parameters"]["full_attention"]["rope_theta"] == 160_000.0


@pytest.mark.parametrize("packing", ["packed", "full-sentences", "contiguous"])
def test_the_place_in_the_data_is_a_sum_over_the_phases(
    packing: str, held_out: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """4 × 6, 6 × 4 samples of 16; 2 of 40, from ⌈48 · 16 / 40⌉ on; 3 × 4 of 16 again, from (48 · 16 + 80) / 16 on."""
    shape = {"packing": packing, "micro_batch": 2, "optimizer": {"warmup_steps": 1}}
    phases = [
        {"steps": 4, "global_batch": 6}, {"steps": 6, "global_batch": 4},
        {"steps": 1, "global_batch": 2, "max_seq_len": 40}, {"steps": 3, "global_batch": 4},
    ]  # fmt: skip
    run = run_of(**shape, steps=14, phases=phases)
    plan_samples(run, held_out, tmp_path / "run")
    loader = Loader(run, held_out, tokenizer, tmp_path / "run", 0, 1)

    def taken(loader: Loader, steps: range) -> list[list[int]]:
        return [ids.tolist() for step in steps for batch, _ in loader.masked_batches(step) for ids in batch.ids_BS]

    for length, steps, samples in ((16, range(10), range(48)), (40, range(10, 11), range(20, 22)),
                                   (16, range(11, 14), range(53, 65))):  # fmt: skip
        one = run_of(**{**shape, "micro_batch": 1}, global_batch=1, steps=1000, max_seq_len=length)
        plan_samples(one, held_out, tmp_path / f"{length}")
        assert taken(loader, steps) == taken(Loader(one, held_out, tokenizer, tmp_path / f"{length}", 0, 1), samples)
    assert run.positions_before(14) == run.tokens == 60 * 16 + 2 * 40 and run.samples_before(14) == 62
    assert loader.epochs == pytest.approx((60 * 16 + 80) / 16 / loader.order.size)


@pytest.mark.parametrize("world", [1, 2])
def test_processes_share_each_phase_in_micro_batches_of_about_as_many_tokens(world: int) -> None:
    run = run_of(steps=30, global_batch=16, micro_batch=8, phases=[
        {"steps": 10}, {"steps": 10, "max_seq_len": 64}, {"steps": 10, "max_seq_len": 8, "global_batch": 12},
    ]).shared_by(world)  # fmt: skip
    sizes = [phase.settings.micro_batch for phase in run.every_phase]
    assert sizes == ([8, 2, 12] if world == 1 else [8, 2, 6])
    assert micro_batches(run) == sum(10 * batch / size for batch, size in zip((16, 16, 12), sizes, strict=True))


def test_a_batch_grows_in_the_first_phase_alone() -> None:
    """Stairs of 4 samples, at steps 0, 6 / 4, 12 / 4 and 18 / 4, rounded down; the growth may take all of the phase."""
    phases, grows = [{"steps": 6}, {"steps": 3}], {"start": 4, "steps": 6}
    run = run_of(steps=9, phases=phases, batch_warmup=grows, optimizer={"warmup_steps": 1})
    sizes = [run.samples_before(step + 1) - run.samples_before(step) for step in range(9)]
    assert sizes == [4, 8, 8, 12, 16, 16, 16, 16, 16]


def test_a_held_out_sample_is_of_no_phase(tokens: Path, held_out: Path, tmp_path: Path) -> None:
    run = run_of(steps=12, optimizer={"warmup_steps": 1}, phases=[{"steps": 6}, {"steps": 6, "max_seq_len": 40}])
    with pytest.raises(UserError, match=r"(?s)16 and 40 tokens.*held_out"):
        plan_samples(run, tokens, tmp_path)
    plan_samples(run.model_copy(update={"validation_samples": 0}), tokens, tmp_path / "none")
    plan_samples(run, held_out, tmp_path / "documents")


def test_pairs_of_all_lengths_hold_out_the_same_documents(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    run = run_of(
        model={"type": "bert", "layers": 1, "hidden": 32, "heads": 2}, objective="mlm+nsp", packing="sentence-pairs",
        steps=12, optimizer={"warmup_steps": 1}, phases=[{"steps": 6}, {"steps": 6, "max_seq_len": 40}],
    )  # fmt: skip
    plan_samples(run, tokens, tmp_path)
    loader = Loader(run, tokens, tokenizer, tmp_path, 0, 1)
    shards = TokenShards(tokens)
    texts: dict[str, list[set[tuple[int, int]]]] = {"samples": [], "held_out": []}
    for step in (0, 11):
        for kind, documents in texts.items():
            parts = getattr(loader.at(step)[1], kind)._parts
            documents.append({
                (shard, int(np.searchsorted(shards.documents(shard), start, side="right")))
                for shard, layout in parts for start in layout.every_span()[0][:, 0]
            })  # fmt: skip
    assert texts["held_out"][0] == texts["held_out"][1] and texts["samples"][0] == texts["samples"][1]
    assert texts["held_out"][0] and not texts["held_out"][0] & texts["samples"][0]


def test_the_rope_base_of_a_phase_is_that_of_a_model_made_with_it(tokens: Path) -> None:
    shards = TokenShards(tokens)

    def model_of(theta: float) -> MaskedRowsModel:
        run = run_of(model={**MODERN, "modernbert": {"global_every": 2, "global_theta": theta}})
        return MaskedRowsModel(build_model(run, build_config(run, shards.vocab_size, shards.special_ids))).eval()

    changed, made = model_of(10_000.0), model_of(160_000.0)
    ids = torch.arange(5, 21)[None]
    before = changed.hf_model(ids).logits
    first, _, last = (phase.settings for phase in run_of(**PHASED).every_phase)
    changed.enter(last)
    assert torch.equal(changed.hf_model(ids).logits, made.hf_model(ids).logits)
    frequencies = 160_000.0 ** -(np.arange(0, 16, 2) / 16)
    rotary = changed.hf_model.base_model.rotary_emb
    np.testing.assert_allclose(rotary.full_attention_inv_freq.numpy(), frequencies, rtol=1e-6)
    assert not torch.equal(changed.hf_model(ids).logits, before)
    changed.enter(first)
    assert torch.equal(changed.hf_model(ids).logits, before)


def test_a_plan_weighs_phases_by_tokens_and_fits_the_largest() -> None:
    """10 × 16 samples of 16, and 10 × 4 of 40: 2,560 and 1,600 tokens."""
    phases = [{"steps": 10}, {"steps": 10, "max_seq_len": 40, "global_batch": 4, "masking_rate": 0.3}]
    run = run_of(steps=20, phases=phases)
    flops = ARCHITECTURES["roberta"].flops_per_token
    truth = (2560 * flops(run.model, 100, 16, 0.15) + 1600 * flops(run.model, 100, 40, 0.3)) / 4160
    assert run.tokens == 4160 and run.longest == 40
    assert flops_per_token(run, 100) == pytest.approx(truth)
    arithmetic = Arithmetic("cpu", 4, False)
    each = [run_of(steps=20), run_of(steps=20, max_seq_len=40, global_batch=4, micro_batch=1, masking={"rate": 0.3})]
    totals = [memory(one, 100, 10_000, 1, arithmetic, "torch").total for one in each]
    assert memory(run, 100, 10_000, 1, arithmetic, "torch").total == max(totals)


def test_the_rate_is_a_phases_peak_by_the_schedule_of_the_run() -> None:
    phases = [{"steps": 10}, {"steps": 10, "learning_rate": 2e-4}]
    run = run_of(steps=20, phases=phases, optimizer={"learning_rate": 1e-3, "warmup_steps": 4})
    assert learning_rate(1, run) == pytest.approx(1e-3 * 2 / 4)
    assert [learning_rate(step, run) for step in (4, 9)] == pytest.approx([1e-3, 1e-3 * 11 / 16])
    assert [learning_rate(step, run) for step in (10, 19)] == pytest.approx([2e-4 * 10 / 16, 2e-4 / 16])


TWO = [{"steps": 30}, {"steps": 30}]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"phases": [{"steps": 30}, {"steps": 20}]}, r"add up to 50 \(30 \+ 20\).*steps is 60.*pretrain.steps=50"),
    ({"phases": [{"steps": 30, "masking_rate": 0.3}, TWO[1]], "masking": {"kind": "static"}}, r"\(static\).*leave"),
    ({"phases": [{"steps": 30, "masking_rate": 0.3, "objective": "clm"}, TWO[1]]}, r"with masks \(clm\); leave it out"),
    ({"phases": [{"steps": 30, "global_theta": 1e4}, TWO[1]]}, "model.type=roberta has others; leave it out"),
    ({"phases": [TWO[0], {"steps": 30, "objective": "mlm+nsp"}], "model": {"type": "bert"}}, "another head"),
    ({"phases": TWO, "packing": "sentence-pairs"}, "set another packing"),
    ({"phases": [TWO[0], {"steps": 30, "global_batch": 9}], "processes": 2}, r"phases.global_batch \(9\).*batch=10"),
    ({"phases": TWO, "batch_warmup": {"start": 4, "steps": 31}}, r"batch_warmup.steps \(31\).*first phase \(30\)"),
    ({"phases": [TWO[0], {"steps": 30, "max_seq_len": 4}]}, "greater than or equal to 8"),
    ({"phases": [TWO[0], {"steps": 30, "mixture": {}}]}, "Extra inputs"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), REFUSED)
def test_what_makes_no_run_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        run_of(**{"optimizer": {"warmup_steps": 5}, **changes})


@pytest.mark.slow
def test_a_branch_has_no_longer_samples_than_its_parent_has_positions(
    whole: Path, tmp_path: Path, held_out: Path, tokenizer: Path
) -> None:
    parent = step_folder(whole / "checkpoints", 14)
    phases = [{"steps": 14}, {"steps": 4, "max_seq_len": 41}]
    code, errors = finish(start(tmp_path, held_out, tokenizer, branch_from=str(parent), **{**PHASED, "phases": phases}))
    assert code == 2 and "up to 41 tokens" in errors and "has 40 positions" in errors and "init_from" in errors, errors
