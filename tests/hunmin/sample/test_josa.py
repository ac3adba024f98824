"""Josa by the last sound of Hangul, digits and Latin letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunmin.sample.josa import final_consonant, josa

HANGUL = st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("word", "particle", "expected"),
    [
        ("학교", "은", "학교는"),
        ("서울", "은", "서울은"),
        ("책", "이", "책이"),
        ("나무", "이", "나무가"),
        ("물", "으로", "물로"),
        ("부산", "으로", "부산으로"),
        ("바다", "으로", "바다로"),
        ("밥", "과", "밥과"),
        ("국수", "과", "국수와"),
        ("3", "을", "3을"),
        ("2", "을", "2를"),
        ("10", "은", "10은"),
        ("100", "으로", "100으로"),
        ("1,000", "이", "1,000이"),
        ("7", "으로", "7로"),
        ("KBS", "은", "KBS는"),
        ("LED", "을", "LED를"),
        ("TEAM", "이", "TEAM이"),
        ("URL", "으로", "URL로"),
        ("5%", "이", "5%가"),
        ("'말'", "을", "'말'을"),
        ("나무", "에서", "나무에서"),
        ("의사", "이라면", "의사라면"),
    ],
)
def test_particle_fits(word: str, particle: str, expected: str) -> None:
    assert josa(word, particle) == expected


@given(HANGUL)
def test_pairs_agree_with_final_consonant(word: str) -> None:
    has_final = (ord(word[-1]) - 0xAC00) % 28 != 0
    assert josa(word, "은") == word + ("은" if has_final else "는")
    assert josa(word, "가") == word + ("이" if has_final else "가")
    assert josa(word, "를") == word + ("을" if has_final else "를")


def test_nothing_to_read() -> None:
    with pytest.raises(ValueError, match="no readable"):
        final_consonant("…")
