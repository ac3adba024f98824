"""News furniture: lines that go, lines that stay."""

import pytest

from data.cleaning import CleanSettings
from data.cleaning.news import remove_news


def removed(text: str, **switches) -> tuple[str, list[str]]:
    shorter, taken = remove_news(text, CleanSettings(news=True, **switches))
    assert sum(taken.values()) in (len(text) - len(shorter), len(text) - len(shorter) + 1)  # the last line end
    return shorter, list(taken)


@pytest.mark.parametrize(
    ("line", "left", "rule"),
    [
        ("(서울=가람뉴스) 김하늘 기자 = 비가 내렸다.", "비가 내렸다.", "news_reporter"),
        ("[대전=누리통신] 눈이 왔다.", "눈이 왔다.", "news_reporter"),
        ("김하늘 기자 sky@example.org", "", "news_reporter"),
        ("비가 그쳤다. 김하늘 기자 sky@example.org", "비가 그쳤다.", "news_reporter"),
        ("비가 그쳤다. 김하늘 기자", "비가 그쳤다.", "news_reporter"),
        ("가람일보 김하늘·이바다 기자", "", "news_reporter"),
        ("[가람일보]", "", "news_press"),
        ("<가람 타임스>", "", "news_press"),
        ("사진=김하늘", "", "news_image"),
        ("행사가 열렸다. [사진=가람시청 제공]", "행사가 열렸다.", "news_image"),
        ("출처: 가람연구소", "", "news_source"),
        ("표를 보자. (자료=가람연구소)", "표를 보자.", "news_source"),
        ("저작권자 ⓒ 가람뉴스, 무단 전재 및 재배포 금지", "", "news_copyright"),
        ("끝났다. <ⓒ 가람경제>", "끝났다.", "news_copyright"),
        ("Copyright 2020 Garam. All rights reserved.", "", "news_copyright"),
        ("Copyright (c) Garam", "", "news_copyright"),
        ("ⓒ 2020 가람", "", "news_copyright"),
        ("비가 그쳤다. 무단 전재 및 재배포를 금합니다.", "비가 그쳤다.", "news_copyright"),
        ("▲ 시청 앞 (사진=가람시청 제공)", "", "news_image"),
        ("▲ 시청 앞 (가람뉴스)", "", "news_image"),
        ("원문: www.example.com/a?b=1", "", "news_source"),
        ("김하늘 기자", "", "news_reporter"),
        ("김하늘 기자 = 비가 왔다.", "비가 왔다.", "news_reporter"),
        ("저작권자: 가람", "", "news_copyright"),
        ("저작권자: 가람뉴스, 무단 전재와 재배포를 금합니다.", "", "news_copyright"),
        ("출처: 이하자", "", "news_source"),
    ],
)
def test_furniture_goes(line, left, rule):
    text, rules = removed(f"앞 줄이다.\n{line}\n뒷줄이다.")
    assert text == "\n".join(filter(None, ["앞 줄이다.", left, "뒷줄이다."]))
    assert rules == [rule]
    assert removed(line, **{rule: False})[1] == []


@pytest.mark.parametrize(
    "line",
    [
        "김하늘 기자는 현장에서 소식을 전했다.",
        "우리가 만난 사람은 김하늘 기자",
        "그 사진은 오래되었다.",
        "자료 조사가 필요하다.",
        "저작권은 작가에게 있다.",
        "방송과 신문은 다르다.",
        "사진 제공을 위해 힘쓴 사람들",
        "음악을 쓰려면 저작권자의 허락을 받아야 합니다.",
        "음악을 쓰려면 저작권자(작곡가)의 허락을 받아야 합니다.",
        "저작권자들이 보면 열받는 영화겠군",
        "영화를 무단 복제하는 것은 불법이다. 그래서 우리는 하지 않는다.",
        "나는 ⓒ 마크를 보았다. 그리고 집에 갔다.",
        "나는 신문에서 ⓒ 마크를 방송에 쓴다는 글을 보았다.",
        "사진: 나는 이 사진을 보고 울었다.",
        "사진: 정말 잘 나왔다",
        "출처:나무위키. 어제 친구를 만났다. 참 좋았다.",
        "원문: " + "긴 글이 이어지는 줄 " * 5 + "끝",
        "▲ 뉴스를 공정하게 보도하라",
        "▲ 사진 촬영을 금지하라 ▲ 이미지를 지우라",
        "▲ 뉴스(방송 포함)를 공정하게 하라 (TV/신문 포함)",
        "그는 기자",
        "나는 기자",
        "유명한 기자",
        "정말 잘한다! 우리 기자",
        "원문: 그대로 읽어보자",
        "출처: 밝히지 않고 쓰지 마라",
        "김치 기자 = 김치를 다루는 기자",
        "정치부 기자 = 정치를 다루는 기자",
        "저작권자: 김철수와 이영희 사이의 소송",
        "【 뿌리가 깊은 경제 】",
        "< 활기찬 마을경제 >",
        "<새로운 경제>",
        "저작권자: 김철수와 이영희…소송 끝에 합의",
        "법원은 무단 전재를 금지한다고 판결했다",
        "저작권자: 홍길동은 소송을 냈다",
        "저작권자: 홍길동은 졌다.",
    ],
)
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
    assert remove_news(text, CleanSettings()) == (text, {})
