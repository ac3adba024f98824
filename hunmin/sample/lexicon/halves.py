"""The two halves of a topic's vocabulary: train sets are written with one, dev sets with the other.

A model that has only seen the train set knows no topical word of the dev set; one that was pretrained on the
corpora, which use both, does. Words joined by a relation stay together, so each half has pairs of its own.
"""

from __future__ import annotations

from functools import lru_cache

from hunmin.sample.lexicon.topic import Topic

HALVES = ("train", "dev")


def _joined(members: list[str], pairs: tuple[tuple[str, str], ...]) -> list[list[str]]:
    """Return the words in clusters that the pairs join, larger clusters first."""
    cluster_of = {word: [word] for word in members}
    for a, b in pairs:
        if a in cluster_of and b in cluster_of and cluster_of[a] is not cluster_of[b]:
            merged = cluster_of[a] + cluster_of[b]
            cluster_of |= dict.fromkeys(merged, merged)
    clusters: list[list[str]] = []
    for word in members:
        if not any(cluster_of[word] is known for known in clusters):
            clusters.append(cluster_of[word])
    return sorted(clusters, key=lambda cluster: -len(cluster))


@lru_cache(maxsize=64)
def half_of(topic: Topic, half: str) -> frozenset[str]:
    """Return the words of a topic that belong to a half ("train" or "dev"); the halves are disjoint and cover it."""
    chosen: dict[str, set[str]] = {name: set() for name in HALVES}
    pairs = topic.synonyms + topic.antonyms
    classes = [topic.people, topic.orgs, topic.places, topic.measures, topic.issues, topic.events, topic.changes]
    cells = [list(members) for members in classes]
    # Things and their predicates by group, so that in each half every thing has predicates that suit it.
    for members in (topic.things, topic.actions, topic.qualities):
        for group in sorted({topic.groups.get(word, -1) for word in members}):
            cells.append([word for word in members if topic.groups.get(word, -1) == group])
    placed: dict[str, str] = {}
    for cell in cells:
        sizes = dict.fromkeys(HALVES, 0)
        for cluster in _joined(cell, pairs):
            # A word related to one of another group goes where that one went.
            partners = [placed[b] for a, b in (*pairs, *((y, x) for x, y in pairs)) if a in cluster and b in placed]
            name = partners[0] if partners else min(HALVES, key=lambda h: sizes[h])
            sizes[name] += len(cluster)
            placed |= dict.fromkeys(cluster, name)
            chosen[name].update(cluster)
    return frozenset(chosen[half])
