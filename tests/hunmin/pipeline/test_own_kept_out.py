"""The texts of own tasks are kept out of the corpus as those of benchmarks are, and a changed file redoes the stage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from data.statistics.table import load_statistics
from hunmin.main import run_command
from hunmin.pipeline.run import run
from hunmin.recipes.recipe import Recipe, load_recipe, warnings
from klue.examples import own_sentences
from klue.tasks import add_own
from klue.tasks.own import OwnTask

LATE, REFUND = "주문한 상품이 아직도 배송되지 않았습니다.", "환불 신청을 했는데 한 달째 답이 없습니다."
OTHER = "{} 번째 화분에는 노란 꽃이 피어 있었습니다."


def recipe(folder: Path, second: str) -> Recipe:
    """Return a recipe with own tasks and no benchmark: a classifier in Excel's CSV, and questions in SQuAD's form."""
    rows = [f"{LATE},배송", f"상담원이 전화를 받지 않았어요. {second},환불", "빈 줄,"]
    (folder / "a.csv").write_text("\n".join(["body,category", *rows]), encoding="cp949")
    answer = {"text": "세종", "answer_start": 0}
    passage = {"context": "세종대왕이 새 글자를 만들었습니다. 백성이 쉽게 배웠습니다.", "qas": [
        {"id": str(n), "question": f"누가 만든 {n}번째 글자를 배웠을까요?", "answers": [answer]} for n in range(2)
    ]}  # fmt: skip
    (folder / "q.json").write_text(json.dumps({"data": [{"paragraphs": [passage]}]}))
    text = [LATE, REFUND, "백성이 쉽게 배웠습니다.", *map(OTHER.format, "가나다라마바사아자차")]
    (folder / "c.txt").write_text("\n".join(text), encoding="utf-8")
    own = [{"name": "complaints", "train": str(folder / "a.csv"), "text": "body", "label": "category"},
           {"name": "history", "kind": "reading", "train": str(folder / "q.json")}]  # fmt: skip
    tree = {"name": "x", "out": str(folder / "run"), "klue": {"suites": ["own"], "own": own},
            "corpus": {"inputs": [str(folder / "c.txt")], "pii": {"enabled": False}, "workers": 1}}  # fmt: skip
    (folder / "r.yaml").write_text(yaml.safe_dump(tree))
    return load_recipe(folder / "r.yaml")


def test_sentences_are_those_of_labelled_records_once(tmp_path: Path) -> None:
    rows = recipe(tmp_path, REFUND).kept_out
    found = [(one.task, one.text, one.passage) for one in own_sentences(rows)]
    assert found == [
        ("complaints", LATE, False),
        ("complaints", "상담원이 전화를 받지 않았어요.", True),
        ("complaints", REFUND, True),
        ("history", "누가 만든 0번째 글자를 배웠을까요?", False),
        ("history", "세종대왕이 새 글자를 만들었습니다.", True),
        ("history", "백성이 쉽게 배웠습니다.", True),
        ("history", "누가 만든 1번째 글자를 배웠을까요?", False),
    ]


def test_own_texts_leave_the_corpus(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Found by task; with another file the stage is done anew, and with the same one it is not."""
    first = recipe(tmp_path, REFUND)
    assert not any("decontaminated" in line for line in warnings(first))
    run(first, last="corpus")
    folder = tmp_path / "run" / "corpus"
    hits = [json.loads(line) for line in (folder / "hits.jsonl").read_text("utf-8").splitlines()]
    assert {(hit["text"], hit["task"]) for hit in hits} == {
        (LATE, "complaints"), (REFUND, "complaints"), ("백성이 쉽게 배웠습니다.", "history")
    }  # fmt: skip
    statistics = load_statistics(folder)
    assert {task: sum(rules.values()) for task, rules in statistics["decontamination"].items()} == {
        "complaints": 2, "history": 1,
    }  # fmt: skip
    before = folder.resolve()
    capfd.readouterr()
    assert run_command(["run", str(tmp_path / "r.yaml"), "--until", "corpus"]) == 0 and folder.resolve() == before
    second = recipe(tmp_path, "환불을 받았습니다. 감사합니다")
    run(second, last="corpus")
    assert folder.resolve() != before
    assert REFUND not in (folder / "hits.jsonl").read_text("utf-8")
    off = load_recipe(tmp_path / "r.yaml", ["corpus.decontaminate.enabled=false"])
    assert off.kept_out == [] and not off.is_decontaminated


def test_a_file_that_does_not_fit_is_told_before_the_corpus_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe(tmp_path, REFUND)
    (tmp_path / "a.csv").write_text("text,category\n가,나\n", encoding="utf-8")
    assert run_command(["run", str(tmp_path / "r.yaml"), "--until", "corpus"]) == 2
    assert "no column 'body'" in " ".join(capsys.readouterr().err.split())
    assert not list((tmp_path / "run").glob("made/units-*/*.parquet"))


def test_a_choice_is_read_with_its_choices(tmp_path: Path) -> None:
    rows = "q,a,b,answer\n무엇이 더 무거울까요?,쇠로 만든 커다란 종,깃털,1\n무엇이 더 클까요?,산,모래알,2\n"
    (tmp_path / "c.csv").write_text(rows, encoding="utf-8")
    row = OwnTask.model_validate(
        {"name": "heavier", "kind": "choice", "train": str(tmp_path / "c.csv"), "text": "q", "choices": ["a", "b"],
         "label": "answer"}
    )  # fmt: skip
    add_own(row)
    assert "쇠로 만든 커다란 종" in [one.text for one in own_sentences([row])]
