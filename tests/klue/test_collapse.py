"""A fine-tuning that predicts one label for everything is told wherever its score stands."""

import io
import json

import pytest
from rich.console import Console

from hunmin.page.words import Words
from klue.collapse import collapse_sentences, one_answer
from klue.job import run_job
from klue.model_folder import read_model_folder
from klue.runner import run_jobs
from klue.settings import KlueSettings
from klue.table_forms import markdown, results_table
from tests.klue.test_finetune import make_jobs


@pytest.mark.parametrize(
    ("predictions", "gold", "answer"),
    [
        (["a", "a"], ["a", "b"], ("a", 1.0)),
        (["a", "b"], ["a", "b"], None),
        (["a", "a"], ["a", "a"], None),  # the right answer
        ([2.50001, 2.50002], [1.0, 5.0], ("2.5", 1.0)),
        ([2.5, 2.6], [1.0, 5.0], None),
        ([["O", "O"], ["O"]], [["O", "B-PS"], ["O"]], ("O", 1.0)),
        ([["O", "B-PS"], ["O"]], [["O", "B-PS"], ["O"]], None),
        (["", ""], ["가", "나"], ("", 1.0)),
        ([[], []], [["가-나"], []], ("", 1.0)),  # states without a slot
        ([], [], None),
        # one label for nearly all, though the right ones are spread: 497 of 500 are 99.4%
        ([*"a" * 497, *"bcd"], [*"abcdefg" * 71, "a", "b", "c"], ("a", 0.994)),
        ([*"a" * 95, *"b" * 5], [*"a" * 79, *"b" * 21], ("a", 0.95)),
        ([*"a" * 94, *"b" * 6], [*"a" * 50, *"b" * 50], None),
        ([*"a" * 95, *"b" * 5], [*"a" * 80, *"b" * 20], None),  # a skewed set
        ([*"b" * 95, *"a" * 5], [*"a" * 90, *"b" * 10], ("b", 0.95)),  # the rare label
        ([["O"] * 39, ["B-PS"]], [["O"] * 30, ["B-PS"] * 10], ("O", 0.975)),
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
    ours, baselines = collapse_sentences(entries)
    assert ours.startswith("YNAT, pretrained: 1 of 2 fine-tunings predict one label") and "raise epochs" in ours
    assert baselines == (
        "Fine-tunings from random weights that predict one label for every or nearly every example: "
        "KLUE-NLI 2/2, YNAT 1/2."
    )
    other = {**entries[1], "model": "b", "n": 1}
    assert [text.partition(" one label")[0] for text in collapse_sentences([*entries, other])[:2]] == [
        "YNAT, a, pretrained: 1 of 2 fine-tunings predict", "YNAT, b, pretrained: the fine-tuning predicts",
    ]  # fmt: skip
    assert collapse_sentences([*entries, other])[2].endswith(": KLUE-NLI, a 2/2; YNAT, a 1/2.")
    assert collapse_sentences(entries[1:2]) == [ours] and collapse_sentences([{**entries[0], "collapsed": 0}]) == []


def test_the_share_is_told_and_never_rounded_up_to_all():
    rows = [
        {"task": "ynat", "model": "a", "init": "pretrained", "n": 3, "collapsed": count, "collapsed_share": share}
        for count, share in ((1, 0.99999), (2, 0.994), (3, 1.0))
    ]
    assert [text.partition(": ")[2].partition(", so")[0] for row in rows for text in collapse_sentences([row])] == [
        "1 of 3 fine-tunings predict one label for 99.9% of the examples",
        "2 of 3 fine-tunings predict one label for at least 99.4% of the examples",
        "3 of 3 fine-tunings predict one label for every example",
    ]
    (korean,) = (Words("ko")(text) for text in collapse_sentences(rows[1:2]))
    assert "미세조정 3번 가운데 2번은 적어도 예제의 99.4%에 같은 레이블을 예측합니다." in korean


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
    settings = KlueSettings(data=str(benchmark), device="cpu", workers=0)
    assert (
        run_jobs([job], settings, read_model_folder(tiny_roberta)) == {}
    )  # as of a process, whose log has the warning
    assert ("predicts one label" in capsys.readouterr().err) is collapsed
