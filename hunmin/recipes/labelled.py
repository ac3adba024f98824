"""The entry of `klue.own` for a file of labelled examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from common.compressed import decompression_errors
from common.errors import UserError
from common.files import open_bytes
from data.readers.paths import list_files
from data.readers.proposal import text_columns
from hunmin.recipes.inputs import Ask
from klue.tasks.own_files import SUFFIXES, form_of, read_rows


def own_name(path: str) -> str:
    """Return the name of an own task after its file."""
    return re.sub(r"[^a-z0-9가-힣_-]", "-", Path(path).name.split(".")[0].lower()).strip("-_")[:40] or "own"


def labelled_task(path: str, label: str, ask: Ask) -> dict[str, Any]:
    """Return the entry of `klue.own` for a file of labelled examples; its texts are the columns that show Korean text,
    or tokens.

    Args:
        label: column with the label.
        ask: called where no column shows text, or more than two.

    Raises:
        UserError: the file has no column of that name, or the texts are not known.
    """
    try:
        with decompression_errors(Path(path)), open_bytes(Path(path)) as stream:
            rows = read_rows(stream, form_of(Path(path)) or ".csv")
    except ValueError as error:
        raise UserError(f"{path}: {error}", f"labelled examples stand in a file of {', '.join(SUFFIXES)}") from None
    columns = list(rows[0]) if rows else []
    if label not in columns:
        raise UserError(f"{path} has no column '{label}'", f"its columns are {', '.join(columns)}", "--label COLUMN")
    named = {"name": own_name(path), "train": path}
    if isinstance(rows[0].get("tokens"), list):
        return {**named, "kind": "tagging", "label": label}
    others = [name for name in columns if name != label]
    texts = others if len(others) == 1 else text_columns(list_files([path])[0], others)
    if not 1 <= len(texts) <= 2 and not (texts := ask(path, others)):
        raise UserError(f"the texts in {path} are not known", fix="name them in a YAML file: --task-file")
    return {**named, "text": texts, "label": label}
