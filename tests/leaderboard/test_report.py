"""Results of three kinds are read; reports flag constants, leave limited scores out of means, say what is partial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import HunminError, UserError
from common.results import encoded
from common.secrets import masked
from leaderboard.report import means, read_results, report
from leaderboard.suites import SUITES, TASKS

NINE = SUITES["leaderboard2"]


def ours(folder: Path, task: str, scores: list[float], name: str = "m", **facts: Any) -> None:
    """Write a result as the runner does."""
    keys = [TASKS[task].metric, *TASKS[task].beside]
    values = dict(zip(keys, scores, strict=False))
    tree = {
        "model_name": name,
        "results": {task: values},
        "hunmin": {
            "metric": keys[0], "n": 10, "limit": None, "intervals": {key: [0.1, 0.9] for key in values},
            "constants": [], "best": 0.5, "cut": 2, "prompts": "plain text", "inferred": {"listed": ["x"]},
            "generation": None,
            "shots": 5, "data": {f"{task}.jsonl": "ab" * 32}, "versions": {"lm-eval": "0.4.13"},
            "model": "ff" * 8, **facts,
        },
    }  # fmt: skip
    path = folder / name / f"{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(tree))


def cells(text: str, start: str) -> list[str]:
    return (
        next(line for line in text.splitlines() if line.startswith(f"| {start} |"))
        .strip("| ")
        .replace("\\", "")
        .split(" | ")
    )


def test_kit19_beside_the_published_rows(tmp_path: Path) -> None:
    yes_no = [
        {"answer": "예", "acc,none": 0.5021, "f1,none": 0.3343},
        {"answer": "아니오", "acc,none": 0.4979, "f1,none": 0.3324},
    ]
    ours(tmp_path, "kobest_boolq", [0.5021, 0.3343], constants=yes_no)
    ours(tmp_path, "klue_sts", [0.42, 0.56], constants=[{"answer": "예", "acc,none": 0.5761, "f1,none": 0.0}])
    ours(tmp_path, "kobest_copa", [0.8, 0.7912], limit=20)
    text = report([tmp_path])
    assert cells(text, "m") == ["m", "80.00 / 79.12*", "50.21 / 33.43†", "–", "42.00 / 56.00‡", "–", "–"]
    assert cells(text, "published: KIT-1.3B")[3:6] == ["81.60 / 89.80 / 81.49", "42.20 / 56.52‡", "80.86 / 80.86"]
    assert cells(text, "published: KULLM 5.8B v2")[4:6] == ["42.39 / 59.54†", "50.38 / 33.50†"]
    assert cells(text, "published: Polyglot-Ko 1.3B")[4] == "42.39 / 59.54†"
    assert cells(text, "published: best constant answer")[4] == "57.61 / 0.00"
    assert "not to be compared" in text


def test_the_constant_row_is_of_the_rows_scored(tmp_path: Path) -> None:
    """54.50 in the user's file, where the whole set has 50.21; another model was scored on other rows."""
    yes = {"answer": "예", "acc,none": 0.545, "f1,none": 0.3528}
    no = {"answer": "아니오", "acc,none": 0.455, "f1,none": 0.3127}
    ours(tmp_path, "kobest_boolq", [0.6, 0.5], constants=[no, yes])
    text = report([tmp_path])
    assert cells(text, "best constant answer")[2] == "54.50 / 35.28"
    assert cells(text, "published: best constant answer")[2] == "50.21 / 33.43"
    ours(tmp_path, "kobest_boolq", [0.6, 0.5], "other", constants=[no])
    text = report([tmp_path])
    assert [cells(text, f"best constant answer: {model}")[2] for model in ("m", "other")] == [
        "54.50 / 35.28",
        "45.50 / 31.27",
    ]


