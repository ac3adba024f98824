"""Shell completion: names that commands take.

It is asked at every press of the key, so nothing heavy is loaded: names that stand in modules which load torch or numpy
are repeated here, and tests/hunmin/test_completion.py compares them.

Where nothing is found, shells complete the names of files themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from hunmin.recipes.builtin import builtin_recipes

STAGES = ("corpus", "tokenizer", "encode", "pretrain", "export", "klue", "report", "instruct", "tune", "leaderboard",
          "embed")  # fmt: skip
LAUNCHERS = ("local", "torchrun", "deepspeed", "slurm", "kubernetes", "kubeflow", "xla")
SUITES = ("klue", "kobest", "koelectra")
CODED = ("klue-ner", "klue-re", "klue-dp", "klue-mrc", "wos", "korquad")
"""Tasks that are no rows of YAML."""
BOARDS = ("kit19", "leaderboard2", "instruct")


def _of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that gives the names which begin with a word, in their order."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def _rows() -> list[str]:
    package = find_spec("klue")  # it is found and not loaded
    files = sorted(Path(str(package and package.origin)).parent.glob("tasks/*/rows.yaml"))
    return [name for file in files for name in re.findall(r"^([a-z][\w-]*):", file.read_text("utf-8"), re.MULTILINE)]


TASKS = (*_rows(), *CODED)
stages, launchers, tasks, suites, boards = map(_of, (STAGES, LAUNCHERS, TASKS, SUITES, BOARDS))


def recipes(incomplete: str) -> list[str]:
    """Return the recipes that a word begins: those that come with the package, and the YAML files of this folder."""
    return _of([*builtin_recipes(), *sorted(path.name for path in Path().glob("*.yaml"))])(incomplete)


def builtin(incomplete: str) -> list[str]:
    """Return the built-in recipes that a word begins."""
    return _of(builtin_recipes())(incomplete)


def devices(incomplete: str) -> list[str]:
    """Return the devices that a word begins; those with a space in their names would have to be quoted."""
    from pretrain.cost.devices import DEVICES

    return [name for name in _of(DEVICES)(incomplete) if " " not in name]
