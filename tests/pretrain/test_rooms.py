"""The rooms of pretrain/: what differs between models, objectives and optimizers stands in a file each."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.optim.registry import OPTIMIZERS
from pretrain.settings import ModelSettings, OptimizerSettings, PhaseSettings, PretrainSettings

ROOT = Path(__file__).parents[2]
ROOMS = ("models", "objectives", "optim")
NAMES = {*ARCHITECTURES, *OBJECTIVES, *OPTIMIZERS}


def test_no_name_of_a_part_stands_outside_its_room() -> None:
    """No branch on a model's, an objective's or an optimizer's name; the settings list the names there are."""
    files = [path for room in ("pretrain", "hunmin", "klue") for path in sorted((ROOT / room).rglob("*.py"))]
    own = [ROOT / "pretrain" / room for room in ROOMS]
    allowed = {
        ROOT / "pretrain/settings.py",
        ROOT / "klue/model_folder.py",  # types of transformers, whoever trained them
        ROOT / "hunmin/commands/tokenizer.py",  # orders of special tokens that have these names, too
    }
    lines = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in files
        if path not in allowed and not any(room in path.parents for room in own)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in NAMES
    ]
    assert lines == []


def test_a_part_is_named_in_its_own_file_the_registry_and_the_settings() -> None:
    for room, registry in zip(ROOMS, (ARCHITECTURES, OBJECTIVES, OPTIMIZERS), strict=True):
        for name, part in registry.items():
            assert part.name == name
            branches = [
                f"{path.name}:{node.lineno}"
                for path in sorted((ROOT / "pretrain" / room).glob("*.py"))
                if path.stem != type(part).__module__.rpartition(".")[2]
                for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, ast.Compare)
                and any(getattr(side, "value", None) == name for side in ast.walk(node))
            ]
            assert branches == []


def test_settings_list_what_the_registries_hold() -> None:
    def choices(kind: type, field: str) -> set[str]:
        return set(kind.model_fields[field].annotation.__args__)  # type: ignore[attr-defined]

    assert choices(ModelSettings, "type") == set(ARCHITECTURES)
    assert choices(PretrainSettings, "objective") == set(OBJECTIVES)
    assert choices(OptimizerSettings, "type") == set(OPTIMIZERS)
    (named, _) = PhaseSettings.model_fields["objective"].annotation.__args__  # type: ignore[union-attr]
    assert set(named.__args__) == set(OBJECTIVES)


def test_settings_and_plans_do_without_torch() -> None:
    line = (
        "import sys; from pretrain.cost.run import run_cost; from pretrain.settings import PretrainSettings as S; "
        "S(); print(sorted({'torch', 'transformers', 'numba'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, cwd=ROOT).stdout == "[]\n"