def test_rows_that_were_not_measured_alike_are_told(tmp_path: Path) -> None:
    """Five shots, a part of the rows, prompts that lost their beginning: a higher score is no better model."""
    for task in ("ko_gsm8k", "ko_winogrande", "kornat_common", "kornat_helpful", "ko_eqbench"):
        ours(tmp_path, task, [0.5], "a")
    ours(tmp_path, "ko_gsm8k", [0.6], "b", shots=0, limit=20)
    ours(tmp_path, "ko_winogrande", [0.6], "b", cut=0)
    ours(tmp_path, "kornat_common", [0.6], "b", data={"kornat_common.jsonl": "cd" * 32})
    ours(tmp_path, "kornat_helpful", [0.6], "b", data={"kornat_helpful.jsonl": "cd" * 32})
    ours(tmp_path, "ko_eqbench", [60.0], "b")
    notes = [line for line in report([tmp_path]).splitlines() if line.startswith("No score")]
    assert [line.replace("\\", "") for line in notes] == [
        "No score is marked as the best of Ko-WinoGrande: rows differ in truncated.",
        "No score is marked as the best of Ko-GSM8K: rows differ in limit, shots.",
        "No score is marked as the best of KorNAT common, KorNAT helpful: rows differ in data.",
    ]
    row = ["b", "–", "60.00", "60.00*", "**60.00**", "–", "60.00", "–", "–", "60.00"]
    assert cells(report([tmp_path]), "b")[: len(row)] == row
    assert "\\textbf{60.00}" in report([tmp_path], "latex")
    alone = report([tmp_path / "a"])
    assert "No score" not in alone and "**" not in alone


def test_published_scores_are_dated(tmp_path: Path) -> None:
    ours(tmp_path, "kobest_boolq", [0.6, 0.5])
    assert "March 2024" in report([tmp_path])


def test_another_metric_is_named(tmp_path: Path) -> None:
    """The board's files have acc_norm where these tasks are scored by acc_bytes."""
    (tmp_path / "result_1.json").write_text(
        json.dumps({"config_general": {"model_name": "x"}, "results": {"kornat_common": {"acc_norm,none": 0.3}}})
    )
    ours(tmp_path, "kornat_common", [0.25])
    text = report([tmp_path])
    column = 1 + NINE.index("kornat_common")
    assert (cells(text, "m")[column], cells(text, "x")[column]) == ("25.00", "30.00 (acc_norm)")


def nine_of(folder: Path, model: str, left_out: int = 0, **facts: Any) -> None:
    for number, task in enumerate(NINE[left_out:]):
        ours(folder, task, [50.0 if task == "ko_eqbench" else 0.1 * number], model, **facts)


def test_means_need_all_tasks_on_all_rows(tmp_path: Path) -> None:
    nine_of(tmp_path, "whole")
    nine_of(tmp_path, "partial", left_out=1)
    nine_of(tmp_path, "limited", limit=5)
    text = report([tmp_path])
    # tasks in order score 0, 10, 20, EQ-Bench 50, 40, 50 … 80
    assert cells(text, "whole")[-3:] == [
        f"{(0 + 10 + 50 + 60 + 70 + 80) / 6:.2f}",
        f"{(20 + 50 + 40) / 3:.2f}",
        f"{380 / 9:.2f}",
    ]
    assert cells(text, "partial")[-3:] == ["partial (5 of 6)", f"{(10 + 50 + 30) / 3:.2f}", "partial (8 of 9)"]
    assert cells(text, "limited")[-3:] == ["partial (0 of 6)", "partial (0 of 3)", "partial (0 of 9)"]
    assert "cannot be reproduced" in text
    assert means({}) == {"likelihood": "partial (0 of 6)", "generation": "partial (0 of 3)", "all": "partial (0 of 9)"}


def test_each_score_stands_with_its_facts(tmp_path: Path) -> None:
    ours(tmp_path, "kornat_common", [0.25])
    line = report([tmp_path]).splitlines()[-1]
    expected = (
        "25.00",
        "10.00 to 90.00",
        "| 10 |",
        "50.00",
        "shots 5",
        "plain text",
        "| 2 |",
        "listed",
        "abab",
        "0.4.13",
    )
    assert [part for part in expected if part not in line] == []
    assert masked(line) == line  # as the command prints it


def test_forms(tmp_path: Path) -> None:
    nine_of(tmp_path, "a_b")
    tree = json.loads(report([tmp_path], "json"))
    assert tree["means"]["a_b"]["generation"] == pytest.approx(110 / 3) and len(tree["scores"]) == 9
    assert tree["published"]["rows"]["KIT-5.8B"]["klue_ynat"] == [28.15]
    latex = report([tmp_path], "latex")
    assert latex.count("\\begin{tabular}") == 2 and "a\\_b" in latex


