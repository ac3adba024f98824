"""Claims: what follows, what is excluded, what is left open."""

from __future__ import annotations

import random

from hunmin.sample.claim import (
    Claim,
    antonyms,
    drop_modifiers,
    excludes,
    follows,
    generalise,
    invent_claim,
    leaves_open,
    oppose,
    reword,
    synonyms,
)
from hunmin.sample.inflect import Register
from hunmin.sample.lexicon import TOPICS
from hunmin.sample.scene import Scene

POLITICS = TOPICS[0]
CLAIM = Claim("action", POLITICS, "김하늘 의원", "법안", "심의하다", when="어제", where="본회의장", how="서둘러")


def test_text() -> None:
    assert CLAIM.text() == "김하늘 의원은 어제 본회의장에서 법안을 서둘러 심의했다"
    assert CLAIM.text(Register.POLITE, order=1) == "어제 김하늘 의원이 본회의장에서 법안을 서둘러 심의했어요"
    quality = Claim("quality", POLITICS, "", "법안", "민감하다", negated=True, where="당사")
    assert quality.text() == "당사의 법안은 민감하지 않았다"


def test_relations() -> None:
    assert synonyms(POLITICS, "법안") == ["법률안"]
    assert antonyms(POLITICS, "오르다") == ["내리다"]
    assert (
        reword(CLAIM, random.Random(0), wholly=True).text()
        == "김하늘 의원은 어제 본회의장에서 법률안을 서둘러 심사했다"
    )
    general = generalise(CLAIM)
    assert general is not None
    assert general.noun == POLITICS.hypernyms["법안"]
    assert oppose(CLAIM, random.Random(0)) is None
    assert drop_modifiers(CLAIM, random.Random(0), keep=0).modifiers == 0


def _polarity(claim: Claim, other: Claim) -> int:
    """Return +1 if the predicates mean the same, -1 if they are opposite, counting negation; 0 if unrelated."""
    same = {claim.predicate, *synonyms(claim.topic, claim.predicate)}
    sign = 1 if other.predicate in same else -1 if other.predicate in antonyms(claim.topic, claim.predicate) else 0
    return sign * (-1 if claim.negated != other.negated else 1)


def test_labels_hold() -> None:
    for seed in range(400):
        rng = random.Random(seed)
        scene = Scene(rng, rng.choice(TOPICS), rng.choice(("train", "dev")), for_task=True)
        claim = invent_claim(scene, modifiers=rng.randint(0, 3))
        claim = Claim(**{**claim.__dict__, "negated": rng.random() < 0.3})
        negated = rng.random() < 0.5
        assert _polarity(claim, follows(claim, rng, negated)) == 1
        assert _polarity(claim, excludes(claim, rng, negated)) == -1
        other = leaves_open(claim, scene, negated)
        assert other.noun != claim.noun
        assert other.negated is negated
