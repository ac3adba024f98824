"""What a topic is: its words by grammatical role, which go together, and the relations among them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


def words(text: str, separator: str | None = None) -> tuple[str, ...]:
    """Return the words of a list written as text, separated by white space or by `separator`."""
    return tuple(text.split(separator))


@dataclass(frozen=True, eq=False)
class Topic:
    """The vocabulary of one topic. Members of a class fit the sentence slots of that class; `suits` says which
    predicates go with which things.

    Relations hold pairs of members of one class: synonyms (same meaning), antonyms (one excludes the other);
    hypernyms map a thing to the word for its kind, which is not itself a member of a class.
    """

    name: str
    label: str | None
    """YNAT label, or None for a topic that only the corpora have."""
    field_word: str
    """How a sentence names the field: 정치권, 경제계 …"""
    people: tuple[str, ...]
    orgs: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    measures: tuple[str, ...]
    """Quantities that rise and fall."""
    issues: tuple[str, ...]
    """States of affairs that any of `changes` can happen to."""
    events: tuple[str, ...]
    """Occasions that are held somewhere."""
    actions: tuple[str, ...]
    """What is done to things."""
    changes: tuple[str, ...]
    qualities: tuple[str, ...]
    """Adjectives of things."""
    synonyms: tuple[tuple[str, str], ...]
    antonyms: tuple[tuple[str, str], ...]
    hypernyms: dict[str, str]
    groups: dict[str, int] = field(default_factory=dict)
    """Number of the group of a thing, and of a predicate that goes with one group of things only."""

    @property
    def nouns(self) -> tuple[str, ...]:
        """All nouns, by class order."""
        return self.people + self.orgs + self.places + self.things + self.measures + self.issues + self.events

    @property
    def predicates(self) -> tuple[str, ...]:
        """All predicates, by class order."""
        return self.actions + self.changes + self.qualities

    def suits(self, noun: str, predicate: str) -> bool:
        """Return whether a predicate can go with a noun (a thing only with its own group's, or anything's)."""
        return noun not in self.groups or self.groups.get(predicate, self.groups[noun]) == self.groups[noun]


_CLASSES = ("people", "orgs", "places", "things", "measures", "issues", "events", "actions", "changes", "qualities")


def make_topic(
    name: str, label: str | None, field_word: str, synonyms: str, antonyms: str, hypernyms: str, **classes: str
) -> Topic:
    """Return a topic from white-space separated word lists.

    Args:
        synonyms: pairs "a=b"; antonyms: pairs "a/b"; hypernyms: groups "kind:a,b,c".
        classes: one list for each word class of `Topic`. Things may stand in groups separated by "|"; actions and
            qualities then have as many groups, in the same order, and one more for those that go with all things.

    Raises:
        ValueError: a word is listed twice, a relation names a word that is in no class or words of two classes,
            or the groups of predicates do not match those of the things.
    """
    grouped = {key: [words(group) for group in classes[key].split("|")] for key in _CLASSES}
    flat = {key: tuple(word for group in groups for word in group) for key, groups in grouped.items()}
    class_of = {word: key for key, members in flat.items() for word in members}
    counted = Counter(word for members in flat.values() for word in members)
    if twice := sorted(word for word, count in counted.items() if count > 1):
        raise ValueError(f"topic {name} lists words twice: {twice}")
    synonym_pairs = tuple((a, b) for a, b in (pair.split("=") for pair in synonyms.split()))
    antonym_pairs = tuple((a, b) for a, b in (pair.split("/") for pair in antonyms.split()))
    kinds = {word: kind for kind, group in (g.split(":") for g in hypernyms.split()) for word in group.split(",")}
    related = {word for pair in synonym_pairs + antonym_pairs for word in pair} | set(kinds)
    if unknown := sorted(related - set(class_of)):
        raise ValueError(f"topic {name}: relations name words that are in no class: {unknown}")
    if mixed := [pair for pair in synonym_pairs + antonym_pairs if class_of[pair[0]] != class_of[pair[1]]]:
        raise ValueError(f"topic {name}: relations join words of two classes: {mixed}")
    number = len(grouped["things"])
    groups = {word: place for place, group in enumerate(grouped["things"]) for word in group} if number > 1 else {}
    for key in ("actions", "qualities"):
        if len(grouped[key]) != (number + 1 if number > 1 else 1):
            raise ValueError(f"topic {name}: {key} have {len(grouped[key])} groups, things have {number}")
        if number > 1:
            groups |= {word: place for place, group in enumerate(grouped[key][:-1]) for word in group}
    return Topic(
        name=name,
        label=label,
        field_word=field_word,
        synonyms=synonym_pairs,
        antonyms=antonym_pairs,
        hypernyms=kinds,
        groups=groups,
        **flat,
    )
