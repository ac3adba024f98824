"""The model card: a run's own facts in a template a language, with metadata that the hub reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from common.errors import UserError
from common.files import HUB, human_size, is_remote, stem
from common.progress import short_number
from data.readers.paths import list_files
from hunmin.hub.facts import Facts
from hunmin.hub.licenses import license_fields
from hunmin.hub.scrub import base_model, last_name, public_recipe
from hunmin.hub.work import Work
from hunmin.page.tables import percent
from hunmin.page.vocabulary import SIZES
from hunmin.page.words import Language, Words
from klue.grid import md
from klue.model_index import eval_results
from klue.results import not_the_benchmarks, scored_examples
from klue.synthetic import all_synthetic
from klue.table_forms import markdown
from klue.tables import published_for
from klue.tasks import SUITE_OF, TASKS
from pretrain.models.registry import ARCHITECTURES
from pretrain.optim.registry import OPTIMIZERS
from pretrain.settings import PretrainSettings
from tokenizer.compare import shown
from tokenizer.show import EXAMPLE


def write_card(facts: Facts, repository: str | None, language: Language = "en") -> str:
    """Return the card, Markdown under its metadata; the same facts give the same card.

    Args:
        facts: of the run.
        repository: OWNER/NAME that it will stand in; None: the model is loaded from the run's folder.
        language: that it is written in.
    """
    place = FileSystemLoader(Path(__file__).parent)
    templates = Environment(loader=place, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    templates.filters |= {"pairs": pairs}
    settings = facts.recipe.pretrain
    recipe = facts.recipe
    words = Words(language)
    front = metadata(
        recipe.name,
        facts.scores,
        library_name="transformers",
        pipeline_tag="fill-mask",
        tags=["hunmin", settings.model.type, "korean"],
        base_model=base_model(recipe) or (facts.parent.base if facts.parent else None),
        **(license_fields(recipe.hub.license) if recipe.hub.license else {}),
    )
    values = {
        "name": md(recipe.name),
        "model": json.dumps(repository or _export_of(recipe.out), ensure_ascii=False),
        "note": recipe.hub.note.strip(),
        "recipe": fenced(public_recipe(recipe), "yaml"),
        **_training(facts, words),
        **_vocabulary(facts, words),
        **_corpus(facts, words),
        **_scores(facts, words),
    }
    return f"{front}{templates.get_template(f'card.{language}.md.jinja').render(values)}\n"


def _export_of(run: str) -> str:
    """Return where a run's model is loaded from, beside the run; of a path that names a machine's folders the end."""
    return f"{last_name(run) if Path(run).is_absolute() else run}/export"


def metadata(name: str | None = None, rows: Sequence[dict[str, Any]] = (), **fields: Any) -> str:
    """Return what the hub reads at the top of a card.

    Args:
        name: of the model.
        rows: result rows of its scores.
        fields: others of huggingface_hub's ModelCardData.
    """
    from huggingface_hub import ModelCardData

    results = eval_results(rows)
    scores: dict[str, Any] = {"model_name": name, "eval_results": results} if results else {}
    return f"---\n{ModelCardData(language='ko', **scores, **fields).to_yaml()}\n---\n\n"


def states_license(card: str) -> bool:
    """Return whether the metadata of a card name a licence."""
    return "\nlicense:" in card.partition("\n---\n")[0]


def with_license(card: str, license: str) -> str:
    """Return a card whose metadata name a licence, in place of its own."""
    front, end, text = card.partition("\n---\n")
    lines = [line for line in front.split("\n") if not line.startswith(("license:", "license_name:"))]
    stated = [f"{name}: {json.dumps(value)}" for name, value in license_fields(license).items()]
    return "\n".join([*lines, *stated]) + end + text


def pairs(rows: Mapping[str, str]) -> str:
    """Return a table of two columns without a head; rows without a value are left out."""
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items() if value)])


def fenced(content: str, language: str) -> str:
    """Return a block of code, within a fence that nothing in it ends."""
    longest = max((len(fence) for fence in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{content}{fence}"


def _training(facts: Facts, words: Words) -> dict[str, Any]:
    s = facts.recipe.pretrain
    work = facts.work
    pii = facts.recipe.corpus.pii
    o = s.optimizer
    m = s.model
    entries = facts.counts["tokenizer"].get("vocab_size", 0)
    parameters = facts.counts["export"].get("parameters") or ARCHITECTURES[m.type].parameters(m, entries, s.longest)
    parent = facts.parent
    whole = work + parent.work if parent and parent.work else None
    rates = _by_phase(s, lambda phase: f"{phase.optimizer.learning_rate:g}", words)
    devices = [f"{a if a == b else f'{a}–{b}'} × {md(device)}" for device, (a, b) in work.devices.items()]
    return {
        "kind": ARCHITECTURES[m.type].label,
        "size": short_number(parameters),
        "tokens": short_number(facts.tokens),
        "all_tokens": f"{facts.tokens:,}",
        "step": f"{facts.step:,}",
        "steps": f"{s.steps:,}",
        "averaged": ", ".join(f"{step:,}" for step in facts.averaged),
        "layers": f"{m.layers}",
        "hidden": f"{m.hidden} ({m.heads} × {m.hidden // m.heads})",
        "length": f"{s.longest}",
        "entries": f"{entries:,}",
        "objective": _by_phase(s, lambda phase: phase.objective.upper(), words),
        "batch": f"{_by_phase(s, lambda phase: f'{phase.global_batch:,} × {phase.max_seq_len}', words)}, "
        f"{words(s.packing)}",
        "masking_rate": _by_phase(s, lambda phase: f"{100 * phase.masking.rate:g}%", words),
        "whole_word": s.masking.whole_word,
        "masking_kind": words(s.masking.kind),
        "optimizer": f"{OPTIMIZERS[o.type].label}, lr {rates}, β {o.beta1:g}/{o.beta2:g}, {words(o.schedule)}",
        "warmup": f"{o.warmup_steps:,}",
        "hardware": ", ".join([*devices, facts.dtype]),
        "parent": {"name": md(parent.name), "step": f"{parent.step:,}"} if parent else None,
        "work": _amount(work),
        "whole": _amount(whole) if whole else None,
        "energy": "" if (power := (whole or work).kilowatt_hours) is None else f"{power:,.1f}",
        "versions": ", ".join(f"{name} {number}" for name, number in sorted(facts.versions.items())),
        "pii": pii.enabled,
        "pii_names": "NAME" in pii.types,
    }


def _by_phase(run: PretrainSettings, shown: Callable[[PretrainSettings], str], words: Words) -> str:
    """Return a value of a run's settings; where its phases differ, that of each with its steps."""
    values = [(shown(phase), end - first) for phase, first, end in run.every_phase]
    if len({value for value, _ in values}) == 1:
        return values[0][0]
    then, steps = (", then ", " steps") if words.language == "en" else (" → ", "스텝")
    return then.join(f"{value} ({count:,}{steps})" for value, count in values)


