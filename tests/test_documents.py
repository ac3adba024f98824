"""README and docs: every command they show can be given, every file and setting they name exists, and the Korean pages
show the same commands as the English ones."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from pydantic import BaseModel

from hunmin.instruct.recipe import InstructRecipe
from hunmin.main import app, run_command
from hunmin.recipes.load import load_any_recipe
from hunmin.recipes.recipe import INSTRUCT_SECTIONS, Recipe, is_of_instructions

ROOT = Path(__file__).parents[1]
ENGLISH = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if ".ko." not in path.name),
]
KOREAN = [name.replace(".md", ".ko.md") for name in ENGLISH if (ROOT / name.replace(".md", ".ko.md")).exists()]
DECODER = """
name: documented
out: runs/documented
instruct: {data: sets}
tune: {base: model}
"""
PLACEHOLDERS = ("N", "D")
FOLDERS = ("tests", "scripts", "configs", "pretrain", "data", "tokenizer", "klue", "common", "hunmin")
RECIPE = """
name: documented
out: runs/documented
corpus: {inputs: [texts]}
klue: {data: klue-benchmark}
pretrain: {global_batch: 2048, micro_batch: 8}
"""


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks_of(document: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```", text_of(document), re.DOTALL | re.MULTILINE)


def lines_of(document: str) -> Iterator[str]:
    """Yield the command lines of a document's blocks, without comments."""
    for block in blocks_of(document):
        for line in block.replace("\\\n", " ").splitlines():
            yield " ".join(re.sub(r"(^|\s)#.*", "", line).split())


def commands_of(document: str) -> list[list[str]]:
    """Return the words of each command of this project, also of those that another command starts."""
    commands = []
    for line in [*lines_of(document), *re.findall(r"`(hunmin [^`]+)`", text_of(document))]:
        for match in re.finditer(r"(?:^|[ '/])(?:hunmin|-m hunmin\.main) (?![|—]|import )([^']*)", line):
            if "…" not in match[0] and "COMMAND" not in match[0]:
                commands.append(shlex.split(re.sub(r"'$", "", match[1])) if "'" not in line else words_of(line, match))
    return commands


def words_of(line: str, match: re.Match[str]) -> list[str]:
    """Return the words of a command in a line with quotes: to the end of those around it, or of the line."""
    quoted = line[match.start()] == "'"
    return shlex.split(match[1] if quoted else line[match.start(1) :])


