"""Detection: every form of every type, look-alikes, claims, offsets."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.pii.detect import Span, find_many, find_spans, find_values, scan
from data.pii.type_names import PII_TYPES

from .examples import CASES, COMMON, NOTHING, VALUES

PIECES = [case.text for case in COMMON] + NOTHING


def test_every_type_has_examples() -> None:
    assert {kind for kind, _ in VALUES} == set(PII_TYPES)


def test_the_values_of_a_text_are_found_and_nothing_else() -> None:
    values = find_values([case.text for case in CASES])
    wrong = []
    for number, case in enumerate(CASES):
        here = values.get(number, [])
        if [value[:3] for value in here] != case.spans or [value.value for value in here] != case.values:
            wrong.append((case, here))
    assert wrong == []


def test_look_alikes() -> None:
    assert [text for text, spans in zip(NOTHING, find_many(NOTHING), strict=True) if spans] == []


@pytest.mark.parametrize("joint", [",", "/", ";", "|", "=", "_", "\t"])
def test_cells_of_a_row_are_found_beside_each_other(joint: str) -> None:
    cells = ["3", "900101-1234567", "010-1234-5678", "000101-5000011", "02-123-4567", "4111-1111-1111-1111", "7"]
    spans = find_spans(joint.join(cells))
    assert [span.type for span in spans] == ["RRN", "TEL", "FRN", "TEL", "CARD"]


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=6),
    st.sampled_from([" ", "\n", ", ", "\r\n", "가"]),
)
def test_gate_changes_nothing(pieces: list[str], joint: str) -> None:
    text = joint.join(pieces)
    lines, offset = [], 0
    for line in text.split("\n"):
        lines += scan(text, offset, offset + len(line))
        offset += len(line) + 1
    spans = find_spans(text)
    assert lines == scan(text, 0, len(text))
    # another way of reading the line may find more, and what covers more
    assert all(any(s.start <= value.start and value.end <= s.end for s in spans) for value in lines)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(
        0 <= s.start < s.end <= len(text) and text[s.start : s.end].strip() == text[s.start : s.end] for s in spans
    )


@settings(max_examples=50)
@given(st.lists(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=3).map("\n".join), max_size=8))
def test_many_is_one_by_one(texts: list[str]) -> None:
    assert find_many(texts) == [find_spans(text) for text in texts]


def test_lone_surrogates_keep_offsets() -> None:
    text = "\ud800\udfff한글 010-1234-5678"
    assert find_spans(text) == [Span(5, 18, "TEL")]
