"""Filters in the whole stage: what stays, what is counted, the same bytes whatever the workers."""

import json
from pathlib import Path

import pytest

from common.errors import UserError
from common.manifest import describe_outputs
from data.shards import SCHEMA, read_shards
from data.statistics.table import format_statistics, load_statistics

from ..building import build, prose, rows, settings, stop_before_the_shards, write_files

FILTERS = [{"licence": {"deny": ["*NC*"]}}, {"length": {"min_chars": 20}}, {"language": {}}]
PERSON = "hong.gildong@naver.com"


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    lines = [{"id": f"a{n}", "text": text, "licence": "CC0"} for n, text in enumerate(prose(300, 1))]
    lines[7] |= {"text": "짧은 글이다."}
    lines[8] |= {"text": "This line is English, but for 한글 here.\n" * 3, "id": PERSON}
    lines[9] |= {"licence": "CC-BY-NC-4.0"}
    more = [*prose(100, 2), "ab cd ef gh 가나 ij kl mn"]
    return write_files(tmp_path / "in", {"a.jsonl": [json.dumps(line) for line in lines], "b.txt": more})


def chosen(folder: Path, **changes):
    return settings(folder, **{"filters": FILTERS, **changes})


def test_what_filters_drop_is_counted_listed_and_shown(corpora, tmp_path):
    build(chosen(corpora), tmp_path / "out")
    ids = {row["id"] for row in rows(tmp_path / "out")}
    assert not ids & {"a7", "a9", "b-101"} and "a10" in ids
    listed = [json.loads(line) for line in (tmp_path / "out/filtered.jsonl").read_text().splitlines()]
    assert [(row["source"], row["filter"], row["measure"]) for row in listed if row["id"] in ("a7", "a9", "b-101")] == [
        ("a", "licence", "allowed"),
        ("a", "length", "characters"),
        ("b", "language", "hangul"),
    ]
    assert all(set(drop) == {"id", "source", "filter", "measure", "score"} for drop in listed)
    statistics = load_statistics(tmp_path / "out")
    assert statistics["filters"]["licence"] == {"allowed": {"a": {"documents": 1, "characters": len(prose(300, 1)[9])}}}
    assert statistics["filters"]["language"]["hangul"]["b"] == {"documents": 1, "characters": 23}
    counted = sum(n["documents"] for m in statistics["filters"].values() for s in m.values() for n in s.values())
    assert counted == len(listed)
    listing = (tmp_path / "out/filtered.jsonl").read_text()
    assert "English" not in listing and listing.count('"language"') == 2
    assert all(PERSON.encode() not in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    titles = [str(table.title) for table in format_statistics(statistics)]
    assert "Documents dropped by filters" in titles and "Documents dropped by filters, by source" in titles


def test_scores_become_columns_on_request_and_parts_do_not_depend_on_it(corpora, tmp_path, monkeypatch):
    before = stop_before_the_shards(chosen(corpora), tmp_path / "out", monkeypatch)
    after = stop_before_the_shards(chosen(corpora, keep_scores=True), tmp_path / "out", monkeypatch)
    assert before == after
    build(chosen(corpora, keep_scores=True), tmp_path / "out")
    [batch, *_] = read_shards(tmp_path / "out")
    assert batch.schema.names == [
        *SCHEMA.names,
        "licence_allowed",
        "length_characters",
        "length_characters_per_word",
        "language_hangul",
        "language_code_lines",
    ]
    for row in rows(tmp_path / "out"):
        assert row["licence_allowed"] == 1 and row["length_characters"] == len(" ".join(row["sentences"])) >= 20
    build(chosen(corpora), tmp_path / "plain")
    assert next(read_shards(tmp_path / "plain")).schema.names == SCHEMA.names
    assert [row["id"] for row in rows(tmp_path / "plain")] == [row["id"] for row in rows(tmp_path / "out")]


def test_same_bytes_from_any_workers_and_unit_size(corpora, tmp_path):
    for name, changes in {"1": {}, "2": {"workers": 2, "unit_mb": 0.05}}.items():
        build(chosen(corpora, keep_scores=True, **changes), tmp_path / name)
    assert describe_outputs(tmp_path / "1") == describe_outputs(tmp_path / "2")


def test_other_filters_are_other_parts(corpora, tmp_path, monkeypatch):
    before = stop_before_the_shards(chosen(corpora), tmp_path / "out", monkeypatch)
    after = stop_before_the_shards(chosen(corpora, filters=FILTERS[:2]), tmp_path / "out", monkeypatch)
    assert not before.items() & after.items()
    build(chosen(corpora, filters=FILTERS[:2]), tmp_path / "out")
    build(chosen(corpora, filters=FILTERS[:2]), tmp_path / "whole")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")


def test_a_corpus_without_filters_knows_nothing_of_them(corpora, tmp_path):
    build(settings(corpora), tmp_path / "out")
    assert not (tmp_path / "out/filtered.jsonl").exists()
    assert "filters" not in load_statistics(tmp_path / "out")


def test_where_a_filter_takes_all_it_is_named(corpora, tmp_path):
    with pytest.raises(UserError, match=r"nothing is left .*filter length: 401"):
        build(chosen(corpora, filters=[{"length": {"min_chars": 10_000}}]), tmp_path / "out")
