import pytest

from klue.results import sort_rows, spread, summarize


def row(task="ynat", init="pretrained", seed=42, best=80.0, last=70.0, metric="macro_f1", note=""):
    scores = {which: {metric: value, "step": 3} for which, value in (("best", best), ("last", last))}
    return {"task": task, "init": init, "seed": seed, **scores, "data_note": note, "examples": {"train": 3, "dev": 2}}


def test_order():
    rows = [row(seed=9), row(init="random"), row("klue-nli", metric="accuracy"), row(seed=10)]
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
