"""The command line, the recipe, the stage order, plan and report; no stage's logic.

`from hunmin import …` gives what scripts call (docs/api.md). Nothing is loaded before it is asked for: `import hunmin`
takes no time, and `hunmin --help` does not wait for torch.
"""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from common.errors import HunminError, UserError
    from hunmin.api import TextEncoder, finetune, read_documents, run_recipe
    from klue.score_file import score

HOMES = {
    "HunminError": "common.errors",
    "TextEncoder": "hunmin.api",
    "UserError": "common.errors",
    "finetune": "hunmin.api",
    "read_documents": "hunmin.api",
    "run_recipe": "hunmin.api",
    "score": "klue.score_file",
}
"""Name → the module that it is defined in."""

__all__ = ["HunminError", "TextEncoder", "UserError", "finetune", "read_documents", "run_recipe", "score"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version("hunmin")
    if name not in HOMES:
        raise AttributeError(f"module 'hunmin' has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
