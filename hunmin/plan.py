"""`hunmin run --dry-run` and `hunmin plan`: what would be done, and what it takes, before anything runs."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from common.errors import UserError, nearest
from common.files import human_size
from common.manifest import read_manifest
from common.process import available_cores
from common.progress import console, duration, short_number
from hunmin.recipe import Recipe
from hunmin.run import SHARED_EXECUTOR, SHARED_STAGE, judge_all
from hunmin.stages import STAGE_NAMES, stage_named
from hunmin.state import Verdict
from pretrain.flops import flops_per_token, parameters
from pretrain.metrics import read_metrics

REACHED = {"V100": 0.50, "A100": 0.50, "H100": 0.30, "H200": 0.30}
"""GPU → share of its published peak that is assumed to be reached."""

CPU_SHARE = 0.65
"""Share of this machine's measured matrix product that a training step is assumed to reach on a CPU."""

CORPUS_BYTES_PER_SECOND = 0.5e6
"""Assumed rate of corpus, tokenizer and encode together, bytes of input a second and core; deliberately low."""


def cost_plan(recipe: Recipe, devices: int = 1, device: str | None = None) -> dict[str, Any]:
    """Return tokens, FLOPs, memory, hours and disk of a recipe's pretraining.

    Args:
        recipe: the run.
        devices: how many devices share the global batch.
        device: name in REACHED; None measures a matrix product on this machine.

    Raises:
        UserError: the device is not known, or the run would be refused: so many devices cannot share its batches, or
            what it begins with is not there.
    """
    p = recipe.pretrain
    if fault := p.batch_fault(devices):
        raise UserError(fault, "every device computes as many micro-batches of a global batch as the others")
    stage_named("pretrain").files(recipe)  # refuses a model to go on with that is not there
    vocab = recipe.tokenizer.vocab_size
    per_token = flops_per_token(p.model, vocab, p.length, (p.masking.rate + p.masking.last_rate) / 2)
    positions = p.length + (2 if p.model.type == "roberta" else 0)
    weights = parameters(p.model, vocab, positions, p.objective == "mlm+nsp")
    rate, basis = _rate(device)
    # activations: about 34 bytes a token, layer and width at bf16 (Korthikanti et al. 2022, without attention scores);
    # where they are computed again, 2 for what goes into each layer and all of one layer
    widths = 2 * p.model.layers + 34 if p.gradient_checkpointing else 34 * p.model.layers
    activations = widths * p.micro_batch * p.length * p.model.hidden
    # weights, gradients and Adam's two moments in fp32; ZeRO 1 splits the moments, 2 the gradients, 3 the weights
    split = (0, 8, 12, 16)[p.zero_stage]
    kept = p.keep_last + (p.steps // p.keep_every if p.keep_every else 0)
    return {
        "parameters": weights,
        "tokens": p.tokens,
        "flops_per_token": per_token,
        "flops": per_token * p.tokens,
        "device": device or "this machine",
        "devices": devices,
        "flops_per_second": rate * devices,
        "basis": basis,
        "tokens_per_second": rate * devices / per_token,
        "hours": p.tokens * per_token / (rate * devices) / 3600,
        "memory_bytes_per_device": (16 - split) * weights + split * weights // devices + activations,
        "disk_bytes": (kept * 12 + 8) * weights,
    }


def _rate(device: str | None) -> tuple[float, str]:
    """Return the FLOP/s that one device is assumed to reach, and how that is known."""
    import torch

    from pretrain.peak import PEAKS, known_device, measured_rate

    if device and device not in REACHED:
        raise UserError(
            f"unknown device '{device}'{nearest(device, list(REACHED))}", f"known devices: {', '.join(REACHED)}"
        )
    if device:
        return PEAKS[device] * REACHED[device], f"published peak × {REACHED[device]} assumed"
    if not torch.cuda.is_available():
        return measured_rate() * CPU_SHARE, f"matrix product measured here × {CPU_SHARE}"
    known = known_device(torch.cuda.get_device_name())
    share = REACHED.get((known or "").split(" ")[0], min(REACHED.values()))
    if known:
        return PEAKS[known] * share, f"published peak of {known} × {share} assumed"
    return measured_rate(torch.device("cuda")) * share, f"matrix product measured here × {share} assumed"


def print_cost(plan: dict[str, Any]) -> None:
    """Print a cost plan as a table on stdout."""
    table = Table(show_header=False)
    rows = [
        ("parameters", short_number(plan["parameters"])),
        ("token positions", short_number(plan["tokens"])),
        ("FLOPs a token (forward + backward)", f"{plan['flops_per_token'] / 1e6:.1f} M"),
        ("FLOPs in all", f"{plan['flops']:.2e}"),
        ("devices", f"{plan['devices']} × {plan['device']}"),
        ("assumed rate", f"{plan['flops_per_second'] / 1e12:.3g} TFLOP/s ({plan['basis']})"),
        ("tokens a second", short_number(plan["tokens_per_second"])),
        ("expected time", duration(plan["hours"] * 3600)),
        ("memory a device, about", human_size(plan["memory_bytes_per_device"])),
        ("disk for checkpoints, about", human_size(plan["disk_bytes"])),
    ]
    for name, value in rows:
        table.add_row(name, value)
    console(stderr=False).print(table)


def dry_run_plan(recipe: Recipe, first: str | None, last: str | None) -> dict[str, Any]:
    """Return {"stages": what would run and why, size of what is there, expected seconds; "tokens", "seconds"}.

    Raises:
        UserError: the run would be refused before it does anything.
    """
    verdicts = judge_all(recipe, first, last)
    _refuse_as_run_does(recipe, verdicts, first, last)
    source_bytes = _input_bytes(recipe)
    rows = []
    for verdict in verdicts:
        folder = Path(recipe.out) / verdict.stage.folder
        manifest = read_manifest(folder)
        size = sum(f["bytes"] for f in manifest.outputs.values()) if manifest else None
        seconds = 0.0 if verdict.done else _expected_seconds(recipe, verdict.stage.name, source_bytes, verdict.resumes)
        rows.append(
            {
                "stage": verdict.stage.name,
                "runs": not verdict.done,
                "why": verdict.why,
                "bytes": size,
                "seconds": None if seconds is None else round(seconds, 1),
            }
        )
    known: list[Any] = [row["seconds"] for row in rows if row["seconds"] is not None]
    return {
        "out": recipe.out,
        "input_bytes": source_bytes,
        "tokens": recipe.pretrain.tokens,
        "stages": rows,
        "seconds": round(sum(known), 1),
    }


def _refuse_as_run_does(recipe: Recipe, verdicts: list[Verdict], first: str | None, last: str | None) -> None:
    """Refuse what `hunmin.run.run` and pretraining itself refuse, as far as it is known beforehand."""
    if recipe.corpus.executor == SHARED_EXECUTOR and (first or last != SHARED_STAGE):
        raise UserError(
            f"corpus.executor={SHARED_EXECUTOR} in a run of other stages",
            f"the elements of an array do the stage '{SHARED_STAGE}' alone",
            f"submit hunmin corpus build RECIPE --executor {SHARED_EXECUTOR}; then run the recipe without it",
        )
    begin = STAGE_NAMES.index(first) if first else 0
    waiting = [v for v in verdicts if not v.done]
    if waiting and STAGE_NAMES.index(waiting[0].stage.name) < begin:
        name = waiting[0].stage.name
        raise UserError(
            f"stage '{name}' is not done ({waiting[0].why})",
            f"--from {first} needs every stage before it",
            f"run without --from, or with --from {name}",
        )
    if any(v.stage.name == "pretrain" for v in waiting):
        import torch

        processes, gpus = recipe.pretrain.processes, torch.cuda.device_count()
        if torch.cuda.is_available() and processes > gpus:
            raise UserError(
                f"{processes} processes on a machine with {gpus} GPUs",
                "a process has a GPU of its own",
                f"set pretrain.processes={gpus}",
            )


def _input_bytes(recipe: Recipe) -> int:
    from data.readers import list_files

    paths = [Path(file.path) for file in list_files(recipe.corpus.inputs)]
    return sum(path.stat().st_size for path in paths if path.is_file())


def _expected_seconds(recipe: Recipe, stage: str, source_bytes: int, resumes: bool) -> float | None:
    cores = available_cores()
    if stage in ("corpus", "tokenizer", "encode"):
        # compressed text is some four times larger unpacked; the three stages share the rate evenly
        return 4 * source_bytes / (CORPUS_BYTES_PER_SECOND * cores) / 3 + 5
    if stage == "pretrain":
        p = recipe.pretrain
        if resumes:
            path = Path(recipe.out) / "pretrain.partial" / "logs" / "metrics.jsonl"
            rows = [row for row in read_metrics(path) if "tokens_per_second" in row]
            if rows:
                left = p.tokens - p.samples_before(rows[-1]["step"]) * p.length
                return left / max(1.0, statistics.median(row["tokens_per_second"] for row in rows))
        import torch

        # processes on one CPU share what it does
        return cost_plan(recipe, p.processes if torch.cuda.is_available() else 1)["hours"] * 3600
    return None if stage == "klue" else 10.0


def print_plan(plan: dict[str, Any]) -> None:
    """Print a dry run as a table on stdout."""
    table = Table(
        title=f"{plan['out']}: {human_size(plan['input_bytes'])} of input files, "
        f"{short_number(plan['tokens'])} training token positions"
    )
    for name in ("stage", "", "why"):
        table.add_column(name)
    table.add_column("there now", justify="right")
    table.add_column("expected", justify="right")
    for row in plan["stages"]:
        expected = "?" if row["seconds"] is None else duration(row["seconds"])
        table.add_row(
            row["stage"],
            "runs" if row["runs"] else "done",
            Text(row["why"]),
            "" if row["bytes"] is None else human_size(row["bytes"]),
            expected if row["runs"] else "",
        )
    out = console(stderr=False)
    out.print(table)
    out.print(
        f"expected in all: {duration(plan['seconds'])} and what is marked ? "
        "(pretraining from a matrix product measured here; text stages from an assumed rate)"
    )
