"""A user's own tasks: what of their files becomes an example, a label, a dev set; scores against other libraries."""

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score as seqeval_f1
from seqeval.scheme import IOB2
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from klue.examples import load_splits, read_examples
from klue.predict import read_own
from klue.tasks import SUITE_OF, TASKS, add_own, know_own
from klue.tasks.own import OwnTask, build_own
from tests.klue.metrics.test_entities import FEW, sentence_pairs

ROWS = [(f"{topic} 소식 {n}", topic) for n in range(20) for topic in ("정치", "경제", "10", "9")]


def csv_of(folder: Path, name: str, rows, head: str = "text,label") -> str:
    (folder / name).write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return str(folder / name)


def lines_of(folder: Path, name: str, records: list[dict]) -> str:
    (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(folder / name)


def task_of(**row):
    return build_own(OwnTask(name="mine", **row))


def splits_of(task):
    return load_splits(task, Path())


def labels_in(splits) -> list:
    return [example.label for example in [*splits.train, *splits.dev, *splits.test]]


def test_classes_are_found_and_dev_is_drawn_by_text(tmp_path: Path) -> None:
    rows = [*ROWS, *ROWS[:40], ("빈 라벨", ""), ("", "정치")]
    task = task_of(train=csv_of(tmp_path, "news.csv", rows))
    splits = splits_of(task)
    assert task.labels == ("9", "10", "경제", "정치")  # numbers by size
    assert Counter(labels_in(splits)) == Counter(label for text, label in rows if text and label)
    assert 0 < len(splits.dev) < 30 and not {e.texts for e in splits.train} & {e.texts for e in splits.dev}
    assert "2 records of news.csv without a text or a label left out" in splits.note
    again = splits_of(task_of(train=csv_of(tmp_path, "other.csv", sorted(rows))))
    assert {e.texts for e in again.dev} == {e.texts for e in splits.dev}
    assert load_splits(task, Path(), max_train=10).dev == splits.dev
    guids = {e.guid: e.texts[0] for e in splits.train}
    assert all(rows[int(guid.removeprefix("mine-news-")) - 1][0] == text for guid, text in guids.items())


def test_guids_of_a_file_are_the_same_with_and_without_labels(tmp_path: Path) -> None:
    task = task_of(train=(path := csv_of(tmp_path, "news.csv", [ROWS[0], ("빈 라벨", ""), *ROWS[1:]])))
    gold = {e.guid: e.texts for e in [*splits_of(task).train, *splits_of(task).dev]}
    unlabelled = {e.guid: e.texts for e in read_own(task, Path(path))}
    assert unlabelled.keys() - gold.keys() == {"mine-news-2"} == {*task.set_aside[path]}
    assert {guid: unlabelled[guid] for guid in gold} == gold


def test_what_is_said_of_labels(tmp_path: Path) -> None:
    train = csv_of(
        tmp_path, "a.csv", [*[row for row in ROWS if row[1] != "9"], ("같은 글", "정치"), ("같은  글", "경제")]
    )
    dev = csv_of(tmp_path, "b.csv", [("새 글", "9"), ("또 새 글", "정치"), ROWS[0]])
    note = splits_of(task_of(train=train, dev=dev)).note
    assert "train has no example of 9, as dev has: a model cannot predict it" in note
    assert "dev has no example of 10, 경제" in note and "1 text with different labels" in note
    assert "1 train examples left out, as their text is a dev text" in note


def test_values_of_trees_as_labels(tmp_path: Path) -> None:
    for values, labels in (([0, 1], ("0", "1")), ([True, False], ("False", "True")), ([1.0, 2.0, None], ("1", "2"))):
        records = [{"text": f"글 {n}", "label": values[n % len(values)]} for n in range(60)]
        pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
        for path in (lines_of(tmp_path, "a.jsonl", records), str(tmp_path / "a.parquet")):
            task = task_of(train=path)
            assert {*labels_in(splits_of(task))} == {*labels} and task.labels == labels
    nested = lines_of(tmp_path, "n.jsonl", [{"text": f"글 {n}", "of": {"kind": "ab"[n % 2]}} for n in range(60)])
    assert {*labels_in(splits_of(task_of(train=nested, label="of.kind")))} == {"a", "b"}


def test_decomposed_files(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "mac.csv", [[unicodedata.normalize("NFD", field) for field in row] for row in ROWS])
    splits = splits_of(task_of(train=path))
    assert {*labels_in(splits)} == {"9", "10", "경제", "정치"} and splits.train[0].texts[0] in dict(ROWS)


def test_pairs_and_ratings(tmp_path: Path) -> None:
    rows = [(f"가 {n}", f"나 {n}", f"{n}.5") for n in range(40)]
    path = csv_of(tmp_path, "r.csv", rows, "a,b,score")
    splits = splits_of(task_of(kind="regression", train=path, text=["a", "b"], label="score"))
    assert {(*e.texts, str(e.label)) for e in [*splits.train, *splits.dev]} == {*rows}


@pytest.mark.parametrize("form", ["|", ";", ",", "list", "columns"])
def test_several_labels(form: str, tmp_path: Path) -> None:
    names = ["기쁨", "화, 분노", "슬픔"] if form in "|;list" else ["기쁨", "분노", "슬픔"]
    wanted = {f"글 {n}": [name for place, name in enumerate(names) if n >> place & 1] for n in range(40)}
    label = names if form == "columns" else "label"
    records = [
        {"text": text, **{name: int(name in labels) for name in names}}
        if form == "columns"
        else {"text": text, "label": labels if form == "list" else form.join(labels)}
        for text, labels in wanted.items()
    ]
    task = task_of(kind="multi-label", train=lines_of(tmp_path, "m.jsonl", records), label=label)
    splits = splits_of(task)
    assert {e.texts[0]: sorted(e.label) for e in [*splits.train, *splits.dev]} == {
        t: sorted(v) for t, v in wanted.items()
    }
    assert list(task.labels) == (names if form == "columns" else sorted(names))
    assert [task.labels[i] for i, on in enumerate(task.target(splits.train[0])) if on] == splits.train[0].label


@pytest.mark.parametrize("form", ["words", "characters", "spans", "lists"])
def test_entities(form: str, tmp_path: Path) -> None:
    tokens, tags = ["아스피린", "백", "mg"], ["B-DRUG", "B-DOSE", "I-DOSE"]
    text = " ".join(tokens)
    labels = ["B-DRUG", *["I-DRUG"] * 3, "B-DOSE", "I-DOSE", "I-DOSE"]
    if form == "characters":
        tokens, tags = [*text], [*labels[:4], "O", labels[4], "I-DOSE", *labels[5:]]
    spans = [{"start": 0, "end": 4, "label": "DRUG"}, {"start": 5, "end": 9, "label": "DOSE"}]
    lists = [[*span.values()] for span in spans]
    record = {
        "spans": {"text": text, "entities": spans}, "lists": {"text": text, "label": lists},
    }.get(form, {"tokens": tokens, "tags": tags})  # fmt: skip
    records = [{**record, "n": n} for n in range(40)]
    task = task_of(
        kind="tagging", train=lines_of(tmp_path, "t.jsonl", records), dev=lines_of(tmp_path, "d.jsonl", records[:1])
    )
    [example] = read_examples(task, Path(task.row.dev))
    assert (example.texts, example.label) == ((text,), labels)
    assert task.labels == ("B-DOSE", "B-DRUG", "I-DOSE", "I-DRUG", "O")
    assert read_own(task, tmp_path / "d.jsonl")[0].texts == (text,)


def test_choices_in_the_order_of_their_labels(tmp_path: Path) -> None:
    rows = [(f"글 {n}", "좋다", "나쁘다", "ba"[n % 2]) for n in range(40)]
    path = csv_of(tmp_path, "c.csv", rows, "q,b,a,answer")
    task = task_of(kind="choice", train=path, text="q", choices=["b", "a"], label="answer")
    [example] = [e for e in [*splits_of(task).train, *splits_of(task).dev] if e.texts[0] == "글 0"]
    assert task.pairs(example)[task.target(example)] == ("글 0", "좋다") and task.labels == ("b", "a")


def test_reading_with_and_without_answers(tmp_path: Path) -> None:
    asked = [
        {
            "id": f"q{n}-{m}",
            "question": f"누구 {m}?",
            "context": f"세종 {n}",
            "answers": {"text": ["세종"][m:], "answer_start": [0][m:]},
        }
        for n in range(40)
        for m in range(2)
    ]  # the hub's form of SQuAD 2.0, which marks nothing
    path = lines_of(tmp_path, "q.jsonl", asked)
    task = task_of(kind="reading", train=path, unanswerable=True)
    splits = splits_of(task)
    assert {e.guid: e.label for e in [*splits.train, *splits.dev]} == {q["id"]: q["answers"]["text"] for q in asked}
    assert not {e.texts[1] for e in splits.train} & {e.texts[1] for e in splits.dev}  # a passage is on one side
    assert task.score([[], ["세종"], []], ["", "세종", "세종"]) == pytest.approx(
        {"exact_match": 200 / 3, "f1": 200 / 3}
    )


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.sets(st.sampled_from("abcd"))] * 2), min_size=1, max_size=8))
def test_scores_of_label_sets_equal_scikit_learn(pairs) -> None:
    gold, predicted = ([sorted(side) for side in sides] for sides in zip(*pairs, strict=True))
    task = task_of(kind="multi-label", train="t.csv", labels=[*"abcd"])
    scores = task.score(gold, predicted)
    sides = [MultiLabelBinarizer(classes=[*"abcd"]).fit_transform(side) for side in (gold, predicted)]
    assert scores["exact_match"] == pytest.approx(100 * sum(g == p for g, p in pairs) / len(pairs))
    if occur := [place for place, label in enumerate("abcd") if any(label in g | p for g, p in pairs)]:
        for average in ("micro", "macro"):
            own = f1_score(*sides, average=average, labels=occur, zero_division=0)
            assert scores[f"{average}_f1"] == pytest.approx(100 * own)


