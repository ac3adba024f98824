"""The invented vocabulary of the sample: twelve topics, seven of them with a YNAT label."""

from hunmin.sample.lexicon import (
    culture,
    daily,
    economy,
    food,
    health,
    history,
    nature,
    politics,
    science,
    society,
    sports,
    world,
)
from hunmin.sample.lexicon.topic import Topic

TOPICS: tuple[Topic, ...] = tuple(
    module.TOPIC
    for module in (
        politics,
        economy,
        society,
        culture,
        world,
        science,
        sports,
        daily,
        food,
        history,
        nature,
        health,
    )
)
LABELLED: tuple[Topic, ...] = tuple(topic for topic in TOPICS if topic.label)

__all__ = ["LABELLED", "TOPICS", "Topic"]
