"""The model card: a run's own facts, in English or Korean, with metadata that the hub reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from common.progress import short_number
from hunmin.hub.card_corpus import corpus, vocabulary
from hunmin.hub.facts import Facts
from hunmin.hub.index import index_of
from hunmin.hub.markdown import fenced, pairs, text
from klue.report import markdown
from klue.results import not_the_benchmarks, scored_examples
from klue.synthetic import all_synthetic
from klue.tables import published_for
from klue.tasks import SUITE_OF, TASKS

Language = Literal["en", "ko"]
TEXTS: dict[Language, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("card_texts.yaml").read_text("utf-8"))
"""Language → what a card says."""


def write_card(facts: Facts, repository: str | None, language: Language = "en") -> str:
    """Return the card, Markdown under its metadata; the same facts give the same card.

    Args:
        facts: of the run.
        repository: OWNER/NAME that it will stand in, None if none is known.
        language: that it is written in.
    """
    say = TEXTS[language]
    hub = facts.recipe.hub
    name = repository or facts.recipe.name
    sections = [
        f"# {text(facts.recipe.name)}\n\n{say['intro'].format(**_architecture(facts))}",
        _section(say["use"], _usage(facts, name)),
        _section(say["model"], pairs(_model_rows(facts, say))),
        _section(say["vocabulary"], vocabulary(facts, say)),
        _section(say["corpus"], corpus(facts, say)),
        _section(say["training"], pairs(_training_rows(facts, say))),
        _section(say["scores"], _scores(facts, say)),
        _section(say["limits"], _limits(facts, say)),
        _section(say["reproduce"], f"{say['reproduce_text']}\n\n{fenced(facts.public_recipe, 'yaml')}"),
    ]
    if hub.note:
        sections.insert(1, hub.note.strip())
    return f"---\n{_metadata(facts, hub.license)}---\n\n" + "\n\n".join(part for part in sections if part) + "\n"


def _metadata(facts: Facts, license_name: str | None) -> str:
    settings = facts.recipe.pretrain
    tree: dict[str, Any] = {
        "language": "ko",
        "library_name": "transformers",
        "pipeline_tag": "fill-mask",
        "tags": ["hunmin", settings.model.type, "korean"],
    }
    if license_name:
        tree["license"] = license_name
    if facts.base_model:
        tree["base_model"] = facts.base_model
    tree |= index_of(facts.recipe.name, facts.scores) if facts.scores else {}
    return yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)


def _section(title: str, content: str) -> str:
    return f"## {title}\n\n{content.strip()}" if content.strip() else ""


def _architecture(facts: Facts) -> dict[str, str]:
    settings = facts.recipe.pretrain
    parameters = facts.counts["export"].get("parameters")
    return {
        "kind": {"bert": "BERT", "roberta": "RoBERTa"}[settings.model.type],
        "size": short_number(parameters) if parameters else "?",
        "tokens": short_number(facts.tokens),
        "step": f"{facts.step:,}",
        "steps": f"{settings.steps:,}",
    }


def _usage(facts: Facts, name: str) -> str:
    lines = [
        "from transformers import pipeline",
        "",
        f'fill = pipeline("fill-mask", model={json.dumps(name, ensure_ascii=False)})',
        'print(fill("한국의 수도는 [MASK]이다."))',
        "",
    ]
    return fenced("\n".join(lines), "python")


def _model_rows(facts: Facts, say: Mapping[str, Any]) -> list[tuple[str, str]]:
    m = facts.recipe.pretrain.model
    return [
        (say["layers"], f"{m.layers}"),
        (say["hidden"], f"{m.hidden} ({m.heads} × {m.hidden // m.heads})"),
        (say["length"], f"{facts.recipe.pretrain.length}"),
        (say["entries"], f"{facts.counts['tokenizer'].get('vocab_size', 0):,}"),
        (say["objective"], facts.recipe.pretrain.objective),
    ]


def _training_rows(facts: Facts, say: Mapping[str, Any]) -> list[tuple[str, str]]:
    s, o = facts.recipe.pretrain, facts.recipe.pretrain.optimizer
    work, energy = facts.work, facts.work.kilowatt_hours
    versions = ", ".join(f"{name} {number}" for name, number in sorted(facts.versions.items()))
    masking = (
        f"{100 * s.masking.rate:g}%" + (f" {say['whole_word']}" if s.masking.whole_word else "") + f", {s.masking.kind}"
    )
    return [
        (say["steps"], f"{facts.step:,} / {s.steps:,}"),
        (say["tokens"], f"{facts.tokens:,}"),
        (say["batch"], f"{s.global_batch:,} × {s.length}, {s.samples}"),
        (say["masking"], masking),
        (
            say["optimizer"],
            f"AdamW, lr {o.lr:g}, β {o.beta1:g}/{o.beta2:g}, {o.schedule}, {say['warmup']} {o.warmup_steps:,}",
        ),
        (say["hardware"], ", ".join([*map(_device, work.devices.items()), facts.dtype])),
        (
            say["hours"],
            say["hours_text"].format(hours=work.hours, all=sum(work.device_hours.values()), flops=work.flops),
        ),
        (say["energy"], say["energy_text"].format(kwh=energy) if energy is not None else say["energy_unknown"]),
        (say["versions"], versions),
    ]


def _device(item: tuple[str, tuple[int, int]]) -> str:
    """Return a device and how many of it."""
    name, (fewest, most) = item
    return f"{fewest if fewest == most else f'{fewest}–{most}'} × {text(name)}"


def _limits(facts: Facts, say: Mapping[str, Any]) -> str:
    """Return what the model should not be used for, and what may stand in its corpus."""
    pii = facts.recipe.corpus.pii
    names = "names_replaced" if "NAME" in pii.types else "names_stay"
    left = say[names if pii.enabled else "nothing_replaced"]
    return str(say["limits_text"].format(length=facts.recipe.pretrain.length, names=left))


def _scores(facts: Facts, say: Mapping[str, Any]) -> str:
    if not facts.scores:
        return str(say["no_scores"])
    published = published_for(facts.scores, facts.recipe.published)
    others = any(SUITE_OF[row["task"]] != "klue" for row in facts.scores)
    told, other = say["suites_text" if others else "scores_text"], not_the_benchmarks(facts.scores)
    if all_synthetic(facts.scores):
        told = say["synthetic_scores_text"]
    elif other:
        counts = [f"{TASKS[task].title} {n:,} / {scored_examples(task):,}" for task, n in other.items()]
        told = say["other_scores_text"].format(counts=", ".join(counts))
    return f"{told}\n\n{markdown(facts.scores, published, facts.contamination)}"
