"""Pseudonymizer: offsets, chosen types, batches, no original left."""

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from data.pii.detect import find_spans
from data.pii.surrogate import Pseudonymizer
from data.pii.types import BY_NAME

from .examples import COMMON, NOTHING

KEY = b"test key for pseudonyms"
TEXTS = [case.text for case in COMMON] + NOTHING
MIXES = st.lists(st.sampled_from(TEXTS) | st.text(max_size=10), max_size=5).map("\n".join)


@settings(max_examples=100)
@given(MIXES)
def test_replacements_rebuild_the_text(text: str) -> None:
    out, replacements = Pseudonymizer(KEY).apply(text)
    rebuilt, position = "", 0
    for start, end, _, made in replacements:
        rebuilt += text[position:start] + made
        position = end
    assert rebuilt + text[position:] == out
    assert [(r.start, r.end, r.type) for r in replacements] == [tuple(span) for span in find_spans(text)]


@settings(max_examples=100)
@given(MIXES)
def test_no_original_is_found_again(text: str) -> None:
    out, _ = Pseudonymizer(KEY).apply(text)
    originals = {(s.type, BY_NAME[s.type].normalise(text[s.start : s.end])) for s in find_spans(text)}
    left = {(s.type, BY_NAME[s.type].normalise(out[s.start : s.end])) for s in find_spans(out)}
    assert not originals & left


@settings(max_examples=50)
@given(st.lists(MIXES, max_size=6))
def test_many_is_one_by_one_and_any_process_agrees(texts: list[str]) -> None:
    first, second = Pseudonymizer(KEY), pickle.loads(pickle.dumps(Pseudonymizer(KEY)))
    assert first.apply_many(texts) == [second.apply(text) for text in texts]


def test_types_left_out_stay_but_are_recognised() -> None:
    text = "계좌 문의 010-1234-5678, hong@example.com"
    out, replacements = Pseudonymizer(KEY, types=["BANK_ACCOUNT", "EMAIL"]).apply(text)
    assert [r.type for r in replacements] == ["EMAIL"]
    assert "010-1234-5678" in out


def test_invalid_numbers_are_final() -> None:
    once, replacements = Pseudonymizer(KEY).apply("900101-1234567 / 123-45-67891 / M12345678 / 11-17-174133-01")
    assert [r.type for r in replacements] == ["RRN", "BRN", "PASSPORT", "DRIVER_LICENSE"]
    assert Pseudonymizer(KEY).apply(once) == (once, [])


def test_clean_text_is_the_same_object() -> None:
    text = "개인 정보가 없는 문장이다."
    assert Pseudonymizer(KEY).apply(text) == (text, [])
