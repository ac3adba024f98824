"""Statistics: counted from shards, merged, shown."""

import io

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from data.shards import SCHEMA, write_shard
from data.statistics import format_removals, format_statistics, length_names, merge, shard_statistics, text_size, total

DOCUMENTS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.lists(st.text("가 b\t\U0001f600", max_size=20), min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)


@given(DOCUMENTS)
def test_shard_statistics_agree_with_a_slow_count(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("statistics") / "shard.parquet"
    sources, sentences = [d[0] for d in documents], [d[1] for d in documents]
    write_shard(path, pa.table([sources, sources, sources, sentences], schema=SCHEMA))
    found = shard_statistics(path)
    for name in set(sources):
        mine = [s for source, ss in documents if source == name for s in ss]
        assert found["sources"][name] == {
            "documents": sources.count(name),
            "sentences": len(mine),
            "words": sum(len(s.split()) for s in mine),
            "characters": sum(map(len, mine)),
            "bytes": sum(len(s.encode()) for s in mine),
        }
    assert sum(found["lengths"].values()) == sum(map(len, sentences))
    assert sorted(found["lengths"]) == sorted(length_names())


def test_text_size_and_merge():
    assert text_size(["가나 다", "b"]) == {"documents": 2, "words": 3, "characters": 5, "bytes": 11}
    assert text_size([])["bytes"] == 0
    assert merge({"a": {"x": 1}}, {"a": {"x": 2, "y": 1}, "b": 3}) == {"a": {"x": 3, "y": 1}, "b": 3}
    assert total({"p": {"x": 1}, "q": {"x": 2}}) == {"x": 3}


def test_tables_show_every_part():
    counts = {"documents": 2, "sentences": 3, "words": 4, "characters": 5, "bytes": 1_000_000}
    statistics = {
        "sources": {"web": {"read": counts, "kept": counts}, "gone": {"read": {"bytes": 0}, "kept": {}}},
        "total": {"read": counts, "kept": counts},
        "cleaning": {"html": {"hits": 7, "characters": 70}},
        "pii": {"TEL": 8},
        "decontamination": {"ynat": {"exact": 9}},
        "duplicates": {"documents": 11, "sentences": 0},
        "rejects": {"not JSON": 12},
        "dropped": {"only benchmark sentences": 1},
    }
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(format_statistics(statistics))
    console.print(format_removals(statistics))
    text = console.export_text()
    for word in ("web", "gone", "100.0%", "html", "TEL", "ynat", "not JSON", "only benchmark sentences"):
        assert word in text
