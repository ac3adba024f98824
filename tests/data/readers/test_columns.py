"""Numbers that records carry: those beyond the bounds are skipped, those without one are rejects."""

from pathlib import Path

import pytest

from common.errors import UserError
from common.settings import parse_settings
from data.readers.damage import UnfitInputError
from data.readers.settings import SourceSettings

from .reading import read, rejects, skipped, texts, write_rows

SCORES = {"가": 2.5, "나": 3.0, "다": 4.0, "라": 4.5, "마": None}
ROWS = [{"other": "x", "text": text, "edu_score": score} for text, score in SCORES.items()]
BOUNDS = {"edu_score": {"min": 3, "max": 4}}


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.parquet"])
def test_bounds_are_part_of_what_is_read(name: str, tmp_path: Path) -> None:
    items = read(write_rows(tmp_path / name, ROWS), columns=BOUNDS)
    assert texts(items) == ["나", "다"]
    assert [reason for _, reason in skipped(items)] == ["'edu_score' beyond its bounds"] * 2
    assert [reason for _, reason in rejects(items)] == ["no number in 'edu_score'"]
    assert len(texts(read(tmp_path / name))) == 5


def test_what_has_no_such_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnfitInputError, match="has no column 'edu_scroe'") as caught:
        read(write_rows(tmp_path / "a.parquet", ROWS), columns={"edu_scroe": {"min": 3}})
    assert "the source's columns" in caught.value.fix and "edu_score" in caught.value.rule
    (tmp_path / "a.txt").write_text("가\n나\n")
    with pytest.raises(UnfitInputError, match="format text, which has no column 'edu_score'"):
        read(tmp_path / "a.txt", columns=BOUNDS)
    wrong = (({"format": "html", "columns": BOUNDS}, "has no columns"), ({"columns": {"x": {}}}, "give min or max"))
    for tree, message in wrong:
        with pytest.raises(UserError, match=message):
            parse_settings(SourceSettings, {"path": "a", **tree}, "recipe")
