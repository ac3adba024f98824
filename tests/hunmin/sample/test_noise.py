"""Every kind of noise changes the text and loses none of its letters."""

from __future__ import annotations

import random

import pytest

from hunmin.sample.noise import NEWS_KINDS, WEB_KINDS, add_noise

SENTENCES = ["제목이 여기 있다", "첫 문장은 조금 길다.", "둘째 문장도 있다."]


@pytest.mark.parametrize("kind", sorted({*NEWS_KINDS, *WEB_KINDS}))
def test_added(kind: str) -> None:
    for seed in range(20):
        noisy = " ".join(add_noise(random.Random(seed), SENTENCES, kind))
        assert noisy != " ".join(SENTENCES)
        for sentence in SENTENCES:
            for word in sentence.split():
                assert word in noisy


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        add_noise(random.Random(0), SENTENCES, "glitter")
