"""docs/recipe.md and its Korean twin hold every setting of a recipe, as the classes declare them today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from hunmin.recipes.recipe import Recipe
from pretrain.settings import PretrainSettings
from scripts.recipe_reference import main

ROOT = Path(__file__).parents[1]
PAGE, KOREAN_PAGE = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("recipe.md", "recipe.ko.md"))
FILE = ROOT / "scripts" / "recipe_reference.ko.yaml"
ENTRIES: list[dict[str, str]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))


def rows(page: str = PAGE) -> dict[str, list[str]]:
    """Return dotted name → cells of its row."""
    cells_by_key, section = {}, ""
    for line in page.splitlines():
        if heading := re.match(r"#{2,3} `(.*)`", line):
            section = heading[1] + "."
        elif line.startswith("| `"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            cells_by_key[section + cells[0].strip("`")] = cells
    return cells_by_key


@pytest.mark.parametrize(("language", "page"), [("en", PAGE), ("ko", KOREAN_PAGE)])
def test_the_page_is_what_the_script_prints(language: str, page: str) -> None:
    command = [sys.executable, "-m", "scripts.recipe_reference", "--language", language]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=True)
    assert done.stdout.decode("utf-8") == page, "make docs"


def test_every_setting_has_its_row_and_a_meaning() -> None:
    """By the JSON schema that pydantic makes of the recipe, which the script does not use."""
    schema, table = Recipe.model_json_schema(), rows()
    named = {cells[0].strip("`") for cells in table.values()}
    sections = set(re.findall(r"^#{2,3} `(?:[\w.\[\]]+\.)?(\w+)`", PAGE, re.MULTILINE))
    fields = {
        (kind, name): field
        for kind, definition in {"Recipe": schema, **schema["$defs"]}.items()
        for name, field in definition["properties"].items()
    }
    assert len(fields) > 120
    assert {name for _, name in fields} <= named | sections
    assert all(len(cells) == 5 and len(cells[4]) > 4 for cells in table.values())


def test_rows_say_what_is_declared() -> None:
    """Some of each kind, read off the classes by hand."""
    table = rows()
    assert table["name"][1:3] == ["text", "*required*"]
    assert table["pretrain.optimizer.learning_rate"][1:4] == ["number, > 0", "`0.0001`", ""]
    assert table["pretrain.masking.rate"][1] == "number, > 0, < 1"
    assert table["pretrain.micro_batch"][3] == "yes"
    assert table["klue.baseline_random"][1:4] == ["true / false", "`false`", ""]
    assert table["pretrain.zero_stage"][1] == "`0` / `1` / `2` / `3`"
    assert table["pretrain.batch_warmup.start"][2] == "*required*"
    assert table["corpus.pii.key"][3] == "yes, and never written"
    assert table["klue.per_task.pos_tags"][1] == "true / false or none"


def test_the_twins_have_the_same_settings() -> None:
    """Names, ranges and defaults, which are no words."""
    english, korean = rows(), rows(KOREAN_PAGE)
    assert list(english) == list(korean)
    for name, cells in english.items():
        for column in (1, 2):
            marks = [re.findall(r"`[^`]*`|[≥>≤<] \S+", page[name][column]) for page in (english, korean)]
            assert marks[0] == marks[1], name
        assert bool(cells[3]) == bool(korean[name][3]), name
    assert korean["name"][1:3] == ["문자열", "*필수*"]
    assert korean["corpus.inputs"][1] == "목록(문자열 또는 `corpus.inputs[]`), 길이 1 이상"
    assert korean["corpus.workers"][1:4] == ["정수 또는 없음, ≥ 1", "없음", "예"]
    assert korean["corpus.pii.key"][3] == "예, 기록하지 않음"


def test_every_text_of_the_korean_page_is_korean() -> None:
    """What is English in it: code, names, and words of settings."""
    for name, cells in rows(KOREAN_PAGE).items():
        assert re.search("[가-힣]", cells[4]), name
        assert cells[4] != rows()[name][4], name
    headings = re.findall(r"^#{2,3} .*", KOREAN_PAGE, re.MULTILINE)
    assert headings == re.findall(r"^#{2,3} .*", PAGE, re.MULTILINE)
    prose = [line for line in KOREAN_PAGE.splitlines()[3:] if line and line[0] not in "#|<"]
    assert len(prose) > len(headings) and all(re.search("[가-힣]", line) for line in prose)


def test_a_translation_keeps_code_and_figures() -> None:
    """Numbers and what stands between backticks say the same in any language."""
    marks = re.compile(r"`[^`]+`|(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?")
    pairs = [(entry["en"], entry["ko"]) for entry in ENTRIES if not entry["en"].startswith("[한국어]")]
    lost = {english: {*marks.findall(english)} - {*marks.findall(korean)} for english, korean in pairs}
    assert {english: parts for english, parts in lost.items() if parts} == {}


def changed(tmp_path: Path, entries: list[dict[str, Any]]) -> Path:
    file = tmp_path / "recipe_reference.ko.yaml"
    file.write_text(yaml.safe_dump(entries, allow_unicode=True), encoding="utf-8")
    return file


STEPS = "Optimizer steps (KLUE paper, Table 31)."


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([entry for entry in ENTRIES if entry["en"] != STEPS], ["pretrain.steps has no Korean", STEPS]),
        ([{**entry, "ko": ""} if entry["en"] == STEPS else entry for entry in ENTRIES], ["pretrain.steps has no Kor"]),
        ([entry for entry in ENTRIES if entry["en"] != "whole number"], ["seed has no Korean: 'whole number'"]),
        ([*ENTRIES, {"en": "What nobody says.", "ko": "아무도 하지 않는 말."}], ["no setting: 'What nobody says.'"]),
        ([*ENTRIES, ENTRIES[0]], ["two entries of 'setting'"]),
        ([*ENTRIES, {"en": "No Korean."}], ["cannot be read: KeyError: 'ko'"]),
    ],
)
def test_a_text_without_its_korean_is_told(
    entries: list[dict[str, Any]], said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--language", "ko"], changed(tmp_path, ENTRIES)) == 0
    assert capsys.readouterr().out == KOREAN_PAGE
    assert main(["--language", "ko"], changed(tmp_path, entries)) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "fix:" in printed.err and "scripts/recipe_reference.ko.yaml" in printed.err
    for part in said:
        assert part in printed.err


def test_a_docstring_that_changes_needs_its_korean_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    field = PretrainSettings.model_fields["steps"]
    monkeypatch.setattr(field, "description", STEPS.replace("31", "32"))
    assert main(["--language", "ko"]) == 2
    message = capsys.readouterr().err
    assert f"pretrain.steps has no Korean: '{STEPS.replace('31', '32')}'" in message and f"it was: '{STEPS}'" in message
    for language in ("en", "ko"):
        monkeypatch.setattr(field, "description", "")
        assert main(["--language", language]) == 2
        assert "pretrain.steps has no docstring" in capsys.readouterr().err
