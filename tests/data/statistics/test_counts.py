"""Statistics: counted from shards, merged."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from data.shards import SCHEMA, write_shard
from data.statistics.counts import count_documents, histograms, merge, shard_statistics, text_size, total

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
    statistics = shard_statistics(path)
    assert set(statistics["sources"]) == set(sources)
    for name in set(sources):
        mine = [s for source, ss in documents if source == name for s in ss]
        assert statistics["sources"][name] == {
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
    for name, bins in histograms(statistics["lengths"]).items():
        for bin in bins:
            high = bin["to"] if bin["to"] is not None else float("inf")
            assert bin["count"] == sum(bin["from"] <= length < high for length in lengths[name])


def documents_of(lengths):
    """Return the histogram of documents of so many characters."""
    sentences = pa.array([["가" * length] for length in lengths], pa.list_(pa.string()))
    return histograms(count_documents(pa.array(["a"] * len(lengths), pa.string()), sentences)["lengths"])["documents"]


@given(st.lists(st.one_of(st.integers(0, 60), st.integers(0, 5000), st.integers(0, 30_000)), min_size=1, max_size=60))
def test_bins_are_of_one_width_and_hold_nearly_all(lengths):
    bins = documents_of(lengths)
    equal = [bin for bin in bins if bin["to"] is not None]
    assert [bin["from"] for bin in bins[1:]] == [bin["to"] for bin in equal][: len(bins) - 1] and bins[0]["from"] == 0
    [width] = {bin["to"] - bin["from"] for bin in equal}
    assert str(width).rstrip("0") in ("1", "2", "5") and len(equal) <= 12
    assert sum(bin["count"] for bin in equal) >= 0.95 * len(lengths)
    assert sum(bin["count"] for bin in bins) == len(lengths)
    for bin in bins:
        assert bin["count"] == sum(bin["from"] <= n < (bin["to"] or float("inf")) for n in lengths)


def test_long_documents_share_the_last_bin():
    bins = documents_of([90] * 4 + [150] * 700 + [480] * 280 + [2_000_000] * 16)
    assert [(bin["from"], bin["to"], bin["count"]) for bin in bins if bin["count"]] == [
        (50, 100, 4), (150, 200, 700), (450, 500, 280), (500, None, 16),
    ]  # fmt: skip
    # twelve bins of one character hold up to 11, and of two up to 23
    assert [len(documents_of([longest] * 9)) for longest in (11, 12, 23, 24)] == [12, 7, 12, 5]
    assert documents_of([2_000_000] * 3)[-1] == {"from": 1_000_000, "to": None, "count": 3}
    assert histograms({})["documents"] == [{"from": 0, "to": None, "count": 0}]


def test_text_size_and_merge():
    assert text_size(["가나 다", "b"]) == {"documents": 2, "words": 3, "characters": 5, "bytes": 11}
    assert text_size([])["bytes"] == 0
    assert text_size(["", "\ud800", ""]) == {"documents": 3, "words": 1, "characters": 1, "bytes": 3}
    assert merge({"a": {"x": 1}}, {"a": {"x": 2, "y": 1}, "b": 3}) == {"a": {"x": 3, "y": 1}, "b": 3}
    assert total({"p": {"x": 1}, "q": {"x": 2}}) == {"x": 3}
