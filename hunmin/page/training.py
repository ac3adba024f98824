"""Training on the page: curves, checkpoints, and what went wrong: skipped batches, restarts, slow processes."""

from __future__ import annotations

from typing import Any

from common.files import human_size
from hunmin.hub.scrub import bare
from hunmin.page.charts import Chart, Series, line_chart
from hunmin.page.curves import Metrics
from hunmin.page.facts import Facts, Training
from hunmin.page.failures import failure_kind, node_names
from hunmin.page.tables import Table, count
from hunmin.page.words import Words

SOURCE = "pretrain/logs/metrics.jsonl"
HIDDEN = ("wandb_project",)
"""Settings that tell whose run it is, and nothing of it."""
PLACES = ("init_from", "branch_from")
"""Settings that name a place on a machine: the last part of it is enough."""


def view(facts: Facts, words: Words) -> dict[str, Any]:
    """Return what the template of the section shows."""
    found = facts.training
    charts = curves(found.metrics, found.on_known_gpu, words) if found.metrics.curves else []
    loss = found.metrics.curve("loss")
    gaps = len(loss) - len(loss.finite)
    return {
        "begun": bool(found.metrics.curves),
        "gaps": words("{gaps} of {lines} lines of the log have no finite loss; curves have gaps there.",
                      gaps=f"{gaps:,}", lines=f"{len(loss):,}") if gaps else "",
        "main": [one for one in charts if one.key in ("loss", "accuracy")],
        "more": [one for one in charts if one.key not in ("loss", "accuracy")],
        "faults": _faults(found, words),
        "starts": _starts(found, words),
        "slow": _slow(found, words),
        "checkpoints": _checkpoints(found, words),
        "settings": Table(words("Settings"), [words("setting"), words("value")], _settings(facts), words=(1,)),
    }  # fmt: skip


def curves(metrics: Metrics, mfu: bool, words: Words) -> list[Chart]:
    """Return the charts of a run's log; one without a finite value is left out.

    Args:
        metrics: of the run.
        mfu: show the utilisation: it says something only against a peak that is published.
        words: of the page.
    """

    def one(name: str, label: str, factor: float = 1.0, dots: bool = False) -> Series:
        return Series(words(label), metrics.curve(name).scaled(factor), dots)

    def chart(
        key: str, title: str, unit: str, *series: Series, form: str = "{:,.4f}", zero: bool = False
    ) -> Chart | None:
        return line_chart(words, key, title, series, unit, form=form, source=SOURCE, zero=zero)

    charts = [
        chart("loss", "Loss of masked tokens", "nats", one("loss", "training"),
              one("validation_loss", "validation", dots=True)),
        chart("accuracy", "Masked tokens predicted correctly", "%", one("accuracy", "training", 100),
              one("validation_accuracy", "validation", 100, dots=True), form="{:.2f}"),
        chart("pairs", "Sentence pairs predicted correctly", "%", one("pair_accuracy", "training", 100),
              one("validation_pair_accuracy", "validation", 100, dots=True), form="{:.2f}"),
        chart("throughput", "Throughput", "tokens per second", one("tokens_per_second", "throughput"),
              form="{:,.0f}", zero=True),
        chart("mfu", "Model FLOPs utilisation (MFU)", "% of the device's peak", one("mfu", "MFU", 100), form="{:.2f}",
              zero=True) if mfu else None,
        chart("rate", "Learning rate", "learning rate", one("lr", "learning rate"), form="{:.4g}"),
        chart("gradient", "Gradient norm before clipping", "norm", one("gradient_norm", "norm")),
        chart("scale", "Loss scale (fp16)", "scale", one("loss_scale", "scale"), form="{:,.0f}"),
        chart("waiting", "Time spent waiting for data", "% of the time", one("data_wait_share", "waiting", 100),
              form="{:.3f}", zero=True),
        chart("spread", "Own work of the processes per step", "seconds",
              *(one(f"own_seconds_{end}", end) for end in ("slowest", "median", "fastest")), zero=True),
    ]  # fmt: skip
    return [one for one in charts if one]


def _checkpoints(found: Training, words: Words) -> Table:
    rows = [
        [count(one["step"]), count(one["tokens"]), human_size(one["bytes"]), one["dtype"]] for one in found.checkpoints
    ]
    return Table(words("Checkpoints"), [words(text) for text in ("step", "tokens", "size", "precision")], rows, (3,))


def _faults(found: Training, words: Words) -> list[tuple[str, str]]:
    """Return what went wrong, as (name, value)."""
    guard, skipped = found.guard, found.metrics.last("skipped")
    failure = found.heartbeat.get("failure")
    items = [
        ("batches skipped", count(skipped) if skipped is not None else ""),
        ("of which NaN/Inf or spikes", count(guard["faults"]) if guard.get("faults") else ""),
        ("at steps", ", ".join(f"{step:,}" for step in guard.get("skipped", []))),
        ("for the loss scale alone (fp16)", count(guard["overflows"]) if guard.get("overflows") else ""),
        ("restarts", count(len(found.starts) - 1) if found.starts else words("not recorded by this version")),
        ("failure", failure_kind(str(failure), words) if failure else ""),
    ]
    return [(words(name), value) for name, value in items if value]


def _starts(found: Training, words: Words) -> Table:
    rows = [
        [str(at), str(one.get("time")), count(one.get("step", 0)), str(one.get("processes"))]
        for at, one in enumerate(found.starts, 1)
    ]
    return Table(words("Starts"), [words(text) for text in ("start", "time", "after step", "processes")], rows, (1,))


def _slow(found: Training, words: Words) -> Table:
    nodes = node_names(found.metrics, found.heartbeat, words)
    rows = [[nodes[host], str(rank), str(lines)] for (host, rank), lines in found.metrics.slow.most_common(20)]
    return Table(words("Slow processes"), [words(text) for text in ("node", "rank", "lines of the log")], rows)


def _settings(facts: Facts) -> list[tuple[str, str]]:
    settings = facts.recipe.get("pretrain", {}).items()
    return flat(bare({name: value for name, value in settings if name not in HIDDEN}))


def flat(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return the leaves of a tree of settings as (dotted name, value); of a place its last part alone."""
    found: list[tuple[str, str]] = []
    for name, value in tree.items():
        if isinstance(value, dict):
            found += flat(value, f"{prefix}{name}.")
        elif value is not None:
            text = str(value)
            found.append((prefix + name, text.rstrip("/").rpartition("/")[2] if name in PLACES else text))
    return found
