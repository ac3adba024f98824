"""Values written in other ways than the common one: each found whole, with the value that is meant, or left alone."""

import re

import pytest

from data.pii import Pseudonymizer, find_spans
from data.pii.surrogate import normalise

from .examples import OTHERWISE, Case

KEY = b"test key for written forms"


@pytest.mark.parametrize("case", OTHERWISE, ids=lambda case: case.text)
def test_nothing_is_left_beside_the_pseudonym(case: Case) -> None:
    out, replacements = Pseudonymizer(KEY).apply(case.text)
    assert [(r.start, r.end, r.type) for r in replacements] == case.spans
    assert not any(case.text[start:end] in out for start, end, _ in case.spans if end - start > 1)


def test_one_number_has_one_pseudonym_in_every_form() -> None:
    made = set()
    for case in OTHERWISE:
        for replaced, value in zip(Pseudonymizer(KEY).apply(case.text)[1], case.values, strict=True):
            if replaced.type == "TEL" and value == "010-1234-5678":
                made.add(normalise("TEL", replaced.surrogate))
    assert len(made) == 1


def test_the_century_is_not_left() -> None:
    for key in range(20):
        out, _ = Pseudonymizer(bytes([key]) * 16).apply("19900101-1234567")
        assert re.fullmatch("(?:19[0-9]{6}-[12]|20[0-9]{6}-[34])[0-9]{6}", out)


@pytest.mark.parametrize("ends", ["", "끝\n"])
def test_offsets_stay_right_after_folding(ends: str) -> None:
    text = f"{ends}\u200b가\u200b나 ０１０－１２３４－５６７８, 010-2345-6789\n０２－１２３－４５６７"
    assert [text[s.start : s.end] for s in find_spans(text)] == [
        "０１０－１２３４－５６７８",
        "010-2345-6789",
        "０２－１２３－４５６７",
    ]


def test_url_with_escaped_slashes_has_the_pseudonym_of_the_plain_one() -> None:
    [plain], [escaped] = (
        Pseudonymizer(KEY).apply(f"주소 {url} 에서")[1]
        for url in ("https://api.example.kr/v2/items", r"https:\/\/api.example.kr\/v2\/items")
    )
    assert escaped.surrogate == plain.surrogate.replace("/", r"\/") and escaped.surrogate.startswith(r"https:\/\/")
