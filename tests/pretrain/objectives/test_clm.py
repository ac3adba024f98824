"""Causal language modelling: the losses of transformers' causal classes, and a first phase that a branch continues."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from pydantic import ValidationError
from torch.nn import functional

from common.errors import HunminError
from hunmin.hub.publish import no_encoder
from hunmin.pipeline.watch import checkpoints
from pretrain.batches.inputs import RECTANGLES, InputForm, prepare
from pretrain.batches.loader import Loader, plan_samples
from pretrain.batches.predictions import IGNORE, MaskedBatch
from pretrain.batches.samples import Batch
from pretrain.callbacks.checkpoint_metadata import OPTIMIZER, WEIGHTS, read_metadata, step_folder
from pretrain.callbacks.metrics import read_metrics
from pretrain.cost.memory import rows_of_sample
from pretrain.cost.step import flops_per_token, micro_batch_flops
from pretrain.kernels.attention import NAME
from pretrain.kernels.compile import compile_layers, compile_whole
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model, recompute_layers
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.objective import Corpus
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.small_batches import LENGTH, batch_of, one_operator
from tests.pretrain.small_tokens import SPECIAL

sys.path.insert(0, str(Path(__file__).parents[1]))
from training_runs import MODEL, RUN, assert_same_run, finish, signal_at, start, train

CLM, MLM = OBJECTIVES["clm"], OBJECTIVES["mlm"]
CPU = torch.device("cpu")
CASES: list[tuple[str, str, list[list[int]]]] = [
    ("contiguous", "roberta", [[24], [24]]),
    ("full-sentences", "bert", [[24], [20], [3]]),
    ("packed", "roberta", [[7, 10], [3, 4, 13], [24], [2, 2, 2]]),
    ("packed", "bert", [[5, 5, 5, 5, 4], [12, 11]]),
]
FORMS = [RECTANGLES, InputForm(texts=True)]


def make(kind: str = "roberta", dropout: float = 0.0, **changes: Any) -> MaskedRowsModel:
    shape = ModelSettings(type=kind, layers=2, hidden=32, heads=2, dropout=dropout)  # type: ignore[arg-type]
    settings = PretrainSettings(**{"model": shape, "max_seq_len": LENGTH, "objective": "clm", **changes})
    return MaskedRowsModel(build_model(settings, build_config(settings, 50, SPECIAL)), objective=CLM)


class Samples:
    """What the objective asks of a run's samples."""

    positions, texts = 30, 6

    def __len__(self) -> int:
        return 4


def predicted(batch: Batch) -> MaskedBatch:
    corpus: Any = SimpleNamespace(samples=Samples())
    count = len(batch.ids_BS)
    return CLM.predict(corpus)(batch, np.arange(count), np.zeros(count, np.int64), 0)


def inputs_of(batch: Batch, packing: str, form: InputForm) -> dict[str, torch.Tensor]:
    return prepare(batch, predicted(batch), packing, form, CLM).inputs


def in_form(model: MaskedRowsModel, form: InputForm) -> MaskedRowsModel:
    if form.texts:
        model.hf_model.set_attn_implementation(NAME)
    return model


