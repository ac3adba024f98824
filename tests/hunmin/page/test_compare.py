"""Several runs on one page: what differs stands first, and nothing is called better that had more of anything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hunmin.main import run_command
from hunmin.page.facts import read_facts
from hunmin.page.page import render

from .hand_made import HandMade, result


def run(path: Path, score: float, random: float | None = None, seeds: int = 2, **pretrain: Any) -> HandMade:
    """Return a run with a score of YNAT, and of random weights where that is given, the same of each seed."""
    made = HandMade(path, name=path.name)
    recipe = yaml.safe_load((path / "recipe.yaml").read_text("utf-8"))
    recipe["pretrain"].update(pretrain)
    made.write("recipe.yaml", yaml.safe_dump(recipe))
    made.corpus()
    rows = [{**result("ynat", init, seed, value), "model": path.name} for seed in range(1, 1 + seeds)
            for init, value in (("pretrained", score), ("random", random)) if value is not None]  # fmt: skip
    made.write("klue/results.jsonl", rows)
    return made


def compared(*runs: HandMade) -> str:
    out = runs[0].path.parent / "both.html"
    assert run_command(["report", *(str(each.path) for each in runs), "--out", str(out)]) == 0
    return out.read_text("utf-8")


def section(page: str, name: str) -> str:
    return page.split(f'<section id="{name}"')[1].split("</section>")[0]


def rows(part: str) -> list[list[str]]:
    bodies = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
    cells = [re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in bodies]
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in of_row] for of_row in cells]


def test_a_setting_that_is_empty_in_a_run_has_an_empty_cell(tmp_path: Path) -> None:
    page = compared(run(tmp_path / "a", 60.0, trackers=[]), run(tmp_path / "b", 70.0, trackers=["x"]))
    assert rows(section(page, "settings"))[1:] == [["pretrain.trackers", "", "x"]]


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"steps": 200}, "training budget"),
        ({"global_batch": 8}, "training budget"),
        ({"masking": {"rate": 0.3}}, "masking"),
    ],
)
def test_settings_that_differ_stand_first_and_no_run_wins(
    tmp_path: Path, changed: dict[str, Any], difference: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = compared(run(tmp_path / "a", 60.0), run(tmp_path / "b", 70.0, **changed))
    assert page.index('id="settings"') < page.index('id="verdict"')
    [head, *differing] = rows(section(page, "settings"))
    assert head[1:] == ["a", "b"] and len(differing) == 1
    said = f"The runs differ in {difference}: no run is marked"
    assert said in page and said[4:] in capsys.readouterr().err
    assert "<strong>70.00" not in section(page, "scores") and "70.00" in section(page, "scores")


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for places in (["try", "lr"], ["small/1", "small/2", "big/1"]):
        runs = [run(tmp_path / place, 60.0) for place in places]
        for each in runs:
            recipe = yaml.safe_load((each.path / "recipe.yaml").read_text("utf-8"))
            each.write("recipe.yaml", yaml.safe_dump({**recipe, "name": "my"}))
        page = compared(*runs)
        assert rows(section(page, "runs"))[0][1:] == [f"my ({place})" for place in places]
        assert str(tmp_path) not in page


def test_the_command_that_tests_a_difference_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = run(tmp_path / "a", 60.0), run(tmp_path / "b", 70.0, steps=200)
    assert "hunmin klue report RUN_A RUN_B --interval" in compared(first, second)
    said = "".join(capsys.readouterr().err.split())
    assert f"hunminkluereport{first.path}{second.path}--interval" in said
    second.write("klue/results.jsonl", "")
    second.leave_out("klue/results.jsonl")
    assert "--interval" not in compared(first, second)  # no scores to compare


def test_shares_in_percent_have_their_sign(tmp_path: Path) -> None:
    """A wait of 0.459% is not one of 46%."""
    logged = [{"step": step, "tokens": step, "loss": 9.0, "data_wait_share": share, "validation_accuracy": right}
              for step, share, right in ((50, 0.00459, 0.25), (400, 0.00954, 0.5))]  # fmt: skip
    first = run(tmp_path / "a", 60.0)
    first.train(logged)
    page = render(read_facts(first.path, 2e9), language="ko")
    assert "대기: 0.459% (50) → 0.954% (400)" in page and "<td>0.954%</td>" in page
    assert "검증: 25.00% (50) → 50.00% (400)" in page and "9.0000 (50)" in page
    both = compared(first, run(tmp_path / "b", 70.0))
    assert "a: 25.00% (50) → 50.00% (400)" in both and "<td>50.00%</td>" in both


def test_another_corpus_is_other_data(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a", 60.0), run(tmp_path / "b", 70.0)
    second.finish("corpus", {"documents": 1, "sentences": 1, "bytes": 1}, 1.0)
    assert "The runs differ in data:" in compared(first, second)


def test_runs_alike_but_for_a_seed_may_be_ranked(tmp_path: Path) -> None:
    page = compared(run(tmp_path / "a", 60.0), run(tmp_path / "b", 70.0, seed=7))
    assert [row[1:] for row in rows(section(page, "settings"))[1:]] == [["–", "7"]]
    assert "<strong>70.00" in section(page, "scores") and "no run is marked" not in page


def test_rows_that_were_not_measured_alike_are_not_ranked(tmp_path: Path) -> None:
    """Of one recipe, and of another file of the task: the data were changed between the runs."""
    first, second = run(tmp_path / "a", 60.0), run(tmp_path / "b", 70.0)
    second.write("klue/results.jsonl", [{**result("ynat", "pretrained", seed, 70.0), "model": "b", "data_hash": "other"}
                                         for seed in (1, 2)])  # fmt: skip
    scores = section(compared(first, second), "scores")
    assert "70.00" in scores and "<strong>70.00" not in scores and "rows differ in data." in scores


def test_a_gain_is_not_set_beside_a_score(tmp_path: Path) -> None:
    """Run a has random weights to compare with and gains 15 points, b has none and scores 70."""
    page = compared(run(tmp_path / "a", 60.0, random=45.0), run(tmp_path / "b", 70.0))
    assert "+15.00" not in section(page, "verdict") and "60.00" in section(page, "verdict")
    scores, gains = section(page, "scores").split("Gain over random weights", 1)
    assert "+15.00" not in scores and "+15.00" in gains and "70.00" not in gains


def test_both_gains_are_shown_as_gains(tmp_path: Path) -> None:
    page = compared(run(tmp_path / "a", 60.0, random=45.0), run(tmp_path / "b", 70.0, random=50.0))
    assert re.findall(r"\+\d\d\.\d\d points", section(page, "verdict")) == ["+15.00 points", "+20.00 points"]


def test_a_difference_of_one_seed_is_called_that(tmp_path: Path) -> None:
    page = compared(run(tmp_path / "a", 60.0, random=45.0, seeds=1), run(tmp_path / "b", 70.0, random=50.0, seeds=1))
    assert section(page, "verdict").count("difference from random weights") == 2
    assert "Difference from random weights (one seed: may be noise)" in section(page, "scores")
    assert "gain" not in section(page, "verdict") + section(page, "scores")


def test_paths_and_ways_of_working_are_no_settings(tmp_path: Path) -> None:
    first = run(tmp_path / "a", 60.0, init_from="/secret/x/m")
    second = run(tmp_path / "b", 70.0, init_from="/secret/y/m2")
    page = compared(first, second)
    assert "/secret" not in page and "m2" in section(page, "settings")
