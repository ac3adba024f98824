"""Own tasks that cannot be: one message each, before anything is trained."""

import json
from pathlib import Path

import pytest

from common.errors import EXIT_MISUSED, UserError
from hunmin.commands.klue import own_tasks
from klue.examples import load_splits
from klue.predict import read_own
from klue.tasks.own import OwnTask, build_own

GOOD = "text,label\n" + "".join(f"글 {n},{'가나'[n % 2]}\n" for n in range(40))
SPANS = json.dumps({"text": "나는 서울", "entities": [{"start": 3, "end": 9, "label": "LC"}]})
SQUAD = {"context": "나는 서울", "question": "?", "answers": [{"text": "부산", "answer_start": 3}]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(GOOD, encoding="utf-8")
    Path("plain").write_text(GOOD, encoding="utf-8")
    Path("folder.csv").mkdir()


def refused(row: dict) -> UserError:
    """Return the error of a task file, or of its examples."""
    Path("t.yaml").write_text(json.dumps({"name": "mine", "train": "good.csv", **row}), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        [tree] = own_tasks(["t.yaml"], None, None, None)
        load_splits(build_own(OwnTask.model_validate(tree)), Path())
    assert caught.value.exit_code == EXIT_MISUSED and caught.value.fix + caught.value.rule
    return caught.value


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"kind": "ner"}, "kind = 'ner'"),
        ({"metric": "f2"}, "metric f2 is none of classification: macro_f1, accuracy"),
        ({"txet": "a"}, "unknown key 'txet' (did you mean 'text'?)"),
        ({"train": None}, "train = None"),
        ({"train": "plain"}, "plain ends in none of what classification reads: .csv"),
        ({"train": "a.conll"}, "a.conll ends in none of what classification reads"),
        ({"train": "a.csv", "kind": "tagging"}, "a.csv ends in none of what tagging reads: .conll"),
        ({"train": "hf:nsmc"}, "hf:nsmc ends in none of what"),
        ({"name": "My Task"}, "up to 40 small letters"),
        ({"kind": "pairs"}, "a pair has two fields"),
        ({"kind": "choice"}, "choices: fields of a choice"),
        ({"kind": "choice", "choices": ["a"]}, "choices: two fields or more"),
        ({"choices": ["a", "b"]}, "choices: fields of a choice, and of no other kind"),
        ({"label": ["a", "b"]}, "label: one field"),
        ({"labels": ["a"]}, "labels: two or more"),
        (
            {"labels": ["DRUG", "O"], "kind": "tagging", "train": "a.conll"},
            "labels: DRUG: those of tagging are O, B-TYPE",
        ),
        ({"labels": ["a", "b"], "kind": "regression"}, "labels: regression has none"),
        ({"unanswerable": True}, "unanswerable is of kind reading"),
        *(({"dev": share}, "a share of the train examples between 0 and 1") for share in (0, 1, 1.5, True)),
    ],
)
def test_rows(row: dict, said: str) -> None:
    error = refused(row)
    assert said in error.problem and "t.yaml: 1 setting wrong" in error.problem and error.fix == "fix t.yaml"


