"""Several runs on one page: what differs stands first, and nothing is called better that had more of anything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hunmin.main import run_command

from .hand_made import HandMade, result


def run(path: Path, score: float, random: float | None = None, seeds: int = 2, **pretrain: Any) -> HandMade:
    """Return a run with a score of YNAT, and of random weights where that is given, the same of each seed."""
    made = HandMade(path, name=path.name)
    recipe = yaml.safe_load((path / "recipe.yaml").read_text("utf-8"))
    recipe["pretrain"].update(pretrain)
    made.write("recipe.yaml", yaml.safe_dump(recipe))
    made.corpus()
    rows = [{**result("ynat", init, seed, one), "model": path.name} for seed in range(1, 1 + seeds)
            for init, one in (("pretrained", score), ("random", random)) if one is not None]  # fmt: skip
    made.write("klue/results.jsonl", rows)
    return made


def compared(*runs: HandMade) -> str:
    out = runs[0].path.parent / "both.html"
    assert run_command(["report", *(str(one.path) for one in runs), "--out", str(out)]) == 0
    return out.read_text("utf-8")


def section(page: str, name: str) -> str:
    return page.split(f'<section id="{name}"')[1].split("</section>")[0]


def rows(part: str) -> list[list[str]]:
    found = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
    cells = [re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in found]
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in of_row] for of_row in cells]


def test_a_setting_that_is_empty_in_a_run_has_an_empty_cell(tmp_path: Path) -> None:
    page = compared(run(tmp_path / "a", 60.0, trackers=[]), run(tmp_path / "b", 70.0, trackers=["x"]))
    assert rows(section(page, "settings"))[1:] == [["pretrain.trackers", "", "x"]]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"steps": 200}, "training budget"),
        ({"global_batch": 8}, "training budget"),
        ({"masking": {"rate": 0.3}}, "masking"),
    ],
)
def test_settings_that_differ_stand_first_and_no_run_wins(
    tmp_path: Path, changed: dict[str, Any], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = compared(run(tmp_path / "a", 60.0), run(tmp_path / "b", 70.0, **changed))
    assert page.index('id="settings"') < page.index('id="verdict"')
    [head, *differing] = rows(section(page, "settings"))
    assert head[1:] == ["a", "b"] and len(differing) == 1
    said = f"The runs differ in {what}: no run is marked"
    assert said in page and said[4:] in capsys.readouterr().err
    assert "<strong>70.00" not in section(page, "scores") and "70.00" in section(page, "scores")


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
    one, other = run(tmp_path / "a", 60.0, init_from="/secret/x/m"), run(tmp_path / "b", 70.0, init_from="/secret/y/m2")
    page = compared(one, other)
    assert "/secret" not in page and "m2" in section(page, "settings")
