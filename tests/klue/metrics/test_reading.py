import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klue.metrics.reading import exact_match, longest_common_run, normalise, overlap_f1, rouge_w

texts = st.text(alphabet="가나다 ab", max_size=30)


def difflib_run(gold, predicted, autojunk):
    matcher = difflib.SequenceMatcher(None, predicted, gold, autojunk=autojunk)
    return matcher.find_longest_match(0, len(predicted), 0, len(gold)).size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  BMW\n(코리아)\t", "the bmw 코리아"),
        ("3.5%", "35"),
        ("서울 - 부산", "서울 부산"),
        ("!?", ""),
        # only ASCII punctuation goes: brackets and quotation marks of Korean typography stay
        ("《훈민정음》", "《훈민정음》"),
        ("〈시〉, ‘말’ “글”", "〈시〉 ‘말’ “글”"),
    ],
)
def test_normalise(text, expected):
    assert normalise(text) == expected


def test_exact_match_by_hand():
    gold = [["TV", "텔레비전"], ["서울"], [], []]
    assert exact_match(gold, ["tv.", "서울시", "", "답"]) == 50.0


def test_brackets_stay():
    # an answer without its brackets is another answer; six of six and of eight characters are common
    assert exact_match([["《훈민정음언해》"]], ["훈민정음언해"]) == 0.0
    assert rouge_w([["《훈민정음언해》"]], ["훈민정음언해"]) == pytest.approx(100 * 2 * 6 / (8 + 6))


def test_rouge_w_by_hand():
    # the paper's example: one common character of 7 and 6, blanks counted
    assert rouge_w([["국한된 범위"]], ["한국의 위인들"]) == pytest.approx(100 * 2 / 13)
    # the common run is " 나라" (3 of 5 and 6), not "우" and " 나라" together
    assert overlap_f1("우리 나라", "우주의 나라") == pytest.approx(2 * 3 / (5 + 6))
    # the better one of two answers: 2 of 2 and 4, against 2 of 6 and 4
    assert rouge_w([["서울특별시청", "서울"]], ["서울에서"]) == pytest.approx(100 * 4 / 6)


def test_empty_answers():
    # no gold answer, or one that normalises to nothing: only an empty prediction scores
    assert rouge_w([[], [], ["..."], ["가"]], ["", "가", "!", ""]) == 50.0
    assert exact_match([[], [], ["..."], ["가"]], ["", "가", "!", ""]) == 50.0


@given(texts, texts)
def test_longest_common_run_equals_difflib(first, second):
    assert longest_common_run(first, second) == difflib_run(first, second, autojunk=True)


def test_texts_of_200_characters_and_more_are_exact():
    gold = "가나다라" * 50  # every character is more than 1 % of 200: all of them junk to the heuristic
    found = "라" + gold[:120]
    assert difflib_run(gold, found, autojunk=True) == 0
    # the 120 characters with the one before them: 라가나다 … is in gold too
    assert longest_common_run(gold, found) == difflib_run(gold, found, autojunk=False) == 121
    assert rouge_w([[gold]], [found]) == pytest.approx(100 * 2 * 121 / (200 + 121))


def test_long_texts_are_no_trouble():
    one = "".join(chr(0xAC00 + n * n % 997) for n in range(20_000))
    assert longest_common_run(one, one[500:] + "끝") == 19_500
