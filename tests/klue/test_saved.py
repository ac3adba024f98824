"""Saved models: their predictions are those of their job, on the same file and on texts without labels."""

import json
import stat
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from common.errors import UserError
from hunmin.main import run_command
from klue.examples import find_file, load_splits
from klue.finetune import finetune
from klue.heads import build_head
from klue.job import run_job
from klue.predict import predict_file, read_texts
from klue.runner import plan_stage
from klue.saved import build_kept
from klue.score_file import score
from klue.settings import KlueSettings
from tests.klue.heads.test_heads import make_job
from tests.klue.names import KLUE_TASKS as TASKS


def lines(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def unlabelled(task, example, words):
    """A record without a label, as one that predicts would write it."""
    texts = example.texts
    fields = {
        "klue-sts": ("sentence1", "sentence2"),
        "klue-ner": ("text",), "klue-re": ("sentence",), "klue-mrc": ("question", "context"),
    }.get(task.name, ())  # fmt: skip
    record = {"guid": example.guid, **dict(zip(fields, texts, strict=False))}
    if task.name == "klue-re":
        spans = zip(("subject_entity", "object_entity"), example.given, strict=True)
        record |= {role: {"start_idx": start, "end_idx": end - 1} for role, (start, end) in spans}
    if task.name == "klue-dp":
        record |= {"text": " ".join(texts), "pos": example.given}
    return record


@pytest.mark.parametrize("name", [name for name in TASKS if name not in ("ynat", "klue-nli")])
def test_a_saved_models_predictions_are_its_jobs(name, sample_benchmark, sample_bert, tmp_path):
    task = TASKS[name]
    job, _, dev = make_job(
        name, sample_benchmark, sample_bert, tmp_path, train=12, dev=12, learning_rate=1e-3, epochs=2
    )
    job = job.model_copy(update={"save_model": True})
    run_job(job)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in job.folder.rglob("*") if path.is_file()}
    assert len(modes) == 1 and modes.pop() & 0o044  # none is the owner's alone, as safetensors makes its files
    folder, wanted = job.folder / "model", lines(job.folder / "predictions.jsonl")
    predict_file(folder, name, find_file(task, sample_benchmark, "dev"), tmp_path / "all.jsonl")
    if name != "wos":  # batches are of other inputs there, and rounding may decide
        found = {record["guid"]: record for record in lines(tmp_path / "all.jsonl")}
        assert len(found) == len(load_splits(task, sample_benchmark).dev)
    given = tmp_path / "given.jsonl"
    if name == "wos":
        records = json.loads(find_file(task, sample_benchmark, "dev").read_text(encoding="utf-8"))
        names = {example.given for example in dev.examples}
        chosen = [record for record in records if record["guid"] in names]
        records = [
            {"guid": r["guid"], "dialogue": [{k: t[k] for k in ("role", "text")} for t in r["dialogue"]]}
            for r in chosen
        ]
    else:
        records = [unlabelled(task, example, dev) for example in dev.examples]
    given.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    out = tmp_path / "out.jsonl"
    assert run_command(["klue", "predict", str(folder), name, "--in", str(given), "--out", str(out)]) == 0
    found = [{key: row[key] for key in ("guid", "prediction")} for row in lines(out)]  # of NER without the entities
    if name == "wos":  # of the last dialogue, turns that were not among the dev examples
        found = found[: len(wanted)]
    if name in ("klue-sts", "klue-re"):
        values = [[r["prediction"] if name == "klue-sts" else r["prediction"]["probabilities"] for r in side]
                  for side in (found, wanted)]  # fmt: skip
        assert [r["guid"] for r in found] == [r["guid"] for r in wanted]
        assert [pytest.approx(value, abs=1e-5) for value in values[0]] == values[1]
    else:  # of entities there is more
        assert [{key: r[key] for key in ("guid", "prediction")} for r in found] == wanted


