"""Invented values: all 16 types, well formed, with check digits that hold."""

from __future__ import annotations

import random
import re

import pytest

from hunmin.sample.lexicon.topic import words
from hunmin.sample.pii import KINDS, plant_value

TYPES = words("""
    TEL RRN FRN EMAIL IP MAC MENTION ADDRESS BANK_ACCOUNT PASSPORT DRIVER_LICENSE BRN HEALTH_INSURANCE CARD
    VEHICLE_PLATE URL
""")
PATTERNS = {
    "RRN": r"\d{6}-[34]\d{6}",
    "FRN": r"\d{6}-[78]\d{6}",
    "CARD": r"\d{4}(-\d{4}){3}",
    "BRN": r"\d{3}-\d{2}-\d{5}",
    "PASSPORT": r"M(\d{8}|\d{3}[A-Z]\d{4})",
    "MAC": r"02([:-][0-9A-F]{2}){5}",
    "DRIVER_LICENSE": r"\d{2}-\d{2}-\d{6}-\d{2}",
    "VEHICLE_PLATE": r"\d{2,3}[가-힣] \d{4}",
    "HEALTH_INSURANCE": r"[1-8]-\d{10}",
    "BANK_ACCOUNT": r"\d{3,6}(-\d{2,7}){2}",
}


def test_all_types() -> None:
    assert sorted(KINDS) == sorted(TYPES)


@pytest.mark.parametrize("kind", TYPES)
def test_value_in_sentence(kind: str) -> None:
    for seed in range(100):
        planted = plant_value(random.Random(seed), kind)
        assert planted.value in planted.sentence
        assert "{" not in planted.sentence
        assert re.fullmatch(PATTERNS.get(kind, r".+"), planted.value), planted.value


def test_check_digits() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        digits = [int(d) for d in plant_value(rng, "RRN").value if d.isdigit()]
        total = sum(w * d for w, d in zip((2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5), digits, strict=False))
        assert digits[12] == (11 - total % 11) % 10
        assert digits[0] >= 6  # with a century digit of the 2000s: nobody born yet
        card = [int(d) for d in plant_value(rng, "CARD").value if d.isdigit()]
        assert sum(d if k % 2 else (2 * d - 9 * (2 * d > 9)) for k, d in enumerate(card)) % 10 == 0


def test_unknown_type() -> None:
    with pytest.raises(KeyError):
        plant_value(random.Random(0), "SHOE_SIZE")
