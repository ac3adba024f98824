"""Numbers that records carry: those beyond the bounds are skipped, those without one are rejects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import UserError
from common.settings import parse_settings
from data.readers import SourceSettings, UnfitInputError

from .reading import read, rejects, skipped, texts

ROWS: list[tuple[str, Any]] = [("가", 2.5), ("나", 3), ("다", 4.0), ("라", 4.5), ("마", None)]
BOUNDS = {"edu_score": {"min": 3, "max": 4}}


def write(path: Path) -> Path:
    records = [{"text": text, "edu_score": score} for text, score in ROWS]
    if path.suffix == ".parquet":
        scores = pa.array([score for _, score in ROWS], pa.float32())
        pq.write_table(pa.table({"other": ["x"] * 5, "text": [text for text, _ in ROWS], "edu_score": scores}), path)
    elif path.suffix == ".csv":
        path.write_text("text,edu_score\n" + "".join(f"{t},{'' if s is None else s}\n" for t, s in ROWS))
    elif path.suffix == ".json":
        path.write_text(json.dumps(records))
    else:
        path.write_text("\n".join(map(json.dumps, records)))
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.parquet"])
def test_bounds_are_part_of_what_is_read(name: str, tmp_path: Path) -> None:
    items = read(write(tmp_path / name), columns=BOUNDS)
    assert texts(items) == ["나", "다"]
    assert [reason for _, reason in skipped(items)] == ["'edu_score' beyond its bounds"] * 2
    assert [reason for _, reason in rejects(items)] == ["no number in 'edu_score'"]
    assert len(texts(read(tmp_path / name))) == 5


def test_a_number_may_lie_within(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "가", "meta": {"score": 0.2}}\n{"text": "나", "meta": {"score": 0.9}}')
    assert texts(read(tmp_path / "a.jsonl", columns={"meta.score": {"min": 0.5}})) == ["나"]


def test_what_has_no_such_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnfitInputError, match="has no column 'edu_scroe'") as caught:
        read(write(tmp_path / "a.parquet"), columns={"edu_scroe": {"min": 3}})
    assert "the source's columns" in caught.value.fix and "edu_score" in caught.value.rule
    (tmp_path / "a.txt").write_text("가\n나\n")
    with pytest.raises(UnfitInputError, match="format text, which has no column 'edu_score'"):
        read(tmp_path / "a.txt", columns=BOUNDS)
    wrong = (({"format": "html", "columns": BOUNDS}, "has no columns"), ({"columns": {"x": {}}}, "give min or max"))
    for tree, message in wrong:
        with pytest.raises(UserError, match=message):
            parse_settings(SourceSettings, {"path": "a", **tree}, "recipe")