def _amount(work: Work) -> dict[str, Any]:
    """Return the time, time × devices and FLOPs of some work; the times as a number and "hours" or "minutes"."""
    times = {"time": work.hours, "devices": sum(work.device_hours.values())}
    amounts = {
        name: (f"{hours:,.2f}", "hours") if hours >= 1 else (f"{60 * hours:.1f}", "minutes")
        for name, hours in times.items()
    }
    return {**amounts, "flops": f"{work.flops:.2g}"}


def _vocabulary(facts: Facts, words: Words) -> dict[str, Any]:
    counts = facts.counts["tokenizer"]
    held_out = counts.get("held_out", {})
    return {
        "sizes": {words.name(name): f"{counts[name]:,}" for name in SIZES if name in counts},
        "figures": {words.name(name): shown(value) for name, value in held_out.get("figures", {}).items()},
        "held_out": {name: f"{held_out[name]:,}" for name in ("bytes", "words", "subwords") if held_out},
        "example": (EXAMPLE, facts.example) if facts.example else (),
    }


def _corpus(facts: Facts, words: Words) -> dict[str, Any]:
    counts = facts.counts["corpus"]
    statistics = facts.statistics
    filters = {
        title: sum(source["documents"] for sources in measures.values() for source in sources.values())
        for title, measures in statistics.get("filters", {}).items()
    }
    described = [source for source in facts.recipe.corpus.inputs if not isinstance(source, str)]
    licences: dict[str, list[str]] = {}
    for source in described:
        names = [source.name or stem(source.path)]
        if not source.name and not is_remote(source.path) and not source.path.startswith(HUB):
            with suppress(UserError):  # moved since the run
                names = [file.label for file in list_files([source])]
        for name in names if source.licence else []:
            licences.setdefault(name, []).append(source.licence or "")
    sources = [
        [
            md(name),
            *_amounts(of["kept"]),
            md(facts.recipe.hub.source_licenses.get(name) or ", ".join(dict.fromkeys(licences.get(name, [])))),
        ]
        for name, of in statistics.get("sources", {}).items()
    ]
    return {
        "sources": sources,
        "all": _amounts(counts) if counts else [],
        **_mixture(facts),
        "personal": _listed(statistics.get("pii", {}), words.name),
        "decontaminated": facts.recipe.is_decontaminated,
        "benchmark": _listed(facts.contamination, lambda name: words(TASKS[name].title) if name in TASKS else name),
        "cleaned": _listed(
            {rule: source["characters"] for rule, source in statistics.get("cleaning", {}).items()}, words.name
        ),
        "filtered": _listed(filters, words.name),
        "duplicates": _listed(counts.get("duplicates", {}), words.name),
        "rejects": f"{counts.get('rejects', 0):,}",
        **{name: _sum(statistics.get(name, {})) for name in ("dropped", "skipped", "damaged")},
    }


