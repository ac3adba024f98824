"""Plots: a picture for each part that holds something, readable names without a Korean font, the same bytes again."""

import warnings

import pytest

from data.statistics.counts import histograms
from data.statistics.plots import TOP, _bars, draw_statistics, romanise, statistics_files

SIZE = {"documents": 2, "sentences": 3, "words": 4, "characters": 500, "bytes": 1_000_000}
PNG = b"\x89PNG"


def statistics(names):
    return {
        "sources": {name: {"read": SIZE, "kept": SIZE} for name in names},
        "total": {"read": SIZE, "kept": SIZE},
        "lengths": histograms({"sentences": {"20": 3}, "documents": {"0": 2}}),
        "split": 30,
        "cleaning": {"html": {"hits": 7, "characters": 50}},
        "pii": {"TEL": 8},
        "decontamination": {"ynat": {"exact": 9, "words": 1}, "wos": {"fragment": 20}},
    }


def test_every_part_is_drawn_and_the_same_again(tmp_path):
    names = ["국민청원", "costs $5 and $6", "漢字", "a\nb", "국민청원 ", *(f"s{n}" for n in range(TOP))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph or a bad formula would warn
        drawn = draw_statistics(statistics(names), statistics_files(tmp_path / "new" / "plots"))
        again = draw_statistics(statistics(names), statistics_files(tmp_path / "again"))
    assert [path.name for path in drawn] == [
        *("sources.png", "removed.png", "personal_data.png", "benchmark.png", "lengths.png")
    ]
    for plot, other in zip(drawn, again, strict=True):
        assert plot.read_bytes().startswith(PNG) and plot.read_bytes() == other.read_bytes()


def test_parts_that_are_empty_are_not_drawn(tmp_path):
    empty = statistics(["web"]) | {"cleaning": {}, "pii": {}, "decontamination": {}, "lengths": histograms({})}
    assert [path.name for path in draw_statistics(empty, statistics_files(tmp_path))] == ["sources.png", "lengths.png"]


@pytest.mark.parametrize("installed", [True, False])
def test_names_are_romanised_only_where_no_korean_font_is(monkeypatch, installed):
    monkeypatch.setattr("data.statistics.plots.hangul_font", lambda: "Any" if installed else None)
    figure = _bars("title", "MB", ["훈민정음", "x" * 99], {"kept": [1.0, 2.0]}, ["1", "2"])
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[0] == ("훈민정음" if installed else "hunminjeongeum")
    assert len(labels[1]) < 40


def test_romanise():
    assert romanise("국립국어원 말뭉치 v1") == "gukripgukeowon malmungchi v1"
    assert romanise("닭값 쪽빛 의") == "dakgap jjokbit ui"
    assert romanise("\u1112\u1161\u11ab漢é\x07") == "han?é?"
