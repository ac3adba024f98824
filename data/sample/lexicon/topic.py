"""What a topic is: its words by grammatical role, and the relations among them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class Topic:
    """The vocabulary of one topic. Every member of a class fits every sentence slot of that class.

    Relations hold pairs of members of one class: synonyms (same meaning), antonyms (one excludes the other);
    hypernyms map a thing to the word for its kind, which is not itself a member of a class.
    """

    name: str
    label: str | None
    """YNAT label, or None for a topic that only the corpora have."""
    people: tuple[str, ...]
    orgs: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    """Objects that any of `actions` can be done to."""
    measures: tuple[str, ...]
    """Quantities that rise and fall."""
    issues: tuple[str, ...]
    """States of affairs that any of `changes` can happen to."""
    events: tuple[str, ...]
    """Occasions that are held somewhere."""
    actions: tuple[str, ...]
    changes: tuple[str, ...]
    qualities: tuple[str, ...]
    """Adjectives that fit `things`."""
    synonyms: tuple[tuple[str, str], ...] = ()
    antonyms: tuple[tuple[str, str], ...] = ()
    hypernyms: dict[str, str] = field(default_factory=dict)
    field_word: str = ""
    """How a sentence names the field: 정치권, 경제계 …"""

    @property
    def nouns(self) -> tuple[str, ...]:
        """All nouns, by class order."""
        return self.people + self.orgs + self.places + self.things + self.measures + self.issues + self.events

    @property
    def predicates(self) -> tuple[str, ...]:
        """All predicates, by class order."""
        return self.actions + self.changes + self.qualities


def words(text: str, separator: str | None = None) -> tuple[str, ...]:
    """Return the words of a list written as text, separated by white space or by `separator`."""
    return tuple(text.split(separator))


def make_topic(
    name: str, label: str | None, field_word: str, synonyms: str, antonyms: str, hypernyms: str, **classes_text: str
) -> Topic:
    """Return a topic from white-space separated word lists.

    Args:
        synonyms: pairs "a=b"; antonyms: pairs "a/b"; hypernyms: groups "kind:a,b,c".
        classes_text: one list for each word class of `Topic`.

    Raises:
        ValueError: a word is listed twice, or a relation names a word that is in no class.
    """
    classes = {key: words(text) for key, text in classes_text.items()}
    everything = [word for members in classes.values() for word in members]
    if len(set(everything)) != len(everything):
        raise ValueError(
            f"topic {name} lists a word twice: {sorted({w for w in everything if everything.count(w) > 1})}"
        )
    synonym_pairs = tuple((a, b) for a, b in (pair.split("=") for pair in synonyms.split()))
    antonym_pairs = tuple((a, b) for a, b in (pair.split("/") for pair in antonyms.split()))
    kinds = {word: kind for kind, group in (g.split(":") for g in hypernyms.split()) for word in group.split(",")}
    related = {word for pair in synonym_pairs + antonym_pairs for word in pair} | set(kinds)
    if unknown := related - set(everything):
        raise ValueError(f"topic {name}: relations name words that are in no class: {sorted(unknown)}")
    return Topic(
        name=name,
        label=label,
        field_word=field_word,
        synonyms=synonym_pairs,
        antonyms=antonym_pairs,
        hypernyms=kinds,
        **classes,
    )
