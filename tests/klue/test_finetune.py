import json
import shutil
from contextlib import contextmanager

import pytest
import torch
from safetensors.torch import load_file

from common.errors import HunminError, UserError
from klue.examples import load_splits
from klue.finetune import build_optimizer, finetune, scoring_precision, train_step
from klue.heads import build_head
from klue.model_folder import read_model_folder
from klue.plan import plan_jobs
from klue.runner import write_features
from klue.settings import KlueSettings
from klue.tasks import TASKS


def make_jobs(benchmark, model, out, **changes):
    settings = KlueSettings(data=str(benchmark), **{"training": {"max_seq_len": 64, "epochs": 1}, **changes})
    splits = {name: load_splits(TASKS[name], benchmark) for name in settings.tasks}
    facts = read_model_folder(model)
    jobs = plan_jobs(settings, facts, splits, "cpu", out)
    return write_features(jobs, splits, facts, out / "features")


def test_learns_headlines(benchmark, tiny_roberta, tmp_path):
    training = {"max_seq_len": 64, "epochs": 12, "learning_rate": 5e-3, "global_batch": 16, "evaluations_per_epoch": 1}
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"], training=training)
    outcome = finetune(job)
    assert outcome.best["macro_f1"] > 60
    lines = [json.loads(line) for line in job.history.read_text().splitlines()]
    assert [entry["step"] for entry in lines] == sorted(entry["step"] for entry in lines)
    history = [entry for entry in lines if "epoch" in entry]
    assert [entry["epoch"] for entry in history] == list(range(1, 13))
    assert history[-1]["loss"] < history[0]["loss"] - 0.5
    assert outcome.last["macro_f1"] == history[-1]["macro_f1"]
    assert outcome.best["macro_f1"] == max(entry["macro_f1"] for entry in history)
    # the predictions are those of the best evaluation
    gold = {e.guid: e.label for e in load_splits(TASKS["ynat"], benchmark).dev}
    answers = outcome.predictions["dev"]
    labels = [gold[guid] for guid in answers]
    assert TASKS["ynat"].score(labels, [*answers.values()])["macro_f1"] == outcome.best["macro_f1"]


def test_the_best_evaluation_is_the_one_by_the_metric_that_is_asked_for(benchmark, tiny_roberta, tmp_path, monkeypatch):
    training = {"max_seq_len": 64, "epochs": 3, "evaluations_per_epoch": 1, "global_batch": 16}
    for name, best in ((None, 1), ("f1", 2)):
        scores = iter([{"pearsonr": 9.0, "f1": 1.0}, {"pearsonr": 5.0, "f1": 8.0}, {"pearsonr": 1.0, "f1": 2.0}])
        monkeypatch.setattr(TASKS["klue-sts"], "score", lambda gold, found, each=scores: next(each), raising=False)
        values = {**training, "metric_for_best_model": name}
        (job,) = make_jobs(benchmark, tiny_roberta, tmp_path / str(name), tasks=["klue-sts"], training=values)
        assert job.metric == (name or "pearsonr")
        assert finetune(job).best["epoch"] == best
    with pytest.raises(UserError, match=r"ynat: metric_for_best_model 'f1' is none of its metrics\n.*macro_f1"):
        make_jobs(
            benchmark,
            tiny_roberta,
            tmp_path / "other",
            tasks=["ynat"],
            training={**training, "metric_for_best_model": "f1"},
        )


def test_a_metric_without_values_is_refused(benchmark, tiny_roberta, tmp_path, monkeypatch):
    monkeypatch.setattr(TASKS["ynat"], "as_published", {"macro_f1": "macro_f1_as_published"}, raising=False)
    monkeypatch.setattr(TASKS["ynat"], "published", lambda *_: {"macro_f1_as_published": float("nan")}, raising=False)
    training = {"max_seq_len": 64, "epochs": 1, "metric_for_best_model": "macro_f1_as_published"}
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"], training=training)
    with pytest.raises(HunminError, match="macro_f1_as_published is undefined with this tokenizer"):
        finetune(job)


def test_every_scored_batch_is_computed_in_the_precision_of_scoring(benchmark, tiny_roberta, tmp_path, monkeypatch):
    entered, inside = [], []

    @contextmanager
    def recorded(device):
        entered.append(device)
        inside.append(True)
        yield
        inside.pop()

    monkeypatch.setattr("klue.finetune.scoring_precision", recorded)
    training = {"max_seq_len": 64, "epochs": 1, "evaluations_per_epoch": 1}
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"], training=training)
    step, seen = train_step, []
    monkeypatch.setattr("klue.finetune.train_step", lambda *given: seen.append(list(inside)) or step(*given))
    finetune(job)
    assert len(entered) == 1 and entered[0].type == "cpu" and seen and not any(seen)


