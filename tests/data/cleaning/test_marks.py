"""Hashtags and empty brackets: what hangs on goes, what a sentence speaks of stays."""

from pathlib import Path

import pytest

from data.cleaning.marks import remove_empty_brackets, remove_hashtags

from ..cases import sections

CASES = sections(Path(__file__).with_name("cases.txt"))


@pytest.mark.parametrize("case", CASES["hashtags"], ids=" > ".join)
def test_hashtags(case):
    assert remove_hashtags(case[0]) == case[-1]


@pytest.mark.parametrize("case", CASES["brackets"], ids=" > ".join)
def test_brackets(case):
    assert remove_empty_brackets(case[0]) == case[-1]
