"""The metrics of KLUE-NER: F1 of whole entities and of single characters from their BIO labels, scores × 100."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from klue.metrics.pairs import Weighted, counted, hits_and_sides, mean_f1, same_lengths, weighted_sums

TYPES = ("PS", "LC", "OG", "DT", "TI", "QT")
"""Types of entity: person, location, organisation, date, time, quantity."""

LABELS = (*(f"{part}-{kind}" for kind in TYPES for part in "BI"), "O")
"""The 13 labels of a character in the benchmark's order."""


def entity_spans(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return a sentence's entities as (start, end, type), in order, the end exclusive. Strict reading: an entity starts
    with B only and continues over I of the same type. An I that does not carry on an entity starts nothing; an I of
    another type ends the entity before it."""
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


def weighted_entity_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Weighted:
    """Return the scores × 100 of labels of characters, sentence by sentence, by how often each sentence counts.

    - `entity_macro_f1`: mean F1 over the types of the entities in gold or prediction; nan where neither has an entity.
      A predicted entity is right when start, end and type are. The authors' code reads all sentences as one sequence
      with positions labelled O between them, which gives the same value.
    - `character_macro_f1`: mean F1 over all 13 labels with O, as the authors' code has it. The start and end positions
      of every sentence count as two more characters, O on both sides (the authors' code takes the model's own
      prediction there), and a label that occurs on neither side has F1 1.
    - `character_macro_f1_without_o`: mean F1 over the 12 labels without O, as the paper defines it. A label that occurs
      on neither side has F1 0.

    Raises ValueError for a label that is not one of `LABELS`.
    """
    same_lengths(gold, predicted)
    unknown = set().union(*gold, *predicted).difference(LABELS)
    if unknown:
        raise ValueError(f"{min(unknown)!r} is not a label of an entity's character; labels: {', '.join(LABELS)}")
    sides = [[entity_spans(labels) for labels in side] for side in (gold, predicted)]
    hits = [[span for span in p if span in g] for g, p in zip(*sides, strict=True)]
    entities = [counted([[kind for _, _, kind in spans] for spans in sentences], TYPES) for sentences in (hits, *sides)]
    characters = hits_and_sides(gold, predicted, LABELS)
    boundaries = np.full((len(gold), 1), 2)
    ends = np.cumsum([len(TYPES) * 3, len(LABELS) * 3])

    def scores(sums: np.ndarray) -> dict[str, float]:
        entities, characters, boundaries = np.split(sums, ends)
        plain = characters.reshape(3, -1)
        bounded = plain + boundaries * (np.array(LABELS) == "O")
        return {
            "entity_macro_f1": mean_f1(entities),
            "character_macro_f1": mean_f1(bounded, absent=1.0),
            "character_macro_f1_without_o": mean_f1(plain[:, np.array(LABELS) != "O"], absent=0.0),
        }

    return weighted_sums(np.hstack([*entities, characters, boundaries]), scores)
