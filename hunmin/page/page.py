"""The page itself: one file that asks no host for anything, the same bytes for the same facts."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from common.control_characters import escaped
from common.errors import UserError
from common.files import atomic_write
from hunmin.page.corpus import corpus
from hunmin.page.facts import Facts, read_facts
from hunmin.page.overview import headline, overview, pipeline
from hunmin.page.samples import read_samples, samples
from hunmin.page.scores import scores
from hunmin.page.training import training
from hunmin.page.vocabulary import vocabulary

PAGE = "report.html"
"""File in the run folder: beside the stages, as it changes with what comes after them, and holds times."""
LINKS = {
    "overview": "Overview",
    "pipeline": "Pipeline",
    "corpus": "Corpus",
    "vocabulary": "Vocabulary",
    "training": "Training",
    "scores": "Scores",
    "text": "Text",
}
GENERATOR = '<meta name="generator" content="hunmin">'
"""What tells a page of this command from other files."""
FRAME = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{generator}
{refresh}<link rel="icon" href="data:,">
<title>{name} · Hunmin</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#overview">To the content</a>
<header>
<h1>{name}</h1>
<p class="headline"><span class="state {state}">{headline}</span></p>
<nav aria-label="Sections">{links}</nav>
<button type="button" id="scheme" hidden>Dark</button>
</header>
<main>
{sections}
</main>
<footer><p>Made by <code>hunmin report</code>. Nothing on this page is fetched from anywhere.</p></footer>
<script>{script}</script>
</body>
</html>
""")


def render(facts: Facts, refresh: float | None = None) -> str:
    """Return the page of a run.

    Args:
        facts: what its folder tells.
        refresh: seconds after which a browser loads the page again; None: never.
    """
    style, script = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    sections = {
        "overview": overview(facts),
        "pipeline": pipeline(facts),
        "corpus": corpus(facts),
        "vocabulary": vocabulary(facts),
        "training": training(facts),
        "scores": scores(facts),
        "text": samples(facts),
    }
    link = Markup('<a href="#{}">{}</a>')
    return FRAME.format(
        generator=Markup(GENERATOR),
        policy=Markup(policy),  # held in double quotes, and has none
        refresh=Markup('<meta http-equiv="refresh" content="{:.0f}">\n').format(refresh) if refresh else "",
        name=facts.name,
        style=Markup(style),
        script=Markup(script),
        state=facts.state.replace(" ", "-"),
        headline=headline(facts),
        links=Markup("\n").join(link.format(key, LINKS[key]) for key, held in sections.items() if held),
        sections=Markup("\n").join(held for held in sections.values() if held),
    )


def write_page(run: Path, path: Path | None = None, text: bool = False, refresh: float | None = None) -> Facts:
    """Write the page of a run, finished or going, and return what it shows.

    Args:
        run: run folder.
        path: file to write; None: report.html in the run folder.
        text: show documents of the corpus.
        refresh: seconds after which a browser loads the page again, until the run has ended.

    Raises:
        UserError: it is no run folder, its results are damaged, or the file is none that this command wrote.
        HunminError: a manifest or the statistics are damaged.
        DiskFullError: no space; an earlier page stays.
    """
    path = path or run / PAGE
    if os.path.lexists(path) and not is_page(path):
        raise UserError(f"{path} is not a page of hunmin", "a page replaces only a page", "give another --out")
    facts = read_facts(run, time.time())
    if text:
        facts = replace(facts, text=read_samples(run))
    page = render(facts, refresh if facts.state != "finished" else None)
    with atomic_write(path) as stream:
        stream.write(escaped(page))
    return facts


def is_page(path: Path) -> bool:
    """Return whether a file is a page that `write_page` wrote."""
    try:
        with path.open("rb") as stream:
            return GENERATOR.encode() in stream.read(4096)
    except OSError:
        return False
