"""The head of the page: what the run came to, how far it is, and the facts of it.

Of processes and failures it shows ranks, numbers of nodes and the kind of failure. Names of machines and the text of an
error, which can hold a path or a name, stay in the run's folder.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from common.files import human_size
from common.progress import short_number
from hunmin.page.curves import seconds_per_step
from hunmin.page.facts import Facts
from hunmin.page.scores import means, single_seed
from hunmin.page.tables import change, moment, signed
from hunmin.page.words import ENGLISH, Words
from klue.collapse import BASELINE, collapse_sentences
from klue.results import summarize
from klue.synthetic import all_synthetic
from klue.tasks import TASKS
from pretrain.models.registry import ARCHITECTURES
from pretrain.parallel.monitor import ABSENT_KIND, CLOSED_KIND, SILENT_KIND

KINDS = {
    SILENT_KIND: "no heartbeat",
    ABSENT_KIND: "did not come where the others waited for it",
    CLOSED_KIND: "its connection has closed",
    "OutOfMemoryError": "out of memory",
    "MemoryError": "out of memory",
    "DiskFullError": "the disk is full",
    "TooManySkippedError": "too many batches skipped",
    "DamagedError": "damaged data",
    "DistError": "the network between the processes",
    "DistBackendError": "the network between the processes",
    "DistNetworkError": "the network between the processes",
    "DistStoreError": "the network between the processes",
    "HunminError": "an error",
    "UserError": "an error",
}
"""Kind of a failure, or class of an error → what is said of it; of other classes the name."""


def failure_kind(heartbeat: dict[str, Any], words: Words) -> str:
    """Return the kind and rank of a failure, without its message; "" where there is none.

    Args:
        heartbeat: of the training.
        words: of the page.
    """
    if not heartbeat.get("failure"):
        return ""
    kind = str(heartbeat.get("failure_kind") or "an error")
    rank = heartbeat.get("failed_rank")
    where = "" if rank is None else words("rank {rank}: ", rank=rank)
    name = words(KINDS.get(kind, kind))
    return words("{failure} (full message: pretrain*/logs/heartbeat.json)", failure=f"{where}{name}")


def node_names(heartbeat: dict[str, Any], words: Words) -> dict[str, str]:
    """Return host → "node 1", "node 2" …, in the order of the lowest rank that is known of each.

    Args:
        heartbeat: with those that are late.
        words: of the page.
    """
    lowest: dict[str, int] = {}
    for late in heartbeat.get("late", []):
        host, rank = str(late["host"]), min(map(int, late["ranks"]))
        lowest[host] = min(rank, lowest.get(host, rank))
    ordered = sorted(lowest, key=lambda host: (lowest[host], host))
    return {host: words("node {number}", number=number) for number, host in enumerate(ordered, start=1)}


def view(facts: Facts, words: Words) -> dict[str, Any]:
    """Return the values for the section's template."""
    training = facts.stage("pretrain").state in ("under way", "unfinished")
    heartbeat = facts.training.heartbeat
    pretrained = [entry for entry in summarize(facts.klue.rows) if entry["init"] != BASELINE]
    return {
        "synthetic": all_synthetic(facts.klue.rows),
        "verdict": verdict(facts, words),
        "collapsed": [words(message) for message in collapse_sentences(pretrained)],
        "outdated": bool(facts.klue.rows) and facts.stage("klue").state == "outdated",
        "facts": run_facts(facts, words),
        "progress": None if facts.state == "finished" else _progress(facts, words, training),
        "heartbeat": heartbeat if training else None,
        "failure": failure_kind(heartbeat, words),
        "nodes": node_names(heartbeat, words),
    }


def steps_done(facts: Facts) -> int:
    """Return the steps of the training, by its log, its heartbeat or its checkpoints, whichever is furthest."""
    training = facts.training
    logged = training.metrics.curve("tokens").steps_P[-1:].tolist()
    saved = [metadata["step"] for metadata in training.checkpoints[-1:]]
    return int(max([*logged, *saved, training.heartbeat.get("step") or 0]))


def headline(facts: Facts, words: Words = ENGLISH) -> str:
    """Return the state of the run in one line, as text."""
    state = words(facts.state)
    if facts.state == "finished":
        return words("finished: all stages are done")
    stage = next((each for each in facts.stages if each.state in ("under way", "unfinished")), None)
    if stage is None:
        following = next(each.name for each in facts.stages if each.state != "done")
        return words("{state}; the next stage is {stage}", state=state, stage=words.name(f"stage {following}"))
    text = f"{state}: {words.name(f'stage {stage.name}')}"
    if stage.name == "pretrain" and facts.steps:
        text += words(", step {step} of {steps}", step=steps_done(facts), steps=facts.steps)
    if stage.name == "klue" and facts.klue.jobs:
        text += words(", {done} of {jobs:fine-tuning}", done=len(facts.klue.rows), jobs=facts.klue.jobs)
    return text


def has_baseline(facts: Facts) -> bool:
    """Return whether a model from random weights was fine-tuned as well."""
    return any(len(by_init) == 2 for by_init in means(facts.klue).values())


