"""The templates of commands and files (`templates/`), filled with values that are quoted for the template's language.

Every `{{ value }}` is quoted: in YAML as JSON, elsewhere as a word of a shell, or as several of them. What a function
has quoted already is `Markup`.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup


def fill(template: str, values: dict[str, Any]) -> str:
    """Return a template with its values."""
    quoted = _json if template.endswith(".yaml") else _words
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        finalize=lambda value: value if isinstance(value, Markup) else quoted(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


def command(template: str, values: dict[str, Any]) -> tuple[str, ...]:
    """Return the words of the command that a template holds over one line or several."""
    return tuple(shlex.split(fill(template, values)))


def _words(value: Any) -> str:
    return shlex.join(map(str, value)) if isinstance(value, (list, tuple)) else shlex.quote(str(value))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)  # an escape \ud83d is no character of YAML
