"""Cleaning: every rule alone, switched off, counted; sentence rules; linear time."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.cleaning.rules import clean, clean_sentences, cleaning_steps, keep_sentences
from data.cleaning.settings import CleanSettings

from ..cases import sections

SECTIONS = sections(Path(__file__).with_name("cases.txt"))

OFF = {name: False for name, field in CleanSettings.model_fields.items() if field.annotation is bool}

CASES = [
    ("nfc", "\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
    ("control", "한\u200b글\ufeff\x07 \ufffd끝\r\n다음", "한글 끝\n다음"),
    (
        "html",
        "<p>안녕<br/>하세요</p><!-- 광고 > --> <b class='x'>굵게</b> &lt; &amp; &#44032;",
        "\n안녕\n하세요\n 굵게 < & 가",
    ),
    ("html", "가<script type='a'>if (a<b) {}</script>나<style>p{}</style>다", "가나다"),
    ("html", "a < b 그리고 List<String> <홍길동>", "a < b 그리고 List<String> <홍길동>"),
    ("html", "<span>010-1234-5678</span><span>02-123-4567</span><!-- --><i>3</i>", "010-1234-5678 02-123-4567 3"),
    ("html", "a@example.com</a><a href='x'>010-1234-5678<!-- -->9", "a@example.com 010-1234-5678 9"),
    ("html", "<a>a@example.com</a><b><a>b@example.com</a></b>", "a@example.com b@example.com"),
    (
        "control",
        "문자 '\ufffd'를 \ufffd 로 바꾸고 (\u00ad)을 쓴다.\ufffd 끝\ufffd",
        "문자 '\ufffd'를 \ufffd 로 바꾸고 (\u00ad)을 쓴다. 끝",
    ),
    ("html", "<b>A</b>BC<i>d</i><b>한</b>글<b>1</b>호", "ABCd한글1호"),
    ("control", "010-1234-5678\u200b\ufeff010-8765-4321 so\u00adft 1\u200b월", "010-1234-5678 010-8765-4321 soft 1월"),
    ("empty_brackets", "010-1234-5678()02-123-4567 f()", "010-1234-5678 02-123-4567 f()"),
    ("empty_brackets", "f() arr[] a.b()[] f1() () => x, 글() [ ] 123()", "f() arr[] a.b()[] f1() () => x, 글 [ ] 123"),
    (
        "html",
        "글 <script>는 스크립트를 넣는다. 본문에서 설명한다. </script> 로 닫는다.",
        "글 는 스크립트를 넣는다. 본문에서 설명한다.  로 닫는다.",
    ),
    ("html", "앞<script>var 이름 = '홍길동의 긴 이름'; f(이름);</script>뒤", "앞뒤"),
    ("html", "앞<style>p { color: red; } /* 글자를 빨갛게 한다 */</style>뒤", "앞뒤"),
    ("hashtags", "오늘 갔다. #맛집#서울\n#2020년 C# #1 a#b", "오늘 갔다. \n#2020년 C# #1 a#b"),
    ("empty_brackets", "훈민정음()은 (, ) 「」 가람( ,)글(字)", "훈민정음은   가람글(字)"),
    (
        "repeated_lines",
        "처음 화면으로 가기\n네\n네\n" * 14 + "끝",
        "처음 화면으로 가기\n네\n네\n" * 12 + "네\n네\n" * 2 + "끝",
    ),
    ("repeated_lines", "줄이 하나뿐인 글", "줄이 하나뿐인 글"),
    ("blanks", "  하나\t\u3000둘 \n\n \n 셋 ", "하나 둘\n셋"),
]


@pytest.mark.parametrize(("rule", "before", "after"), CASES)
def test_rule(rule, before, after):
    counts: dict = {}
    cleaned = clean(before, CleanSettings(**{**OFF, rule: True}), counts)
    assert cleaned == after
    if cleaned != before:
        assert set(counts) <= {rule, "html_hidden"} and counts[rule]["hits"] == 1
        assert sum(count["characters"] for count in counts.values()) == max(len(before) - len(cleaned), 0)
    assert clean(before, CleanSettings(**OFF), {}) == before


@given(st.text(alphabet="가나a1 \n\t<>&;#()[]!-/\u200b\u3000ㅋ.", max_size=60))
def test_cleaning_never_grows_a_text_and_leaves_no_noise(text):
    cleaned = clean(text, CleanSettings(), {})
    assert len(cleaned) <= len(text)
    assert cleaned == cleaned.strip()
    assert not any(noise in cleaned for noise in ("\u200b", "\u3000", "  ", "\n\n"))


PIECES = [
    "가나 다", "a", " ", "\n", "<b>", "</b>", "<!--", "-->", "<script>", "</script>", "<", ">", "&lt;", "#태그", "(",
    "#1", ")", "[ ]", "\u200b", "\u1100", "\u1161", "사진=연합뉴스", "홍길동 기자",
]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), max_size=8))
def test_sentences_cleaned_together_come_out_as_alone(sentences):
    cleaned = [clean(sentence, CleanSettings(), {}) for sentence in sentences]
    assert clean_sentences(sentences, CleanSettings(news=True)) == cleaned


@given(st.text(alphabet=" \n가\t\u3000", max_size=40))
def test_blanks_are_what_the_definition_says(text):
    slow = re.sub("[ \t\u3000]+", " ", text)
    slow = re.sub(" ?\n[ \n]*", "\n", slow).strip()
    assert clean(text, CleanSettings(**{**OFF, "blanks": True}), {}) == slow


def test_sentence_rules_and_counts():
    sentences = [
        "한글 문장이다.",
        "漢字漢字漢字漢字漢字漢 한자가 너무 많은 문장",
        "漢字漢字漢字漢字漢字 한자가 열 개인 문장",
        "ひらがなとカタカナのぶん",
        "print(x) for x in range(100)",
        "짧다",
        "",
    ]
    counts: dict = {}
    keep = keep_sentences(sentences, CleanSettings(min_sentence_chars=5, max_han_kana=10), counts)
    assert keep == [True, False, True, False, False, False, False]
    assert counts["max_han_kana"] == {"hits": 2, "characters": len(sentences[1]) + len(sentences[3])}
    assert counts["min_hangul_share"]["hits"] == 1
    assert counts["min_sentence_chars"] == {"hits": 2, "characters": 2}
    everything = CleanSettings(min_hangul_share=0)
    assert keep_sentences(sentences[:6], everything, {}) == [True] * 6
    assert keep_sentences([], everything, {}) == []


@given(st.lists(st.text(alphabet="가ㅋ漢の a1.\U0001f600", max_size=30), max_size=12))
def test_sentence_rules_agree_with_a_slow_count(sentences):
    def slow(sentence: str) -> bool:
        if set(sentence) == {"."} and 3 <= len(sentence) <= 12:
            return True
        han = sum("一" <= c <= "鿿" or "ぁ" <= c <= "ヿ" for c in sentence)
        hangul = sum("가" <= c <= "힣" or "ㄱ" <= c <= "ㆎ" for c in sentence)
        previous = " " + sentence
        once = [c for c, before in zip(sentence, previous, strict=False) if not c == before in ".\U0001f600"]
        return han <= 3 and hangul >= 0.25 * sum(not c.isspace() for c in once)

    settings = CleanSettings(max_han_kana=3, min_hangul_share=0.25)
    assert keep_sentences(sentences, settings, {}) == [slow(sentence) for sentence in sentences]


@pytest.mark.parametrize(
    "line",
    [
        "“달빛이 고운 밤에,",
        "“누가 왔느냐?”",
        "존경하는 마을 여러분!",
        "확인을 누르고 창을 닫습니다.",
        "나는 강가에 산다",
        "강가에 사는 이의 말이 또 내게 이르러 가로되",
        "짐승의 두 뿔과 그 사이의 털 곧 이마 가까이에 있는 것과 목에 덮인 가죽을",
    ],
)
def test_refrains_addresses_and_steps_that_come_again_stay(line):
    text = f"{line}\n첫째 이야기가 있다.\n{line}\n둘째 이야기가 있다."
    assert clean(text, CleanSettings(), {}) == text


def test_a_long_sentence_may_stand_twelve_times():
    form = "이 글은 마을 게시판의 규칙에 맞지 않는 곳이 있어 관리하는 사람이 고쳐 두었습니다."
    text = "".join(f"{form}\n{n}번째 글\n" for n in range(14))
    cleaned = "".join(f"{form}\n{n}번째 글\n" for n in range(12)) + "12번째 글\n13번째 글"
    assert clean(text, CleanSettings(), {}) == cleaned


def test_hidden_text_is_counted_by_itself():
    counts: dict = {}
    comment = "<!-- " + "주석 " * 100 + "-->"
    assert clean(f"<b>앞</b> {comment} 뒤", CleanSettings(), counts) == "앞 뒤"
    assert counts["html_hidden"] == {"hits": 1, "characters": len(comment)}
    assert counts["html"] == {"hits": 1, "characters": len("<b></b>")}


@pytest.mark.parametrize("case", SECTIONS["all rules"], ids=" > ".join)
def test_what_all_rules_leave(case):
    assert clean(case[0], CleanSettings(), {}) == case[-1]


def test_which_sentences_are_korean_enough():
    for name, stays in (("sentences that are Korean enough", True), ("sentences that are not", False)):
        sentences = [sentence for (sentence,) in SECTIONS[name]]
        keep = keep_sentences(sentences, CleanSettings(), {})
        assert [text for text, decision in zip(sentences, keep, strict=True) if decision != stays] == []


NOISY = [
    "<p>앞\u200b 문단 ( ) 이다.</p>\n<script>var a;</script>\n#태그 #둘\n"
    "(서울=한글뉴스) 홍길동 기자 = 본문이다.\nⓒ 2020 한글일보 무단 전재",
    "가\u3000나  다\n\n라 &amp;lt; 마 \u1112\u1161\u11ab",
    "되풀이되는 줄이 여기 마흔 글자를 넘게 길게 이어져 있어서 셈에 들어가는 줄입니다 그렇습니다.\n" * 20,
    "아무 일도 없는 글이다.",
]


@pytest.mark.parametrize("text", NOISY)
def test_the_steps_lead_to_the_cleaned_text_by_the_rules_that_are_counted(text: str) -> None:
    rules = CleanSettings(news=True)
    counts: dict[str, dict[str, int]] = {}
    cleaned = clean(text, rules, counts)
    steps = list(cleaning_steps(text, rules))
    assert {rule for rule, _, _ in steps} == set(counts)
    assert [before for _, before, _ in steps][:1] == [text][: len(steps)]
    assert (steps[-1][2] if steps else text) == cleaned
    for (_, before, after), (_, following, _) in pairwise(steps):
        assert following in (before, after)  # two rules may share one step