def _amounts(counts: Mapping[str, int]) -> list[str]:
    return [f"{counts.get('documents', 0):,}", f"{counts.get('sentences', 0):,}", human_size(counts.get("bytes", 0))]


def _mixture(facts: Facts) -> dict[str, Any]:
    """Return rows of how often the text of each source was trained on, and what was held out. How often in the whole
    training is known at its end, and not of pairs of sentences, whose second texts are drawn from all of it."""
    sources = facts.statistics.get("mixture") or {}
    counts = facts.counts["pretrain"]
    whole = facts.step == counts.get("steps") and facts.recipe.pretrain.packing != "sentence-pairs"
    before, trained = (sum(of[kind]["bytes"] for of in sources.values()) for kind in ("before", "pass"))
    rows = [
        [
            md(name),
            percent(of["before"]["bytes"], before),
            percent(of["pass"]["bytes"], trained),
            f"{of['rate']:.2f}",
            *([f"{of['rate'] * counts['epochs']:,.2f}"] if whole else []),
            *(f"{of[kind]['documents']:,}" for kind in ("held_out", "left_out")),
        ]
        for name, of in sources.items()
    ]
    sums = [f"{sum(of[kind]['documents'] for of in sources.values()):,}" for kind in ("held_out", "left_out")]
    return {"mixture": rows, "mixture_sums": sums, "whole_training": whole}


def _listed(counts: Mapping[str, int], named: Callable[[str], str]) -> str:
    return ", ".join(f"{md(named(name))} {n:,}" for name, n in counts.items() if n)


def _sum(counts: Mapping[str, int]) -> str:
    return f"{sum(counts.values()):,}" if any(counts.values()) else ""


def _scores(facts: Facts, words: Words) -> dict[str, Any]:
    rows = facts.scores
    other = {words(TASKS[task].title): (n, scored_examples(task)) for task, n in not_the_benchmarks(rows).items()}
    return {
        "scores": markdown(
            rows, published_for(rows, facts.recipe.published), facts.contamination, lambda text: words(text)
        )
        if rows
        else "",
        "synthetic": bool(rows) and all_synthetic(rows),
        "other": ", ".join(f"{title} {n:,} / {whole:,}" for title, (n, whole) in other.items()),
        "suites": any(SUITE_OF[row["task"]] != "klue" for row in rows),
    }
