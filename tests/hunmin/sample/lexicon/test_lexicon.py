"""The vocabulary is large enough, consistent, and splits into halves that each can be written with."""

from __future__ import annotations

import pytest

from hunmin.sample.lexicon import LABELLED, TOPICS, Topic
from hunmin.sample.lexicon.halves import HALVES, half_of
from hunmin.sample.lexicon.topic import make_topic

LABELS = {"정치", "경제", "사회", "생활문화", "세계", "IT과학", "스포츠"}


def test_topics() -> None:
    assert {topic.label for topic in LABELLED} == LABELS
    assert len(TOPICS) >= 8


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_size_and_relations(topic: Topic) -> None:
    assert len(set(topic.nouns)) >= 60
    assert len(set(topic.predicates)) >= 25
    assert len(topic.synonyms) >= 6
    assert len(topic.antonyms) >= 6
    assert len(topic.hypernyms) >= 8
    assert all(verb.endswith("다") for verb in topic.predicates)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_halves(topic: Topic) -> None:
    train, dev = (half_of(topic, half) for half in HALVES)
    assert not train & dev
    assert train | dev == set(topic.nouns + topic.predicates)
    for half in (train, dev):
        for members in (topic.people, topic.orgs, topic.places, topic.events, topic.measures, topic.issues):
            assert len(half & set(members)) >= 3
        assert len(half & set(topic.things)) >= 10
        assert len(half & set(topic.actions)) >= 6
        assert any(a in half for a, _ in topic.synonyms)
        assert any(a in half for a, _ in topic.antonyms)
    assert all((a in train) == (b in train) for a, b in topic.synonyms + topic.antonyms)


def test_mistakes_are_refused() -> None:
    classes = dict.fromkeys(("orgs", "places", "measures", "issues", "events", "changes", "qualities"), "")
    kwargs = {"name": "x", "label": None, "field_word": "x", "antonyms": "", "hypernyms": "", **classes}
    with pytest.raises(ValueError, match="twice"):
        make_topic(synonyms="", people="가 가", things="", actions="", **kwargs)
    with pytest.raises(ValueError, match="no class"):
        make_topic(synonyms="나=다", people="가", things="", actions="", **kwargs)
