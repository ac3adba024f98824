"""A claim: one thing that is said to be so, and what follows from it, what it excludes and what it leaves open."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from hunmin.sample.inflect import Register, Tense, final_form, negated_final
from hunmin.sample.josa import josa
from hunmin.sample.lexicon import Topic, general
from hunmin.sample.scene import Scene, invent_date
from hunmin.sample.template import Segment, Value

KINDS = ("action", "change", "measure", "quality")


@dataclass(frozen=True)
class Claim:
    """Who did what, or what became or is how; modifiers are optional ("" = absent).

    kind: "action" (subject does predicate to noun), "change", "measure" or "quality" (noun does or is predicate).
    """

    kind: str
    topic: Topic
    subject: str
    noun: str
    predicate: str
    negated: bool = False
    when: str = ""
    where: str = ""
    how: str = ""

    def text(self, register: Register = Register.PLAIN, order: int = 0) -> str:
        """Return the claim as a sentence in the past, without its full stop; `order` 0 or 1 places the time."""
        final = negated_final if self.negated else final_form
        end = final(self.predicate, register, Tense.PAST, self.kind == "quality")
        place = f"{self.where}에서" if self.where else ""
        if self.kind == "action":
            actor = josa(self.subject, "은" if order == 0 else "이")
            head = (actor, self.when) if order == 0 else (self.when, actor)
            words = [*head, place, josa(self.noun, "을"), self.how, end]
        else:
            core = josa(self.noun, "이" if self.kind != "quality" else "은")
            if self.kind == "quality" and self.where:
                place, core = "", f"{self.where}의 {core}"
            words = [self.when, place] if order == 0 else [place, self.when]
            words += [core, self.how, end]
        return " ".join(word for word in words if word)

    @property
    def modifiers(self) -> int:
        """How many optional modifiers the claim has."""
        return sum(bool(part) for part in (self.when, self.where, self.how))


def _partners(word: str, pairs: tuple[tuple[str, str], ...]) -> list[str]:
    return [b if a == word else a for a, b in pairs if word in (a, b)]


def synonyms(topic: Topic, word: str) -> list[str]:
    """Return the words that mean the same in a topic."""
    return _partners(word, topic.synonyms + general.MEASURE_SYNONYMS)


def antonyms(topic: Topic, word: str) -> list[str]:
    """Return the words that exclude `word` in a topic."""
    return _partners(word, topic.antonyms + general.MEASURE_ANTONYMS)


def invent_claim(scene: Scene, kind: str | None = None, modifiers: int = 1) -> Claim:
    """Return a claim from the scene's words.

    Args:
        kind: one of KINDS, or None for any.
        modifiers: how many of time, place and manner it gets (manner for actions only).
    """
    rng = scene.rng
    kind = kind or rng.choice(("action", "action", "action", "change", "measure", "quality"))
    scene.clear()
    if kind == "action":
        subject = rng.choice((scene.say("{P}"), scene.say("{P}"), scene.say("{O}"), scene.say("{R}")))
        noun, predicate = scene.value("T").segments[0].text, scene.value("A").lemma
    else:
        subject = ""
        if kind == "quality":
            scene.bound["T"] = _describable(scene)
        noun_slot, predicate_slot = {"change": ("I", "C"), "measure": ("M", "G"), "quality": ("T", "Y")}[kind]
        noun, predicate = scene.value(noun_slot).segments[0].text, scene.value(predicate_slot).lemma
    claim = Claim(kind, scene.topic, subject, noun, predicate)
    return modify(claim, scene, modifiers)


def _describable(scene: Scene) -> Value:
    """Return a thing to which one of the scene's adjectives may be said, or any thing where there is none."""
    nouns = scene.with_predicate(scene.words["T"], scene.words["Q"]) or scene.words["T"]
    return Value((Segment(scene.rng.choice(nouns), slot="T"),))