def parse(words: list[str]) -> None:
    """Read a command by the program's own parser, which raises what is wrong with it."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("hunmin", list(words), resilient_parsing=True)
    if words[0].startswith("-"):
        options = {name for parameter in command.get_params(context) for name in parameter.opts}
        if not set(words) <= options:
            raise LookupError(f"No such option: {' '.join(words)}")
        return
    while words and hasattr(command, "commands"):  # a group without a command is a mention of it
        name, command, words = command.resolve_command(context, words)
        if command is None:
            raise LookupError(f"No such command: {name}")
        context = type(context)(command, info_name=name, parent=context)
    if any(word.startswith("-") for word in words):  # without options it is a mention of it
        command.parse_args(context, list(words))


COMMANDS = [(document, words) for document in (*ENGLISH, *KOREAN) for words in commands_of(document)]


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 60 and {words[0] for _, words in COMMANDS} >= {"run", "launch", "plan", "corpus", "klue"}


@pytest.mark.slow
def test_the_program_reads_every_command() -> None:
    faults = []
    for command in sorted({tuple(words) for _, words in COMMANDS}):
        for each in product(*(word.split("|") for word in command)):
            try:
                parse(["8" if word in PLACEHOLDERS else word for word in each])
            except Exception as error:  # whatever the parser raises, beside the command it is about
                faults.append(f"{' '.join(each)}: {error}")
    assert faults == []


def test_the_parser_refuses_what_there_is_not() -> None:
    """What the test above rests on."""
    for words in (["launch", "RECIPE", "--nodez", "2"], ["lunch"], ["plan", "--devices", "8"], ["--versions"]):
        with pytest.raises(Exception, match=r"No such|Missing"):
            parse(words)


def test_launches_and_plans_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("recipe.yaml", "my.yaml", "my-model.yaml"):
        (tmp_path / name).write_text(RECIPE)
    (tmp_path / "keys.env").write_text("NAME=value\n")
    for name in ("texts/a.txt", "klue-benchmark/x.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("가")
    commands = {tuple(words) for document, words in COMMANDS if document in ENGLISH and not {*words} & {*PLACEHOLDERS}}
    launches = sorted(words for words in commands if words[0] == "launch" and len(words) > 2)
    plans = sorted(words for words in commands if words[0] == "plan" and len(words) > 1 and "RECIPE" not in words)
    assert launches and plans
    faults = []
    for words in (*launches, *plans):
        dry = ["--dry-run"] if words[0] == "launch" and "--dry-run" not in words else []
        code = run_command([*("recipe.yaml" if word == "RECIPE" else word for word in words), *dry])
        said = capsys.readouterr()
        if code or ("hunmin" if words[0] == "launch" else "memory") not in said.out:
            faults.append(f"{' '.join(words)}: {code} {said.err}")
    assert faults == []


def test_what_a_shipped_recipe_says_of_itself_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("klue-bert-base", "klue-roberta-small", "klue-roberta-base", "klue-roberta-large", "modernbert-base",
                 "hunmin-base"):  # fmt: skip
        commands = re.findall(r"^#   hunmin (.+)$", text_of(f"configs/{name}.yaml"), re.MULTILINE)
        assert commands, name
        for command in commands:
            assert run_command(shlex.split(command)) == 0, command
            assert "does not name corpus.inputs and klue.data yet" in " ".join(capsys.readouterr().out.split())


def settings_in(words: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if re.match(r"[a-z]\w*(\.\w+)+=", word)]


@pytest.mark.parametrize("document", ["README.md", "README.ko.md"])
def test_costs_are_those_of_the_plan(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As the README's command prints them."""
    shown = re.findall(
        r"^\| `([\w-]+)`[^|]* \| ([\d.]+M) \| ([\d.]+[BT]) \|.*\| (\$[\d,]+) \|$", text_of(document), re.MULTILINE
    )
    assert len(shown) == 6
    for recipe, *figures in shown:
        assert run_command(["plan", recipe, "--devices", "8", "--device", "H100", "--price", "2.5"]) == 0
        printed = capsys.readouterr().out
        assert [figure for figure in figures if figure not in printed] == [], recipe


def test_settings_in_commands_exist() -> None:
    checked = 0
    for document, words in COMMANDS:
        if words[0] == "klue":  # its settings begin with a task
            continue
        for name in settings_in(words):
            kind: Any = InstructRecipe if name.split(".")[0] in INSTRUCT_SECTIONS else Recipe
            for part in name.split("."):
                fields = kind.model_fields
                assert part in fields, f"{document}: {name}"
                kind = model_in(fields[part].annotation)
            checked += 1
    assert checked > 5


SECTIONS = [
    (document, block)
    for document in (*ENGLISH, *KOREAN)
    for block in re.findall(r"^```yaml\n(.*?)^```", text_of(document), re.DOTALL | re.MULTILINE)
    if not block.startswith("# task\n")  # a row of a suite, which tests/test_extending.py reads
]


def test_pieces_of_recipes_are_read(tmp_path: Path) -> None:
    """With what another recipe says where they say nothing."""
    assert len(SECTIONS) >= 6
    for document, block in SECTIONS:
        piece = yaml.safe_load(block)
        tree = yaml.safe_load(DECODER if is_of_instructions(piece) else RECIPE)
        for section, settings in piece.items():
            whole = tree.get(section)
            tree[section] = {**whole, **settings} if isinstance(whole, dict) else settings
        (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
        read = load_any_recipe(tmp_path / "recipe.yaml")
        for section, settings in piece.items():
            value = getattr(read, section)
            taken = value.model_fields_set >= settings.keys() if isinstance(settings, dict) else value == settings
            assert taken, (document, section)


def model_in(annotation: Any) -> Any:
    """Return the settings within an annotation, such as `X | None`."""
    kinds = [annotation, *getattr(annotation, "__args__", ())]
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def test_files_and_make_targets_exist() -> None:
    targets = {*re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    named = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]+)`")
    faults = []
    for document in (*ENGLISH, *KOREAN):
        text = text_of(document)
        made = [line.split()[1] for line in lines_of(document) if line.startswith("make ")]
        missing = [path for path in named.findall(text) if not any(ROOT.glob(path.rstrip("/")))]
        missing += {*made, *re.findall(r"`make ([\w-]+)", text)} - targets
        faults += [f"{document}: {name}" for name in missing]
    assert faults == []


