"""The page itself: one file that asks no host for anything, the same bytes for the same facts.

What stands on it is in `templates`; a section is a view, which makes facts ready, and a template of its name.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from common.control_characters import escaped
from common.destinations import OutputFile
from common.errors import UserError
from common.files import human_size
from common.secrets import masked_urls
from hunmin.page import (
    compare,
    corpus,
    embeddings,
    pipeline,
    privacy,
    samples,
    scores,
    tables,
    training,
    verdict,
    vocabulary,
)
from hunmin.page.facts import Facts, read_facts
from hunmin.page.words import LANGUAGES, Language, Words
from klue.compare import distinguishing_parts

PAGE = "report.html"
"""File in the run folder: beside the stages, as it changes with what comes after them, and holds times."""
COMPARISON = "comparison.html"
"""File in the working folder: several runs side by side."""
GENERATOR = '<meta name="generator" content="hunmin'
"""Mark of a page of this command."""
UNSEALED = f'{GENERATOR}">'
SEAL = re.compile(f'{GENERATOR} ([0-9a-f]{{64}})">')
HERE = Path(__file__).parent
SCRIPTS = ("vendor/uplot.js", "script.js")
STYLES = ("vendor/uplot.css", "style.css")


@dataclass(frozen=True)
class Section:
    """A section of the page, drawn by `templates/sections/KEY.html.jinja`."""

    key: str
    title: str
    """English title; a key of words.yaml."""
    view: Callable[[Facts, Words], Any]
    """Facts as its template shows them; where it returns None, the run has nothing to show and there is no section."""
    folded: bool = False
    """Closed until a reader opens it."""


SECTIONS = (
    Section("verdict", "Result", verdict.view),
    Section("scores", "Scores", scores.view),
    Section("training", "Training", training.view),
    Section("embeddings", "Sentence embeddings", embeddings.view),
    Section("pipeline", "Pipeline", pipeline.view),
    Section("privacy", "Personal data and decontamination", privacy.view),
    Section("corpus", "Corpus", corpus.view, folded=True),
    Section("vocabulary", "Vocabulary", vocabulary.view, folded=True),
    Section("text", "Text of the corpus", samples.view, folded=True),
)
"""Sections in the order of the page."""


@lru_cache
def _assets() -> dict[str, Markup]:
    """Return scripts and styles as one text each, and the policy that allows these scripts and nothing else."""
    script, style = ("\n".join((HERE / n).read_text(encoding="utf-8") for n in names) for names in (SCRIPTS, STYLES))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {name: Markup(text) for name, text in (("script", script), ("style", style), ("policy", policy))}


@lru_cache
def _templates(language: Language) -> Environment:
    """Return the templates of a language, compiled once; everything is escaped that is no markup already."""
    words = Words(language)
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"), undefined=StrictUndefined, autoescape=True, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    templates.filters |= {
        "count": tables.count, "percent": tables.percent, "by_count": tables.by_count, "human_size": human_size,
        "megabytes": lambda size: f"{size / 1e6:,.2f}", "named": words.name,
        "rule_name": lambda rule: words.name(f"rule {rule}"),
        "counted": lambda name, counts: tables.count(counts.get(name, 0)),
        "whole": lambda item: sum(item[1].values()),
        "summed": lambda name, all: tables.count(sum(counts.get(name, 0) for _, counts in all)),
    }  # fmt: skip
    templates.globals |= {"_": words, **_assets(), "generator": Markup(UNSEALED), "language": language}
    return templates


def _words(facts: Facts, language: Language | None) -> Words:
    """Return the words of a page: in the language asked for, else in that of the run's card (`hub.language`)."""
    asked = language or (facts.recipe.get("hub") or {}).get("language")
    return Words(asked if asked in LANGUAGES else "en")


def render(facts: Facts, refresh: float | None = None, language: Language | None = None) -> str:
    """Return the page of a run.

    Args:
        facts: data of its folder.
        refresh: seconds after which a browser loads the page again; None: never.
        language: "en" or "ko"; None: that of the run's card.
    """
    words = _words(facts, language)
    views = [(section, section.view(facts, words)) for section in SECTIONS]
    shown = [(section, view) for section, view in views if view is not None]
    state = facts.state.replace(" ", "-")
    headline = verdict.headline(facts, words)
    template = _templates(words.language).get_template("page.html.jinja")
    return template.render(facts=facts, sections=shown, headline=headline, state=state, refresh=refresh)


def write_page(
    run: Path,
    path: Path | None = None,
    text: bool = False,
    refresh: float | None = None,
    language: Language | None = None,
    overwrite: bool = False,
) -> Facts:
    """Write the page of a run, finished or going, and return what it shows.

    Args:
        run: run folder.
        path: file to write; None: report.html in the run folder.
        text: show documents of the corpus.
        refresh: seconds after which a browser loads the page again, until the run has ended.
        language: "en" or "ko"; None: that of the run's card.
        overwrite: replace a page that was changed since it was written, too.

    Raises:
        UserError: it is no run folder, its results are damaged, or the file is none that this command wrote.
        HunminError: a manifest or the statistics are damaged.
        DiskFullError: no space; an earlier page stays.
    """
    to = _page_file(path or run / PAGE, overwrite)
    facts = read_facts(run, time.time())
    if text:
        facts = replace(facts, text=samples.read_samples(run))
    _write(to, render(facts, refresh if facts.state != "finished" else None, language))
    return facts


def write_comparison(
    runs: Sequence[Path], path: Path, language: Language | None = None, overwrite: bool = False
) -> list[Facts]:
    """Write a page with the training curves and the scores of several runs, and return what it shows.

    Args:
        runs: run folders, two at least.
        path: file to write.
        language: "en" or "ko"; None: that of the first run's card.
        overwrite: of `write_page`.

    Raises:
        UserError: there are too many runs, one is no run folder, or the file is none that this command wrote.
    """
    if len(runs) > compare.MOST:
        raise UserError(f"{len(runs)} runs", f"a page compares {compare.MOST} at most", "name fewer")
    to = _page_file(path, overwrite)
    facts = [read_facts(run, time.time()) for run in runs]
    words = _words(facts[0], language)
    view = compare.view(facts, _places(runs), words)
    _write(to, _templates(words.language).get_template("compare.html.jinja").render(refresh=None, **view))
    return facts


def _places(runs: Sequence[Path]) -> list[str]:
    """Return of each folder its name, or where several have it the folders that differ; never a whole path."""
    places = distinguishing_parts([str(run.absolute()) for run in runs])
    names = [PurePath(place).name for place in places]
    return names if len(set(names)) == len(names) or any(map(os.path.isabs, places)) else places


def is_page(path: Path) -> bool:
    """Return whether a file is a page that `write_page` wrote, and nothing in it was changed since."""
    try:
        text = path.read_bytes().decode() if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return False
    return SEAL.search(text) is not None and _sealed(SEAL.sub(UNSEALED, text, count=1)) == text


def _sealed(page: str) -> str:
    return page.replace(UNSEALED, f'{GENERATOR} {hashlib.sha256(page.encode()).hexdigest()}">', 1)


def _page_file(path: Path, overwrite: bool) -> OutputFile:
    return OutputFile(path, GENERATOR.encode(), overwrite or is_page(path))


def _write(to: OutputFile, page: str) -> None:
    with to.open(as_given=True) as stream:
        stream.write(_sealed(masked_urls(escaped(page))))