def test_scores_on_a_gpu_are_of_tf32():
    before = torch.get_float32_matmul_precision()
    for device, inside in (("cuda", "high"), ("cpu", before)):
        with pytest.raises(ZeroDivisionError), scoring_precision(torch.device(device)):
            assert torch.get_float32_matmul_precision() == inside
            raise ZeroDivisionError
        assert torch.get_float32_matmul_precision() == before


@pytest.mark.parametrize(("patience", "evaluations"), [(1, 4), (2, 8)])
def test_training_ends_when_scores_have_not_risen(
    patience, evaluations, benchmark, tiny_roberta, tmp_path, monkeypatch
):
    scores = iter([1.0, 2.0, 3.0, 3.0, 4.0, 1.0, 5.0, 2.0])  # an equal one is no better one
    monkeypatch.setattr(TASKS["ynat"], "score", lambda gold, found: {"macro_f1": next(scores)}, raising=False)
    training = {"max_seq_len": 64, "epochs": 4, "evaluations_per_epoch": 2, "patience": patience}
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"], training=training)
    outcome = finetune(job)
    history = [json.loads(line) for line in job.history.read_text().splitlines()]
    assert len([entry for entry in history if "epoch" in entry]) == evaluations
    assert outcome.best["macro_f1"] == (5.0 if evaluations == 8 else 3.0)


def test_initialisations(benchmark, tiny_roberta, tmp_path):
    jobs = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"], baseline_random=True, seeds=2)
    models = {(job.init, job.seed): build_head(job, TASKS["ynat"], {}).state_dict() for job in jobs}
    stored = load_file(tiny_roberta / "model.safetensors")
    name = "model.roberta.encoder.layer.1.output.dense.weight"
    head = "model.classifier.out_proj.weight"
    for seed in (42, 43):
        assert torch.equal(models["pretrained", seed][name], stored[name.removeprefix("model.")])
        assert not torch.equal(models["random", seed][name], stored[name.removeprefix("model.")])
    assert not torch.equal(models["random", 42][name], models["random", 43][name])
    assert not torch.equal(models["pretrained", 42][head], models["pretrained", 43][head])
    again = build_head(next(job for job in jobs if (job.init, job.seed) == ("random", 42)), TASKS["ynat"], {})
    assert all(torch.equal(value, models["random", 42][key]) for key, value in again.state_dict().items())


def test_a_head_that_is_kept_is_whole(benchmark, tiny_roberta, tmp_path):
    """Whether the encoder is, `open_model` has seen (tests/hunmin/test_broken_models.py)."""
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"])
    with pytest.raises(HunminError, match=r"lacks \d+ weights: .*classifier"):
        build_head(job.model_copy(update={"keep_head": True}), TASKS["ynat"], {})


def test_a_model_that_does_not_load_is_an_error(benchmark, tiny_roberta, tmp_path):
    model = shutil.copytree(tiny_roberta, tmp_path / "model")
    (job,) = make_jobs(benchmark, model, tmp_path, tasks=["ynat"])
    (model / "model.safetensors").rename(model / "pytorch_model.bin")  # an older format, which it is not
    with pytest.raises(HunminError, match=r"the model in .*model does not load"):
        build_head(job, TASKS["ynat"], {})


def test_no_decay_on_biases_and_norms(benchmark, tiny_roberta, tmp_path):
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"])
    model = build_head(job, TASKS["ynat"], {})
    decayed, rest = build_optimizer(model, 1e-3, 0.01).param_groups
    free = {id(p) for name, p in model.named_parameters() if name.endswith("bias") or "LayerNorm" in name}
    assert {id(p) for p in rest["params"]} == free and rest["weight_decay"] == 0
    assert decayed["weight_decay"] == 0.01 and not free & {id(p) for p in decayed["params"]}


def test_loss_that_is_not_finite(benchmark, tiny_roberta, tmp_path):
    training = {"max_seq_len": 64, "epochs": 1, "learning_rate": 1e30, "warmup_share": 0}
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["klue-sts"], training=training)
    with pytest.raises(HunminError, match="finite"):
        finetune(job)
