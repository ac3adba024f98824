"""The table of mutations: each is of one place in the code as it is, and the tests that it names exist."""

from __future__ import annotations

from pathlib import Path

from scripts.mutations import MUTATIONS, TESTED_IN

ROOT = Path(__file__).parents[2]


def test_each_mutation_changes_one_place() -> None:
    wrong = [(file, old) for file, old, new in MUTATIONS if old == new or (ROOT / file).read_text().count(old) != 1]
    assert wrong == []


def test_the_tests_named_for_a_file_exist() -> None:
    places = {file: (ROOT / "tests" / Path(file).parent / name).resolve() for file, name in TESTED_IN.items()}
    assert [file for file, place in places.items() if not place.is_file()] == []
