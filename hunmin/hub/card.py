"""The model card: a run's own facts, in English or Korean, with metadata that the hub reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from common.files import human_size
from common.progress import short_number
from hunmin.hub.facts import Facts
from hunmin.hub.scrub import public_recipe
from hunmin.scores import model_index
from klue.report import markdown, published_rows
from klue.results import not_the_benchmarks
from klue.tasks import TASKS

Language = Literal["en", "ko"]
TEXTS: dict[Language, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("card_texts.yaml").read_text("utf-8"))
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
        f"# {facts.recipe.name}\n\n{say['intro'].format(**_architecture(facts))}",
        _section(say["use"], _usage(facts, name)),
        _section(say["model"], _table(_model_rows(facts, say))),
        _section(say["vocabulary"], _vocabulary(facts)),
        _section(say["corpus"], _corpus(facts, say)),
        _section(say["training"], _table(_training_rows(facts, say))),
        _section(say["scores"], _scores(facts, say)),
        _section(say["limits"], say["limits_text"].format(length=facts.recipe.pretrain.length)),
        _section(say["reproduce"], f"{say['reproduce_text']}\n\n```yaml\n{public_recipe(facts.recipe)}```"),
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
    if settings.init_from and re.fullmatch(r"[\w-]+/[\w.-]+", settings.init_from):
        tree["base_model"] = settings.init_from
    tree |= model_index(facts.recipe.name, facts.scores) if facts.scores else {}
    return yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text.strip()}" if text.strip() else ""


def _table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows if value)])


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
        "```python",
        "from transformers import pipeline",
        "",
        f'fill = pipeline("fill-mask", model="{name}")',
        'print(fill("한국의 수도는 [MASK]이다."))',
        "```",
    ]
    return "\n".join(lines)


def _model_rows(facts: Facts, say: Mapping[str, str]) -> list[tuple[str, str]]:
    m = facts.recipe.pretrain.model
    return [
        (say["layers"], f"{m.layers}"),
        (say["hidden"], f"{m.hidden} ({m.heads} × {m.hidden // m.heads})"),
        (say["length"], f"{facts.recipe.pretrain.length}"),
        (say["entries"], f"{facts.counts['tokenizer'].get('vocab_size', 0):,}"),
        (say["objective"], facts.recipe.pretrain.objective),
    ]


def _vocabulary(facts: Facts) -> str:
    """Return the tables of the tokenizer's own card, without its title and settings."""
    text = re.sub(r"```yaml\n.*?```", "", facts.vocabulary, flags=re.DOTALL)
    return "\n".join(text.splitlines()[2:])


def _corpus(facts: Facts, say: Mapping[str, str]) -> str:
    counts, statistics = facts.counts["corpus"], facts.statistics
    if not counts:
        return ""
    licenses = facts.recipe.hub.source_licenses
    lines = [f"| {say['source']} | {say['documents']} | {say['sentences']} | {say['size']} | {say['license']} |"]
    lines.append("|---|---:|---:|---:|---|")
    for name, of in statistics.get("sources", {}).items():
        kept = of["kept"]
        lines.append(
            f"| {name} | {kept['documents']:,} | {kept['sentences']:,} | {human_size(kept['bytes'])} | "
            f"{licenses.get(name, say['not_stated'])} |"
        )
    size = human_size(counts["bytes"])
    lines.append(f"| **{say['all']}** | {counts['documents']:,} | {counts['sentences']:,} | {size} | |")
    removed = [
        (say["personal"], ", ".join(f"{kind} {n:,}" for kind, n in statistics.get("pii", {}).items() if n)),
        (say["benchmark"], ", ".join(f"{task} {n:,}" for task, n in facts.contamination.items())),
        (say["duplicates"], ", ".join(f"{kind} {n:,}" for kind, n in counts.get("duplicates", {}).items() if n)),
        (say["rejects"], f"{counts.get('rejects', 0):,}"),
    ]
    if not facts.recipe.corpus.pii.enabled:
        removed[0] = (say["personal"], say["pii_off"])
    if not facts.recipe.corpus.decontaminate.enabled:
        removed[1] = (say["benchmark"], say["decontamination_off"])
    return "\n".join(lines) + f"\n\n{say['removed']}\n\n{_table(removed)}"


def _training_rows(facts: Facts, say: Mapping[str, str]) -> list[tuple[str, str]]:
    s, o = facts.recipe.pretrain, facts.recipe.pretrain.optimizer
    energy = facts.kilowatt_hours
    versions = ", ".join(f"{name} {number}" for name, number in sorted(facts.versions.items()))
    masking = f"{100 * s.masking.rate:g}%" + (" whole-word" if s.masking.whole_word else "") + f", {s.masking.kind}"
    return [
        (say["steps"], f"{facts.step:,} / {s.steps:,}"),
        (say["tokens"], f"{facts.tokens:,}"),
        (say["batch"], f"{s.global_batch:,} × {s.length}, {s.samples}"),
        (say["masking"], masking),
        (say["optimizer"], f"AdamW, lr {o.lr:g}, β {o.beta1:g}/{o.beta2:g}, {o.schedule}, warm-up {o.warmup_steps:,}"),
        (say["hardware"], f"{facts.devices} × {facts.device}, {facts.dtype}"),
        (say["hours"], f"{facts.hours:,.2f} h; {facts.flops:.2g} FLOPs"),
        (say["energy"], say["energy_text"].format(kwh=energy) if energy is not None else say["energy_unknown"]),
        (say["versions"], versions),
    ]


def _scores(facts: Facts, say: Mapping[str, str]) -> str:
    if not facts.scores:
        return say["no_scores"]
    published = published_rows() if facts.recipe.klue.published else None
    text, other = say["scores_text"], not_the_benchmarks(facts.scores)
    if other:
        counts = [f"{TASKS[task].title} {n:,} / {TASKS[task].dev_examples:,}" for task, n in other.items()]
        text = say["other_scores_text"].format(counts=", ".join(counts))
    return f"{text}\n\n{markdown(facts.scores, published, facts.contamination)}"
