"""Equal documents found partition by partition: what one look at all keys gives, under any cut."""

import random
from itertools import pairwise
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.deduplicate import equal_documents, groups
from data.deduplicate.equal_documents import ExactDuplicates
from data.deduplicate.report import write_report
from data.executors import LocalPool

from ..building import write_part

ONE = LocalPool(1)


def write_parts(folder: Path, contents: list[list[str]]) -> list[Path]:
    """Write texts as parts; a document's id says its part and row."""
    folder.mkdir(exist_ok=True)
    return [
        write_part(folder / f"part-{number:04d}.parquet", texts, [f"문서-{number}-{row}" for row in range(len(texts))])
        for number, texts in enumerate(contents)
    ]


def slowly(parts: list[Path], report: Path) -> list[tuple[int, int]]:
    """Return all (dropped, kept), and write the report, one document after another: the oracle."""
    first, pairs, lines, place = {}, [], [], 0
    for part in parts:
        for row in pq.read_table(part, columns=["id", "high", "low"]).to_pylist():
            earlier = first.setdefault((row["high"], row["low"]), (place, row["id"]))
            if earlier[0] != place:
                pairs.append((place, earlier[0]))
                line = {"id": row["id"], "kept": earlier[1], "rule": "documents", "similarity": 1.0}
                lines.append(orjson.dumps(line) + b"\n")
            place += 1
    report.write_bytes(b"".join(lines))
    return pairs


def report_of(parts: list[Path], exact: ExactDuplicates, folder: Path, execute=ONE) -> Path:
    """Write the report of equal documents, and return its path."""
    write_report(folder / "report", parts, exact.rows, exact.found, None, folder, execute)
    return folder / "report"


def found(exact: ExactDuplicates) -> list[tuple[int, int]]:
    return sorted((int(twin["dropped"]), int(twin["kept"])) for twins in exact for twin in twins)


def test_by_hand(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "GROUP_PARTS", 2)
    monkeypatch.setattr(equal_documents, "PARTITION", 2)
    parts = write_parts(tmp_path / "parts", [["가", "나"], [], ["나", "다", "가 "], ["라", "나"]])
    exact = ExactDuplicates(parts, tmp_path, ONE)
    assert exact.rows.tolist() == [2, 0, 3, 2]
    assert found(exact) == [(2, 1), (4, 0), (6, 1)]
    assert exact.count == 3
    report_of(parts, exact, tmp_path)
    lines = [orjson.loads(line) for line in (tmp_path / "report").read_bytes().splitlines()]
    assert lines == [
        {"id": "문서-2-0", "kept": "문서-0-1", "rule": "documents", "similarity": 1.0},
        {"id": "문서-2-2", "kept": "문서-0-0", "rule": "documents", "similarity": 1.0},
        {"id": "문서-3-1", "kept": "문서-0-1", "rule": "documents", "similarity": 1.0},
    ]


def test_nothing(tmp_path):
    for parts in ([], write_parts(tmp_path / "parts", [[], []])):
        exact = ExactDuplicates(parts, tmp_path, ONE)
        assert exact.count == 0 and found(exact) == []
        report_of(parts, exact, tmp_path)
        assert (tmp_path / "report").read_bytes() == b""


TEXTS = st.lists(st.integers(0, 40).map(str), max_size=25)


@settings(max_examples=15, deadline=None)
@given(contents=st.lists(TEXTS, max_size=7), group=st.integers(1, 4), partition=st.sampled_from([1, 3, 10, 10**6]))
def test_it_is_what_one_look_at_all_keys_gives(tmp_path_factory, contents, group, partition):
    folder = tmp_path_factory.mktemp("exact")
    parts = write_parts(folder / "parts", contents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "GROUP_PARTS", group)
        patch.setattr(equal_documents, "PARTITION", partition)
        exact = ExactDuplicates(parts, folder, ONE)
        report_of(parts, exact, folder)
        assert found(exact) == slowly(parts, folder / "oracle")
    assert (folder / "report").read_bytes() == (folder / "oracle").read_bytes()
    for one, other in pairwise(parts):
        assert one.exists() and other.exists()


def many(folder: Path) -> list[Path]:
    draw = random.Random(7)
    return write_parts(folder, [[str(draw.randrange(4000)) for _ in range(draw.randrange(300))] for _ in range(24)])


def test_what_another_list_of_parts_left_is_not_taken_up(tmp_path):
    parts = many(tmp_path / "parts")
    report_of(parts, ExactDuplicates(parts, tmp_path, ONE), tmp_path)
    exact = ExactDuplicates(parts[1:], tmp_path, ONE)
    report_of(parts[1:], exact, tmp_path)
    assert found(exact) == slowly(parts[1:], tmp_path / "oracle")
    assert (tmp_path / "report").read_bytes() == (tmp_path / "oracle").read_bytes()
    assert len(list(tmp_path.glob("exact-*"))) == 1
