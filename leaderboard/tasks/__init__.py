"""Task files of lm-eval, the functions that they name, and what lm-eval loads of them for one task."""

from pathlib import Path
from typing import Any

import yaml

from leaderboard.suites import BoardTask
from leaderboard.tasks import functions


class _Loader(yaml.SafeLoader):
    """Reads `!function functions.NAME`."""


_Loader.add_constructor("!function", lambda _, node: getattr(functions, node.value.removeprefix("functions.")))


def lm_eval_spec(task: BoardTask) -> Any:
    """Return the argument of lm-eval's `TaskManager.load` for a task: its name, of KoBEST its part of kit19.yaml."""
    kobest, *_ = yaml.load(Path(__file__).with_name("kit19.yaml").read_bytes(), _Loader)["task"]
    kobest_tasks = [entry for entry in kobest["task"] if entry["task"] == task.name]
    return {**kobest, "task": kobest_tasks} if kobest_tasks else task.load or task.name