def verdict(facts: Facts, words: Words, gain: bool = True) -> dict[str, str] | None:
    """Return the result in one figure, what it is of, and a sentence; None where there is none yet.

    Args:
        facts: of the run.
        words: of the page.
        gain: whether the figure is the gain over random weights, where these were fine-tuned; else it is the score.
    """
    scores = means(facts.klue)
    both = [by_init for by_init in scores.values() if len(by_init) == 2]
    if both and not gain:
        scores = {
            task: {"pretrained": by_init["pretrained"]} for task, by_init in scores.items() if "pretrained" in by_init
        }
    elif both:
        means_of = {init: f"{fmean(by_init[init] for by_init in both):.2f}" for init in ("pretrained", "random")}
        figure = words(
            "{gain} points", gain=signed(fmean(by_init["pretrained"] - by_init["random"] for by_init in both))
        )
        single = single_seed(facts.klue)
        if len(both) == 1:
            measure = words("difference from random weights" if single else "gain over random weights")
            [task] = [TASKS[name].title for name, by_init in scores.items() if len(by_init) == 2]
            text = words(
                "{pretrained} after pretraining, {random} from random weights on {task}.", task=words(task), **means_of
            )
        else:
            measure = words("mean difference from random weights" if single else "mean gain over random weights")
            text = words(
                "{pretrained} after pretraining, {random} from random weights: mean of {count} tasks, one metric each.",
                count=len(both),
                **means_of,
            )
            better = sum(by_init["pretrained"] > by_init["random"] for by_init in both)
            text += " " + words(
                "The pretrained model scores higher on {better} of {tasks}."
                if single
                else "Pretraining helps on {better} of {tasks}.",
                better=better,
                tasks=len(both),
            )
        if single:
            text += " " + words("With one seed, this difference may be noise.")
        return {"figure": figure, "of": measure, "sentence": text}
    if scores:
        score = f"{fmean(score for by_init in scores.values() for score in by_init.values()):.2f}"
        alone = words("No model from random weights was fine-tuned to compare with.")
        if len(scores) == 1:
            return {"figure": score, "of": words(TASKS[next(iter(scores))].title), "sentence": alone}
        measure = words("Mean of {count} tasks, one metric each.", count=len(scores))
        return {"figure": score, "of": words("mean score"), "sentence": f"{measure} {alone}"}
    losses_P = facts.training.metrics.of_last_objective("validation_loss").values_P
    if not len(losses_P):
        return None
    accuracy = facts.training.metrics.last("validation_accuracy")
    right = words("{share} of the tokens predicted correctly.", share=f"{accuracy:.1%}") if accuracy else ""
    return {"figure": change(*losses_P[[0, -1]]), "of": words("validation loss"), "sentence": right}


def run_facts(facts: Facts, words: Words) -> list[tuple[str, str, str]]:
    """Return (name, value, what is beside it) of the run; what is not known is left out."""
    counts = {stage.name: stage.counts for stage in facts.stages}
    metrics = facts.training.metrics
    model = facts.recipe.get("pretrain", {}).get("model", {})
    items: list[tuple[str, str | None, str]] = []
    known = [stage.seconds for stage in facts.stages if stage.seconds is not None and stage.state == "done"]
    items.append(("Date", facts.date[:10] if facts.date else None, ""))
    if known:
        items.append(("Duration", words.duration(sum(known)), words("of the finished stages")))
    version = facts.stages[0].versions.get("hunmin")
    items.append(("Commit" if facts.commit else "Version", facts.commit or (f"Hunmin {version}" if version else None),
                  f"Hunmin {version}" if facts.commit and version else ""))  # fmt: skip
    items.append(("Hardware", facts.training.hardware, ""))
    if model:
        parameters = counts["export"].get("parameters")
        size = words("{size:parameter}", size=short_number(parameters)) if parameters else ""
        shape = words(
            "{layers:layer}, width {hidden}, {heads:head}",
            **{name: model.get(name) for name in ("layers", "hidden", "heads")},
        )
        kind = ARCHITECTURES.get(model["type"])
        items.append(("Model", kind.label if kind else model["type"], ", ".join(filter(None, (size, shape)))))
    if tokens := metrics.last("tokens"):
        steps = words("{step} of {steps:step}", step=int(metrics.curve("tokens").steps_P[-1]), steps=facts.steps)
        items.append(("Trained on", words("{count:token}", count=short_number(tokens)), steps))
    if corpus := counts["corpus"]:
        parts = words(
            "{documents:document}, {sentences:sentence}", **{name: corpus[name] for name in ("documents", "sentences")}
        )
        items.append(("Corpus", human_size(corpus["bytes"]), parts))
    if tokenizer := counts["tokenizer"]:
        tokens = counts["encode"].get("tokens")
        beside = words("the corpus is {count:token}", count=short_number(tokens)) if tokens else ""
        items.append(("Vocabulary", words("{count:entry/entries}", count=tokenizer["vocab_size"]), beside))
    return [(words(name), value, beside) for name, value, beside in items if value]


def _progress(facts: Facts, words: Words, training: bool) -> dict[str, Any]:
    done = steps_done(facts)
    seconds = seconds_per_step(facts.training.metrics)
    items = {"last written": moment(facts.last_sign) if facts.last_sign else None, "page written": moment(facts.now)}
    if training and facts.steps and seconds and facts.state == "running":
        left = (facts.steps - done) * seconds
        items = {
            "time per step": f"{seconds:.3g} s",
            "training ends in about": words.duration(left),
            "expected end": moment(facts.now + left),
            **items,
        }
    return {"share": done / facts.steps if training and facts.steps else None, "pairs": items}
