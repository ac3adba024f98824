"""Scores of the sample's invented tasks say that they are synthetic, and stand beside no published ones."""

import pytest

from klue.examples import find_file, load_splits, read_examples
from klue.results import not_comparable
from klue.synthetic import NOTE, TOLD, all_synthetic, is_synthetic
from klue.table_forms import latex, markdown
from klue.tables import published_for, published_rows, tables
from tests.klue.names import KLUE_TASKS as TASKS
from tests.klue.test_table_forms import result


def row(task, splits):
    return result(task, "pretrained", 42, 50.0) | {"data_note": splits.note, "examples": splits.counts}


@pytest.fixture(scope="module")
def rows(sample_benchmark):
    return [row(name, load_splits(task, sample_benchmark)) for name, task in TASKS.items()]


@pytest.mark.parametrize("name", TASKS)
def test_every_example_of_the_sample_bears_the_mark(name, sample_benchmark):
    task = TASKS[name]
    for split in ("train", "dev"):
        assert all(is_synthetic(e.guid) for e in read_examples(task, find_file(task, sample_benchmark, split)))


def test_the_mark_goes_along_whatever_the_files_are_called(sample_benchmark, tmp_path):
    """A part of the sample under other names, without a train file."""
    text = find_file(TASKS["ynat"], sample_benchmark, "dev").read_text("utf-8")
    (tmp_path / "ynat-v1.1").mkdir()
    (tmp_path / "ynat-v1.1" / "ynat-v1.1_dev.mine.json").write_text(text, "utf-8")
    assert NOTE in load_splits(TASKS["ynat"], tmp_path).note


def test_tables_say_synthetic_and_show_no_published_rows(rows):
    assert not_comparable(rows) == dict.fromkeys(TASKS, "synthetic") and all_synthetic(rows)
    assert published_for(rows) is None
    [table] = tables(rows, published_rows())
    assert table.title == "Synthetic tasks in the form of KLUE's" and table.notes[0] == TOLD
    assert all("(synthetic)" in name for name in table.columns) and all(line.init for line in table.lines)
    for text in (markdown(rows, published_rows()), latex(rows, published_rows())):
        assert "published" not in text.lower().replace("as published", "") and "dev examples" not in text


def test_beside_real_tasks_they_are_told_apart(rows):
    real = row("klue-nli", load_splits_like(24998, 3000))
    mixed = [real, rows[0]]
    assert not all_synthetic(mixed) and published_for(mixed) is not None
    [table] = tables(mixed, published_rows())
    assert table.title == "KLUE" and [n for n in table.columns if "synthetic" in n] == ["YNAT macro F1 (synthetic)"]
    published = [line for line in table.lines if not line.init]
    assert published and all(line.values[0] is None for line in published)


def load_splits_like(train, dev):
    from klue.examples import Splits

    return Splits([], [], "", {"train": train, "dev": dev, "train_in_dev": 0, "train_cut": 0})


def test_the_page_and_the_card_say_so(rows):
    from types import SimpleNamespace

    from hunmin.hub.card import _scores
    from hunmin.page.scores import title
    from hunmin.page.words import ENGLISH

    assert title(rows, ENGLISH) == "Scores of synthetic tasks"
    recipe = SimpleNamespace(published=True)
    card = _scores(SimpleNamespace(scores=rows, recipe=recipe, contamination={}), ENGLISH)
    assert card["synthetic"] and card["scores"] and "published: " not in card["scores"]


def test_scoring_a_file_of_the_sample_says_so(sample_benchmark, tmp_path, capsys):
    import json

    from klue.score_file import score

    gold = find_file(TASKS["klue-sts"], sample_benchmark, "dev")
    lines = [json.dumps({"guid": e.guid, "prediction": e.label}) for e in read_examples(TASKS["klue-sts"], gold)]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    assert score("klue-sts", gold, tmp_path / "p.jsonl")["pearsonr"] == pytest.approx(100)
    assert TOLD in capsys.readouterr().err
