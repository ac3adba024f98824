import io

import pytest
from rich.console import Console

from klue.report import markdown, published_rows, results_table, table_cells
from klue.tasks import TASKS

ROWS = [
    {
        "task": task,
        "init": init,
        "seed": seed,
        "best": dict.fromkeys(TASKS[task].metrics, base + seed - 42),
        "last": dict.fromkeys(TASKS[task].metrics, 1.0),
        "data_note": "split of dev: no train file, 7 trained on" if task == "klue-sts" else "",
        "examples": {"train": 7, "dev": 3},
    }
    for task in TASKS
    for init, base in (("pretrained", 70.0), ("random", 40.0))
    for seed in (42, 44)
]


def test_cells():
    header, body, notes = table_cells(ROWS, published_rows())
    assert header == [
        "model",
        "seeds",
        "YNAT macro F1",
        "KLUE-NLI accuracy",
        "KLUE-STS Pearson r (split of dev)*",
        "KLUE-STS F1 (split of dev)*",
    ]
    assert body[0] == ["pretrained", "2", *["71.00 ± 1.41"] * 4]
    assert body[1] == ["random initialisation", "2", *["41.00 ± 1.41"] * 4]
    assert ["published: KLUE-RoBERTa-base", "", "86.03", "85.50", "92.70", "85.54"] in body
    assert len(body) == 2 + 9
    assert any("Table 36 (dev)" in note for note in notes)
    assert any(note.startswith("* KLUE-STS: split of dev") for note in notes)


def test_without_published_rows_and_with_gaps():
    rows = [row for row in ROWS if row["task"] == "ynat" or row["init"] == "pretrained"][:5]
    header, body, notes = table_cells(rows)
    assert header[2:] == ["YNAT macro F1", "KLUE-NLI accuracy"]
    assert body == [
        ["pretrained", "1–2", "71.00 ± 1.41", "70.00"],
        ["random initialisation", "2", "41.00 ± 1.41", "–"],
    ]
    assert not any("published" in note for note in notes)


def test_undefined_score():
    rows = [{**ROWS[-1], "init": "pretrained", "best": {"pearsonr": None, "f1": 0.0}}]
    assert table_cells(rows)[1] == [["pretrained", "1", "undefined", "0.00"]]


def test_markdown_and_terminal():
    text = markdown(ROWS, published_rows())
    assert text.startswith("| model | seeds | YNAT macro F1 |")
    assert "| published: mBERT-base |  | 82.64 | 72.90 | 82.97 | 75.93 |" in text
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(results_table(ROWS, published_rows()))
    assert "71.00 ± 1.41" in console.export_text()


def test_published_rows_are_whole():
    published = published_rows()
    assert published["source"] == "KLUE paper, Table 36 (dev)"
    for model in published["rows"]:
        assert sum(len(scores) for scores in model["scores"].values()) == 14 and len(model["scores"]) == 8
        assert all(20 < value < 100 for scores in model["scores"].values() for value in scores.values())
    for task in TASKS.values():
        assert set(published["rows"][0]["scores"][task.name]) == set(task.metrics)


@pytest.mark.parametrize("title", ["average", "mean over tasks"])
def test_no_average_over_tasks(title):
    assert title not in markdown(ROWS, published_rows()).lower()
