"""The vocabulary on the page: its sizes, figures on held-out text, what it is made of, and how it cuts a sentence."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from hunmin.page.facts import Facts
from hunmin.page.words import Words
from tokenizer.compare import shown

SIZES = (
    *("vocab_size", "entries_before", "named", "learnt", "alphabet", "characters_left_out"),
    *("sources", "corpus_bytes", "sampled_bytes", "broken_lines"),
    *("pre_tokens", "distinct_pre_tokens", "distinct_characters"),
)
"""Counts of the stage that are shown, in their order."""
KINDS = (
    ("special", re.compile(r"\[.+\]|<.+>")),
    ("Hangul", re.compile(r"[가-힣ㄱ-ㅎㅏ-ㅣᄀ-ᇿ]+")),
    ("Latin letters", re.compile(r"[A-Za-zÀ-ɏ]+")),
    ("digits", re.compile(r"\d+")),
    ("Hanja and kana", re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")),
    ("other", re.compile(r".*", re.DOTALL)),
)
"""Kinds of entries by their characters; an entry is of the first that fits."""


def view(facts: Facts, words: Words) -> dict[str, Any] | None:
    """Return the values for the section's template; None where there is no vocabulary yet."""
    vocabulary = facts.vocabulary
    if vocabulary is None:
        return None
    counts = facts.stage("tokenizer").counts
    held_out = counts.get("held_out", {})
    begin, within = _made_of(vocabulary.entries)
    return {
        "size": words("{count:entry/entries}", count=counts.get("vocab_size", 0)),
        "sizes": [(name, counts[name]) for name in SIZES if name in counts],
        "held_out": [(name, shown(value)) for name, value in held_out["figures"].items()] if held_out else [],
        "held_out_bytes": held_out.get("bytes"),
        "encoded": facts.stage("encode").counts,
        "words": facts.stage("corpus").counts.get("words", 0),
        "kinds": [(name, begin[name], within[name]) for name, _ in KINDS if begin[name] + within[name]],
        "entries": len(vocabulary.entries),
        "splits": vocabulary.splits,
    }


def _made_of(entries: list[str]) -> tuple[Counter[str], Counter[str]]:
    begin: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for entry in entries:
        continues = entry.startswith("##") and len(entry) > 2
        text = entry[2:] if continues else entry
        kind = next(name for name, pattern in KINDS if pattern.fullmatch(text))
        (within if continues else begin)[kind] += 1
    return begin, within
