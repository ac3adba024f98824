"""Values written in other ways than the common one: each found whole, with the value that is meant, or left alone."""

import re
import unicodedata

import pytest

from data.pii.surrogate import Pseudonymizer

from .examples import OTHERWISE, Case

KEY = b"test key for written forms"


@pytest.mark.parametrize("case", OTHERWISE, ids=lambda case: case.text)
def test_nothing_is_left_beside_the_pseudonym(case: Case) -> None:
    out, replacements = Pseudonymizer(KEY).apply(case.text)
    assert [(r.start, r.end, r.type) for r in replacements] == case.spans
    assert not any(case.text[start:end] in out for start, end, _ in case.spans if end - start > 1)


def as_dialled(written: str) -> str:
    """Return the digits of a mobile number however written, by tables of this test's own."""
    spoken = str.maketrans("공일이삼사오육칠팔구ㅇOlㅣ○⓪", "0123456789001100")
    plain = unicodedata.normalize("NFKC", written.translate(spoken).replace("%2D", "-")).translate(spoken)
    digits = re.sub("[^0-9]", "", plain)
    return "0" + digits[2:] if digits.startswith("82") else digits


def test_one_number_has_one_pseudonym_in_every_form() -> None:
    made = set()
    for case in OTHERWISE:
        for replaced, value in zip(Pseudonymizer(KEY).apply(case.text)[1], case.values, strict=True):
            if replaced.type == "TEL" and value == "010-1234-5678":
                made.add(as_dialled(replaced.surrogate))
    assert len(made) == 1 and len(made.pop()) == 11


def test_the_century_is_not_left() -> None:
    for key in range(20):
        out, _ = Pseudonymizer(bytes([key]) * 16).apply("19900101-1234567")
        assert re.fullmatch("(?:19[0-9]{6}-[12]|20[0-9]{6}-[34])[0-9]{6}", out)


def test_url_with_escaped_slashes_has_the_pseudonym_of_the_plain_one() -> None:
    [plain], [escaped] = (
        Pseudonymizer(KEY).apply(f"주소 {url} 에서")[1]
        for url in ("https://api.example.kr/v2/items", r"https:\/\/api.example.kr\/v2\/items")
    )
    assert escaped.surrogate == plain.surrogate.replace("/", r"\/") and escaped.surrogate.startswith(r"https:\/\/")
