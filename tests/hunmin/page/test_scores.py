"""Which of a task's scores the page's means and verdict are of."""

from __future__ import annotations

import pytest
from hand_made import result

from hunmin.page.facts import Klue
from hunmin.page.scores import means


def test_means_are_of_the_test_set_where_it_was_scored() -> None:
    rows = [result("nsmc", "pretrained", seed, 80.0) for seed in (42, 43)]
    for row, score in zip(rows, (60.0, 62.0), strict=True):
        row["test"] = dict.fromkeys(row["best"], score)
    of_dev = result("ynat", "random", 42, 30.0)
    assert means(Klue([*rows, of_dev], None, None, {}, [])) == {
        "nsmc": {"pretrained": pytest.approx(61.0)}, "ynat": {"random": pytest.approx(30.0)}
    }  # fmt: skip
