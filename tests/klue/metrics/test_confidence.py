import math
import random

import numpy as np
import pytest

from klue.metrics.confidence import central_interval, drawn_scores, repeated
from klue.metrics.sentence import accuracy, pearsonr
from klue.tasks import TASKS
from klue.tasks.klue.dp import LABELS as RELATIONS


def interval(metric, gold, found, draws=1000):
    drawn = drawn_scores(repeated(lambda *sides: {"it": metric(*sides)}), gold, [[found]], draws)["it"]
    return central_interval(drawn[:, 0])


def test_accuracy_has_the_width_of_a_binomial():
    gold, found = ["a"] * 400, ["a"] * 300 + ["b"] * 100
    low, high = interval(accuracy, gold, found)
    # 75 ± 1.96 · 100 · sqrt(.75 · .25 / 400) = 75 ± 4.24
    assert low == pytest.approx(75 - 4.24, abs=0.5)
    assert high == pytest.approx(75 + 4.24, abs=0.5)


def test_undefined_draws_are_left_out():
    # three pairs: about a ninth of the draws takes one of them three times and has no correlation
    low, high = interval(pearsonr, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], draws=200)
    assert (low, high) == pytest.approx((100.0, 100.0))
    assert all(math.isnan(end) for end in interval(pearsonr, [1.0, 1.0], [1.0, 2.0], draws=20))


def test_a_perfect_score_has_no_width():
    assert interval(accuracy, ["a", "b"] * 20, ["a", "b"] * 20, draws=50) == (100.0, 100.0)


def test_gold_and_prediction_stay_together():
    gold = list(range(40))
    found = np.array(gold) * 2.0  # an array will do
    assert interval(pearsonr, gold, found, draws=30) == pytest.approx((100.0, 100.0))


def some_answers(task, draw, count):
    """Return gold and predictions of a task, drawn at random, some of them equal."""
    if task.head == "tokens" and task.name == "klue-ner":
        sizes = [draw.randint(1, 12) for _ in range(count)]
        gold, found = ([draw.choices(task.labels, k=n) for n in sizes] for _ in range(2))
        return gold, [g if draw.random() < 0.3 else p for g, p in zip(gold, found, strict=True)]
    if task.name == "klue-dp":
        sizes = [draw.randint(1, 9) for _ in range(count)]
        sides = [[{"heads": [draw.randint(0, 3) for _ in range(n)], "labels": draw.choices(RELATIONS[:18], k=n)}
                  for n in sizes] for _ in range(2)]  # fmt: skip
        return sides
    if task.name == "wos":
        return [[draw.choices("abcd", k=draw.randint(0, 3)) for _ in range(count)] for _ in range(2)]
    if task.head == "span":
        texts = ["서울", "서울 시", "부산", "", "부산 항"]
        return [[draw.choice(texts[:3])] for _ in range(count)], draw.choices(texts, k=count)
    if task.name == "klue-re":
        gold = draw.choices(task.labels[:5], k=count)
        shares = [[draw.choice([0.0, 0.25, 0.5, draw.random()]) for _ in task.labels] for _ in range(count)]
        return gold, [{"label": draw.choice(task.labels[:5]), "probabilities": one} for one in shares]
    if not task.labels:
        return [[draw.choice([0.0, 1.5, 3.0, 4.8]) for _ in range(count)] for _ in range(2)]
    return [draw.choices(task.labels, k=count) for _ in range(2)]


@pytest.mark.parametrize("name", TASKS)
def test_sums_give_what_the_sample_gives(name):
    """Each draw's scores, against those of its examples written out and scored like any others."""
    task, draw = TASKS[name], random.Random(name)
    for count in (2, 30):
        gold, found = some_answers(task, draw, count)
        by_sums, written_out = (drawn_scores(one, gold, [[found]], 40) for one in (task.weighted, repeated(task.score)))
        assert by_sums.keys() == written_out.keys() == task.score(gold, found).keys()
        for metric, drawn in by_sums.items():
            np.testing.assert_allclose(drawn, written_out[metric], rtol=1e-12, atol=1e-10, err_msg=metric)


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.labels or task.head == "span"])
def test_examples_are_compared_once(name, monkeypatch):
    """A draw adds up; it scores nothing anew (of correlations alone each sample is built)."""
    task = TASKS[name]
    gold, found = some_answers(task, random.Random(1), 20)
    monkeypatch.setattr(type(task), "score", lambda *_: pytest.fail("a sample was built"))
    assert len(drawn_scores(task.weighted, gold, [[found]], 3)) > 0
