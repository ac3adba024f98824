"""Fine-tuning with several choices, and test sets: scored once, of what was best on dev, by labels nothing else saw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMultipleChoice

from klue.features import load_tokenizer, make_features
from klue.heads.library import split_choices
from klue.model_folder import read_model_folder
from klue.model_index import eval_results
from klue.predict import predict_file
from klue.result_rows import read_rows, with_test_scores
from klue.results import flat_scores, summarize
from klue.runner import run_klue
from klue.score_file import score
from klue.settings import KlueSettings
from klue.table_forms import markdown
from klue.tables import published_rows, tables
from klue.tasks import SUITE_OF, TASKS
from tests.klue.faultless import ceilings
from tests.klue.names import job_folder
from tests.klue.stand_in import pretend
from tests.klue.suite_files import write_suites

NAMES = ("kobest-copa", "kobest-hellaswag", "korsts", "korquad")


def settings(root: Path, **changes) -> KlueSettings:
    values = {"epochs": 6, "evaluations_per_epoch": 1, "learning_rate": 3e-3, "global_batch": 8, "max_seq_len": 48}
    given = {"tasks": NAMES, "training": values, "device": "cpu", "workers": 0, **changes}
    return KlueSettings(data=str(root), **given)


@pytest.fixture(scope="module")
def finished(suites: Path, tiny_reader: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stage") / "klue"
    run_klue(settings(suites), tiny_reader, out)
    return out


def test_choices_stand_side_by_side() -> None:
    row = {
        "input_ids": torch.tensor([[5, 6, 7, 8, 9], [1, 2, 3, 0, 0]]),
        "pair_lengths": torch.tensor([[2, 3], [2, 1]]),
    }
    found = split_choices({**row, "token_type_ids": torch.tensor([[0, 1, 0, 1, 1], [0, 0, 1, 7, 7]])}, 99)
    assert found["input_ids"].tolist() == [[[5, 6, 99], [7, 8, 9]], [[1, 2, 99], [3, 99, 99]]]
    assert found["attention_mask"].tolist() == [[[1, 1, 0], [1, 1, 1]], [[1, 1, 0], [1, 0, 0]]]
    assert found["token_type_ids"].tolist() == [[[0, 1, 0], [0, 1, 1]], [[0, 0, 0], [1, 0, 0]]]


def test_the_head_is_the_librarys_on_pairs_that_the_tokenizer_fills_up(suites: Path, tiny_reader: Path) -> None:
    task, facts, tokenizer = TASKS["kobest-copa"], read_model_folder(tiny_reader), load_tokenizer(tiny_reader)
    with (suites / "kobest" / "COPA" / "dev.tsv").open("rb") as stream:
        examples = [e for n, record in enumerate(task.records(stream)) for e in task.read(record, str(n))][:3]
    features = make_features(task, examples, tokenizer, facts, 48)
    torch.manual_seed(0)
    model = AutoModelForMultipleChoice.from_pretrained(tiny_reader).eval()
    for number, example in enumerate(examples):
        inputs = {
            "input_ids": torch.tensor(features.columns["input_ids"][number])[None],
            "pair_lengths": torch.tensor(features.columns["pair_lengths"][number])[None],
        }
        pairs = task.pairs(example)
        padded = tokenizer([a for a, _ in pairs], [b for _, b in pairs], padding=True, return_tensors="pt")
        wanted = model(input_ids=padded["input_ids"][None], attention_mask=padded["attention_mask"][None]).logits
        found = model(**split_choices(inputs, facts.pad_id)).logits
        assert torch.allclose(found, wanted, atol=1e-6)


def test_choices_are_learned_and_test_is_scored_as_the_file_says(suites: Path, finished: Path) -> None:
    rows = {row["task"]: row for row in read_rows(finished)}
    assert list(rows) == list(NAMES)
    assert rows["kobest-hellaswag"]["best"]["accuracy"] > 60 and rows["kobest-hellaswag"]["test"]["accuracy"] > 60
    for name, file in (("kobest-copa", "kobest/COPA/test.tsv"), ("korsts", "korsts/sts-test.tsv")):
        again = score(name, suites / file, finished / "jobs" / rows[name]["job"] / "predictions-test.jsonl")
        assert again.pop("examples") == 10 == rows[name]["examples"]["test"] and again == rows[name]["test"]
    assert "test" not in rows["korquad"]
    for row in rows.values():  # a job knows nothing of how it does on test
        assert "test" not in json.loads((finished / "jobs" / row["job"] / "result.json").read_text())


def test_labels_of_test_decide_nothing(suites: Path, tiny_reader: Path, finished: Path, tmp_path: Path) -> None:
    root = write_suites(tmp_path / "suites")
    path = root / "korsts" / "sts-test.tsv"
    head, *lines = path.read_text("utf-8").splitlines()
    changed = [
        "\t".join([*parts[:4], str(5 - float(parts[4])), *parts[5:]]) for parts in (x.split("\t") for x in lines)
    ]
    path.write_text("\n".join([head, *changed]) + "\n", "utf-8")
    out = tmp_path / "klue"
    run_klue(settings(root, tasks=["korsts"]), tiny_reader, out)
    for file in ("predictions.jsonl", "predictions-test.jsonl"):
        mine, before = (job_folder(folder, "korsts") / file for folder in (out, finished))
        assert mine.read_bytes() == before.read_bytes()
    [ours], [theirs] = (
        [row for row in read_rows(folder) if row["task"] == "korsts"] for folder in (out, finished)
    )  # fmt: skip
    assert ours["best"] == theirs["best"]
    assert ours["test"]["spearmanr"] == pytest.approx(-theirs["test"]["spearmanr"])


def test_of_a_search_only_the_settings_that_are_best_on_dev_are_scored(
    suites: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("klue.finetune.finetune", pretend)
    values = {"epochs": 1, "evaluations_per_epoch": 1, "global_batch": 8, "max_seq_len": 48}
    found = settings(suites, tasks=["korsts"], search="small", seeds=2, training=values)
    counts = run_klue(found, tiny_reader, tmp_path / "klue")
    rows = read_rows(tmp_path / "klue")
    tested = [row for row in rows if "test" in row]
    assert len(rows) == 8 and len(tested) == 2 and len({row["settings"]["learning_rate"] for row in tested}) == 1
    means = {}
    for row in rows:
        means.setdefault(row["settings"]["learning_rate"], []).append(row["best"]["spearmanr"])
    assert max(means, key=lambda rate: sum(means[rate])) == tested[0]["settings"]["learning_rate"]
    assert counts["scores"][0]["test"]["spearmanr"]["n"] == 2
    bare = [{key: value for key, value in row.items() if key != "test"} for row in rows]
    assert with_test_scores(bare, tmp_path / "klue") == rows
    assert "test" not in run_klue(found, tiny_reader, tmp_path / "klue", test=False)["scores"][0]


def test_the_tables_say_which_split(finished: Path) -> None:
    rows = read_rows(finished)
    kobest, koelectra = tables(rows, published_rows())
    assert kobest.columns[0] == "COPA macro F1, test¹" and kobest.notes[0].startswith("Test scores × 100, once")
    assert "; 12 of 500 dev examples; 10 of 1,000 test examples." in kobest.notes[1]
    assert [name for name, _ in kobest.extra][:2] == ["COPA macro F1, dev", "COPA accuracy, dev"]
    assert koelectra.columns == ["KorSTS Spearman, test¹", "KorQuAD 1.0 EM, dev²", "KorQuAD 1.0 F1, dev²"]
    entries = {entry["task"]: entry for entry in summarize(rows)}
    assert koelectra.lines[0].values[0] == entries["korsts"]["test"]["spearmanr"]["mean"]
    assert "best of this number of dev evaluations: KorQuAD 1.0 6" in " ".join(koelectra.notes)
    assert "not known here" in kobest.notes[-1]
    held = tables(rows, None, {"ynat": 3, "kobest-copa": 2})
    assert held[0].notes[-1].endswith("or contain one of its: COPA 2.") and "none was there" in held[1].notes[-1]
    text = markdown(rows, published_rows())
    assert "### KoBEST\n" in text and "### KoELECTRA's table\n" in text


def test_published_rows_of_koelectra_stand_beside_whole_test_sets() -> None:
    row = {
        "model": "m", "task": "korsts", "init": "pretrained", "seed": 42, "data_note": "",
        "examples": {"train": 5749, "dev": 1500, "test": 1379},
        "settings": {"learning_rate": 5e-5, "warmup_share": 0, "weight_decay": 0, "global_batch": 32, "epochs": 10},
        **{key: {"spearmanr": 1.0, "pearsonr": 2.0} for key in ("best", "last", "test")},
    }  # fmt: skip
    [table] = tables([row], published_rows())
    assert len(table.lines) == 11 and table.best(0) == 85.53
    assert {line.title: line.cells for line in table.lines}["published: KoBERT"] == ["81.59"]
    assert "KoELECTRA's README" in table.notes[1]
    assert flat_scores(summarize([row])) == {
        "klue/korsts/spearmanr": 1.0, "klue/korsts/pearsonr": 2.0,
        "klue-test/korsts/spearmanr": 1.0, "klue-test/korsts/pearsonr": 2.0,
    }  # fmt: skip
    results = eval_results([{**row, "test": {"spearmanr": 9.0, "pearsonr": 8.0}}])
    assert {(one.dataset_type, one.dataset_name, one.dataset_split) for one in results} == {
        ("other", "KoELECTRA's table: KorSTS", "test")
    }
    assert [one.metric_value for one in results] == [9.0, 8.0]


def test_a_saved_model_predicts_what_its_job_did(suites: Path, tiny_reader: Path, tmp_path: Path) -> None:
    name = "kobest-copa"
    values = {"epochs": 1, "evaluations_per_epoch": 1, "learning_rate": 3e-3, "global_batch": 8, "max_seq_len": 48}
    run_klue(settings(suites, tasks=[name], save_model="best", training=values), tiny_reader, tmp_path / "klue")
    job, out = job_folder(tmp_path / "klue", name), tmp_path / "out.jsonl"
    predict_file(job / "model", name, suites / "kobest" / "COPA" / "test.tsv", out)
    assert out.read_text("utf-8") == (job / "predictions-test.jsonl").read_text("utf-8")


def test_records_without_labels_are_read(suites: Path) -> None:
    for name, task in TASKS.items():
        if SUITE_OF[name] != "klue" and name != "korquad":
            record = {field.strip().split(" ")[0]: "원인" for field in task.unlabelled_fields.split(",")}
            [example] = task.unlabelled(record, "g")
            assert example.guid == "g" and "원인" in example.texts


def test_faultless_outputs_reach_the_top(suites: Path, tiny_reader: Path) -> None:
    names = [name for name in TASKS if SUITE_OF[name] != "klue" and name != "nsmc"]
    for name, scores in ceilings(tiny_reader, suites, names).items():
        assert scores[TASKS[name].selection] == pytest.approx(100)
