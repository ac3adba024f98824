"""The vocabulary on the page: its sizes, figures on held-out text, what it is made of, and how it cuts a sentence."""

from __future__ import annotations

import re
from collections import Counter

from markupsafe import Markup

from hunmin.page import markup
from hunmin.page.facts import Facts, Vocabulary
from hunmin.page.markup import count, percent

KINDS = (
    ("special", re.compile(r"\[.+\]|<.+>")),
    ("Hangul", re.compile(r"[가-힣ㄱ-ㅎㅏ-ㅣᄀ-ᇿ]+")),
    ("Latin letters", re.compile(r"[A-Za-zÀ-ɏ]+")),
    ("digits", re.compile(r"\d+")),
    ("Hanja and kana", re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")),
    ("other", re.compile(r".*", re.DOTALL)),
)
"""What an entry is made of: the first that fits."""
HIDDEN = ("corpus",)
"""Counts of the stage that are no numbers."""


def vocabulary(facts: Facts) -> Markup:
    """Return the section; it says so where there is no vocabulary yet."""
    if facts.vocabulary is None:
        return markup.section("vocabulary", "Vocabulary", markup.paragraph("There is no finished vocabulary yet."))
    counts = facts.stage("tokenizer").counts
    sizes = [(name.replace("_", " "), count(value)) for name, value in counts.items() if name not in HIDDEN]
    held_out = markup.table("On text that was held out", ["figure", "value"], facts.vocabulary.held_out)
    return markup.section(
        "vocabulary",
        "Vocabulary",
        markup.grid(
            markup.block("Sizes", markup.table("Sizes", ["what", "count"], sizes)),
            markup.block("On text that was held out", held_out),
            markup.block("The encoded corpus", _encoded(facts)),
            markup.block("What the entries are made of", _made_of(facts.vocabulary)),
        ),
        markup.block("How it cuts the example sentence of the KLUE paper", splits(facts.vocabulary.splits)),
    )


def _encoded(facts: Facts) -> Markup:
    counts = facts.stage("encode").counts
    if not counts:
        return Markup()
    words, tokens = facts.stage("corpus").counts.get("words", 0), counts["tokens"]
    rows: list[list[object]] = [
        ["tokens", count(tokens)],
        ["unknown", percent(counts["unk"], tokens, 4)],
        ["tokens a word", f"{tokens / words:.3f}" if words else None],
        ["tokens a document", f"{tokens / counts['documents']:,.1f}" if counts["documents"] else None],
        ["documents without a token", count(counts.get("empty_documents"))],
    ]
    return markup.table("The encoded corpus", ["figure", "value"], rows)


def _made_of(found: Vocabulary) -> Markup:
    begin, within = made_of(found.entries)
    rows: list[list[object]] = [
        [name, count(begin[name]), count(within[name]), percent(begin[name] + within[name], len(found.entries))]
        for name, _ in KINDS
        if begin[name] + within[name]
    ]
    return markup.table("Entries", ["kind", "begin a word", "go on (##)", "share"], rows)


def made_of(entries: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Return how many entries of each kind begin a word, and how many go on with one.

    Args:
        entries: of a WordPiece vocabulary.
    """
    begin: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for entry in entries:
        goes_on = entry.startswith("##") and len(entry) > 2
        text = entry[2:] if goes_on else entry
        kind = next(name for name, pattern in KINDS if pattern.fullmatch(text))
        (within if goes_on else begin)[kind] += 1
    return begin, within


def splits(rows: list[dict[str, object]]) -> Markup:
    """Return a sentence as it is cut, a line each way, its pieces apart.

    Args:
        rows: as `tokenizer.show.show` returns them; the last one is of the run's own vocabulary.
    """
    lines = []
    for at, row in enumerate(rows):
        name = "this vocabulary" if at == len(rows) - 1 else row["tokenizer"]
        lines.append(
            Markup('<tr><th scope="row">{}</th><td class="word">{}</td></tr>').format(name, cut(row["words"]))  # type: ignore[arg-type]
        )
    return Markup('<table class="splits"><tbody>{}</tbody></table>').format(markup.join(lines))


def cut(words: list[list[str]]) -> Markup:
    """Return words as rows of pieces."""
    piece = Markup('<span class="piece">{}</span>')
    word = Markup('<span class="cut">{}</span>')
    return Markup(" ").join(word.format(Markup("").join(piece.format(one) for one in pieces)) for pieces in words)
