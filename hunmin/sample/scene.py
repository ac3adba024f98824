"""A scene: one topic, a cast that recurs, and the words a document keeps coming back to."""

from __future__ import annotations

import random
import zlib
from functools import lru_cache

from hunmin.sample.inflect import Register
from hunmin.sample.lexicon import Topic, general
from hunmin.sample.lexicon.halves import half_of
from hunmin.sample.template import Segment, Value, realise, text_of

_RESERVED_SHARE = 3
FOCUS = 0.7
"""Share of slots that take one of the scene's own words rather than any word of the topic."""


@lru_cache(maxsize=65536)
def reserved(noun: str, predicate: str) -> bool:
    """Return whether a noun with a predicate is kept for the tasks (a third of all): the corpora never join these."""
    return zlib.crc32(f"{noun}|{predicate}".encode()) % _RESERVED_SHARE == 0


def invent_name(rng: random.Random) -> str:
    """Return a surname and a given name put together at random."""
    return rng.choice(general.SURNAMES) + rng.choice(general.GIVEN_NAMES)


def invent_date(rng: random.Random) -> tuple[str, str]:
    """Return a time expression and its NER type (DT or TI)."""
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(general.RELATIVE_DAYS), "DT"
    if kind < 0.6:
        return f"{rng.choice(general.MONTHS)} {rng.randint(1, 28)}일", "DT"
    if kind < 0.72:
        return f"지난 {rng.randint(1, 28)}일", "DT"
    if kind < 0.82:
        return f"{rng.randint(1995, 2024)}년", "DT"
    if kind < 0.92:
        return rng.choice(general.WEEKDAYS), "DT"
    return rng.choice(general.HOURS), "TI"


