"""The mixture over parts, against counts by hand: a slow oracle that goes document by document."""

import itertools
import random
from math import floor
from pathlib import Path

import numpy as np
import orjson
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from common.manifest import describe_outputs
from data.assemble import assemble
from data.deduplicate.settings import DeduplicateSettings
from data.executors.local import LocalPool
from data.mixture.settings import MixtureSettings
from data.mixture.shares import HELD_OUT, OUT, cap_threshold, copies, draws, mix
from data.shards import read_shard, read_shard_manifest, shard_paths
from data.statistics.table import format_mixture

from ..building import write_part as write_texts

SOURCES = ("news", "talk", "wiki")


def write_part(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    """Write a part of (id, source, text)."""
    ids, sources, texts = zip(*rows, strict=True) if rows else ((), (), ())
    return write_texts(path, list(texts), list(ids), list(sources))


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str, str]]:
    draw = random.Random(3)
    return [
        (f"d{number}", draw.choices(SOURCES, (8, 3, 1))[0], f"{number}번 글" + "이다 " * draw.randrange(1, 40))
        for number in range(3000)
    ]


@pytest.fixture(scope="module")
def parts(rows, tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    cuts = [0, 700, 700, 1500, 3000]
    return [write_part(folder / f"part-{n}.parquet", rows[a:b]) for n, (a, b) in enumerate(itertools.pairwise(cuts))]


def draw_of(purpose: str, source: str, id: str, seed: int) -> float:
    digest = xxhash.xxh3_64(f"{purpose}\0{source}\0{id}".encode(), seed=seed).intdigest()
    return int(digest // 2**11) / 2**53


def slow(rows, settings: MixtureSettings) -> dict[str, int]:
    """Return id → copies, document by document."""
    copies = {id: OUT for id, _, _ in rows}
    size = {id: len(text.encode()) for id, _, text in rows}
    pool = {source: [id for id, owner, _ in rows if owner == source] for source in SOURCES}
    for source in SOURCES:
        for id in list(pool[source]):
            if draw_of("held out", source, id, settings.seed) < settings.held_out:
                pool[source].remove(id)
                copies[id] = HELD_OUT
        share = settings.sources.get(source)
        if share and share.max_mb:
            pool[source].sort(key=lambda id: draw_of("cap", source, id, settings.seed))
            while sum(size[id] for id in pool[source]) > share.max_mb * 1e6:
                pool[source].pop()
    bytes_of = {source: sum(size[id] for id in pool[source]) for source in SOURCES}
    weights = {source: bytes_of[source] ** settings.alpha for source in SOURCES}
    for source in SOURCES:
        rate = sum(bytes_of.values()) * weights[source] / sum(weights.values()) / bytes_of[source]
        assert rate < settings.max_epochs
        for id in pool[source]:
            times = floor(rate + draw_of("copies", source, id, settings.seed))
            copies[id] = times or OUT
    return copies


CHOSEN = MixtureSettings(alpha=0.1, held_out=0.05, sources={"news": {"max_mb": 0.1}}, max_epochs=20, seed=7)


def test_the_parts_get_what_a_slow_count_gives(rows, parts):
    keep = [np.ones(700, bool), np.ones(0, bool), np.ones(800, bool), np.ones(1500, bool)]
    mixed = mix(parts, keep, CHOSEN)
    expected = slow(rows, CHOSEN)
    assert np.concatenate(mixed.copies).tolist() == [expected[id] for id, _, _ in rows]
    assert len(set(expected.values())) >= 4
    for source in SOURCES:
        mine = [(expected[id], len(text.encode())) for id, owner, text in rows if owner == source]
        counts = mixed.counts[source]
        assert counts["before"] == {"documents": len(mine), "bytes": sum(size for _, size in mine)}
        for kind, number in (("left_out", OUT), ("held_out", HELD_OUT)):
            these = [size for times, size in mine if times == number]
            assert counts[kind] == {"documents": len(these), "bytes": sum(these)}
        passed = [(times, size) for times, size in mine if times > 0]
        assert counts["pass"] == {
            "documents": sum(times for times, _ in passed),
            "bytes": sum(times * size for times, size in passed),
        }


def test_a_document_does_not_depend_on_the_others(rows, tmp_path):
    """With rates that are given, half of the corpus fares as it does in the whole."""
    chosen = MixtureSettings(held_out=0.05, sources={name: {"epochs": 1.5} for name in SOURCES})
    whole = mix([write_part(tmp_path / "a.parquet", rows)], [np.ones(len(rows), bool)], chosen)
    half = mix([write_part(tmp_path / "b.parquet", rows[::-2])], [np.ones(len(rows) // 2, bool)], chosen)
    assert whole.copies[0][::-2].tolist() == half.copies[0].tolist()
    assert set(whole.copies[0].tolist()) == {HELD_OUT, 1, 2}


def test_duplicates_count_for_nothing(rows, parts):
    keep = [np.zeros(700, bool), np.ones(0, bool), np.ones(800, bool), np.ones(1500, bool)]
    mixed = mix(parts, keep, MixtureSettings(held_out=0))
    assert (mixed.copies[0] == OUT).all() and all((part == 1).all() for part in mixed.copies[1:])
    assert sum(counts["before"]["documents"] for counts in mixed.counts.values()) == 2300
    assert sum(counts["left_out"]["documents"] for counts in mixed.counts.values()) == 0


def test_an_unknown_source_is_named_with_its_neighbour(parts):
    keep = [np.ones(700, bool), np.ones(0, bool), np.ones(800, bool), np.ones(1500, bool)]
    with pytest.raises(UserError, match=r"names 'newss'.*did you mean 'news'"):
        mix(parts, keep, MixtureSettings(sources={"newss": {"epochs": 2}}))


def test_documents_that_share_an_id_are_told_of(tmp_path, capsys):
    part = write_part(tmp_path / "a.parquet", [(id, id, "글이다. " * 9) for id in ["same"] * 400 + ["few"] * 9])
    keep = [np.ones(409, bool)]
    mix([part], keep, MixtureSettings(held_out=0))
    message = capsys.readouterr().err
    assert message.count("source 'same' share an id") == 1 and "id_field" in message and "'few'" not in message
    with pytest.raises(UserError, match=r"max_mb of source .*, 0\.02, keeps none of its 400 documents"):
        mix([part], keep, MixtureSettings(held_out=0, sources={"same": {"max_mb": 0.02}}))


def test_ids_that_repeat_from_file_to_file_are_told_of(tmp_path, capsys, monkeypatch):
    """As of files that each count from 1; of many ids a sample is counted. Half of them repeat, and 99 are too few."""
    monkeypatch.setattr("data.mixture.shares.MOST_IDS", 1000)
    for files, ids, warnings in ((20, 400, 1), (3, 2000, 1), (1, 2000, 0), (2, 50, 1), (3, 33, 0)):
        rows = [(f"{n}", "news", "글") for n in range(ids)]
        parts = [write_part(tmp_path / f"{ids}-{number}.parquet", rows) for number in range(files)]
        mix(parts, [np.ones(ids, bool)] * files, MixtureSettings(held_out=0))
        assert capsys.readouterr().err.count("source 'news' share an id") == warnings
    rows = [("0" if n % 6 else f"{n}", "news", "글") for n in range(9000)]  # one id that most have
    mix([write_part(tmp_path / "skewed.parquet", rows)], [np.ones(len(rows), bool)], MixtureSettings(held_out=0))
    assert "source 'news' share an id" in capsys.readouterr().err


def test_shards_hold_one_number_of_copies_and_say_it(rows, parts, tmp_path):
    built = {}
    for workers in (1, 2):
        out, work = tmp_path / f"out{workers}", tmp_path / f"work{workers}"
        work.mkdir()
        with LocalPool(workers) as run:
            built[workers] = assemble(parts, out, work, DeduplicateSettings(), 0.02, run, mixture=CHOSEN)
    assert describe_outputs(tmp_path / "out1") == describe_outputs(tmp_path / "out2")
    expected = slow(rows, CHOSEN)
    copies, order = {}, {id: n for n, (id, _, _) in enumerate(rows)}
    for path in shard_paths(tmp_path / "out1"):
        times = read_shard_manifest(path).get("copies", 1)
        ids = [id for batch in read_shard(path, ["id"]) for id in batch.column("id").to_pylist()]
        assert ids == sorted(ids, key=order.__getitem__)
        copies |= dict.fromkeys(ids, times)
    assert copies == {id: times for id, times in expected.items() if times != OUT}
    assert built[1].shards > len(set(copies.values()))
    statistics = {"mixture": built[1].mixture}
    assert orjson.dumps(statistics) and format_mixture(statistics)[0].row_count == 4


def test_a_shard_is_written_anew_where_its_copies_change(parts, tmp_path):
    run = LocalPool(1)
    for epochs in (2, 3):
        chosen = MixtureSettings(held_out=0, sources={name: {"epochs": epochs} for name in SOURCES})
        made = assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 1, run, mixture=chosen)
        assert made.shards == 1 and read_shard_manifest(shard_paths(tmp_path / "out")[0])["copies"] == epochs


def test_all_held_out_is_refused(tmp_path):
    ids = [f"d{n}" for n in range(300) if draw_of("held out", "s", f"d{n}", 42) < 0.1]
    part = write_part(tmp_path / "part-0.parquet", [(id, "s", id) for id in ids])
    run = LocalPool(1)
    with pytest.raises(UserError, match="nothing to train on"):
        assemble([part], tmp_path / "o", tmp_path, DeduplicateSettings(), 1, run, mixture=MixtureSettings(held_out=0.1))


@given(st.floats(0, 20), st.integers(0, 2**63 - 1))
def test_copies_are_the_rate_on_average_and_next_to_it(rate, seed):
    ids = [str(number) for number in range(500)]
    times = copies(np.full(500, rate), draws(["s"] * 500, ids, seed, "copies"))
    assert set(times.tolist()) <= {floor(rate), floor(rate) + 1}
    assert abs(times.mean() - rate) < 0.12  # five standard deviations of 500 draws


@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 1000)), max_size=30), st.integers(0, 9000))
def test_a_cap_is_kept_and_one_document_more_would_break_it(pairs, most):
    drawn, sizes = np.array([a for a, _ in pairs], float), np.array([b for _, b in pairs], np.int64)
    threshold = cap_threshold(drawn, sizes, most)
    assert sizes[drawn < threshold].sum() <= most
    later = sorted({a for a in drawn.tolist() if a >= threshold})
    if later:
        assert sizes[drawn <= later[0]].sum() > most
