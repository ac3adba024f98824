"""EQ-Bench and A-SVA, worked out by hand; F1 beside scikit-learn's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from common.errors import UserError
from leaderboard.suites import load_rows
from leaderboard.tasks.functions import (
    by_instruction,
    by_prompt_and_instruction,
    eqbench,
    eqbench_score,
    f1_of_yes,
    macro_f1,
    social,
)
from tests.leaderboard.invented import nine_rows, write

NAMES = ["기쁨", "분노", "매우 슬픔", "놀람"]


def answer(*scores: int) -> str:
    return ", ".join(f"{name}: {score}" for name, score in zip(NAMES, scores, strict=True))


def test_eqbench_by_hand() -> None:
    reference = [3, 0, 5, 2]
    assert eqbench_score(answer(3, 0, 5, 2), NAMES, reference) == 100
    distance = 6.5 / (1 + math.exp(3.6))  # a distance of 1: 0.1728
    assert eqbench_score(answer(4, 0, 5, 2), NAMES, reference) == pytest.approx(10 * (10 - 0.7477 * distance))
    assert eqbench_score(answer(4, 0, 5, 2), NAMES, reference) == pytest.approx(98.7076, abs=1e-3)
    four = 3.25  # a distance of 4 is the middle of the curve
    assert eqbench_score(answer(7, 0, 5, 2), NAMES, reference) == pytest.approx(10 * (10 - 0.7477 * four))
    five = 6.5 / (1 + math.exp(-1.2))
    assert eqbench_score(answer(3, 5, 5, 2), NAMES, reference) == pytest.approx(10 * (10 - 0.7477 * five))
    worst = eqbench_score(answer(10, 10, 0, 10), NAMES, reference)  # 7 and 10 and 8 count as they are
    assert worst == pytest.approx(10 * (10 - 0.7477 * (7 + 10 + five + 8))) and worst < 0


def test_eqbench_needs_the_four_names() -> None:
    for text in (
        "",
        "기쁨: 3",
        answer(3, 0, 5, 2).replace("분노", "화"),
        answer(3, 0, 5, 2) + ", 화: 1",
        "기쁨 3 분노 0",
    ):
        assert eqbench_score(text, NAMES, [3, 0, 5, 2]) is None
    assert eqbench_score("점수입니다.\n" + answer(3, 0, 5, 2).replace(", ", "\n"), NAMES, [3, 0, 5, 2]) == 100


WORDS = ["기쁨", "분노", "슬픔", "놀람"]


@given(st.lists(st.tuples(st.sampled_from([*WORDS, "화"]), st.sampled_from([": ", ":", " : ", ":\n", "： "]),
                          st.integers(0, 10), st.sampled_from([" ", ", ", "\n", "점 "])), max_size=6))  # fmt: skip
def test_eqbench_is_lm_evals(parts: list[Any]) -> None:
    """On any answer to a row whose names have no blanks."""
    from lm_eval.tasks.eq_bench.utils import calculate_score_fullscale

    text = "".join(f"{name}{colon}{number}{end}" for name, colon, number, end in parts)
    scores = [3, 0, 5, 2]
    reference = {f"emotion{n}": name for n, name in enumerate(WORDS, 1)}
    reference |= {f"emotion{n}_score": score for n, score in enumerate(scores, 1)}
    theirs = calculate_score_fullscale({"reference_answer_fullscale": str(reference)}, [text])
    assert eqbench({"names": WORDS, "scores": scores}, [text]) == pytest.approx(theirs)


def test_eqbench_takes_no_score_without_a_blank() -> None:
    assert eqbench_score("기쁨:9 " + answer(3, 0, 5, 2).partition(", ")[2], NAMES, [3, 0, 5, 2]) is None


def test_a_sva_by_hand(tmp_path: Path) -> None:
    write(tmp_path / "kornat_social.jsonl", nine_rows()["kornat_social"])
    docs = load_rows("kornat_social", tmp_path, {})[0]
    assert docs[0]["merged"] == pytest.approx([0.3, 0.3, 0.3, 0.4, 0.4])
    results = [(-3.0, False), (-1.0, False), (-2.0, False), (-4.0, False), (-5.0, False)]  # the second is likeliest
    assert social(docs[0], results) == pytest.approx({"a_sva": 0.3, "sva": 0.2})
    assert social(docs[1], results) == pytest.approx({"a_sva": 0.5, "sva": 0.1})
    apart = load_rows("kornat_social", tmp_path, {"groups": [[0], [1], [2], [3], [4]]})[0]
    assert social(apart[0], results) == pytest.approx({"a_sva": 0.2, "sva": 0.2})
    with pytest.raises(UserError, match="once"):
        load_rows("kornat_social", tmp_path, {"groups": [[0, 1], [2, 3]]})


def test_means_of_ifeval() -> None:
    items = [[True, True], [True, False, False]]
    assert by_instruction(items) == pytest.approx(3 / 5)
    assert by_prompt_and_instruction(items) == pytest.approx((1 / 2 + 3 / 5) / 2)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60))
def test_f1_is_scikit_learns(items: list[tuple[int, int]]) -> None:
    gold, predicted = zip(*items, strict=True)
    assert macro_f1(items) == pytest.approx(f1_score(gold, predicted, average="macro", zero_division=0), abs=1e-12)
    yes = f1_score(gold, predicted, labels=[1], average="macro", zero_division=0)
    assert f1_of_yes(items) == pytest.approx(yes, abs=1e-12)
