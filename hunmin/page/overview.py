"""The head of the page: what the run is, how far it is, and its stages with their times."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from common.files import human_size
from common.progress import duration, short_number
from hunmin.page import markup
from hunmin.page.curves import seconds_per_step
from hunmin.page.facts import Facts
from hunmin.page.failures import failure_kind, node_names
from hunmin.report import stage_line
from klue.synthetic import all_synthetic
from pretrain.models.registry import ARCHITECTURES

STATES = {
    "done": "done",
    "outdated": "outdated: to be done again",
    "under way": "under way",
    "unfinished": "begun; the same command goes on",
    "waiting": "not begun",
}


def overview(facts: Facts) -> Markup:
    """Return the figures of the run at a glance, and of an unfinished one how far it is."""
    return markup.section("overview", "Overview", _progress(facts), _cards(facts))


def steps_done(facts: Facts) -> int:
    """Return the steps of the training, by its log, its heartbeat or its checkpoints, whichever is furthest."""
    found = facts.training
    logged = found.metrics.curve("tokens").steps_P[-1:].tolist()
    saved = [one["step"] for one in found.checkpoints[-1:]]
    return int(max([*logged, *saved, found.heartbeat.get("step") or 0]))


def headline(facts: Facts) -> str:
    """Return the state of the run in one line, as text."""
    if facts.state == "finished":
        return "finished: all stages are done"
    stage = next((one for one in facts.stages if one.state in ("under way", "unfinished")), None)
    if stage is None:
        following = next(one.name for one in facts.stages if one.state != "done")
        return f"{facts.state}; the next stage is {following}"
    text = f"{facts.state}: {stage.name}"
    if stage.name == "pretrain" and facts.steps:
        text += f", step {steps_done(facts):,} of {facts.steps:,}"
    if stage.name == "klue" and facts.klue.jobs:
        text += f", {len(facts.klue.rows)} of {facts.klue.jobs} fine-tunings"
    return text


def _progress(facts: Facts) -> Markup:
    """Return how far an unfinished run is; nothing of a finished one."""
    if facts.state == "finished":
        return Markup()
    metrics, heartbeat = facts.training.metrics, facts.training.heartbeat
    training = facts.stage("pretrain").state in ("under way", "unfinished")
    done = steps_done(facts)
    seconds = seconds_per_step(metrics)
    items: list[tuple[str, object]] = []
    if training and facts.steps and seconds and facts.state == "running":
        left = (facts.steps - done) * seconds
        items.append(("a step takes", f"{seconds:.3g} s"))
        items.append(("training ends in about", duration(left)))
        items.append(("that is at", markup.moment(facts.now + left)))
    items.append(("last sign of life", markup.moment(facts.last_sign) if facts.last_sign else None))
    items.append(("this page is of", markup.moment(facts.now)))
    share = done / facts.steps if training and facts.steps else None
    meter = Markup()
    if share is not None:
        meter = Markup('<progress value="{:.4f}" max="1" aria-label="steps done">{:.1f}%</progress>').format(
            share, 100 * share
        )
    late = _late(heartbeat, node_names(metrics, heartbeat)) if training else ""
    return markup.block(headline(facts).capitalize(), meter, markup.pairs(items), late)


def _late(heartbeat: dict[str, Any], nodes: dict[str, str]) -> Markup:
    """Return which processes the run waits for, and what has failed."""
    if not heartbeat:
        return Markup()
    parts = []
    if failure := heartbeat.get("failure"):
        parts.append(markup.paragraph(f"Failed: {failure_kind(str(failure))}", "warning"))
    number, of = heartbeat.get("late_processes", 0), heartbeat.get("processes")
    parts.append(
        markup.paragraph(
            f"{of} processes, {number} of them late; heartbeat of {heartbeat.get('time')}, step "
            f"{heartbeat.get('step', 0):,}, {heartbeat.get('seconds_in_step')} s in it."
        )
    )
    rows = [
        [
            nodes.get(one["host"]),
            one["processes"],
            ", ".join(map(str, one["ranks"])),
            f"{one['step']:,}",
            one["silent_seconds"],
        ]
        for one in heartbeat.get("late", [])
    ]
    head = ["node", "late processes", "ranks", "step", "seconds silent"]
    parts.append(markup.table("Late processes", head, rows, words=(2,)))
    return markup.join(parts)


def _cards(facts: Facts) -> Markup:
    """Return the figures of the run, each with its name."""
    counts = {stage.name: stage.counts for stage in facts.stages}
    metrics, model = facts.training.metrics, facts.recipe.get("pretrain", {}).get("model", {})
    cards: list[tuple[str, str, str]] = []
    if corpus := counts["corpus"]:
        cards.append(
            ("Corpus", human_size(corpus["bytes"]),
             f"{corpus['documents']:,} documents, {corpus['sentences']:,} sentences")
        )  # fmt: skip
    if tokenizer := counts["tokenizer"]:
        tokens = counts["encode"].get("tokens")
        cards.append(
            ("Vocabulary", f"{tokenizer['vocab_size']:,}", f"{short_number(tokens)} tokens of corpus" if tokens else "")
        )
    if model:
        parameters = counts["export"].get("parameters")
        shape = ", ".join(
            f"{model.get(name)} {name[:-1] if model.get(name) == 1 else name}{of}"
            for name, of in (("layers", f" of {model.get('hidden')}"), ("heads", ""))
        )
        size = f"{short_number(parameters)} parameters; " if parameters else ""
        kind = ARCHITECTURES.get(model["type"])
        cards.append(("Model", kind.label if kind else model["type"], size + shape))
    if tokens := metrics.last("tokens"):
        steps = int(metrics.curve("tokens").steps_P[-1])
        cards.append(("Trained on", f"{short_number(tokens)} tokens", f"{steps:,} of {facts.steps:,} steps"))
    losses_P = metrics.of_last_objective("validation_loss").values_P
    if len(losses_P):
        first, last = losses_P[0], losses_P[-1]
        change = f"{first:.3f} → {last:.3f}" if len(losses_P) > 1 else f"{last:.3f}"
        accuracy = metrics.last("validation_accuracy")
        beside = f"{100 * accuracy:.1f}% of masked tokens right" if accuracy is not None else ""
        cards.append(("Validation loss", change, beside))
    if facts.klue.rows:
        tasks = {row["task"] for row in facts.klue.rows}
        seeds = {row["seed"] for row in facts.klue.rows}
        cards.append(
            ("Synthetic tasks" if all_synthetic(facts.klue.rows) else "KLUE",
             f"{len(tasks)} task{'s' * (len(tasks) > 1)}",
             f"{len(facts.klue.rows)} fine-tunings, {len(seeds)} seed{'s' * (len(seeds) > 1)}"
             + ("; of an earlier state of the run" if facts.stage("klue").state == "outdated" else ""))
        )  # fmt: skip
    known = [stage.seconds for stage in facts.stages if stage.seconds is not None and stage.state == "done"]
    if known:
        cards.append(("Time", duration(sum(known)), "of the stages that are done"))
    card = Markup("<div><dt>{}</dt><dd><strong>{}</strong><span>{}</span></dd></div>")
    return Markup('<dl class="cards">{}</dl>').format(markup.join(card.format(*one) for one in cards))


def pipeline(facts: Facts) -> Markup:
    """Return the stages: their states, what came out of them and how long they took."""
    longest = max((stage.seconds or 0.0 for stage in facts.stages), default=0.0)
    lines = []
    for stage in facts.stages:
        at_work = stage.state in ("under way", "unfinished")  # what its folder tells is of an earlier time
        seconds, time = stage.seconds, Markup()
        if seconds is not None and not at_work:
            time = Markup("{}{}").format(duration(seconds), markup.bar(seconds / longest if longest else 0))
        said = stage_line(stage.name, stage.counts, validation_ends(facts)) if stage.counts and not at_work else ""
        line = '<li><strong>{}</strong>{}<span class="time">{}</span><span class="said">{}</span></li>'
        lines.append(Markup(line).format(stage.name, _state(stage.state), time, said))
    return markup.section(
        "pipeline",
        "Pipeline",
        Markup('<ol class="stages">{}</ol>').format(markup.join(lines)),
        markup.notes(
            ["Times are of the command that finished a stage; those that were stopped before are not in them."]
        ),
        markup.details("Versions of the packages", _versions(facts)),
    )


def _state(state: str) -> Markup:
    return Markup('<span class="state {}">{}</span>').format(state.replace(" ", "-"), STATES[state])


def validation_ends(facts: Facts) -> dict[str, Any]:
    """Return the first and the last validation as `hunmin.report.collect` has them."""
    metrics = facts.training.metrics
    names = [name for name in metrics.curves if name.startswith("validation_")]
    values = {name: values_P for name in names if len(values_P := metrics.of_last_objective(name).values_P)}
    return {
        end: {name: float(values_P[at]) for name, values_P in values.items()}
        for end, at in (("first", 0), ("last", -1))
    }


def _versions(facts: Facts) -> Markup:
    versions: dict[str, str] = {}
    for stage in facts.stages:
        versions |= stage.versions
    return markup.table("Versions", ["package", "version"], sorted(versions.items()), words=(1,))