def modify(claim: Claim, scene: Scene, count: int) -> Claim:
    """Return the claim with `count` more modifiers, as far as its kind allows."""
    rng = scene.rng
    options = [name for name in ("when", "where", "how") if not getattr(claim, name)]
    if claim.kind != "action" and "how" in options:
        options.remove("how")
    for name in rng.sample(options, min(count, len(options))):
        if name == "when":
            claim = replace(claim, when=invent_date(rng)[0])
        elif name == "where":
            claim = replace(claim, where=scene.say("{L}"))
        else:
            claim = replace(claim, how=rng.choice(general.ADVERBS))
    return claim


def drop_modifiers(claim: Claim, rng: random.Random, keep: float = 0.3) -> Claim:
    """Return the claim with each modifier kept with probability `keep`."""
    return replace(
        claim,
        when=claim.when if rng.random() < keep else "",
        where=claim.where if rng.random() < keep else "",
        how=claim.how if rng.random() < keep else "",
    )


def reword(claim: Claim, rng: random.Random, wholly: bool = False) -> Claim:
    """Return the claim in synonyms: one word, or with `wholly` every word that has one."""
    noun, predicate = synonyms(claim.topic, claim.noun), synonyms(claim.topic, claim.predicate)
    changes: dict[str, str] = {}
    if noun:
        changes["noun"] = rng.choice(noun)
    if predicate:
        changes["predicate"] = rng.choice(predicate)
    if not wholly and len(changes) == 2:
        changes.pop(rng.choice(("noun", "predicate")))
    return replace(claim, **changes)  # type: ignore[arg-type]


def generalise(claim: Claim) -> Claim | None:
    """Return the claim with the noun's kind in place of the noun, or None where it has none."""
    kind = claim.topic.hypernyms.get(claim.noun)
    return replace(claim, noun=kind) if kind and claim.kind == "action" else None


def oppose(claim: Claim, rng: random.Random) -> Claim | None:
    """Return the claim with the opposite predicate, or None where the predicate has no opposite."""
    options = antonyms(claim.topic, claim.predicate)
    return replace(claim, predicate=rng.choice(options)) if options else None


def follows(claim: Claim, rng: random.Random, negated: bool) -> Claim:
    """Return a claim that follows from `claim`.

    Args:
        negated: whether the result is to be negated; from an affirmed claim it is then the opposite that is negated
            (without an opposite, the result stays affirmed).
    """
    claim_now = drop_modifiers(claim, rng)
    if claim.negated:
        return reword(claim_now, rng) if rng.random() < 0.4 else claim_now
    if negated and (opposite := oppose(claim_now, rng)):
        return replace(opposite, negated=True)
    draw = rng.random()
    if draw < 0.45 and (reworded := reword(claim_now, rng, wholly=rng.random() < 0.3)) != claim_now:
        return reworded
    if draw > 0.85 and (general_claim := generalise(claim_now)):
        return general_claim
    return claim_now


def excludes(claim: Claim, rng: random.Random, negated: bool) -> Claim:
    """Return a claim that cannot be so if `claim` is; `negated` as far as the claim's own polarity allows."""
    now = drop_modifiers(claim, rng)
    if claim.negated:
        return replace(now, negated=False)
    if not negated and (opposite := oppose(now, rng)):
        return opposite
    if rng.random() < 0.35:
        now = reword(now, rng)
    return replace(now, negated=True)


def leaves_open(claim: Claim, scene: Scene, negated: bool) -> Claim:
    """Return another claim of the same scene, about which `claim` says nothing."""
    rng = scene.rng
    for _ in range(20):
        other = invent_claim(scene, claim.kind if rng.random() < 0.7 else None, modifiers=rng.randint(0, 1))
        related = {claim.predicate, *synonyms(claim.topic, claim.predicate), *antonyms(claim.topic, claim.predicate)}
        same_noun = other.noun in (claim.noun, *synonyms(claim.topic, claim.noun))
        if not same_noun and (other.predicate not in related or claim.kind == "measure"):
            break
    if claim.kind == "action" and other.kind == "action" and rng.random() < 0.7:
        other = replace(other, subject=claim.subject)
    return replace(other, negated=negated)