@pytest.mark.parametrize(
    ("row", "content", "said"),
    [
        ({"train": "gone.csv"}, "", "train gone.csv is not there"),
        ({"train": "god.csv"}, "", "god.csv is not there (did you mean 'good.csv'?)"),
        ({"train": "gone.csv", "dev": "good.csv"}, "", "train gone.csv is not there"),
        ({"dev": "gone.csv"}, "", "dev gone.csv is not there"),
        ({"test": "gone.csv"}, "", "test gone.csv is not there"),
        ({"train": "folder.csv"}, "", "train folder.csv is a folder"),
        ({"text": "txt"}, "", "no column 'txt' (did you mean 'text'?); there are text, label"),
        ({"label": "lable"}, "", "no column 'lable' (did you mean 'label'?)"),
        ({"kind": "multi-label", "label": ["label", "b"]}, "", "no column 'b'"),
        ({"kind": "multi-label", "label": ["text", "label"]}, "", "'text' holds '글 0': a label's field holds 1 or 0"),
        ({"labels": ["가", "다"]}, "", "good.csv, mine-good-2: '나' is not a label of mine; labels: 가, 다"),
        ({"kind": "regression"}, "", "good.csv, mine-good-1: label '가' is not a finite number"),
        ({"dev": "good.csv"}, "", "0 examples to train on (40 train examples left out"),
        (
            {"kind": "choice", "choices": ["text", "label"]},
            "text,label\n가,1\n나,2\n다,3\n",
            "3 labels (1, 2, 3) for 2 choices",
        ),
        ({}, "text,label\n", "holds no records"),
        ({}, "", "holds no records"),
        ({}, "text,label\n글,\n,가\n", "none of its 2 records has text and label"),
        ({}, "text,label\n글,가\n말,가\n", "1 different labels in label: 가"),
        ({}, "text,label\n글,가\n말,나\n", "2 examples to train on, 0 to score"),
        ({}, "text,label\n" + "".join(f"글,{n}\n" for n in range(1001)), "1,001 different labels"),
        ({}, "text,label\n글,가,나\n", "line 2 has 3 fields"),
    ],
)
def test_files(row: dict, content: str, said: str) -> None:
    Path("a.csv").write_text(content, encoding="utf-8")
    row = {"train": "a.csv", **row} if content or not row else row
    assert said in refused(row).problem


@pytest.mark.parametrize(
    ("kind", "name", "content", "said"),
    [
        ("tagging", "a.conll", "나는 O\n\n서울 O\n로 I-LC\n", "a.conll, mine-a-2: I-LC stands behind O"),
        ("tagging", "a.conll", "나는 O\n\n서울 S-LC\n", "a.conll, mine-a-2: 'S-LC' is no label of BIO"),
        ("tagging", "a.conll", "나는 O\n\n서울 O\n", "1 different labels in label: O"),
        ("tagging", "a.jsonl", SPANS, "a.jsonl, mine-a-1: LC at 3 to 9 does not fit a text of 5 characters"),
        ("tagging", "a.jsonl", '{"text": "가"}', "entities are a list of"),
        ("tagging", "a.jsonl", '{"txt": "가"}', "it has no text with entities, and no tokens with tags"),
        ("reading", "a.jsonl", json.dumps(SQUAD), "an answer is not at character 3 of the context"),
        (
            "reading",
            "a.jsonl",
            json.dumps({**SQUAD, "is_impossible": True}),
            "it has no answer: set unanswerable: true",
        ),
        ("reading", "a.jsonl", json.dumps({**SQUAD, "answers": []}), "it has no answer: set unanswerable: true"),
        ("reading", "a.jsonl", '{"question": "?"}', "no column 'context'"),
    ],
)
def test_forms(kind: str, name: str, content: str, said: str) -> None:
    Path(name).write_text(content, encoding="utf-8")
    assert said in refused({"kind": kind, "train": name}).problem


def test_options() -> None:
    [row] = own_tasks([], "my data/Good File.csv.gz", ["title", "body"], "kind")
    assert row == {"name": "good-file", "train": "my data/Good File.csv.gz", "text": ["title", "body"], "label": "kind"}
    with pytest.raises(UserError, match="--text and --label without --train"):
        own_tasks([], None, ["a"], None)
    with pytest.raises(UserError, match="--train: 1 setting wrong"):
        own_tasks([], "plain", None, None)
    for text in ("- a", "word", ""):
        Path("t.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match="not a mapping"):
            own_tasks(["t.yaml"], None, None, None)


@pytest.mark.parametrize(
    ("name", "said"),
    [("gone.csv", "gone.csv is not there"), ("plain", "plain ends in none of .csv"), ("a.csv", "no column 'text'")],
)
def test_texts_to_predict(name: str, said: str) -> None:
    Path("a.csv").write_text("글\n가\n", encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_own(build_own(OwnTask(name="mine", train="good.csv")), Path(name))