def test_other_layouts(tmp_path: Path) -> None:
    board = {
        "config_general": {"model_name": "owner/board"},
        "results": {
            "ko_eqbench": {"eqbench,none": -3.5, "eqbench_stderr,none": 1.0, "alias": "eq"},
            "ko_ifeval": {"prompt_level_strict_acc,none": 0.2, "inst_level_strict_acc,none": 0.4},
            "kmmlu": {"acc,none": 0.31, "acc_stderr,none": "N/A"},
            "odd": {"ppl,none": 3.0},
        },
    }
    own = {"model_name": "owner/own", "config": {"model": "hf"}, "results": {"ko_winogrande": {"acc,none": 0.5}}}
    limited = {**own, "model_name": "owner/limited", "config": {"limit": 5}}
    (tmp_path / "owner/board").mkdir(parents=True)
    (tmp_path / "owner/board/result_2024.json").write_text(json.dumps(board))
    (tmp_path / "results_x.json").write_text(json.dumps(own))
    (tmp_path / "hub.json").write_text("{}")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "results_y.json").write_text(json.dumps(limited))
    (tmp_path / "table.csv").write_text("model,task,score\nowner/csv,ko_gsm8k,12.5\n")
    scores = read_results([tmp_path, tmp_path / "table.csv"])
    assert {(score.model, score.task): round(score.value, 6) for score in scores} == {
        ("owner/board", "ko_eqbench"): -3.5, ("owner/board", "ko_ifeval"): 30.0, ("owner/board", "kmmlu"): 31.0,
        ("owner/own", "ko_winogrande"): 50.0, ("owner/limited", "ko_winogrande"): 50.0, ("owner/csv", "ko_gsm8k"): 12.5,
    }  # fmt: skip
    text = report([tmp_path, tmp_path / "table.csv"])
    assert cells(text, "owner/csv")[3] == "12.50" and cells(text, "owner/limited")[2] == "50.00*"
    assert cells(text, "owner/own")[-1] == "partial (1 of 9)" and cells(text, "owner/limited")[-1] == "partial (0 of 9)"


def test_two_models_of_one_name_are_told_apart(tmp_path: Path) -> None:
    ours(tmp_path / "a", "kornat_common", [0.1], "model", model="a" * 16)
    ours(tmp_path / "b", "kornat_common", [0.2], "model", model="b" * 16)
    assert {score.model for score in read_results([tmp_path])} == {"model (aaaaaa)", "model (bbbbbb)"}


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no scores"):
        report([tmp_path])
    (tmp_path / "cut.json").write_text('{"results": ')
    (tmp_path / "wrong.csv").write_text("model,score\nm,1\n")
    (tmp_path / "words.csv").write_text("model,task,score\nm,t,good\n")
    ours(tmp_path, "kornat_common", [0.25])
    partial = json.loads((tmp_path / "m" / "kornat_common.json").read_bytes())
    del partial["hunmin"]["intervals"], partial["digest"]
    (tmp_path / "partial.json").write_bytes(encoded(partial))
    (tmp_path / "low.csv").write_text("model,task,score\nm,ko_gsm8k,-3\n")
    for name in ("cut.json", "wrong.csv", "words.csv", "none.json", "partial.json", "low.csv"):
        fault = "missing" if name == "none.json" else "damaged"
        with pytest.raises(HunminError, match=rf"({name} is {fault}|cannot read \S+{name})"):
            read_results([tmp_path / name])


def test_an_edited_score_is_told(tmp_path: Path) -> None:
    ours(tmp_path, "kornat_common", [0.25])
    path = tmp_path / "m" / "kornat_common.json"
    for old, new in (("0.25", "0.85"), ('"shots": 5', '"shots": 0'), ('"digest"', '"checked"')):
        content = path.read_text()
        path.write_text(content.replace(old, new))
        for place in (path, tmp_path):
            with pytest.raises(HunminError, match=r"kornat_common\.json is damaged"):
                read_results([place])
        path.write_text(content)
    assert len(read_results([tmp_path])) == 1
