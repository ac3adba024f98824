"""The two halves of a topic's vocabulary: train sets are written with one, dev sets with the other.

A model that has only seen the train set knows no topical word of the dev set; one that was pretrained on the
corpora, which use both, does. Words joined by a relation stay together, so each half has pairs of its own.
"""

from __future__ import annotations

from functools import lru_cache

from data.sample.lexicon.topic import Topic

HALVES = ("train", "dev")


def _groups(words: tuple[str, ...], pairs: tuple[tuple[str, str], ...]) -> list[list[str]]:
    """Return the words grouped by the pairs that join them, in order of first appearance."""
    group_of: dict[str, list[str]] = {word: [word] for word in words}
    for a, b in pairs:
        if a in group_of and b in group_of and group_of[a] is not group_of[b]:
            merged = group_of[a] + group_of[b]
            for word in merged:
                group_of[word] = merged
    seen: list[list[str]] = []
    for word in words:
        if not any(group_of[word] is known for known in seen):
            seen.append(group_of[word])
    return seen


@lru_cache(maxsize=64)
def half_of(topic: Topic, half: str) -> frozenset[str]:
    """Return the words of a topic that belong to a half ("train" or "dev"); the halves are disjoint and cover it."""
    chosen: dict[str, set[str]] = {name: set() for name in HALVES}
    classes = (
        topic.people,
        topic.orgs,
        topic.places,
        topic.things,
        topic.measures,
        topic.issues,
        topic.events,
        topic.actions,
        topic.changes,
        topic.qualities,
    )
    for members in classes:
        sizes = dict.fromkeys(HALVES, 0)
        # Pairs first, so that both halves get some; single words then even the sizes out.
        for group in sorted(_groups(members, topic.synonyms + topic.antonyms), key=lambda g: -len(g)):
            name = min(HALVES, key=lambda h: sizes[h])
            sizes[name] += len(group)
            chosen[name].update(group)
    return frozenset(chosen[half])
