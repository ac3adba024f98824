"""Statistics: counted from shards, merged."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from data.shards import SCHEMA, write_shard
from data.statistics import BINS, histograms, merge, shard_statistics, text_size, total

DOCUMENTS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.lists(st.text("가 b\t\U0001f600", max_size=20), min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)


@given(DOCUMENTS)
def test_shard_statistics_agree_with_a_slow_count(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("statistics") / "shard.parquet"
    sources, sentences = [d[0] for d in documents], [d[1] for d in documents]
    write_shard(path, [pa.table([sources, sources, sources, sentences], schema=SCHEMA)])
    found = shard_statistics(path)
    assert set(found["sources"]) == set(sources)
    for name in set(sources):
        mine = [s for source, ss in documents if source == name for s in ss]
        assert found["sources"][name] == {
            "documents": sources.count(name),
            "sentences": len(mine),
            "words": sum(len(s.split()) for s in mine),
            "characters": sum(map(len, mine)),
            "bytes": sum(len(s.encode()) for s in mine),
        }
    lengths = {
        "sentences": [len(s) for ss in sentences for s in ss],
        "documents": [sum(map(len, s)) for s in sentences],
    }
    for name, bins in histograms(found["lengths"]).items():
        for one in bins:
            high = one["to"] if one["to"] is not None else float("inf")
            assert one["count"] == sum(one["from"] <= length < high for length in lengths[name])


def test_histograms_have_every_bin_in_order_whatever_was_counted():
    bins = histograms({"sentences": {"1000": 2, "20": 1}})
    assert [one["from"] for one in bins["sentences"]] == [0, *BINS["sentences"]]
    assert [one["count"] for one in bins["sentences"] if one["count"]] == [1, 2]
    assert bins["sentences"][-1] == {"from": 1000, "to": None, "count": 2}
    assert sum(one["count"] for one in bins["documents"]) == 0


def test_text_size_and_merge():
    assert text_size(["가나 다", "b"]) == {"documents": 2, "words": 3, "characters": 5, "bytes": 11}
    assert text_size([])["bytes"] == 0
    assert text_size(["", "\ud800", ""]) == {"documents": 3, "words": 1, "characters": 1, "bytes": 3}
    assert merge({"a": {"x": 1}}, {"a": {"x": 2, "y": 1}, "b": 3}) == {"a": {"x": 3, "y": 1}, "b": 3}
    assert total({"p": {"x": 1}, "q": {"x": 2}}) == {"x": 3}
