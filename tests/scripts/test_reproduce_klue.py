"""scripts/reproduce_klue.py: its differences by hand, and a whole run of a tiny model on the embedded sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from klue.results import metrics_of
from klue.settings import KlueSettings
from klue.tables import published_rows
from klue.tasks import TASKS
from scripts.reproduce_klue import as_grid, as_the_authors, differences, main, row_of
from tests.klue.conftest import sample_characters, write_model, write_sample

BASE = next(row["scores"] for row in published_rows()["rows"] if row["model"] == "KLUE-RoBERTa-base")


def rows(task: str, values: list[float], folder: Path, **changes) -> list[dict]:
    return [
        {"model": "m", "task": task, "init": "pretrained", "seed": seed, "job": f"{task}-{seed}", "folder": str(folder),
         "data_hash": "d" * 64, "best": dict.fromkeys(metrics_of(task), value), "last": {}, "data_note": "",
         "examples": {"train": TASKS[task].train_examples, "dev": TASKS[task].dev_examples},
         "settings": {"learning_rate": 5e-5, "warmup_share": 0.1, "weight_decay": 0, "batch_size": 32, "epochs": 4},
         **changes} | {"last": dict.fromkeys(metrics_of(task), value)}
        for seed, value in enumerate(values)
    ]  # fmt: skip


def test_differences_by_hand(tmp_path: Path) -> None:
    given = [*rows("ynat", [85.0, 86.0, 87.0], tmp_path), *rows("klue-nli", [80.0, 80.1, 80.2], tmp_path)]
    given += rows("klue-ner", [85.0], tmp_path) + rows("klue-sts", [90.0, 91.0], tmp_path, data_note="split of dev: …")
    found = {(one["task"], one["metric"]): one for one in differences(given, BASE)}
    ynat, nli, sts = found["ynat", "macro_f1"], found["klue-nli", "accuracy"], found["klue-sts", "pearsonr"]
    # t with two degrees of freedom: 4.3027; standard deviations 1 and 0.1
    assert ynat["difference"] == pytest.approx(86 - 86.03)
    assert ynat["over_seeds"] == pytest.approx([-0.03 - 4.3027 / 3**0.5, -0.03 + 4.3027 / 3**0.5], abs=1e-3)
    assert ynat["inside"] is True and nli["inside"] is False
    assert nli["over_seeds"] == pytest.approx([-5.4 - 0.43027 / 3**0.5, -5.4 + 0.43027 / 3**0.5], abs=1e-3)
    assert sts["inside"] is None and sts["why_not"] == "dev is split"
    # published scores stand beside what the authors' code gives, and one seed has no interval
    ner = found["klue-ner", "entity_macro_f1_as_published"]
    assert (ner["published"], ner["over_seeds"], ner["inside"]) == (85.18, None, None)
    assert ynat["over_examples"] is None  # there are no predictions
    title, head, body = as_grid(list(found.values()), "KLUE-RoBERTa-base")
    assert "Table 36" in title and len(head) == 8
    verdicts = {row[0]: row[-1] for row in body}
    assert verdicts["YNAT macro F1"] == "inside" and verdicts["KLUE-NLI accuracy"] == "outside"
    assert verdicts["KLUE-STS Pearson r"] == "dev is split" and verdicts["KLUE-NER char F1, as published"] == "–"


def test_rows_are_told_by_the_shape(tmp_path: Path) -> None:
    for number, (kind, hidden, layers, name) in enumerate(
        [("roberta", 768, 12, "KLUE-RoBERTa-base"), ("bert", 768, 12, "KLUE-BERT-base"), ("roberta", 32, 2, None)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        config = {"model_type": kind, "hidden_size": hidden, "num_hidden_layers": layers}
        (folder / "config.json").write_text(json.dumps(config))
        assert row_of(folder) == name
    assert row_of(tmp_path / "none") is None


def test_what_is_the_authors_own() -> None:
    small, large, bert = (as_the_authors(f"KLUE-{name}") for name in ("RoBERTa-small", "RoBERTa-large", "BERT-base"))
    assert small["ner"].select_by == "character_macro_f1_as_published"
    assert (small["dp"].select_by, large["dp"].select_by) == ("las_macro_f1_as_published", "uas_macro_f1_as_published")
    assert small["mrc"].select_by == "rouge_w_as_published"
    assert [one["mrc"].max_length for one in (small, large, bert)] == [None, None, 512]
    assert as_the_authors("KLUE-BERT-base", 48)["mrc"].max_length == 48
    assert KlueSettings(data="d", **bert).mrc.max_length == 512


def test_a_whole_run_of_a_tiny_model(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    data, model = write_sample(tmp_path / "sample"), write_model(tmp_path / "model", text=sample_characters())
    command = [str(model), "--data", str(data), "--out", str(tmp_path / "out"), "--device", "cpu", "--markdown"]
    command += ["--task", "ynat", "--task", "sts", "--max-examples", "16", "--max-length", "48", "--seeds", "2"]
    assert main(command) == 2 and "the shape of no published model" in capfd.readouterr().err
    assert main([*command, "--row", "KLUE-RoBERTa-small"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "#### KLUE-RoBERTa-small: ours and Table 36 (dev)"
    ynat = next(line for line in lines if line.startswith("| YNAT macro F1 | 85.53 |"))
    assert "synthetic" in ynat and " to " in ynat and "inside" not in ynat
    assert sum(line.startswith("| KLUE-STS") for line in lines) == 2
    jobs = sorted(path.name for path in (tmp_path / "out" / "jobs").iterdir())
    assert jobs == [f"{task}-pretrained-{seed}" for task in ("klue-sts", "ynat") for seed in (42, 43)]
