"""A benchmark's task as a row of YAML: read and scored without Python; rows that are refused."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from sklearn.metrics import f1_score

from klue.examples import load_splits
from klue.tasks.rows import BenchmarkRow, build_task, load_rows

ROW = """
news-pairs:
  kind: classification
  title: News pairs
  folder: news
  files: [train.tsv, "", test.tsv]
  sizes: [4, 0, 3]
  text: [first, second]
  label: same
  labels: ["no", "yes"]
  metrics: [macro_f1]
  extra_metrics: [accuracy]
  dev_share: 0.3
  authors: {epochs: 2, learning_rate: 3.0e-5}
"""
FILES = {
    "train.tsv": "first\tsecond\tsame\n" + "".join(f"글 {n}\t말 {n}\t{('no', ' YES')[n % 2]}\n" for n in range(12)),
    "test.tsv": "first\tsecond\tsame\n가\t나\tno\n다\t라\tyes\n마\t바\tyes\n",
}


def rows_of(text: str, folder: Path) -> dict[str, BenchmarkRow]:
    (folder / "rows.yaml").write_text(text, encoding="utf-8")
    return load_rows(folder / "rows.yaml")


def test_a_row_is_a_task(tmp_path: Path) -> None:
    (tmp_path / "news").mkdir()
    for name, text in FILES.items():
        (tmp_path / "news" / name).write_text(text, encoding="utf-8")
    [(name, row)] = rows_of(ROW, tmp_path).items()
    task = build_task(name, row)
    splits = load_splits(task, tmp_path)
    assert len(splits.train) + len(splits.dev) == 12 and len(splits.dev) > 0
    assert {e.label for e in [*splits.train, *splits.dev]} == {"no", "yes"}  # in small letters, white space aside
    assert [(e.texts, e.label) for e in splits.test] == [
        (("가", "나"), "no"),
        (("다", "라"), "yes"),
        (("마", "바"), "yes"),
    ]
    gold = [e.label for e in splits.test]
    predictions = ["yes", "yes", "no"]
    macro = 100 * f1_score(gold, predictions, average="macro")
    assert task.score(gold, predictions) == pytest.approx({"macro_f1": macro, "accuracy": 100 / 3})
    assert (task.selection, task.scored_split, task.authors.epochs, task.labels) == (
        "macro_f1",
        "test",
        2,
        ("no", "yes"),
    )


def test_fields_within_fields_and_choices(tmp_path: Path) -> None:
    text = """
plausible:
  {kind: choice, title: Plausible, folder: p, files: ["", d.json, ""], sizes: [0, 1, 0], text: [q, asked], label: a.b,
   allowed: {asked: [왜]}, labels: ["1", "2"], choices: [x, y], metrics: [accuracy], authors: {epochs: 1}}
"""
    [(name, row)] = rows_of(text, tmp_path).items()
    task = build_task(name, row)
    record = {"q": "비가 온다", "asked": "왜 ", "x": "춥다", "y": "구름", "a": {"b": "2"}}
    [example] = task.read(record, "g")
    assert example.label == "2" and task.pairs(example) == [("비가 온다 왜", "춥다"), ("비가 온다 왜", "구름")]
    with pytest.raises(ValueError, match="'뭐' is not a label"):
        task.read({**record, "asked": "뭐"}, "g")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "tagging"}, "kind"),
        ({"labels": []}, "a classification or a choice has labels"),
        ({"kind": "regression"}, "a regression has none"),
        ({"kind": "choice"}, "as many choices as labels"),
        ({"kind": "choice", "choices": ["a"]}, "as many choices as labels"),
        ({"choices": ["a", "b"]}, "nothing else has choices"),
        ({"text": []}, "text"),
        ({"metrics": []}, "metrics"),
        ({"metrics": ["f9"]}, "metric f9 is none of accuracy"),
        ({"allowed": {"third": ["a"]}}, "third is no field of text"),
        ({"document": "third"}, "third is no field of text"),
        ({"authors": {"epoch": 1}}, "epoch"),
        ({"lables": ["a"]}, "lables"),
    ],
)
def test_rows_that_are_refused(change: dict[str, object], reason: str, tmp_path: Path) -> None:
    row = rows_of(ROW, tmp_path)["news-pairs"]
    with pytest.raises(ValidationError, match=reason):
        BenchmarkRow.model_validate({**row.model_dump(exclude_defaults=True), **change})
