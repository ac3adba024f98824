"""The table of two runs, by hand."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from paper_tables import TABLES, as_table

from hunmin.recipe import load_recipe


def test_difference_and_standard_errors_by_hand() -> None:
    rows = {
        "a": {("ynat", "f1"): {"mean": 50.0, "sd": 3.0, "n": 9}, ("wos", "jga"): {"mean": None, "sd": None, "n": 2},
              ("sts", "r"): {"mean": 1.0, "sd": None, "n": 1}},
        "b": {("ynat", "f1"): {"mean": 55.0, "sd": 4.0, "n": 4}, ("wos", "jga"): {"mean": 1.0, "sd": 1.0, "n": 2},
              ("sts", "r"): {"mean": 3.0, "sd": None, "n": 1}},
    }  # fmt: skip
    lines = as_table(rows).splitlines()
    # √(9/9 + 16/4) = 2.236
    assert lines[2:] == [
        "| ynat f1 | 50.00 ± 3.00 | 55.00 ± 4.00 | -5.00 | 2.2 |",
        "| sts r | 1.00 ± 0.00 | 3.00 ± 0.00 | -2.00 | – |",
    ]


def test_the_rows_differ_in_one_thing() -> None:
    recipe = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
    for rows in TABLES.values():
        one, other = (load_recipe(recipe, changes).model_dump() for changes in rows.values())
        differing = [name for name in one if one[name] != other[name]]
        assert len(rows) == 2 and len(differing) == 1
