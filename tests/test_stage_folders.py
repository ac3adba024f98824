"""Only `common.stage_folders` knows where a stage's folder is: no other file joins a stage's name to a path."""

import ast
from pathlib import Path

import pytest

from common.stage_folders import folder_of, folders_of, latest_folder_of, of_run_or_itself, work_folder_of
from hunmin.instruct.stages import INSTRUCT_STAGES
from hunmin.pipeline.stages import encoder_stages

ROOT = Path(__file__).parents[1]
STAGES = (*encoder_stages(True), *INSTRUCT_STAGES)
NAMES = {name for stage in STAGES for name in (stage.name, stage.folder)}
ROOMS = ("common", "data", "tokenizer", "pretrain", "klue", "leaderboard", "embed", "hunmin")
JOINS = ("joinpath", "glob", "rglob", "with_name")
OF_NO_RUN = {
    ("hunmin/pipeline/watch.py", "folder / 'klue'"),
    ("tokenizer/shards.py", "folder / name"),
    ("common/code.py", "root / room"),
    ("hunmin/hub/card.py", "f'{(last_name(run) if Path(run).is_absolute() else run)}/export'"),
}
"""What is called like a stage, but is no place in a run: scores of a watched checkpoint, arrays of a token shard, rooms
of the code, and what a card shows."""


def is_stage(node: ast.AST | None) -> bool:
    """Return whether an expression is a stage's name, with what comes below it or what a folder at work adds."""
    if isinstance(node, ast.JoinedStr):
        return any(is_stage(part.value) for part in node.values if isinstance(part, ast.FormattedValue))
    if isinstance(node, ast.Attribute):
        return node.attr == "folder" and "stage" in ast.unparse(node.value)
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and text.split("/")[0].removesuffix(".partial") in NAMES


def goes_through_stages(node: ast.AST, tuples: dict[str, ast.AST]) -> bool:
    """Return whether a loop goes through stages' names: for name in ("pretrain.partial", "pretrain"), or in a constant
    of the file that holds such."""
    if not isinstance(node, ast.For | ast.comprehension):
        return False
    names = tuples.get(ast.unparse(node.iter), node.iter)
    return isinstance(names, ast.Tuple) and any(map(is_stage, names.elts))


def ends_of(node: ast.AST) -> list[ast.AST]:
    """Return what an expression joins to a path."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [node.right]
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in JOINS:
        return [*node.args]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Path":
        return [*node.args[1:]]
    if isinstance(node, ast.JoinedStr):  # f"{run}/pretrain"
        texts = [part.value for part in node.values[1:] if isinstance(part, ast.Constant)]
        return [ast.Constant(str(text)[1:]) for text in texts if str(text).startswith("/")]
    return []


def joined(tree: ast.AST) -> list[str]:
    """Return the expressions of a file that join a stage's name to a path."""
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Assign))
    tuples = {ast.unparse(node.targets[0]): node.value for node in constants}
    loops = [node.target for node in ast.walk(tree) if goes_through_stages(node, tuples)]
    names = {name.id for target in loops for name in ast.walk(target) if isinstance(name, ast.Name)}
    wrong = (
        node
        for node in ast.walk(tree)
        if any(is_stage(end) or getattr(end, "id", None) in names for end in ends_of(node))
    )
    return [ast.unparse(node) for node in wrong]


def test_no_other_file_joins_a_stages_name_to_a_path() -> None:
    sites_by_file: dict[str, list[str]] = {}
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if sites := [site for site in joined(ast.parse(path.read_text("utf-8"))) if (name, site) not in OF_NO_RUN]:
            sites_by_file[name] = sites
    assert sites_by_file == {}


@pytest.mark.parametrize(
    "code",
    [
        'run / "pretrain"',
        'Path(recipe.out) / "pretrain.partial" / "logs"',
        'run / "corpus/hits.jsonl"',
        'run.joinpath("tokens")',
        'Path(run, "klue")',
        'run.glob("export/*.json")',
        "run / stage.folder",
        'run / f"{stage.folder}.partial"',
        'f"{run}/tune/model"',
        'for name in ("pretrain.partial", "pretrain"):\n    found = run / name',
        'COUNTED = ("corpus", "export")\nfor name in COUNTED:\n    read_manifest(run / name)',
        '[run / where for where in ("encode", "embed")]',
    ],
)
def test_every_way_to_join_is_seen(code: str) -> None:
    assert joined(ast.parse(code))


@pytest.mark.parametrize(
    "code", ['run / "logs"', 'out / "checkpoints"', 'recipe.get("pretrain")', "f'{a}/{b}'", 'self.folder / "shards"']
)
def test_other_paths_are_left_alone(code: str) -> None:
    assert not joined(ast.parse(code))


def test_where_the_folders_are(tmp_path: Path) -> None:
    done, work = tmp_path / "pretrain", tmp_path / "pretrain.partial"
    assert (folder_of(tmp_path, "pretrain"), work_folder_of(tmp_path, "pretrain")) == (done, work)
    assert folders_of(tmp_path, "pretrain") == (work, done)
    assert of_run_or_itself(tmp_path, "pretrain") == tmp_path
    assert latest_folder_of(tmp_path, "pretrain") == done
    done.mkdir()
    assert of_run_or_itself(tmp_path, "pretrain") == done
    work.mkdir()
    assert latest_folder_of(tmp_path, "pretrain") == work
