"""Equal documents found partition by partition: what one look at all keys gives, under any cut."""

import random
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.deduplicate import equal_documents, groups
from data.deduplicate.equal_documents import find_equal_documents
from data.deduplicate.report import write_report
from data.executors.local import LocalPool

from ..building import write_part

ONE = LocalPool(1)


def write_parts(folder: Path, contents: list[list[str]]) -> list[Path]:
    """Write texts as parts; a document's id says its part and row."""
    folder.mkdir(exist_ok=True)
    return [
        write_part(folder / f"part-{number:04d}.parquet", texts, [f"문서-{number}-{row}" for row in range(len(texts))])
        for number, texts in enumerate(contents)
    ]


def slowly(parts: list[Path]) -> tuple[list[tuple[int, int]], bytes]:
    """Return the same, one document after another: the oracle."""
    first, pairs, lines, place = {}, [], [], 0
    for part in parts:
        for row in pq.read_table(part, columns=["id", "high", "low"]).to_pylist():
            earlier = first.setdefault((row["high"], row["low"]), (place, row["id"]))
            if earlier[0] != place:
                pairs.append((place, earlier[0]))
                line = {"id": row["id"], "kept": earlier[1], "rule": "documents", "similarity": 1.0}
                lines.append(orjson.dumps(line) + b"\n")
            place += 1
    return pairs, b"".join(lines)


def by_tasks(parts: list[Path], folder: Path) -> tuple[list[tuple[int, int]], bytes]:
    """Return all (dropped, kept), and the report."""
    rows, twins = find_equal_documents(parts, folder, ONE)
    write_report(folder / "report", parts, rows, twins, None, folder, ONE)
    pairs = sorted((dropped, kept) for copies in twins for dropped, kept, _ in copies.tolist())
    return pairs, (folder / "report").read_bytes()


TEXTS = st.lists(st.integers(0, 40).map(str), max_size=25)


@settings(max_examples=15)
@given(contents=st.lists(TEXTS, max_size=7), group=st.integers(1, 4), partition=st.sampled_from([1, 3, 10, 10**6]))
def test_it_is_what_one_look_at_all_keys_gives(tmp_path_factory, contents, group, partition):
    folder = tmp_path_factory.mktemp("exact")
    parts = write_parts(folder / "parts", contents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "GROUP_PARTS", group)
        patch.setattr(equal_documents, "PARTITION", partition)
        assert by_tasks(parts, folder) == slowly(parts)


def test_what_another_list_of_parts_left_is_not_taken_up_and_waits_for_that_list(tmp_path, monkeypatch):
    draw = random.Random(7)
    contents = [[str(draw.randrange(4000)) for _ in range(draw.randrange(300))] for _ in range(24)]
    parts = write_parts(tmp_path / "parts", contents)
    by_tasks(parts, tmp_path)
    assert by_tasks(parts[1:], tmp_path) == slowly(parts[1:])
    monkeypatch.setattr(equal_documents, "repeated", None)  # nothing is compared again
    assert by_tasks(parts, tmp_path) == slowly(parts)