def prose_of(text: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors_of(text: str) -> set[str]:
    """Return the anchors that GitHub makes of a Markdown text's headings, which Sphinx makes alike."""
    made: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#{1,6} +(.+?)[ #]*$", prose_of(text), re.MULTILINE):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        anchors.add(f"{anchor}-{made[anchor]}" if made[anchor] else anchor)
        made[anchor] += 1
    return anchors


def lost_links(text: str, folder: Path) -> list[str]:
    """Return the links and pictures of a page in `folder` that lead nowhere on GitHub."""
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(text)):
        name, _, anchor = target.partition("#")
        page = folder / name
        if "://" in target:
            continue
        if not page.exists() or (anchor and anchor not in anchors_of(page.read_text("utf-8") if name else text)):
            lost.append(target)
    return lost


def test_links_lead_somewhere_on_github() -> None:
    lost = {document: lost_links(text_of(document), (ROOT / document).parent) for document in (*ENGLISH, *KOREAN)}
    assert {document: links for document, links in lost.items() if links} == {}


@pytest.mark.parametrize("document", ["README.md", "README.ko.md"])
def test_published_scores_are_those_of_table_36(document: str) -> None:
    rows = json.loads(text_of("klue/published.json"))["rows"]
    [published] = [row["scores"] for row in rows if row["model"] == "KLUE-BERT-base"]
    metrics = {
        "YNAT": "macro_f1", "KLUE-NLI": "accuracy", "KLUE-NER": "entity_macro_f1", "KLUE-RE": "micro_f1",
        "KLUE-STS": "pearsonr", "KLUE-DP": "las_macro_f1", "WoS": "slot_micro_f1",
    }  # fmt: skip
    shown = re.findall(r"^\| (\S+) .*± .* \| ([\d.]+).* \|$", text_of(document), re.MULTILINE)
    assert shown == [(task, str(published[task.lower()][metric])) for task, metric in metrics.items()]


def test_a_lost_link_is_seen(tmp_path: Path) -> None:
    """What the test above rests on; anchors are those that GitHub shows for such headings."""
    (tmp_path / "b.md").write_text(
        "# B\n\n(label)=\n## 표 36: `a_b`, 아직 (KLUE)\n\n## Same\n\n```\n# no\n```\n\n## Same\n"
    )
    text = "[1](b.md#표-36-a_b-아직-klue) [2](b.md#same-1) [3](#top) [4](https://a.b/#c) ![5](b.md)\n# Top\n"
    assert lost_links(text, tmp_path) == []
    for link in ("b.md#label", "b.md#no", "b.md#same-2", "c.md", "#B", "c.png"):
        assert lost_links(f"[x]({link})", tmp_path) == [link]


def test_no_page_shows_the_marks_of_sphinx() -> None:
    """Labels and directives, which GitHub prints as they are."""
    marks = re.compile(r"^(?:\([\w-]+\)=|:{3,}|`{3,}\{).*|\{\w+\}`[^`]*`", re.MULTILINE)
    marked = {document: marks.findall(text_of(document)) for document in (*ENGLISH, *KOREAN)}
    assert {document: lines for document, lines in marked.items() if lines} == {}


def shape_of(document: str) -> dict[str, Any]:
    """Return what a page and its twin have alike: commands in their order, and counts."""
    text = text_of(document)
    counts = {mark: len(re.findall(mark, text, re.MULTILINE)) for mark in (r"^#+ ", r"^\|")}  # headings, table rows
    return {"commands": commands_of(document), "blocks": len(blocks_of(document)), **counts}


def test_the_korean_page_shows_the_same_commands() -> None:
    short = "README.ko.md"
    assert [words for words in commands_of(short) if words not in commands_of("README.md")] == []
    for document in KOREAN:
        assert document == short or shape_of(document) == shape_of(document.replace(".ko.md", ".md")), document


def test_a_korean_page_links_to_korean_pages() -> None:
    """Wherever there is one; its own twin apart."""
    faults = []
    for document in KOREAN:
        folder, twin = (ROOT / document).parent, Path(document).name.replace(".ko.md", ".md")
        linked = {*re.findall(r"\]\(([^):#]+\.md)", text_of(document))}
        english = {name for name in linked if not name.endswith(".ko.md")} - {twin}
        faults += [f"{document}: {n}" for n in english if (folder / n.replace(".md", ".ko.md")).exists()]
    assert faults == []