class Scene:
    """Fills the slots of templates from one topic.

    Slots: P, H people with name and role; R role; O organisation, V another; L place; S city; T, U things; M measure;
    I, J issues... see `_fill` for all.

    Args:
        rng: source of every choice.
        topic: where the words come from.
        half: "train" or "dev" to keep to a half of the topic's vocabulary; None for all of it.
        for_task: whether noun-predicate pairs come from those reserved for the tasks, or from the others.
    """

    def __init__(self, rng: random.Random, topic: Topic, half: str | None = None, for_task: bool = False) -> None:
        self.rng, self.topic, self.for_task = rng, topic, for_task
        allowed = half_of(topic, half) if half else None

        def keep(words: tuple[str, ...]) -> list[str]:
            return [w for w in words if allowed is None or w in allowed]

        self.words = {
            "R": keep(topic.people),
            "O": keep(topic.orgs),
            "L": keep(topic.places),
            "T": keep(topic.things),
            "M": keep(topic.measures),
            "I": keep(topic.issues),
            "E": keep(topic.events),
            "A": keep(topic.actions),
            "C": keep(topic.changes),
            "Q": keep(topic.qualities),
        }
        if for_task:  # only things of which a task may say something
            self.words["T"] = self.with_predicate(self.words["T"], self.words["A"])
        self.focus = {
            key: rng.sample(members, min(len(members), count))
            for key, count in (("O", 2), ("L", 2), ("T", 5), ("M", 2), ("I", 3), ("E", 2))
            for members in (self.words[key],)
        }
        self.cast = [(invent_name(rng), rng.choice(self.words["R"])) for _ in range(3)]
        self.city = rng.choice(general.CITIES)
        self.bound: dict[str, Value] = {}

    def _pick(self, key: str, avoid: str = "") -> str:
        pool = self.focus[key] if self.rng.random() < FOCUS else self.words[key]
        choice = self.rng.choice(pool)
        if choice == avoid:
            choice = self.rng.choice([w for w in self.words[key] if w != avoid] or [choice])
        return choice

    def with_predicate(self, nouns: list[str], predicates: list[str]) -> list[str]:
        """Return the nouns that have a predicate here, see `predicate_for`."""
        return [n for n in nouns if any(self._allows(n, p) for p in predicates)]

    def _allows(self, noun: str, predicate: str) -> bool:
        return reserved(noun, predicate) is self.for_task and self.topic.suits(noun, predicate)

    def predicate_for(self, noun: str, pool: list[str] | tuple[str, ...], avoid: str = "") -> str:
        """Return a predicate that may go with a noun here (reserved pairs in tasks only, the others elsewhere)."""
        suiting = [p for p in pool if p != avoid and self.topic.suits(noun, p)]
        return self.rng.choice([p for p in suiting if self._allows(noun, p)] or suiting or list(pool))

    def _noun(self, slot: str) -> str:
        return self.value(slot).segments[0].text

    def value(self, slot: str) -> Value:
        """Return the value of a slot, the same until `clear` is called."""
        if slot not in self.bound:
            self.bound[slot] = self._fill(slot)
        return self.bound[slot]

    def clear(self) -> None:
        """Forget the values of the last sentence (the cast and the focus stay)."""
        self.bound.clear()

    def _fill(self, slot: str) -> Value:
        rng = self.rng
        match slot:
            case "P" | "H":
                taken = self.bound.get("H" if slot == "P" else "P")
                other = taken.segments[0].text if taken else ""
                name, role = rng.choice([c for c in self.cast if c[0] != other] or self.cast)
                return Value((Segment(name, "PS", slot), Segment(f" {role}", slot="R")))
            case "K":
                return Value((Segment(self._noun("P"), "PS", slot), Segment(" 씨")))
            case "R":
                return Value((Segment(rng.choice(self.words["R"]), slot=slot),))
            case "O" | "V":
                rival = self.bound.get("V" if slot == "O" else "O")
                avoid = rival.segments[0].text if rival else ""
                return Value((Segment(self._pick("O", avoid), "OG", slot),))
            case "L":
                return Value((Segment(self._pick("L"), slot=slot),))
            case "S":
                return Value((Segment(self.city, "LC", slot),))
            case "T":
                return Value((Segment(self._pick("T"), slot=slot),))
            case "U":
                return Value((Segment(self._pick("T", self._noun("T")), slot=slot),))
            case "M" | "I" | "E":
                return Value((Segment(self._pick(slot), slot=slot),))
            case "J":
                return Value((Segment(self._pick("I", self._noun("I")), slot=slot),))
            case "D":
                text, kind = invent_date(rng)
                return Value((Segment(text, kind, slot),))
            case "N":
                return Value(
                    (Segment(str(rng.choice((2, 3, 4, 5, 7, 8, 10, 12, 15, 20, 30, 40, 60, 85))), "QT", slot),)
                )
            case "Q":
                count = rng.choice(("두", "세", "네", "다섯", "여섯", "일곱", "열"))
                return Value((Segment(count + rng.choice((" 가지", " 번", " 차례")), "QT", slot),))
            case "W":
                return Value((Segment(rng.choice(general.ADVERBS)),))
            case "X":
                return Value((Segment(rng.choice(general.MODIFIERS)),))
            case "Z":
                return Value((Segment(rng.choice(general.CONNECTIVES)),))
            case "F":
                return Value((Segment(self.topic.field_word),))
            case "A":
                return Value(lemma=self.predicate_for(self._noun("T"), self.words["A"]))
            case "B":
                return Value(lemma=self.predicate_for(self._noun("U"), self.words["A"], self.value("A").lemma))
            case "C":
                return Value(lemma=self.predicate_for(self._noun("I"), self.words["C"]))
            case "G":
                return Value(lemma=self.predicate_for(self._noun("M"), general.RISING + general.FALLING))
            case "Y":
                return Value(lemma=self.predicate_for(self._noun("T"), self.words["Q"]), adjective=True)
        raise KeyError(slot)

    def segments(self, template: str, register: Register = Register.PLAIN, keep: bool = False) -> list[Segment]:
        """Return the segments of a new sentence; with `keep`, slots keep the values of the sentence before."""
        if not keep:
            self.clear()
        return realise(template, register, self.value)

    def say(self, template: str, register: Register = Register.PLAIN, keep: bool = False) -> str:
        """Return a new sentence as text."""
        return text_of(self.segments(template, register, keep))
