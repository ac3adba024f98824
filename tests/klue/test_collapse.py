"""A fine-tuning that predicts one label for everything is told wherever its score stands."""

import io
import json

import pytest
from rich.console import Console

from klue.collapse import one_answer, told
from klue.job import run_job
from klue.report import markdown, results_table
from klue.runner import _say_score
from tests.klue.test_finetune import make_jobs


@pytest.mark.parametrize(
    ("predictions", "gold", "answer"),
    [
        (["a", "a"], ["a", "b"], "a"),
        (["a", "b"], ["a", "b"], None),
        (["a", "a"], ["a", "a"], None),  # the right answer
        ([2.50001, 2.50002], [1.0, 5.0], "2.5"),
        ([2.5, 2.6], [1.0, 5.0], None),
        ([["O", "O"], ["O"]], [["O", "B-PS"], ["O"]], "O"),
        ([["O", "B-PS"], ["O"]], [["O", "B-PS"], ["O"]], None),
        (["", ""], ["가", "나"], ""),
        ([], [], None),
    ],
)
def test_one_answer(predictions, gold, answer):
    assert one_answer(predictions, gold) == answer


def test_baselines_that_predict_one_label_are_told_in_one_line():
    """Nothing is to be fixed there: of models from random weights it is to be expected on little data."""
    entries = [
        {"task": task, "model": "a", "init": init, "n": 2, "collapsed": collapsed}
        for task, init, collapsed in [("klue-nli", "random", 2), ("ynat", "pretrained", 1), ("ynat", "random", 1)]
    ]
    ours, baselines = told(entries)
    assert ours.startswith("YNAT, pretrained: 1 of 2 fine-tunings predict one label") and "raise epochs" in ours
    assert baselines == (
        "Fine-tunings from random weights that predict one label for every example: KLUE-NLI 2/2, YNAT 1/2."
    )
    other = {**entries[1], "model": "b", "n": 1}
    assert [text.partition(" one label")[0] for text in told([*entries, other])[:2]] == [
        "YNAT, a, pretrained: 1 of 2 fine-tunings predict", "YNAT, b, pretrained: the fine-tuning predicts",
    ]  # fmt: skip
    assert told([*entries, other])[2].endswith(": KLUE-NLI, a 2/2; YNAT, a 1/2.")
    assert told(entries[1:2]) == [ours] and told([{**entries[0], "collapsed": 0}]) == []


@pytest.mark.parametrize(("rate", "collapsed"), [(1e-9, True), (5e-3, False)])
def test_a_job_without_learning_says_so(benchmark, tiny_roberta, tmp_path, rate, collapsed, capsys):
    """At a rate of 1e-9 nothing is learned from the first weights, which have one answer to all of few examples."""
    training = {"max_seq_len": 64, "epochs": 1 if collapsed else 12, "learning_rate": rate, "global_batch": 16}
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"], training=training)
    row = run_job(job)
    [path] = tmp_path.rglob("predictions.jsonl")
    predicted = {json.loads(line)["prediction"] for line in path.read_text("utf-8").splitlines()}
    assert row.get("one_answer") == (predicted.pop() if collapsed else None) and bool(predicted) is not collapsed
    terminal = io.StringIO()
    Console(file=terminal, width=200).print(results_table([row], brief=True))
    for text in (markdown([row]), " ".join(terminal.getvalue().split())):
        assert ("the fine-tuning predicts one label for every example" in text) is collapsed
    assert ("predicts one label" in capsys.readouterr().err) is collapsed
    _say_score(job, row)  # of a process of its own, whose warning stands in its log
    assert ("predicts one label" in capsys.readouterr().err) is collapsed
