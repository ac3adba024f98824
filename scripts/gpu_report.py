"""What `make gpu` has measured, as one JSON file and one Markdown file beside it: the rows of speed, and the run."""

from __future__ import annotations

import json
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from timing import hardware

from common.files import atomic_write

COLUMNS = (
    ("tokens_per_second", "tokens/s", ",.0f"), ("beside", "beside the first", ".2f"), ("tflops", "TFLOP/s", ".0f"),
    ("mfu", "MFU", ".0%"), ("padding", "padding", ".2%"), ("data_wait", "data wait", ".1%"),
    ("memory_gib", "memory, GiB", ".1f"), ("seconds_to_be_ready", "compiled and ready, s", ".0f"),
)  # fmt: skip
"""Key of a row → head of its column, format."""


def device() -> str:
    """Return the name of the GPU, or the machine's where there is none."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else hardware().partition(", load")[0]


def conditions_of(shape: str) -> dict[str, str]:
    """Return what a figure depends on beside its row: the device, the versions, and the shape of the model."""
    versions = {name: metadata.version(name) for name in ("torch", "transformers", "deepspeed")}
    libraries = {"CUDA": str(torch.version.cuda), "cuDNN": str(torch.backends.cudnn.version())}
    return {"device": device(), **versions, **libraries, "Python": platform.python_version(), "shape": shape}


def read_report(path: Path) -> dict[str, Any]:
    """Return what has been measured so far: `rows`, by name, and `run`."""
    report: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    return {"rows": [], "run": None, **report}


def holds_row(report: dict[str, Any], name: str, conditions: dict[str, str]) -> bool:
    """Return whether a row has been measured under these conditions, all its rounds."""
    return any(
        row["name"] == name
        and "tokens_per_second" in row
        and "unfinished" not in row
        and row["conditions"] == conditions
        for row in report["rows"]
    )


def put_row(report: dict[str, Any], row: dict[str, Any], conditions: dict[str, str], order: list[str]) -> None:
    """Put a row in, in the place of an earlier one of that name, whatever that was measured under; names in `order`."""
    row = {**row, "conditions": conditions, "date": time.strftime("%Y-%m-%d")}
    rows = [earlier for earlier in report["rows"] if earlier["name"] != row["name"] and earlier["name"] in order]
    report["rows"] = sorted([*rows, row], key=lambda earlier: order.index(earlier["name"]))


def write_report(path: Path, report: dict[str, Any]) -> str:
    """Write the report, JSON to `path` and Markdown beside it, and return the Markdown."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in report["rows"]:  # rows of other conditions never stand in one table
        groups.setdefault(json.dumps(row["conditions"]), []).append(row)
    parts = [_table(rows) for rows in groups.values()]
    if run := report["run"]:
        lines = [f"- {row['name']}: {row['value']:,.4g} {row['unit']} {row['note']}".strip() for row in run["rows"]]
        parts.append("\n".join([f"Killed and resumed ({_text(run)}):", "", *lines]))
    text = "\n\n".join(parts) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    for file, content in (
        (path, json.dumps(report, indent=1, ensure_ascii=False) + "\n"),
        (path.with_suffix(".md"), text),
    ):
        with atomic_write(file) as stream:
            stream.write(content)
    return text


def _text(measured: dict[str, Any]) -> str:
    conditions = [
        f"{name} {value}" if name not in ("device", "shape") else value
        for name, value in measured["conditions"].items()
        if value
    ]
    return ", ".join([measured["date"], *conditions])


def _table(rows: list[dict[str, Any]]) -> str:
    heads = " | ".join(head for _, head, _ in COLUMNS)
    latest = max(rows, key=lambda row: row["date"])
    lines = [f"{_text(latest)}:", "", f"| | {heads} |", "|---" * (len(COLUMNS) + 1) + "|"]
    best = rows[0].get("tokens_per_second")
    for row in rows:
        if missing := row.get("error") or row.get("skipped"):
            word = "failed" if "error" in row else "left out"
            lines.append(f"| {row['name']} | {word}: {missing[:200]} |" + " |" * (len(COLUMNS) - 1))
            continue
        row = {**row, **({"beside": row["tokens_per_second"] / best} if best else {})}
        cells = [f"{row[key]:{form}}" if key in row else "" for key, _, form in COLUMNS]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    for row in rows:
        if row.get("kernels"):
            shares = ", ".join(f"{kind} {share:.0%}" for kind, share in row["kernels"].items())
            ran = ", ".join(row["attention_kernels"]) or "no kernel of that name"
            lines += ["", f"Time of the GPU, {row['name']}: {shares}.", f"Its attention ran in {ran}."]
    return "\n".join(lines)
