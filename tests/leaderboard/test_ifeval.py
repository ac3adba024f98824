"""IFEval's rules: a passing, a failing and an empty answer each, from the table of rules."""

from __future__ import annotations

from unicodedata import normalize

import pytest

from leaderboard.ifeval import RULES, check_rule, follows, follows_loosely

CASES = {
    "keywords:existence": ({"keywords": ["사과", "배"]}, "사과와 배를 샀다.", "사과만 샀다."),
    "keywords:frequency": (
        {"keyword": "비", "frequency": 2, "relation": "이상"}, "비가 오고 또 비가 왔다", "비가 왔다"),
    "keywords:forbidden_words": ({"forbidden_words": ["나쁜"]}, "좋은 날", "나쁜날"),
    "keywords:letter_frequency": (
        {"letter": "A", "let_frequency": 2, "let_relation": "less than"}, "Apple 하나", "Banana"),
    "keywords:ko_letter_frequency": ({"letter": "ㄱ", "let_frequency": 3, "let_relation": "at least"}, "각각", "국"),
    "keywords:change_keyword": (
        {"prompt_to_change": "봄이 왔다. 봄!", "keyword_from": "봄", "keyword_to": "여름"}, "여름이 왔다. 여름!",
        "네: 여름이 왔다. 여름!"),
    "language:response_language": ({"language": "ko"}, "오늘은 KST로 세 시다", "It is three o'clock 지금"),
    "length_constraints:number_sentences": (
        {"num_sentences": 2, "relation": "이상"}, "비가 왔다. 우산을 썼다.", "비가 왔다."),
    "length_constraints:number_paragraphs": ({"num_paragraphs": 2}, "하나\n***\n둘", "하나\n***\n둘\n***\n셋"),
    "length_constraints:number_words": ({"num_words": 3, "relation": "미만"}, "두 단어", "이제 세 단어"),
    "length_constraints:number_letter_included": ({"num_letters": 5, "relation": "이상"}, "가나 다라", "가나다라"),
    "length_constraints:number_letter_excluded": ({"num_letters": 5, "relation": "이상"}, "가나 다라마", "가나 다라"),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "다음"}, "먼저 간다.\n\n다음, 온다.",
        "다음 하나.\n\n먼저 둘."),
    "detectable_content:number_placeholders": ({"num_placeholders": 2}, "[이름]과 [주소]", "[이름] 하나"),
    "detectable_content:postscript": ({"postscript_marker": "추신:"}, "안녕.\n추신: 또 봐", "안녕.\n추신:"),
    "detectable_format:number_bullet_lists": ({"num_bullets": 2}, "* 하나\n- 둘", "* 하나\n* 둘\n* 셋"),
    "detectable_format:constrained_response": ({}, "네", "네, 그래요"),
    "detectable_format:multiple_choice": ({}, "B", "E"),
    "detectable_format:number_highlighted_sections": (
        {"num_highlights": 2}, "*하나* 그리고 **둘**", "*하나* 그리고 ** **"),
    "detectable_format:multiple_sections": (
        {"section_spliter": "섹션", "num_sections": 2}, "섹션 1\n가\n섹션 2\n나", "섹션 1\n가\n섹션 둘"),
    "detectable_format:json_format": ({}, '```json\n{"가": 1}\n```', "{가: 1}"),
    "detectable_format:title": ({}, "<<봄날>>\n글", "<< >>\n글"),
    "combination:two_responses": ({}, "하나\n******\n둘", "같다\n******\n같다"),
    "combination:repeat_prompt": ({"prompt_to_repeat": "왜 그런가?"}, "왜 그런가? 그냥.", "그냥. 왜 그런가?"),
    "startend:end_checker": ({"end_phrase": "끝입니다."}, "길었다. 끝입니다.", "끝입니다. 아니다."),
    "startend:quotation": ({}, '"따온 글"', '"따온 글'),
    "change_case:capital_word_frequency": (
        {"capital_frequency": 2, "capital_relation": "이상"}, "NASA와 KBS는", "NASA와 Kbs는"),
    "change_case:english_capital": ({}, "ALL BIG 글", "ALL Big"),
    "change_case:english_lowercase": ({}, "all small 글", "all Small"),
    "punctuation:no_comma": ({}, "쉼표가 없다.", "쉼표、여기"),
}  # fmt: skip


SECOND_NEXT = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Next"}


def decomposed(text: str) -> str:
    return normalize("NFD", text)


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES) and len(RULES) == 30


@pytest.mark.parametrize("rule", CASES)
def test_rule(rule: str) -> None:
    arguments, passing, failing = CASES[rule]
    check_rule(rule, arguments)
    assert follows(rule, arguments, passing)
    assert follows(rule, arguments, f"\n {passing} \n")
    assert not follows(rule, arguments, failing)
    assert not follows(rule, arguments, "") and not follows(rule, arguments, " \n")
    assert not follows_loosely(rule, arguments, "")


