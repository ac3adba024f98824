"""Documents of one topic each, made from a scene: news, web pages, books, dialogues, encyclopedia entries."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from hunmin.sample import claim as claims
from hunmin.sample import definitions, talk
from hunmin.sample.claim import Claim, invent_claim
from hunmin.sample.headlines import HEADLINES
from hunmin.sample.inflect import Register
from hunmin.sample.josa import josa
from hunmin.sample.lexicon import TOPICS, Topic
from hunmin.sample.scene import Scene
from hunmin.sample.sentences import NARRATIVE, QUOTES


@dataclass
class Document:
    """A document before it is written: its sentences in order, the first of them a title where `titled`."""

    id: str
    sentences: list[str]
    titled: bool = False
    facts: list[dict[str, object]] = field(default_factory=list)
    """What was planted in it, for truth.jsonl."""

    def text(self, newline: str = "\n") -> str:
        """Return the text: the title on a line of its own, the sentences joined by blanks."""
        if self.titled:
            return self.sentences[0] + newline + " ".join(self.sentences[1:])
        return " ".join(self.sentences)


def _tell(scene: Scene, register: Register) -> str:
    templates = QUOTES if scene.rng.random() < 0.18 else NARRATIVE
    return scene.say(scene.rng.choice(templates), register)


def _related(scene: Scene, said: Claim) -> tuple[str, Claim]:
    """Return how another claim stands to `said` ("true", "false", "open"), and that claim."""
    rng = scene.rng
    relation = rng.choice(("true", "false", "open"))
    negated = rng.random() < 0.4
    if relation == "true":
        return relation, claims.follows(said, rng, negated)
    if relation == "false":
        return relation, claims.excludes(said, rng, negated)
    return relation, claims.leaves_open(said, scene, negated)


def _polarised(scene: Scene) -> Claim:
    said = invent_claim(scene, modifiers=scene.rng.randint(0, 2))
    return replace(said, negated=scene.rng.random() < 0.3)


def restate(scene: Scene, register: Register) -> list[str]:
    """Return a statement and what becomes of it, sentence by sentence: it is so, not so, or something else is."""
    rng = scene.rng
    said = _polarised(scene)
    relation, answer = _related(scene, said)
    frames = {"true": talk.CHECK_TRUE, "false": talk.CHECK_FALSE, "open": talk.CHECK_OPEN}[relation]
    told = rng.choice(("{claim}는 이야기가 있다.", "{claim}고 한다.", "{claim}는 소문이 돌았다.", "{claim}."))
    first = told.replace("{claim}", said.text(order=rng.randint(0, 1)))
    *verdict, second = rng.choice(frames).replace("{answer}", answer.text(order=rng.randint(0, 1))).split(". ")
    if register is not Register.PLAIN:
        first = f"{said.text(register)}."
        link = {
            "true": ("즉, ", "다시 말해 ", "네, "),
            "false": ("그런데 사실은 ", "아니, "),
            "open": ("그리고 ", "또 "),
        }
        return [first, f"{rng.choice(link[relation])}{answer.text(register)}."]
    return [first, *(f"{sentence}." for sentence in verdict), second]


def news(rng: random.Random, topic: Topic, length: int) -> list[str]:
    """Return a headline, a lead that says the same in full, and a body in the written style."""
    scene = Scene(rng, topic)
    title = scene.say(rng.choice(HEADLINES))
    body = [scene.say(rng.choice(NARRATIVE[:40]), Register.PLAIN, keep=True)]
    while len(body) < length:
        if rng.random() < 0.3:
            body.extend(restate(scene, Register.PLAIN))
        else:
            body.append(_tell(scene, Register.PLAIN))
    return [title, *body]


def prose(rng: random.Random, topic: Topic, length: int, register: Register) -> list[str]:
    """Return running text in one register, as in books and on web pages."""
    scene = Scene(rng, topic)
    sentences: list[str] = []
    while len(sentences) < length:
        if rng.random() < 0.25:
            sentences.extend(restate(scene, register))
        else:
            sentences.append(_tell(scene, register))
    return sentences


def dialogue(rng: random.Random, topic: Topic, length: int) -> list[str]:
    """Return turns in 해요: small talk, and questions that the other affirms, denies or cannot answer."""
    scene = Scene(rng, topic)
    turns = [rng.choice(talk.OPENERS)]
    while len(turns) < length:
        if rng.random() < 0.5:
            said = _polarised(scene)
            relation, answer = _related(scene, said)
            frames = {"true": talk.AFFIRMING, "false": talk.DENYING, "open": talk.UNSURE}[relation]
            turns.append(rng.choice(talk.ASKING).replace("{claim}", said.text(order=rng.randint(0, 1))))
            reply = rng.choice(frames).replace("{answer}", answer.text(Register.POLITE, rng.randint(0, 1)))
            *verdict, rest = reply.split(". ")
            turns.extend([*(f"{sentence}." for sentence in verdict), rest])
        else:
            turns.append(scene.say(rng.choice(talk.CHAT), Register.POLITE))
            if rng.random() < 0.3:
                turns.append(rng.choice(talk.BACKCHANNELS))
    turns.append(rng.choice(talk.CLOSERS))
    return turns


def _define(rng: random.Random, topic: Topic) -> str:
    """Return one sentence about what a word of the topic means."""
    draw = rng.random()
    values: dict[str, str] = {"n": topic.name, "f": topic.field_word}
    if draw < 0.3:
        word = rng.choice(list(topic.hypernyms))
        kind = topic.hypernyms[word]
        others = [w for w, k in topic.hypernyms.items() if k == kind and w != word]
        values.update(a=word, k=kind, b=rng.choice(others))
        template = rng.choice(definitions.KIND)
    elif draw < 0.6:
        values["a"], values["b"] = rng.sample(rng.choice(topic.synonyms), 2)
        template = rng.choice(definitions.SAME_VERB if values["a"].endswith("다") else definitions.SAME_NOUN)
    elif draw < 0.75:
        values["a"], values["b"] = rng.sample(rng.choice(topic.antonyms), 2)
        template = rng.choice(definitions.OPPOSITE)
    else:
        pool = topic.things + topic.issues + topic.measures + topic.people
        values["a"], values["b"], values["c"] = rng.sample(pool, 3)
        template = rng.choice(definitions.FIELD)
    return _substitute(template, values)


def _substitute(template: str, values: dict[str, str]) -> str:
    for key, word in values.items():
        head, *rest = template.split("{" + key)
        template = head
        for piece in rest:
            particle, tail = piece.split("}", 1)
            template += (josa(word, particle[1:]) if particle else word) + tail
    return template


def entry(rng: random.Random, topic: Topic, length: int) -> list[str]:
    """Return an encyclopedia entry: definitions among statements in the written style."""
    scene = Scene(rng, topic)
    sentences: list[str] = []
    while len(sentences) < length:
        if rng.random() < 0.6:
            sentences.append(_define(rng, topic))
        else:
            sentences.append(_tell(scene, Register.PLAIN))
    return sentences


def any_topic(rng: random.Random) -> Topic:
    """Return a topic; the labelled ones come a little more often."""
    return rng.choice(TOPICS[:7] if rng.random() < 0.65 else TOPICS[7:])
