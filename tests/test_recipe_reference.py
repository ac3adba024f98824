"""docs/recipe.md holds every setting of a recipe, as the classes declare them today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from hunmin.recipe import Recipe

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "recipe.md").read_text(encoding="utf-8")


def rows() -> dict[str, list[str]]:
    """Return dotted name → cells of its row."""
    found, section = {}, ""
    for line in PAGE.splitlines():
        if heading := re.match(r"#{2,3} `(.*)`", line):
            section = heading[1] + "."
        elif line.startswith("| `"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found[section + cells[0].strip("`")] = cells
    return found


def test_the_page_is_what_the_script_prints() -> None:
    command = [sys.executable, "-m", "scripts.recipe_reference"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == PAGE, "python -m scripts.recipe_reference > docs/recipe.md"


def test_every_setting_has_its_row_and_a_meaning() -> None:
    """By the JSON schema that pydantic makes of the recipe, which the script does not use."""
    schema, found = Recipe.model_json_schema(), rows()
    named = {cells[0].strip("`") for cells in found.values()}
    sections = set(re.findall(r"^#{2,3} `(?:[\w.\[\]]+\.)?(\w+)`", PAGE, re.MULTILINE))
    fields = {
        (kind, name): field
        for kind, definition in {"Recipe": schema, **schema["$defs"]}.items()
        for name, field in definition["properties"].items()
    }
    assert len(fields) > 120
    assert {name for _, name in fields} <= named | sections
    assert all(len(cells) == 5 and len(cells[4]) > 4 for cells in found.values())


def test_rows_say_what_is_declared() -> None:
    """Some of each kind, read off the classes by hand."""
    found = rows()
    assert found["name"][1:3] == ["text", "*required*"]
    assert found["pretrain.optimizer.lr"][1:4] == ["number, > 0", "`0.0001`", ""]
    assert found["pretrain.masking.rate"][1] == "number, > 0, < 1"
    assert found["pretrain.micro_batch"][3] == "yes"
    assert found["pretrain.fp8"][1:4] == ["true / false", "`false`", ""]
    assert found["pretrain.zero_stage"][1] == "`0` / `1` / `2` / `3`"
    assert found["pretrain.batch_warmup.start"][2] == "*required*"
    assert found["corpus.pii.key"][3] == "yes, and never written"
    assert found["klue.dp.pos_tags"][1] == "true / false or none"
