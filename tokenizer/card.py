"""The card of a tokenizer: what it was built from, and figures on text that it was not built from."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from common.errors import UserError
from common.files import atomic_write
from tokenizer.compare import compare, shown, without_unused_share
from tokenizer.show import EXAMPLE, show

CARD = "README.md"
PRE_TOKENS = "Pre-tokens are the sample's words, cut at punctuation.\n\n"


def write_card(
    folder: Path, settings: Mapping[str, Any], origin: str, facts: Mapping[str, int], held_out: Sequence[Path]
) -> dict[str, Any]:
    """Write the card of the tokenizer in `folder`: its origin and settings, and the paper's Tables 30 and 35 for it.

    Returns:
        {"held_out": {"bytes", "words", "subwords", "figures": name → value}}; {} without such text.

    Args:
        held_out: files of text that it was not trained on, a sentence or document a line.
    """
    stated = {name: value for name, value in settings.items() if value is not None}
    sizes = "\n".join(f"| {name.replace('_', ' ')} | {number:,} |" for name, number in facts.items())
    row = _compared(folder, held_out)
    with atomic_write(folder / CARD) as stream:
        stream.write(
            f"# A Korean vocabulary of {settings['vocab_size']:,} entries\n\n"
            f"Made with hunmin. {origin}\n\n"
            f"| | |\n|---|---:|\n{sizes}\n\n{PRE_TOKENS if 'pre_tokens' in facts else ''}"
            f"{_figures(row)}\n"
            f"> {EXAMPLE}\n>\n> {show([folder])[-1]['line']}\n\n"
            f"```yaml\n{yaml.safe_dump(stated, allow_unicode=True, sort_keys=False)}```\n"
        )
    if not row:
        return {}
    figures = {name: value for name, value in row.items() if isinstance(value, float)}
    return {"held_out": {**{name: row[name] for name in ("bytes", "words", "subwords")}, "figures": figures}}


def _compared(folder: Path, held_out: Sequence[Path]) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as stream:
        for path in held_out:
            stream.write(path.read_text(encoding="utf-8"))
        stream.flush()
        try:
            [row] = compare([folder], stream.name)
        except UserError:
            return {}
        return {**row, "bytes": Path(stream.name).stat().st_size}


def _figures(row: Mapping[str, Any]) -> str:
    if not row:
        return "No figures: there is no text that was held out.\n"
    rows = "\n".join(
        f"| {name.replace('_', ' ')} | {shown(value)} |" for name, value in row.items() if isinstance(value, float)
    )
    note = f"\n{text.capitalize()}.\n" if (text := without_unused_share(row)) else ""
    size = f"{row['bytes']:,} bytes ({row['words']:,} words, {row['subwords']:,} subwords)"
    return f"On {size} of documents that were held out:\n\n| | |\n|---|---:|\n{rows}\n{note}"