@pytest.mark.parametrize(
    ("rule", "arguments", "answer", "expected"),
    [
        ("language:response_language", {"language": "en"}, "Hello there 안녕", True),
        ("language:response_language", {"language": "en"}, "안녕하세요 hi", False),
        ("keywords:ko_letter_frequency", {"letter": "ㅏ", "let_frequency": 2, "let_relation": "미만"}, "하늘", True),
        ("keywords:ko_letter_frequency", {"letter": "ㅏ", "let_frequency": 2, "let_relation": "미만"}, "하나", False),
        ("detectable_format:constrained_response", {}, "My answer is maybe.", True),
        ("detectable_format:constrained_response", {}, "아니요.", True),
        ("punctuation:no_comma", {}, "전각，쉼표", False),
        ("punctuation:no_comma", {}, "1,000", False),
        ("change_case:english_capital", {}, "한글만", False),
        ("length_constraints:number_paragraphs", {"num_paragraphs": 1}, "하나", True),
        ("length_constraints:number_paragraphs", {"num_paragraphs": 3}, "하나\n***\n\n***\n둘", False),
        ("combination:two_responses", {}, "하나", False),
        ("detectable_format:json_format", {}, "[1, 2]", True),
        ("startend:quotation", {}, '"', False),
        *(("detectable_format:json_format", {}, text, False) for text in ("NaN", "[1, Infinity]", '{"a": -Infinity}')),
        *(
            (
                "length_constraints:nth_paragraph_first_word",
                {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Next"},
                text,
                expected,
            )
            for text, expected in (
                ("one\n\nnext two", True),
                ('one\n\n\'"Next!" two', True),
                ("one\n\nNext's", True),
                ("one\n\nnextly two", False),
                ("one\n\nThe next", False),
                ("one\n\n**Next** two", False),
                ("one\n \nnext", False),
                ("one\n\n\n\nnext", False),
                ("one\n\nnext\n\nthree", False),
            )
        ),
        ("keywords:existence", {"keywords": [decomposed("각")]}, "각", True),
        ("keywords:forbidden_words", {"forbidden_words": ["각"]}, decomposed("각"), False),
        ("length_constraints:number_letter_included", {"num_letters": 3, "relation": "미만"}, decomposed("각각"), True),
        ("detectable_format:constrained_response", {}, decomposed("아니요"), True),
        ("startend:end_checker", {"end_phrase": decomposed("끝.")}, "이제 끝.", True),
        (
            "keywords:change_keyword",
            {"prompt_to_change": decomposed("봄"), "keyword_from": "봄", "keyword_to": "강"},
            "강",
            True,
        ),
    ],
)
def test_edges(rule: str, arguments: dict, answer: str, expected: bool) -> None:
    assert follows(rule, arguments, answer) is expected


def test_loosely_is_one_of_eight_variants() -> None:
    arguments = {"prompt_to_repeat": "왜?"}
    assert not follows("combination:repeat_prompt", arguments, "물론이죠!\n왜? 그냥.")
    assert follows_loosely("combination:repeat_prompt", arguments, "물론이죠!\n왜? 그냥.")  # without the first line
    assert follows_loosely("startend:end_checker", {"end_phrase": "끝"}, "이게 끝\n도움이 됐나요?")  # without the last
    assert follows_loosely("detectable_format:multiple_choice", {}, "답:\n**A**\n이유")  # without both, and stars
    assert not follows_loosely("detectable_format:multiple_choice", {}, "답:\n하나\nA\n이유")


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [
        ("keywords:existense", {}),
        ("keywords:existence", {}),
        ("keywords:existence", {"keywords": []}),
        ("keywords:frequency", {"keyword": "비", "frequency": 2, "relation": "이하"}),
        ("keywords:frequency", {"keyword": "비", "frequency": "2", "relation": "이상"}),
        ("language:response_language", {"language": "ja"}),
        ("length_constraints:number_words", {"num_words": 2.5, "relation": "이상"}),
        (7, {}),
        # what no answer can follow
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "다음"},
        ),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 0, "first_word": "다음"},
        ),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "그 다음"},
        ),
        ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "네."}),
        ("length_constraints:number_paragraphs", {"num_paragraphs": 0}),
        ("length_constraints:number_words", {"num_words": 1, "relation": "미만"}),
        ("length_constraints:number_sentences", {"num_sentences": 1, "relation": "less than"}),
        ("keywords:frequency", {"keyword": "비", "frequency": 0, "relation": "미만"}),
        ("keywords:letter_frequency", {"letter": "ab", "let_frequency": 1, "let_relation": "이상"}),
        ("keywords:ko_letter_frequency", {"letter": "가", "let_frequency": 1, "let_relation": "이상"}),
        ("detectable_format:number_bullet_lists", {"num_bullets": -1}),
        ("keywords:existence", {"keywords": [" "]}),
        ("startend:end_checker", {"end_phrase": " "}),
    ],
)
def test_unknown_rules_and_arguments_are_refused(rule: str, arguments: dict) -> None:
    with pytest.raises(ValueError):
        check_rule(rule, arguments)