def gradients(model: MaskedRowsModel) -> dict[str, torch.Tensor]:
    by_name = {name: p.grad.clone() for name, p in model.hf_model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return by_name


def causal_twin(model: MaskedRowsModel) -> Any:
    """transformers' own causal model with the same weights."""
    kind = {"bert": transformers.BertLMHeadModel, "roberta": transformers.RobertaForCausalLM}
    config = type(model.hf_model.config).from_dict({**model.hf_model.config.to_dict(), "is_decoder": True})
    twin = kind[config.model_type](config).eval()
    twin.load_state_dict(model.hf_model.state_dict())
    return twin


def each_alone(twin: Any, batch: Batch) -> tuple[torch.Tensor, int]:
    total, count = torch.zeros(()), 0
    for ids, texts in zip(batch.ids_BS, batch.segment_ids_BS, strict=True):
        for text in range(texts.max() + 1):
            text_ids = torch.from_numpy(ids[texts == text])[None]
            logits = twin(input_ids=text_ids).logits[0]
            total = total + functional.cross_entropy(logits[:-1], text_ids[0, 1:], reduction="sum")
            count += text_ids.shape[1] - 1
    return total, count


def test_every_position_predicts_the_next_token_of_its_text() -> None:
    batch, _ = batch_of("packed", [[4, 3]])
    batch.ids_BS[0, :8] = [0, 7, 8, 2, 0, 9, 2, 1]
    masked = predicted(batch)
    assert masked.ids_BS is batch.ids_BS
    assert masked.rows_BM[0, :7].tolist() == [0, 1, 2, 0, 4, 5, 0]
    assert masked.labels_BM[0, :7].tolist() == [7, 8, 2, IGNORE, 9, 2, IGNORE]
    assert (masked.labels_BM[0, 7:] == IGNORE).all() and masked.labels_BM.shape == (1, LENGTH - 1)
    assert masked.expected == (30 - 6) / 4 and CLM.rows(PretrainSettings(max_seq_len=LENGTH)) == LENGTH - 1


@pytest.mark.parametrize("form", FORMS, ids=["rectangles", "unpadded"])
@pytest.mark.parametrize(("packing", "kind", "sizes"), CASES)
def test_the_loss_is_that_of_each_text_alone_in_a_causal_model(
    packing: str, kind: str, sizes: list[list[int]], form: InputForm
) -> None:
    model, (batch, _) = make(kind), batch_of("packed", sizes)
    twin = causal_twin(model)
    truth, count = each_alone(twin, batch)
    truth.backward()
    expected = {name: p.grad for name, p in twin.named_parameters() if p.grad is not None}
    sums = in_form(model.eval(), form)(**inputs_of(batch, packing, form))
    sums["loss"].backward()
    torch.testing.assert_close(sums["loss"], truth, atol=1e-4, rtol=1e-5)
    assert sums["predicted"] == count
    actual = gradients(model)
    assert actual.keys() == expected.keys()
    for name, gradient in actual.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-4, rtol=1e-4, msg=name)


@pytest.mark.parametrize("form", FORMS, ids=["rectangles", "unpadded"])
def test_recomputed_layers_draw_the_same_dropout_and_stay_causal(form: InputForm) -> None:
    results = []
    for recomputed in (False, True):
        model = in_form(make(dropout=0.2).train(), form)
        if recomputed:
            recompute_layers(model.hf_model)
        torch.manual_seed(3)
        loss = model(**inputs_of(batch_of("packed", [[7, 10], [24]])[0], "packed", form))["loss"]
        loss.backward()
        results.append((loss, gradients(model)))
    assert torch.equal(results[0][0], results[1][0])
    for name, gradient in results[0][1].items():
        torch.testing.assert_close(gradient, results[1][1][name], msg=name)


@pytest.mark.parametrize("compiled", [compile_whole, compile_layers])
@pytest.mark.parametrize("packing", ["contiguous", "packed"])
@pytest.mark.slow
def test_a_compiled_model_goes_from_one_objective_to_the_other(packing: str, compiled: Any) -> None:
    batch, _ = batch_of("packed", [[24], [24]] if packing == "contiguous" else [[7, 10], [24]])
    plain, fast = make(), make()
    torch._dynamo.reset()
    compiled(fast, backend="aot_eager")
    for objective in (CLM, MLM, CLM):
        plain.objective = fast.objective = objective
        inputs = prepare(batch, predicted(batch), packing, RECTANGLES, objective).inputs
        results = []
        for model in (plain.eval(), fast.eval()):
            sums = model(**inputs)
            sums["loss"].backward()
            results.append((sums, gradients(model)))
        torch.testing.assert_close(results[0][0], results[1][0])
        torch.testing.assert_close(results[0][1], results[1][1], atol=1e-5, rtol=1e-4)
    torch._dynamo.reset()


