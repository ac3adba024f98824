"""Sentence splitting: cases, no loss, determinism, linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.splitting import split_sentences

CASES = [
    ["비가 왔다.", "우산을 폈다!", "젖었을까?", "아니."],
    ["값은 3.14 입니다.", "버전 2.0.1 을 쓴다."],
    ["그는 “정말이야? 믿을 수 없어.”라고 말했다.", "모두 웃었다."],
    ['그는 "가자. 어서 가자." 하고 말했다.', "우리는 떠났다."],
    ["뭐야? 라고 물었다.", "답은 없었다."],
    ["Mr. Kim 은 U.S. 시장을 본다.", "J. K. Rowling 도 온다."],
    ["1. 첫째 항목이다.", "2. 둘째 항목이다.", "가. 셋째 항목이다."],
    ["2020. 10. 5. 시행되었다.", "끝."],
    ["글쎄... 잘 모르겠다.", "그랬다...", "그리고 끝났다."],
    ["진짜 재밌어요ㅋㅋㅋ", "또 볼게요 ^^", "강추!!! ㅠㅠ", "끝"],
    ["오늘은 날씨가 좋네요", "내일도 좋을 거예요", "기다립니다"],
    ["밥을 먹었다", "그리고 잤다"],
    ["맛있다고 했다 라고 전했다.", "그렇다 해도 간다."],
    ["(그는 웃었다. 크게 웃었다.)", "그리고 갔다."],
    ["끝났다.(웃음)", "다음은 노래입니다."],
    ["첫 줄에는 끝이 없고", "둘째 줄도 그렇고"],
    ["재미있었다.", "그런데 길었다."],
]


@pytest.mark.parametrize("sentences", CASES)
def test_cases(sentences):
    joiner = "\n" if sentences[0].endswith("없고") else " "
    assert split_sentences(joiner.join(sentences)) == sentences


def test_missing_blank_after_a_stop():
    assert split_sentences("재미있었다.그런데 길었다.") == ["재미있었다.", "그런데 길었다."]
    assert split_sentences("한국.com 과 www.example.org 를 본다.") == ["한국.com 과 www.example.org 를 본다."]


@given(st.text(alphabet="가다요죠ㅋㅠ.!?… \n\t\u3000\"'“”()[]1A^~;,", max_size=80))
def test_no_character_is_lost(text):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(s and s == s.strip() for s in sentences)
    assert sentences == split_sentences(text)


@given(st.text(max_size=60))
def test_no_character_is_lost_of_any_text(text):
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "unit",
    [
        "가",
        '"',
        "(",
        "“가",
        '"가 ',
        "[",
        ".",
        "다.",
        "… ",
        "다ㅋ",
        "다 ㅋ",
        "다 !",
        "1. ",
        " ",
        "A.",
        "'가",
        "요 ",
        "? ",
    ],
)
def test_time_is_linear(unit):
    text = unit * (1_500_000 // len(unit)) + "x"
    began = time.perf_counter()
    split_sentences(text)
    assert time.perf_counter() - began < 6
