"""The metrics of KLUE-NER: F1 of whole entities and of single characters from their BIO labels, scores × 100."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from klue.metrics.pairs import f1_by_class, f1_from_counts, mean, same_lengths

TYPES = ("PS", "LC", "OG", "DT", "TI", "QT")
"""Types of entity: person, location, organisation, date, time, quantity."""

LABELS = (*(f"{part}-{kind}" for kind in TYPES for part in "BI"), "O")
"""The 13 labels of a character in the benchmark's order."""


def entity_spans(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return a sentence's entities as (start, end, type), in order, the end exclusive.

    Strict reading: an entity starts with B only and continues over I of the same type. An I that does not carry on an
    entity starts nothing; an I of another type ends the entity before it.

    Args:
        labels: one label of `LABELS` a character; may be empty.
    """
    spans = []
    start, inside = 0, ""  # inside: the label that carries on the open entity; none is open where it is empty
    for position, label in enumerate(labels):
        if label == inside:
            continue
        if inside:
            spans.append((start, position, inside[2:]))
            inside = ""
        if label.startswith("B-"):
            start, inside = position, f"I-{label[2:]}"
    if inside:
        spans.append((start, len(labels), inside[2:]))
    return spans


def entity_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the scores × 100 of labels of characters, sentence by sentence.

    - `entity_macro_f1`: mean F1 over the types of the entities in gold or prediction; nan where neither has an entity.
      A predicted entity is right when start, end and type are. The authors' code reads all sentences as one sequence
      with positions labelled O between them, which gives the same value.
    - `character_macro_f1`: mean F1 over all 13 labels with O, as the authors' code has it. The start and end positions
      of every sentence count as two more characters, O on both sides (the authors' code takes the model's own
      prediction there), and a label that occurs on neither side has F1 1.
    - `character_macro_f1_without_o`: mean F1 over the 12 labels without O, as the paper defines it. A label that occurs
      on neither side has F1 0.

    Args:
        gold: per sentence one label of `LABELS` a character; at least one sentence.

    Raises:
        ValueError: a label is not one of `LABELS`.
    """
    same_lengths(gold, predicted)
    unknown = set().union(*gold, *predicted).difference(LABELS)
    if unknown:
        raise ValueError(f"{min(unknown)!r} is not a label of an entity's character; labels: {', '.join(LABELS)}")
    sides = [[entity_spans(labels) for labels in side] for side in (gold, predicted)]
    hits = [[span for span in p if span in g] for g, p in zip(*sides, strict=True)]
    entities = f1_from_counts(*(Counter(kind for _, _, kind in chain(*found)) for found in (hits, *sides)))
    characters = [*chain(*gold)], [*chain(*predicted)]
    boundaries = ["O"] * (2 * len(gold))
    bounded, plain = f1_by_class(*(side + boundaries for side in characters)), f1_by_class(*characters)
    return {
        "entity_macro_f1": mean(entities.values()) if entities else float("nan"),
        "character_macro_f1": mean(bounded.get(label, 1.0) for label in LABELS),
        "character_macro_f1_without_o": mean(plain.get(label, 0.0) for label in LABELS if label != "O"),
    }
