"""Training on the page: curves, checkpoints, and what went wrong: skipped batches, restarts."""

from __future__ import annotations

from typing import Any

from hunmin.hub.scrub import bare
from hunmin.page.charts import Chart, Series, line_chart
from hunmin.page.curves import Metrics
from hunmin.page.facts import Facts
from hunmin.page.words import Words

SOURCE = "pretrain/logs/metrics.jsonl"
HIDDEN = ("wandb_project",)
"""Settings that tell whose run it is, and nothing of it."""
PLACES = ("init_from", "branch_from")
"""Settings that name a place on a machine: the last part of it is enough."""
LOSS = ("Loss of predicted tokens", "nats")
RIGHT = ("Tokens predicted correctly", "%")
CURVES = (
    ("loss", *LOSS, (("loss", "training"), ("validation_loss", "validation")), 1.0, "{:,.4f}"),
    ("accuracy", *RIGHT, (("accuracy", "training"), ("validation_accuracy", "validation")), 100.0, "{:.2f}"),
    ("pairs", "Sentence pairs predicted correctly", "%",
     (("pair_accuracy", "training"), ("validation_pair_accuracy", "validation")), 100.0, "{:.2f}"),
    ("throughput", "Throughput", "tokens per second", (("tokens_per_second", "throughput"),), 1.0, "{:,.0f}"),
    ("mfu", "Model FLOPs utilisation (MFU)", "% of the device's peak", (("mfu", "MFU"),), 100.0, "{:.2f}"),
    ("rate", "Learning rate", "learning rate", (("lr", "learning rate"),), 1.0, "{:.4g}"),
    ("gradient", "Gradient norm before clipping", "norm", (("gradient_norm", "norm"),), 1.0, "{:,.4f}"),
    ("scale", "Loss scale (fp16)", "scale", (("loss_scale", "scale"),), 1.0, "{:,.0f}"),
    ("waiting", "Time spent waiting for data", "% of the time", (("data_wait_share", "waiting"),), 100.0, "{:.3f}"),
)  # fmt: skip
"""(key, title, unit, (name in the log, label) of each line, factor, form of the numbers)."""
FROM_ZERO = ("throughput", "mfu", "waiting")
"""Charts whose axis begins at 0, where small changes are no news."""


def view(facts: Facts, words: Words) -> dict[str, Any]:
    """Return the values for the section's template."""
    training, guard = facts.training, facts.training.guard
    charts = _curves(training.metrics, words, training.on_known_gpu)
    loss = training.metrics.curve("loss")
    skipped = training.metrics.last("skipped")
    settings = facts.recipe.get("pretrain", {}).items()
    return {
        "lines": len(loss),
        "gaps": len(loss) - len(loss.finite),
        "main": charts[:2],
        "more": charts[2:],
        "faults": {
            "batches skipped": skipped,
            "of which NaN/Inf or spikes": guard.get("faults") or None,
            "at steps": ", ".join(f"{step:,}" for step in guard.get("skipped", [])) or None,
            "for the loss scale alone (fp16)": guard.get("overflows") or None,
            "restarts": len(training.starts) - 1 if training.starts else words("not recorded by this version"),
        },
        "settings": _flat(bare({name: value for name, value in settings if name not in HIDDEN})),
    }


def _curves(metrics: Metrics, words: Words, mfu: bool) -> list[Chart]:
    charts = [
        line_chart(
            words, key, title, unit=unit, form=form, source=SOURCE, zero=key in FROM_ZERO,
            series=[
                Series(words(label), metrics.curve(name).scaled(factor), dots=name.startswith("validation"))
                for name, label in lines
            ],
        )
        for key, title, unit, lines, factor, form in CURVES
        if mfu or key != "mfu"
    ]  # fmt: skip
    return [chart for chart in charts if chart]


def _flat(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return the leaves of a tree of settings as (dotted name, value); of a place its last part alone."""
    leaves: list[tuple[str, str]] = []
    for name, value in tree.items():
        if isinstance(value, dict):
            leaves += _flat(value, f"{prefix}{name}.")
        elif value is not None:
            text = str(value)
            leaves.append((prefix + name, text.rstrip("/").rpartition("/")[2] if name in PLACES else text))
    return leaves
