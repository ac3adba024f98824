"""The template language."""

from __future__ import annotations

import random

import pytest

from hunmin.sample.headlines import HEADLINES
from hunmin.sample.inflect import Register
from hunmin.sample.lexicon import TOPICS
from hunmin.sample.scene import Scene
from hunmin.sample.sentences import NARRATIVE, QUOTES, RICH
from hunmin.sample.talk import CHAT
from hunmin.sample.template import Segment, Value, parse, realise, text_of

VALUES = {
    "T": Value((Segment("법안", slot="T"),)),
    "A": Value(lemma="돕다"),
    "P": Value((Segment("김하늘", "PS"), Segment(" 의사"))),
}


def test_slots_josa_and_marks() -> None:
    template = "{P:은} {T:을} {A.고} {A.는} 일이 [어렵다?]."
    assert (
        text_of(realise(template, Register.PLAIN, VALUES.__getitem__)) == "김하늘 의사는 법안을 돕고 돕는 일이 어렵다."
    )
    assert (
        text_of(realise("{T:을} {A!}, <알다~>.", Register.POLITE, VALUES.__getitem__))
        == "법안을 도왔어요, 알지 않았어요."
    )


def test_segments_keep_entities() -> None:
    segments = realise("{P:은} {A!}.", Register.PLAIN, VALUES.__getitem__)
    assert segments[0] == Segment("김하늘", "PS")


def test_there_are_many_templates() -> None:
    assert len(set(NARRATIVE + QUOTES)) >= 60
    assert len(set(HEADLINES)) >= 60
    assert len(RICH) >= 40


@pytest.mark.parametrize("template", NARRATIVE + QUOTES + HEADLINES + CHAT)
def test_every_template_in_every_register(template: str) -> None:
    assert parse(template)
    for register in Register:
        for topic in TOPICS[::4]:
            text = Scene(random.Random(template), topic).say(template, register)
            assert not set("{}<>*~") & set(text), text
            assert "  " not in text
