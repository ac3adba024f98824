"""Length, symbols, language and licence: scores counted by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .filtering import scores


def test_length_in_characters_and_by_word():
    measures = scores({"length": {}}, ["나는 학교에 간다", "안 녕", "", "  "])
    assert measures["characters"] == [9, 3, 0, 2]
    assert measures["characters_per_word"] == [7 / 3, 1, 0, 0]


def test_sentences_are_split_only_where_asked_for():
    text = "나는 간다. 너는 온다고 했다."
    assert "characters_per_sentence" not in scores({"length": {}}, [text])
    assert scores({"length": {"min_sentence_chars": 1}}, [text, ""])["characters_per_sentence"] == [8, 0]


def test_symbols_lists_and_ellipses():
    texts = ["가나!!", "- 하나\n• 둘\n셋\n넷…\n다섯..", "- 하나\n- 둘", "하나...\n둘…\n셋..\n넷.\n다섯...", ""]
    measures = scores({"symbols": {}}, texts)
    assert measures["share"] == pytest.approx([0.5, 5 / 12, 2 / 5, 10 / 17, 0])
    assert measures["bullet_lines"] == [0, 0.4, 0, 0, 0]
    assert measures["ellipsis_lines"] == [0, 0.2, 0, 0.6, 0]


def test_hangul_among_letters_and_lines_of_code():
    code = "for (int i = 0; i < n; i++) {\n  sum += i;\n}\n합을 구한다"
    measures = scores({"language": {}}, ["한글 abc 12", "漢字漢字", "123 !!", code, "ㅋㅋㅋ", ""])
    assert measures["hangul"] == pytest.approx([2 / 5, 0, 0, 5 / (10 + 4 + 5), 1, 0])
    assert measures["code_lines"] == [0, 0, 0, 0.75, 0, 0]


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np",
        "그는 x = 3 이라고 썼다.",
        "Korea (대한민국)",
        "제1조(목적) 이 법은 다음과 같다",
        "[사진] 하늘",
        "abcdefghi=j",  # one sign in eleven
    ],
)
def test_prose_is_no_code(line):
    assert scores({"language": {}}, [line])["code_lines"] == [0]


@pytest.mark.parametrize(
    "line",
    ["#include <stdio.h>", "return x;", "}", "$ pip install -U x && y", "| a | b | c |", "x[0] = f(y)", "abcdefgh=i"],
)
def test_code_is_code(line):
    assert scores({"language": {}}, [line])["code_lines"] == [1]


@given(st.text(st.sampled_from("가a1 \n;=(ㅋ漢"), max_size=60))
def test_the_share_of_hangul_is_that_of_a_slow_count(text):
    letters = [letter for letter in text if letter.isalpha()]
    expected = sum(letter in "가ㅋ" for letter in letters) / len(letters) if letters else 0
    assert scores({"language": {}}, [text])["hangul"] == [pytest.approx(expected)]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"allow": ["CC0*", "cc-by-4.0"]}, [1, 1, 0, 0]),
        ({"deny": ["*NC*"]}, [1, 1, 0, 1]),
        ({"deny": [""]}, [1, 1, 1, 0]),
        ({"allow": ["*"], "deny": ["CC-BY*"]}, [1, 0, 0, 1]),
    ],
)
def test_licences(tree, expected):
    licences = ["CC0-1.0", "CC-BY-4.0", "CC-BY-NC-4.0", ""]
    assert scores({"licence": tree}, ["글"] * 4, licences)["allowed"] == expected
