"""Sphinx configuration: English pages NAME.md and their Korean twins NAME.ko.md, built without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

project = "Hunmin (훈민)"
author = "the Hunmin authors"
copyright = "the Hunmin authors, Apache-2.0"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns: list[str] = []
language = "en"
highlight_language = "text"  # blocks hold commands and what they print
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Hunmin (훈민)"
html_show_sphinx = False
html_copy_source = False
linkcheck_timeout = 20
linkcheck_anchors = False  # many sites make theirs by JavaScript


def _show_folders(app: Any, name: str, source: list[str]) -> None:
    """Turn links to folders of the source tree, which are no pages, into their paths; linked files are copied along."""

    page = Path(app.env.doc2path(name))

    def path_of(match: re.Match[str]) -> str:
        target = (page.parent / match[2]).resolve()
        return f"`{target.relative_to(ROOT)}/`" if target.is_dir() else match[0]

    source[0] = re.sub(r"\[([^\]]*)\]\((\.\./[^)#]+)\)", path_of, source[0])


def _add_contents(app: Any, name: str, source: list[str]) -> None:
    """Add the contents of the sidebar to the index: the pages of each row of its table, and all Korean pages."""
    if name != "index":
        return
    twin = Path(app.env.doc2path("index.ko")).read_text(encoding="utf-8")
    parts = [(row[1], row[0]) for row in re.finditer(r"^\| \*\*(\w+)\*\*.*", source[0], re.MULTILINE)]
    for caption, text in [*parts, ("한국어", "](index.ko.md) " + twin.split("\n| ", 1)[1])]:
        pages = "\n".join(re.findall(r"\]\(([^)]+)\.md\)", text))
        source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:maxdepth: 1\n\n{pages}\n```\n"


def _say_language(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """State the language of Korean pages, which browsers choose fonts and line breaks by."""
    if page.endswith(".ko"):
        context["language"] = "ko"


def setup(app: Any) -> dict[str, bool]:
    """Connect the functions above; pages can be read in parallel."""
    app.connect("source-read", _show_folders)
    app.connect("source-read", _add_contents)
    app.connect("html-page-context", _say_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