@pytest.mark.parametrize("compiled", [compile_whole, compile_layers])
def test_a_compiled_graph_of_unpadded_sequences_is_causal_and_whole(
    compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    form, model, plain = InputForm(texts=True), make().eval(), make().eval()
    in_form(plain, form)
    batches = [batch_of("packed", [[size]] * 8)[0] for size in (24, 20, 9)]
    expected = [plain(**inputs_of(batch, "contiguous", form)) for batch in batches]
    one_operator(monkeypatch)
    in_form(model, form).unpadded = model.compiles = True
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled(model, backend="eager")
    with torch.no_grad():
        for batch, sums in zip(batches, expected, strict=True):
            inputs = model.on_device(inputs_of(batch, "contiguous", form), CPU)
            torch.testing.assert_close(dict(model(**inputs)), {name: value.detach() for name, value in sums.items()})
    assert not torch._dynamo.utils.counters["graph_break"]
    torch._dynamo.reset()


@pytest.mark.parametrize("packing", ["full-sentences", "doc-sentences", "contiguous", "packed"])
def test_over_an_epoch_as_many_tokens_are_predicted_as_expected(
    packing: Any, tokens: Path, tokenizer: Path, tmp_path: Path
) -> None:
    run = PretrainSettings(
        objective="clm", packing=packing, max_seq_len=16, global_batch=1, micro_batch=1, validation_samples=0
    )
    plan_samples(run, tokens, tmp_path)
    loader = Loader(run, tokens, tokenizer, tmp_path, 0, 1)
    masked = [loader.masked_batches(step)[0][1] for step in range(loader.order.size)]
    assert sum(batch.predicted for batch in masked) == pytest.approx(sum(batch.expected for batch in masked))


def test_a_corpus_without_a_next_token_is_refused() -> None:
    samples: Any = type("Nothing", (), {"positions": 0, "texts": 0, "__len__": lambda self: 0})()
    with pytest.raises(HunminError, match="a token after another"):
        CLM.predict(Corpus(PretrainSettings(), None, samples, lambda: np.zeros(1)))  # type: ignore[arg-type]


PHASES = [{"objective": "clm", "steps": 10}, {"steps": 50}]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objective": "clm", "packing": "sentence-pairs"}, "set another packing"),
        (
            {
                "objective": "mlm+nsp",
                "packing": "sentence-pairs",
                "model": {"type": "bert"},
                "phases": [{"objective": "mlm", "steps": 10}, {"steps": 50}],
            },
            "another head",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PretrainSettings(steps=60, optimizer={"warmup_steps": 5}, **changes)


def test_phases_of_a_run() -> None:
    run = PretrainSettings(steps=60, optimizer={"warmup_steps": 5}, phases=PHASES)  # type: ignore[arg-type]
    assert [(phase.settings.objective, phase.first, phase.end) for phase in run.every_phase] == [
        ("clm", 0, 10), ("mlm", 10, 60),
    ]  # fmt: skip
    assert run.objectives == ("mlm", "clm")
    assert [run.phase_at(step).settings.objective for step in (0, 9, 10, 59)] == ["clm", "clm", "mlm", "mlm"]
    assert [step for step in range(60) if run.begins_phase(step)] == [10]
    alone = run.model_copy(update={"phases": []})
    assert alone.every_phase == ((alone, 0, 60),) and not any(alone.begins_phase(step) for step in range(60))


def test_a_plan_weighs_both_phases_by_their_samples() -> None:
    """Batches of 8, then 16 from step 10 on: 80 + 800 samples, of which the causal phase has 80 + 160."""
    settings: dict[str, Any] = {
        "model": {"layers": 2, "hidden": 32, "heads": 2}, "max_seq_len": 16, "steps": 60, "global_batch": 16,
        "micro_batch": 4, "batch_warmup": {"start": 8, "steps": 20}, "masking": {"rate": 0.3, "rate_end": 0.182},
        "optimizer": {"warmup_steps": 5}, "phases": [{"objective": "clm", "steps": 20}, {"steps": 40}],
    }  # fmt: skip
    run = PretrainSettings(**settings)
    rates = [0.3 - 0.118 * step / 59 for step in range(20, 60)]
    flops = ARCHITECTURES["roberta"].flops_per_token
    causal, masked = flops(run.model, 100, 8, 1.0), flops(run.model, 100, 16, sum(rates) / 40)
    truth = (240 * causal + 640 * masked) / 880
    assert flops_per_token(run, 100) == pytest.approx(truth)
    assert micro_batch_flops(run, 100) == pytest.approx(truth * 4 * 16)
    alone = PretrainSettings(**{**settings, "phases": []})
    assert flops_per_token(alone, 100) == pytest.approx(flops(run.model, 100, 16, (0.3 + 0.182) / 2))
    assert [rows_of_sample(phase.settings) for phase in run.every_phase] == [15, 4] and rows_of_sample(alone) == 4


BORDER = 30
PHASED = {"packing": "packed", "phases": [{"objective": "clm", "steps": BORDER}, {"steps": 60 - BORDER}]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """A run of 30 causal steps and 30 with masks; read only."""
    out = tmp_path_factory.mktemp("whole")
    train(out, tokens, tokenizer, **PHASED)
    return out


def state_of(out: Path, step: int) -> dict[str, Any]:
    folder = step_folder(out / "checkpoints", step)
    saved = read_metadata(folder) or {}
    files = {name: (folder / name).read_bytes() for name in (WEIGHTS, OPTIMIZER)}
    return {**files, **{name: saved[name] for name in ("guard", "tokens", "tokens_logged", "window", "positions_seen")}}


def lines(out: Path, after: int) -> list[dict[str, Any]]:
    """What the log says of what was learned, the clock aside."""
    names = ("step", "loss", "accuracy", "tokens", "lr", "masking_rate", "gradient_norm", "validation_loss", "padding")
    rows = read_metrics(out / "logs" / "metrics.jsonl")
    return [{name: row[name] for name in names if name in row} for row in rows if row["step"] > after]


@pytest.mark.slow
def test_a_branch_of_a_causal_run_is_the_run_that_had_both_in_its_recipe(
    whole: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """The parent states masks that no causal step has used; the branch has the recipe's."""
    causal, run = tmp_path / "causal", tmp_path / "run"
    parent = step_folder(causal / "checkpoints", BORDER)
    train(causal, tokens, tokenizer, packing="packed", objective="clm", masking={"rate": 0.4}, steps=BORDER + 2,
          optimizer={**RUN["optimizer"], "schedule": "warmup-stable-decay", "decay_share": 0.01})  # fmt: skip
    stable = {"optimizer": {**RUN["optimizer"], "schedule": "warmup-stable-decay", "decay_share": 0.1}}
    both = tmp_path / "both"
    train(both, tokens, tokenizer, **PHASED, **stable)
    code, errors = finish(start(run, tokens, tokenizer, branch_from=str(parent), packing="packed", **stable))
    assert code == 0, errors
    for step in (40, 50, 60):
        assert state_of(run, step) == state_of(both, step)
    assert (run / MODEL).read_bytes() == (both / MODEL).read_bytes()
    assert lines(run, BORDER) == lines(both, BORDER)
    assert [row for row in lines(causal, 0) if row["step"] < BORDER] == [
        row for row in lines(both, 0) if row["step"] < BORDER
    ]
    counts = [json.loads((out / "counts.json").read_bytes()) for out in (run, both)]
    assert counts[0].pop("parent")["step"] == BORDER and counts[0] == counts[1]
    code, errors = finish(
        start(tmp_path / "other", tokens, tokenizer, branch_from=str(step_folder(both / "checkpoints", 40)),
              packing="packed", masking={"rate": 0.4}, **stable)
    )  # fmt: skip
    assert code == 2 and "masking.rate: 0.15 → 0.4" in errors, errors  # its parent has learned with masks


@pytest.mark.slow
def test_a_line_of_the_log_and_the_guards_mean_are_of_one_objective(whole: Path, tmp_path: Path) -> None:
    rows = read_metrics(whole / "logs" / "metrics.jsonl")
    logged = [row["step"] for row in rows if "loss" in row]
    assert logged == [*range(4, 29, 4), BORDER, *range(32, 61, 4)]
    for row in rows:
        causal = row["step"] <= BORDER
        assert row["objective"] == ("clm" if causal else "mlm")
        assert ("masking_rate" in row) == ("loss" in row and not causal)
    tokens = [row["tokens"] for row in rows if "loss" in row]
    assert tokens == sorted(tokens)
    (tmp_path / "pretrain").symlink_to(whole)
    assert [step for step, _ in checkpoints(tmp_path)] == [40, 50, 60]  # scored and pushed while it trains
    assert "objective=clm last" in no_encoder(step_folder(whole / "checkpoints", BORDER))
    assert not no_encoder(step_folder(whole / "checkpoints", 40))


@pytest.mark.slow
def test_a_run_that_is_killed_in_either_phase_and_at_the_border_is_the_whole_one(
    whole: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    run = tmp_path / "run"
    for at, resumed in ((25, 0), (BORDER, 20), (BORDER + 3, BORDER)):
        code, errors = finish(start(run, tokens, tokenizer, patch=signal_at(at, "SIGKILL"), **PHASED))
        assert code != 0 and (not resumed or f"resuming at step {resumed}" in errors), errors
    (run / "sitecustomize.py").unlink()
    assert f"resuming at step {BORDER}" in train(run, tokens, tokenizer, **PHASED)
    assert_same_run(run, whole)
    assert state_of(run, 60) == state_of(whole, 60)
    assert lines(run, 0) == lines(whole, 0)
