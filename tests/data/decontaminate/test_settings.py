"""The defaults are the documented ones, and a wrong value is refused."""

import pytest
from pydantic import ValidationError

from data.decontaminate.fragments import SEED, STRIDE
from data.decontaminate.settings import RULES, DecontaminateSettings


def test_defaults() -> None:
    settings = DecontaminateSettings()
    assert (settings.threshold, settings.bigram_threshold, settings.min_words, settings.min_bigrams) == (
        0.8,
        0.85,
        4,
        8,
    )
    assert settings.enabled and settings.benchmark is None and tuple(settings.rules) == RULES


def test_the_fragment_floor_is_what_the_index_can_promise() -> None:
    with pytest.raises(ValidationError):
        DecontaminateSettings(fragment_min_characters=SEED + STRIDE - 2)


@pytest.mark.parametrize(
    "wrong", [{"threshold": 0}, {"threshold": 1.1}, {"rules": ["fuzzy"]}, {"spread": 0.5}, {"tau": 1}]
)
def test_wrong_values_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        DecontaminateSettings.model_validate(wrong)
