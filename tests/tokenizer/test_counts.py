"""Counts on the disk add up, whatever the number of files and partitions."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.once import once_file
from tokenizer.counts import Counts, read_facts, write_counts

COUNTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.integers(1, 10**12))


@settings(max_examples=60)
@given(parts=st.lists(COUNTS, min_size=1, max_size=4), partitions=st.integers(1, 9))
def test_the_sums_are_those_of_all_files(tmp_path_factory, parts, partitions):
    folder = tmp_path_factory.mktemp("counts")
    files = [folder / f"{number}.parquet" for number in range(len(parts))]
    for file, counts in zip(files, parts, strict=True):
        with file.open("wb") as stream:
            write_counts(stream, counts, partitions, {"keys": len(counts)})
        assert read_facts(file) == {"keys": len(counts)}
    read = list(Counts(files, partitions))
    assert len(read) == partitions
    assert sum(map(len, read)) == len(set().union(*parts))
    expected: Counter[str] = Counter()
    for counts in parts:
        expected.update(counts)
    assert {key: count for part in read for key, count in part.items()} == dict(expected)
    assert all(list(part) == sorted(part) for part in read)


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("tokenizer.counts.pa.table", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        once_file(tmp_path / "c.parquet", partial(write_counts, counts={"a": 1}, partitions=2, facts={}))
    assert list(tmp_path.iterdir()) == []
