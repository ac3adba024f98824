"""Documents keep a topic, recur to their cast, and vary."""

from __future__ import annotations

import random

from hunmin.sample.documents import Document, any_topic, dialogue, entry, news, prose, restate
from hunmin.sample.inflect import Register
from hunmin.sample.lexicon import TOPICS
from hunmin.sample.scene import Scene


def test_one_topic_per_document() -> None:
    for topic in TOPICS:
        others = {n for t in TOPICS if t is not topic for n in t.things if len(n) > 2} - set(topic.nouns)
        for seed in range(5):
            text = " ".join(news(random.Random(seed), topic, 8))
            words = {word.rstrip("은는이가을를과와의도") for word in text.split()}
            assert words & set(topic.nouns)
            assert len(words & others) <= 1


def test_registers() -> None:
    for register, ending in ((Register.FORMAL, "니다."), (Register.PLAIN, "다."), (Register.POLITE, "요.")):
        text = prose(random.Random(1), TOPICS[1], 40, register)
        assert sum(sentence.endswith(ending) for sentence in text) >= 0.95 * len(text)


def test_sentences_are_single() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        scene = Scene(rng, any_topic(rng))
        for sentence in restate(scene, rng.choice(list(Register))):
            assert sentence.endswith(".")
            assert ". " not in sentence


def test_not_monotonous() -> None:
    rng = random.Random(0)
    sentences = [s for _ in range(300) for s in prose(rng, any_topic(rng), 10, Register.PLAIN)]
    assert len(set(sentences)) > 0.85 * len(sentences)  # verdicts ("확인 결과 사실이었다.") repeat
    assert len({sentence.split()[-1] for sentence in sentences}) > 200


def test_other_kinds() -> None:
    assert len(dialogue(random.Random(0), TOPICS[7], 10)) >= 10
    assert len(entry(random.Random(0), TOPICS[2], 10)) == 10


def test_text_of_a_titled_document() -> None:
    document = Document("x-0", ["제목", "본문이다.", "끝이다."], titled=True)
    assert document.text() == "제목\n본문이다. 끝이다."