def test_the_model_is_that_of_the_best_evaluation(benchmark, tiny_roberta, tmp_path, monkeypatch):
    job, _, _ = make_job("ynat", benchmark, tiny_roberta, tmp_path, train=40, dev=30, epochs=4, learning_rate=5e-3)
    values = iter([1.0, 3.0, 2.0, 1.0])
    monkeypatch.setattr(TASKS["ynat"], "score", lambda gold, found: {"macro_f1": next(values)})
    outcome = finetune(job.model_copy(update={"save_model": True}))
    assert outcome.best["step"] < outcome.last["step"]
    predict_file(job.folder / "model", "ynat", find_file(TASKS["ynat"], benchmark, "dev"), tmp_path / "out.jsonl")
    found = {record["guid"]: record["prediction"] for record in lines(tmp_path / "out.jsonl")}
    assert [found[guid] for guid in outcome.predictions["dev"]] == [*outcome.predictions["dev"].values()]
    config = AutoModelForSequenceClassification.from_pretrained(job.folder / "model").config
    assert tuple(config.id2label[i] for i in range(7)) == TASKS["ynat"].labels
    card = (job.folder / "model" / "README.md").read_text(encoding="utf-8")
    assert "fine-tuned for YNAT" in card and "| macro F1 | 3.00 |" in card
    assert not [path for path in (job.folder / "model").glob("*.*") if str(tmp_path).encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ynat", '{"text": "가"}\n', "line 1: field 'title' is missing"),
        ("ynat", '{"title": "가"}\n[]\n', "line 2"),
        ("ynat", "", "holds no texts"),
        ("ynat", '{"guid": "a", "title": "가"}\n{"guid": "a", "title": "나"}\n', "'a' is there twice"),
        ("klue-ner", '{"text": "  "}\n', "'text' is empty"),
        ("klue-dp", '{"text": "가 나", "pos": ["NNG"]}\n', "each of the 2 words"),
        ("wos", '{"dialogue": [{"role": "user"}]}\n', "field 'text' is missing"),
    ],
)
def test_texts_that_lack_something_are_named(name, text, message, tmp_path):
    path = tmp_path / "given.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_texts(TASKS[name], path)


def test_folders_that_hold_no_such_model(benchmark, tiny_roberta, tmp_path):
    given = tmp_path / "given.jsonl"
    given.write_text('{"title": "가", "premise": "가", "hypothesis": "나"}\n', encoding="utf-8")
    with pytest.raises(UserError, match="holds no fine-tuned model"):
        predict_file(tiny_roberta, "ynat", given, tmp_path / "out")
    job, _, _ = make_job("ynat", benchmark, tiny_roberta, tmp_path, train=8, dev=8)
    run_job(job.model_copy(update={"save_model": True}))
    with pytest.raises(UserError, match="fine-tuned for ynat, not klue-nli"):
        predict_file(job.folder / "model", "klue-nli", given, tmp_path / "out")


def test_a_parser_of_gold_parts_of_speech_asks_for_them(sample_benchmark, sample_bert, tmp_path):
    given = tmp_path / "given.jsonl"
    given.write_text('{"text": "나는 간다"}\n', encoding="utf-8")
    for number, tags in enumerate((True, False)):
        job, _, _ = make_job("klue-dp", sample_benchmark, sample_bert, tmp_path / str(number), train=4, dev=4)
        training = job.training.model_copy(update={"pos_tags": tags})
        job = job.model_copy(update={"save_model": True, "training": training})
        run_job(job)
        folder = job.folder / "model"
        if tags:
            with pytest.raises(UserError, match="words without a part of speech"):
                predict_file(folder, "klue-dp", given, tmp_path / "out")
        else:
            assert predict_file(folder, "klue-dp", given, tmp_path / "out")["predictions"] == 1


@pytest.fixture(scope="module")
def finetuned(benchmark, tiny_roberta, tmp_path_factory):
    """A model fine-tuned for KLUE-NLI."""
    out = tmp_path_factory.mktemp("finetuned")
    job, _, _ = make_job("klue-nli", benchmark, tiny_roberta, out, train=12, dev=8, learning_rate=1e-2, epochs=2)
    run_job(job.model_copy(update={"save_model": True}))
    return job.folder / "model"


@pytest.mark.parametrize("name", ["klue-nli", "klue-mrc", "klue-dp"])
def test_a_finetuned_model_begins_any_task_with_a_new_head(name, finetuned, sample_benchmark, tmp_path):
    first, second = (
        build_head(make_job(name, sample_benchmark, finetuned, tmp_path / str(seed), train=4, dev=4)[0].model_copy(
            update={"seed": seed}), TASKS[name], {})
        for seed in (1, 2)
    )  # fmt: skip
    kept = load_file(finetuned / "model.safetensors")
    encoder = 0
    for part, value in first.state_dict().items():
        bare = part.removeprefix("model.").removeprefix("encoder.")
        bare = bare if bare.startswith("roberta.") else f"roberta.{bare}"
        if "pooler" not in part and part.startswith(("model.roberta.", "encoder.")):
            encoder += 1
            assert torch.equal(value, kept[bare]), part
        elif "weight" in part and "pooler" not in part and value.ndim > 1:
            assert not torch.equal(value, second.state_dict()[part]), part
            assert not any(value.shape == old.shape and torch.equal(value, old) for old in kept.values())
    assert encoder > 20


