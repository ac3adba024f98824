"""Training on the page: curves, checkpoints, and what went wrong: skipped batches, restarts, slow processes."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from common.files import human_size
from hunmin.hub.scrub import bare
from hunmin.page import markup
from hunmin.page.charts import Series, line_chart
from hunmin.page.curves import Metrics
from hunmin.page.facts import Facts, Training
from hunmin.page.failures import failure_kind, node_names
from hunmin.page.markup import count

SOURCE = "pretrain/logs/metrics.jsonl"
HIDDEN = ("wandb_project",)
"""Settings that tell whose run it is, and nothing of it."""
PLACES = ("init_from", "branch_from")
"""Settings that name a place on a machine: the last part of it is enough."""


def training(facts: Facts) -> Markup:
    """Return the section; it says so where no line of the log is written yet."""
    found = facts.training
    if not found.metrics.curves:
        nothing = markup.paragraph("Training has written no line of its log yet.")
        return markup.section("training", "Training", nothing, _faults(found))
    return markup.section(
        "training",
        "Training",
        _skipped_lines(found.metrics),
        markup.grid(*curves(found.metrics)),
        markup.block("Checkpoints", _checkpoints(found)),
        markup.block("Faults and restarts", _faults(found)),
        markup.details("Settings of the training", _settings(facts)),
    )


def curves(metrics: Metrics) -> list[Markup]:
    """Return the charts of a run's log; one without a finite value is left out."""
    get = metrics.curve

    def chart(key: str, title: str, unit: str, *series: Series, form: str = "{:,.4f}", zero: bool = False) -> Markup:
        return line_chart(key, title, series, unit, shown=form.format, source=SOURCE, zero=zero)

    return [
        chart("loss", "Loss of masked tokens", "nats", Series("training", get("loss")),
              Series("validation, fixed masks", get("validation_loss"), dots=True)),
        chart("accuracy", "Masked tokens predicted right", "%", Series("training", get("accuracy").scaled(100)),
              Series("validation, fixed masks", get("validation_accuracy").scaled(100), dots=True), form="{:.2f}"),
        chart("pairs", "Sentence pairs predicted right", "%", Series("training", get("pair_accuracy").scaled(100)),
              Series("validation", get("validation_pair_accuracy").scaled(100), dots=True), form="{:.2f}"),
        chart("throughput", "Throughput", "tokens a second", Series("throughput", get("tokens_per_second")),
              form="{:,.0f}", zero=True),
        chart("mfu", "Model FLOPs utilisation (MFU)", "% of the device's peak", Series("MFU", get("mfu").scaled(100)),
              form="{:.2f}", zero=True),
        chart("rate", "Learning rate", "learning rate", Series("learning rate", get("lr")), form="{:.4g}"),
        chart("gradient", "Norm of the gradient, before clipping", "norm", Series("norm", get("gradient_norm"))),
        chart("scale", "Loss scale (fp16)", "scale", Series("scale", get("loss_scale")), form="{:,.0f}"),
        chart("waiting", "Time spent waiting for data", "% of the time",
              Series("waiting", get("data_wait_share").scaled(100)), form="{:.3f}", zero=True),
        chart("spread", "The processes' own work in a step", "seconds",
              *(Series(end, get(f"own_seconds_{end}")) for end in ("slowest", "median", "fastest")), zero=True),
    ]  # fmt: skip


def _skipped_lines(metrics: Metrics) -> Markup:
    """Return a word on losses that are not finite: a curve has gaps there."""
    loss = metrics.curve("loss")
    gaps = len(loss) - len(loss.finite)
    if not gaps:
        return Markup()
    return markup.paragraph(
        f"{gaps:,} of {len(loss):,} lines of the log have no finite loss; curves have gaps there.", "warning"
    )


def _checkpoints(found: Training) -> Markup:
    rows = [
        [count(one["step"]), count(one["tokens"]), human_size(one["bytes"]), one["dtype"]] for one in found.checkpoints
    ]
    return markup.table("Checkpoints", ["step", "tokens", "size", "computed in"], rows, words=(3,)) or markup.paragraph(
        "There is no whole checkpoint."
    )


def _faults(found: Training) -> Markup:
    """Return skipped batches, starts, slow processes and a failure."""
    guard, metrics = found.guard, found.metrics
    skipped = metrics.last("skipped")
    steps = ", ".join(f"{step:,}" for step in guard.get("skipped", []))
    items: list[tuple[str, object]] = [
        ("batches skipped", count(skipped) if skipped is not None else None),
        ("of these faulty: their loss not finite, or leaping", count(guard["faults"]) if "faults" in guard else None),
        ("faulty at the steps", steps or None),
        ("for the loss scale alone (fp16)", count(guard["overflows"]) if guard.get("overflows") else None),
        ("restarts", count(len(found.starts) - 1) if found.starts else "not recorded by the version that trained"),
        ("failure", failure_kind(str(failure)) if (failure := found.heartbeat.get("failure")) else None),
    ]
    starts = [
        [at, one.get("time"), count(one.get("step", 0)), one.get("processes")] for at, one in enumerate(found.starts, 1)
    ]
    nodes = node_names(metrics, found.heartbeat)
    slow = [[nodes[host], rank, lines] for (host, rank), lines in metrics.slow.most_common(20)]
    return markup.join(
        [
            markup.pairs(items),
            markup.details(
                "Starts", markup.table("Starts", ["start", "time", "after step", "processes"], starts, (1,))
            ),
            markup.table("Slow processes", ["node", "rank", "lines of the log"], slow),
        ]
    )


def _settings(facts: Facts) -> Markup:
    rows = flat(bare({name: value for name, value in facts.recipe.get("pretrain", {}).items() if name not in HIDDEN}))
    return markup.table("Settings", ["pretrain.…", "value"], rows, words=(1,))


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
