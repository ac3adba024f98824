"""Hangul of the private-use area: mapped where a source holds it, else counted as it goes."""

import sys
from pathlib import Path

import pytest

from common.errors import UserError
from data.cleaning.old_hangul import require_old_hangul
from data.cleaning.rules import clean
from data.cleaning.settings import CleanSettings

from ..building import build, settings

ARAE_A = "\u119e"
GA, HA = f"\u1100{ARAE_A}", f"\u1112{ARAE_A}"
"""Syllables of old Hangul, which Unicode writes in letters."""


def cleaned(text: str, **rules: bool) -> tuple[str, dict[str, dict[str, int]]]:
    counts: dict[str, dict[str, int]] = {}
    return clean(text, CleanSettings(**rules), counts), counts


def test_mapped_on_request() -> None:
    pytest.importorskip("hypua2jamo")
    text, counts = cleaned("사람이 \uf537고 \ue1a7장", old_hangul=True)
    assert text == f"사람이 {HA}고 {GA}장"
    assert "old_hangul" in counts and "private_use" not in counts


def test_what_is_removed_is_counted() -> None:
    text, counts = cleaned("사람이 \uf537고 \ue1a7장\u200b")
    assert text == "사람이 고 장"
    assert counts["private_use"]["characters"] == 2 and counts["control"]["characters"] == 3


def test_old_hangul_of_unicode_stays() -> None:
    text = f"{HA}고 \u115f{ARAE_A} \u1100\u1160\u11ab"  # a vowel, and a final, whose places the fillers hold
    assert cleaned(text)[0] == text


def test_fillers_that_hold_no_place_go() -> None:
    assert cleaned("빈\u1160칸\u115f이 \u3164있다")[0] == "빈칸이 있다"


def test_said_before_the_work_when_the_table_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypua2jamo", None)
    require_old_hangul.cache_clear()
    (tmp_path / "a.jsonl").write_text('{"text": "옛글"}\n', encoding="utf-8")
    source = {"path": str(tmp_path / "a.jsonl"), "clean": {"old_hangul": True}}
    with pytest.raises(UserError, match="pip install hypua2jamo"):
        build(settings(source), tmp_path / "out")
    require_old_hangul.cache_clear()
