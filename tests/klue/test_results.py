import pytest

from klue.results import sort_rows, spread, summarize
from tests.klue.test_table_forms import VALUES, result


def row(task="ynat", init="pretrained", seed=42, best=80.0, last=70.0, **values):
    return result(task, init, seed, best, last=last, **values)


def test_order():
    rows = [row(seed=9), row(init="random"), row("klue-nli"), row(seed=10)]
    assert [(r["task"], r["init"], r["seed"]) for r in sort_rows(rows)] == [
        ("ynat", "pretrained", 9),
        ("ynat", "pretrained", 10),
        ("ynat", "random", 42),
        ("klue-nli", "pretrained", 42),
    ]


def test_spread_by_hand():
    assert spread([1.0, 2.0, 6.0]) == {"mean": 3.0, "sd": pytest.approx(7**0.5), "n": 3}
    assert spread([5.0]) == {"mean": 5.0, "sd": None, "n": 1}
    assert spread([5.0, None]) == {"mean": None, "sd": None, "n": 2}


def test_summary():
    found = summarize([row(best=80.0), row(seed=43, best=82.0, last=60.0), row(init="random", best=10.0)])
    assert [(entry["task"], entry["init"], entry["n"]) for entry in found] == [
        ("ynat", "pretrained", 2),
        ("ynat", "random", 1),
    ]
    assert found[0]["best"]["macro_f1"] == {"mean": 81.0, "sd": pytest.approx(2**0.5), "n": 2}
    assert found[0]["last"]["macro_f1"]["mean"] == 65.0
    assert found[0]["tried"] == 1 and found[0]["settings"] == VALUES


def test_the_best_mean_of_the_settings_tried_is_reported():
    low, high = {"learning_rate": 1e-5}, {"learning_rate": 5e-5}
    rows = [row(best=90.0, **low), row(seed=43, best=70.0, last=1.0, **low)]
    rows += [row(best=81.0, last=2.0, **high), row(seed=43, best=81.0, last=2.0, **high)]
    rows += [row(init="random", best=best, epochs=epochs) for best, epochs in ((5.0, 3), (5.0, 4), (None, 5))]
    pretrained, random = summarize(rows[::-1])
    assert (pretrained["settings"]["learning_rate"], pretrained["tried"], pretrained["n"]) == (5e-5, 2, 2)
    assert pretrained["best"]["macro_f1"] == {"mean": 81.0, "sd": 0.0, "n": 2}
    assert pretrained["last"]["macro_f1"]["mean"] == 2.0
    assert (random["settings"]["epochs"], random["tried"]) == (3, 3)  # the first of equals


def test_settings_are_chosen_by_the_metric_that_evaluations_were_chosen_by():
    def sts(pearsonr, f1, rate, **values):
        scores = {"pearsonr": pearsonr, "f1": f1}
        return row("klue-sts", learning_rate=rate, **values) | {"best": scores, "last": scores}

    def chosen_rate(rows):
        [entry] = summarize(rows)
        return entry["settings"]["learning_rate"]

    assert chosen_rate([sts(9.0, 1.0, 1e-5), sts(5.0, 8.0, 5e-5)]) == 1e-5  # the task's own
    by_f1 = {"metric_for_best_model": "f1"}
    assert chosen_rate([sts(9.0, 1.0, 1e-5, **by_f1), sts(5.0, 8.0, 5e-5, **by_f1)]) == 5e-5
    assert chosen_rate([sts(9.0, 1.0, 1e-5), sts(5.0, 80.0, 5e-5, **by_f1)]) == 1e-5  # one metric for all
