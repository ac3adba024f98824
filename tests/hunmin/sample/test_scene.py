"""Scenes keep to their topic, half and reserved pairs."""

from __future__ import annotations

import random

from hunmin.sample.lexicon import TOPICS
from hunmin.sample.lexicon.halves import HALVES, half_of
from hunmin.sample.scene import Scene, reserved


def test_reserved_pairs_are_about_a_third() -> None:
    pairs = [reserved(noun, verb) for topic in TOPICS for noun in topic.things for verb in topic.actions]
    assert 0.28 < sum(pairs) / len(pairs) < 0.38


def test_tasks_and_corpora_never_share_a_pair() -> None:
    for topic in TOPICS:
        for half in (None, *HALVES):
            task, corpus = Scene(random.Random(1), topic, half, for_task=True), Scene(random.Random(1), topic)
            for _ in range(50):
                for scene, expected in ((task, True), (corpus, False)):
                    scene.clear()
                    noun, verb = scene.value("T").segments[0].text, scene.value("A").lemma
                    assert reserved(noun, verb) is expected
                    assert topic.suits(noun, verb)


def test_half_is_kept() -> None:
    for topic in TOPICS:
        scene = Scene(random.Random(2), topic, "dev", for_task=True)
        allowed = half_of(topic, "dev")
        for _ in range(30):
            scene.clear()
            for slot in "TMIEOL":
                assert scene.value(slot).segments[0].text in allowed
            assert scene.value("A").lemma in allowed


def test_slots_stay_within_a_sentence() -> None:
    scene = Scene(random.Random(3), TOPICS[0])
    first = scene.say("{P:은} {T:을} {A!}.")
    assert scene.say("{P:은} {T:을} {A!}.", keep=True) == first
    scene.clear()
    assert scene.value("P").segments[0].text != scene.value("H").segments[0].text
    assert scene.value("O").segments[0].text != scene.value("V").segments[0].text
