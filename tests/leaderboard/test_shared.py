"""Constant answers on the whole real sets, as worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboard.models import ConstantLM
from leaderboard.suites import TASKS, load_rows, tasks_folder
from leaderboard.tasks import lm_eval_spec

# set → choice, accuracy, F1 in percent
BY_HAND = [
    ("kobest_boolq", 1404, 1, 50.21, 33.43), ("kobest_boolq", 1404, 0, 49.79, 33.24),
    ("kobest_copa", 1000, 0, 51.70, 34.08), ("kobest_hellaswag", 500, 1, 27.40, 10.75),
    ("kobest_sentineg", 397, 1, 50.38, 33.50), ("klue_sts", 519, 0, 57.61, 0.0), ("klue_sts", 519, 1, 42.39, 59.54),
    pytest.param("klue_ynat", 9107, 2, 40.64, 8.26, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize(("name", "n", "choice", "accuracy", "f1"), BY_HAND)
def test_constants(name: str, n: int, choice: int, accuracy: float, f1: float, shared: Path) -> None:
    from lm_eval import tasks as shipped
    from lm_eval.evaluator import evaluate

    folders = [str(Path(str(shipped.__file__)).parent / "kobest"), str(tasks_folder())]
    manager = shipped.TaskManager(include_path=folders, include_defaults=False, metadata={"data": str(shared)})
    loaded = manager.load([lm_eval_spec(TASKS[name])])
    loaded["tasks"][name].set_config("num_fewshot", 0)
    results = evaluate(ConstantLM(choice), loaded, bootstrap_iters=0, log_samples=False)["results"][name]
    assert results["sample_len"] == n
    assert (round(100 * results["acc,none"], 2), round(100 * results["f1,none"], 2)) == (accuracy, f1)


def test_samples_of_the_twins_and_korean_gsm8k_are_read(shared: Path) -> None:
    folder = shared / "instruct/twin_samples"
    for name in ("ko_winogrande", "ko_gsm8k", "ko_eqbench", "ko_ifeval"):
        assert 2 <= len(load_rows(name, folder, {})[0]) <= 5
    assert len(load_rows("ko_gsm8k", shared / "instruct/ko_gsm8k", {})[0]) == 1319
