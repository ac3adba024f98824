"""News furniture: lines that go, lines that stay."""

from pathlib import Path

import pytest

from data.cleaning.news import RULES, remove_news
from data.cleaning.rules import clean
from data.cleaning.settings import CleanSettings

from ..cases import sections

CASES = sections(Path(__file__).with_name("cases.txt"))


def removed(text: str) -> tuple[str, list[str]]:
    shorter, taken = remove_news(text)
    assert sum(taken.values()) in (len(text) - len(shorter), len(text) - len(shorter) + 1)  # the last line end
    return shorter, list(taken)


@pytest.mark.parametrize(("line", "left", "rule"), CASES["furniture of news (and its rule)"])
def test_furniture_goes(line, left, rule):
    text, rules = removed(f"앞 줄이다.\n{line}\n뒷줄이다.")
    assert text == "\n".join(filter(None, ["앞 줄이다.", left, "뒷줄이다."]))
    assert rules == [rule]
    others = tuple(other for other in RULES if other[0] != rule)
    assert remove_news(line, others) == (line, {})


@pytest.mark.parametrize(("line",), CASES["prose in news"])
def test_prose_stays(line):
    assert removed(line) == (line, [])


def test_several_rules_on_one_line_and_lines_left_alone():
    text = "첫 줄이다.\n(서울=가람뉴스) 김하늘 기자 = 비가 왔다. (자료=가람연구소)\n사진=김하늘\n[가람일보]\n끝 줄이다."
    left, rules = removed(text)
    assert left == "첫 줄이다.\n비가 왔다.\n끝 줄이다."
    assert sorted(rules) == ["news_image", "news_press", "news_reporter", "news_source"]
    assert removed("사진=김하늘\n[가람일보]") == ("", ["news_image", "news_press"])
    assert removed("\n\n사진과 영상, 자료가 있다.\n") == ("\n\n사진과 영상, 자료가 있다.\n", [])


def test_lone_surrogates_do_not_stop_it():
    assert removed("\ud800 글\n사진=김하늘") == ("\ud800 글", ["news_image"])


def test_only_news_has_furniture():
    text = "비가 그쳤다.\n저작권자 ⓒ 가람뉴스, 무단 전재 및 재배포 금지"
    assert clean(text, CleanSettings(), {}) == text
    assert clean(text, CleanSettings(news=True), {}) == "비가 그쳤다."
