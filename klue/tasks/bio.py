"""BIO labels of a text's characters, from labels of its tokens or from the places of its entities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

FORM = "entities are a list of {start, end, label}, or of [start, end, label]"


def gap_of(sentences: Sequence[Sequence[Any]]) -> str:
    """Return what stands between the tokens of a file: nothing where they are single characters, else a blank. Single
    characters have the blanks of the text among them, or a file has no longer token."""
    tokens = [str(token) for sentence in sentences for token in sentence]
    return "" if " " in tokens or all(len(token) < 2 for token in tokens) else " "


def labels_of_tokens(tokens: Sequence[Any], tags: Sequence[Any], gap: str) -> tuple[str, list[str]]:
    """Return a text and a label for each of its characters, `gap` being between the tokens. Raises ValueError where a
    tag is no label of BIO, or there are not as many as tokens."""
    if len(tokens) != len(tags):
        raise ValueError(f"there are {len(tokens)} tokens and {len(tags)} tags")
    labels: list[str] = []
    for number, (token, tag) in enumerate(zip(map(str, tokens), map(str, tags), strict=True)):
        if tag != "O" and (tag[:2] not in ("B-", "I-") or not tag[2:]):
            raise ValueError(f"{tag!r} is no label of BIO: O, B-TYPE or I-TYPE")
        inside = tag if tag == "O" else f"I-{tag[2:]}"
        between = [tag if tag == inside else "O"] * len(gap if number else "")
        labels += [*between, tag, *[inside] * len(token)][: len(between) + len(token)]
    return gap.join(map(str, tokens)), labels


def labels_of_spans(text: str, spans: Any) -> list[str]:
    """Return a label for each character of a text. Raises ValueError for an entity that does not fit it, or one that
    overlaps another.

    Args:
        spans: objects with start, end (exclusive) and label, or lists of the three.
    """
    if not isinstance(spans, list):
        raise ValueError(f"{FORM}, not {spans!r:.40}")
    labels = ["O"] * len(text)
    for span in spans:
        try:
            start, end, label = (span[key] for key in ("start", "end", "label")) if isinstance(span, dict) else span
            start, end = int(start), int(end)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{FORM}, not {span!r:.60}") from None
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            raise ValueError(f"{label} at {start} to {end} does not fit a text of {len(text)} characters")
        if set(labels[start:end]) != {"O"}:
            raise ValueError(f"{label} at {start} to {end} overlaps another entity")
        start += len(text[start:end]) - len(text[start:end].lstrip())
        labels[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return labels


def check_order(labels: Sequence[str]) -> None:
    """Raise a ValueError where an entity continues that has not begun."""
    for before, label in pairwise(["O", *labels]):
        if label.startswith("I-") and before[2:] != label[2:]:
            raise ValueError(f"{label} stands behind {before}: an entity begins with B-{label[2:]}")