@settings(max_examples=40)
@given(sentence_pairs(FEW).filter(lambda pairs: any("B" in tag for pair in pairs for side in pair for tag in side)))
def test_scores_of_entities_equal_seqeval(pairs) -> None:
    sides = [list(side) for side in zip(*pairs, strict=True)]
    task = task_of(kind="tagging", train="t.conll", labels=["B-PS", "I-PS", "B-LC", "I-LC", "O"])
    scores = task.score(*sides)
    for name, average in (("entity_micro_f1", "micro"), ("entity_macro_f1", "macro")):
        own = seqeval_f1(*sides, mode="strict", scheme=IOB2, average=average, zero_division=0)
        assert scores[name] == pytest.approx(100 * own)


def test_the_register(tmp_path: Path) -> None:
    row = OwnTask(name="mine", train=csv_of(tmp_path, "news.csv", ROWS))
    add_own(row)
    assert SUITE_OF["mine"] == "own"
    know_own(row.published(TASKS["mine"].labels))  # what finished work says: the files are still at hand
    assert splits_of(TASKS["mine"]).train
    know_own(row.published(["a", "b"]))
    assert TASKS["mine"].labels == ("a", "b")
    for name in ("ynat", "sts", "kobest_copa"):
        with pytest.raises(ValueError, match="has the name of a benchmark's task"):
            add_own(row.model_copy(update={"name": name}))