def test_a_head_is_kept_for_its_own_task_alone(finetuned, benchmark, tmp_path):
    kept = make_job("klue-nli", benchmark, finetuned, tmp_path, train=8, dev=8)[0].model_copy(
        update={"keep_head": True, "seed": 5}
    )
    weights = load_file(finetuned / "model.safetensors")
    head = build_kept(kept, TASKS["klue-nli"], {}).state_dict()["model.classifier.out_proj.weight"]
    assert torch.equal(head, weights["classifier.out_proj.weight"])
    settings = KlueSettings(data=str(benchmark), tasks=["klue-nli"], keep_head=True, training={"max_seq_len": 64})
    [job] = plan_stage(settings, finetuned, tmp_path / "klue").jobs
    assert job.keep_head
    [other] = plan_stage(settings.model_copy(update={"keep_head": False}), finetuned, tmp_path / "klue").jobs
    assert other.fingerprint != job.fingerprint
    with pytest.raises(UserError, match="was fine-tuned for klue-nli, not ynat"):
        plan_stage(settings.model_copy(update={"tasks": ["ynat"]}), finetuned, tmp_path / "klue")


def test_a_finetuned_model_is_finetuned_again_from_the_command_line(finetuned, benchmark, tmp_path, capfd):
    line = f"klue finetune {finetuned} --data {benchmark} --out {tmp_path / 'klue'} --task sts --json"
    rest = ["training.max_seq_len=64", "training.epochs=1", "workers=0", "training.max_train_examples=8"]
    assert run_command([*line.split(), *rest]) == 0
    out, err = capfd.readouterr()
    assert [row["task"] for row in json.loads(out)] == ["klue-sts"] and "its head is dropped" in err
    results = tmp_path / "klue" / "results.jsonl"
    text = results.read_text("utf-8")
    (tmp_path / "klue" / "notes.txt").write_text("mine")
    value = str(json.loads(text)["best"]["pearsonr"])
    for edited in (text.replace(value, "99.9"), text + "mine\n", text.replace('"fingerprint": "', '"fingerprint": "0')):
        assert edited != text
        results.write_text(edited, "utf-8")
        assert run_command([*line.split(), *rest]) == 2 and results.read_text("utf-8") == edited
        assert "results.jsonl was edited" in " ".join(capfd.readouterr().err.split())
    results.write_text(text, "utf-8")
    assert run_command([*line.split(), *rest]) == 0 and (tmp_path / "klue" / "notes.txt").read_text() == "mine"


def test_probabilities_of_labels_on_request(finetuned, benchmark, tmp_path):
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    given.write_text('{"guid": "a", "premise": "책 있다.", "hypothesis": "책 없다."}\n', encoding="utf-8")
    predict_file(finetuned, "klue-nli", given, out, probabilities=True)
    [row] = lines(out)
    shares = row["probabilities"]
    assert tuple(shares) == TASKS["klue-nli"].labels and sum(shares.values()) == pytest.approx(1)
    assert row["prediction"] == max(shares, key=shares.get)
    (tmp_path / "odd.jsonl").write_text('{"premise": "처음 보는 글자뿐인", "hypothesis": "제목"}\n', encoding="utf-8")
    with pytest.raises(UserError, match="cannot read"):
        predict_file(finetuned, "klue-nli", tmp_path / "odd.jsonl", tmp_path / "odd.out")
    dev = find_file(TASKS["klue-nli"], benchmark, "dev")
    predict_file(finetuned, "klue-nli", dev, out, probabilities=True, overwrite=True)
    assert score("klue-nli", dev, out)["examples"] == 35  # such a file is scored as any


@pytest.mark.parametrize("name", ["klue-sts", "wos"])
def test_tasks_without_probabilities_of_labels_refuse_them(name, finetuned, tmp_path):
    with pytest.raises(UserError, match=f"{TASKS[name].title} has no probabilities"):
        predict_file(finetuned, name, tmp_path / "in", tmp_path / "out", probabilities=True)
