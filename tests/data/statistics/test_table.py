"""Statistics as tables: every part is shown, numbers are never cut, names are text and not markup."""

import io
import json

import pytest
from rich.console import Console

from common.errors import HunminError, UserError
from data.statistics.counts import histograms
from data.statistics.table import MOST_SOURCES, format_sources, format_statistics, load_statistics

COUNTS = {"documents": 2, "sentences": 3, "words": 4, "characters": 500, "bytes": 1_000_000}


def statistics(**changes):
    return {
        "sources": {"web": {"read": COUNTS, "kept": COUNTS}, "gone": {"read": {"bytes": 0}, "kept": {}}},
        "total": {"read": COUNTS, "kept": COUNTS},
        "lengths": histograms({"sentences": {"20": 3}, "documents": {"0": 2}}),
        "split": 30,
        "cleaning": {"html": {"hits": 7, "characters": 50}},
        "pii": {"TEL": 8},
        "decontamination": {"ynat": {"exact": 9, "words": 1}, "wos": {"fragment": 20}},
        "duplicates": {"documents": 11, "sentences": 0},
        "rejects": {"not JSON": 12},
        "skipped": {"a redirect": 5},
        "damaged": {"is damaged": 1},
        "dropped": {"only benchmark sentences": 1},
    } | changes


def shown(tables, width=100) -> str:
    console = Console(width=width, record=True, file=io.StringIO(), soft_wrap=True)
    for table in tables:
        console.print(table)
    return console.export_text()


def test_tables_show_every_part():
    text = shown(format_statistics(statistics()))
    words = "web|gone|100.0%|html|10.000%|TEL|ynat|not JSON|a redirect|only benchmark sentences"
    assert [word for word in words.split("|") if word not in text] == []
    rows = [line.split() for line in text.splitlines()]
    assert ["wos", "0", "20", "0", "20", "66.6667%"] in rows and ["ynat", "9", "0", "1", "10", "33.3333%"] in rows
    assert ["20–21", "3", "100.0%", "█" * 24] in rows


def test_steps_that_found_nothing_say_so():
    empty = statistics(
        cleaning={}, pii={}, decontamination={}, dropped={}, rejects={}, skipped={}, damaged={}, duplicates={"near": 0}
    )
    assert shown(format_statistics(empty)).count("none") == 4


def test_the_largest_source_comes_first_and_the_rest_share_a_row():
    sources = {
        f"s{n:04d}": {"read": {"bytes": n * 1_000_000}, "kept": {"bytes": n * 1_000_000, "words": 1}}
        for n in range(MOST_SOURCES + 50)
    }
    lines = shown([format_sources(statistics(sources=sources))]).splitlines()
    assert lines[4].split()[0] == f"s{MOST_SOURCES + 49:04d}"
    [rest] = [line.split() for line in lines if "more sources" in line]
    assert rest[:3] == ["50", "more", "sources"] and rest[5] == "50" and rest[6] == "1,225.00"


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_long_name_is_cut_and_the_numbers_stay_whole(width):
    big = dict.fromkeys(COUNTS, 6_520_000_000) | {"bytes": 62_650_000_000}
    names = ["한국어이름" * 20, "[red]not markup[/blue]", "two\nlines"]
    sources = {name: {"read": big, "kept": big} for name in names}
    lines = shown([format_sources(statistics(sources=sources, total={"read": big, "kept": big}))], width).splitlines()
    rows = [line for line in lines if "6,520,000,000" in line]
    assert len(rows) == 4 and all(row.split()[-6:][:3] == ["6,520,000,000"] * 3 for row in rows)
    assert all(row.split()[-3:] == ["62.65", "62.65", "100.0%"] for row in rows)
    if width > 80:
        assert any("[red]not markup[/" in row for row in rows)


def test_load_statistics(tmp_path):
    with pytest.raises(UserError, match="no finished corpus"):
        load_statistics(tmp_path)
    (tmp_path / "corpus").mkdir()
    file = tmp_path / "corpus" / "statistics.json"
    file.write_text(json.dumps(statistics()))
    assert load_statistics(tmp_path) == load_statistics(tmp_path / "corpus") == statistics()
    for damaged in ("{", "[]", '{"total": {}}'):
        file.write_text(damaged)
        with pytest.raises(HunminError, match="damaged"):
            load_statistics(tmp_path)
