"""Conjugation: every class of predicate, every register."""

from __future__ import annotations

import pytest

from hunmin.sample.inflect import (
    ENDINGS,
    Register,
    Tense,
    adnominal,
    conjugate,
    final_form,
    headline_form,
    negated_final,
    nominal_form,
    present_plain,
)
from hunmin.sample.lexicon import TOPICS

FORMAL, PLAIN, POLITE = Register.FORMAL, Register.PLAIN, Register.POLITE


@pytest.mark.parametrize(
    ("lemma", "expected"),
    [
        ("가다", "갔다 가며 간 가는 가"),
        ("먹다", "먹었다 먹으며 먹은 먹는 먹어"),
        ("잡다", "잡았다 잡으며 잡은 잡는 잡아"),
        ("돕다", "도왔다 도우며 도운 돕는 도와"),
        ("눕다", "누웠다 누우며 누운 눕는 누워"),
        ("듣다", "들었다 들으며 들은 듣는 들어"),
        ("믿다", "믿었다 믿으며 믿은 믿는 믿어"),
        ("짓다", "지었다 지으며 지은 짓는 지어"),
        ("씻다", "씻었다 씻으며 씻은 씻는 씻어"),
        ("흐르다", "흘렀다 흐르며 흐른 흐르는 흘러"),
        ("고르다", "골랐다 고르며 고른 고르는 골라"),
        ("따르다", "따랐다 따르며 따른 따르는 따라"),
        ("치르다", "치렀다 치르며 치른 치르는 치러"),
        ("만들다", "만들었다 만들며 만든 만드는 만들어"),
        ("모으다", "모았다 모으며 모은 모으는 모아"),
        ("쓰다", "썼다 쓰며 쓴 쓰는 써"),
        ("보내다", "보냈다 보내며 보낸 보내는 보내"),
        ("배우다", "배웠다 배우며 배운 배우는 배워"),
        ("마시다", "마셨다 마시며 마신 마시는 마셔"),
        ("되다", "됐다 되며 된 되는 돼"),
        ("뛰다", "뛰었다 뛰며 뛴 뛰는 뛰어"),
        ("하다", "했다 하며 한 하는 해"),
        ("끝내다", "끝냈다 끝내며 끝낸 끝내는 끝내"),
    ],
)
def test_classes(lemma: str, expected: str) -> None:
    assert [conjugate(lemma, ending) for ending in ("었다", "으며", "은", "는", "어")] == expected.split()


@pytest.mark.parametrize(
    ("lemma", "adjective", "expected"),
    [
        ("돕다", False, "돕습니다 돕는다 도와요"),
        ("만들다", False, "만듭니다 만든다 만들어요"),
        ("보다", False, "봅니다 본다 봐요"),
        ("어렵다", True, "어렵습니다 어렵다 어려워요"),
        ("길다", True, "깁니다 길다 길어요"),
        ("하얗다", True, "하얗습니다 하얗다 하얘요"),
        ("있다", False, "있습니다 있다 있어요"),
        ("공식적이다", True, "공식적입니다 공식적이다 공식적이에요"),
        ("아니다", True, "아닙니다 아니다 아니에요"),
        ("줄이다", False, "줄입니다 줄인다 줄여요"),
    ],
)
def test_present(lemma: str, adjective: bool, expected: str) -> None:
    forms = [final_form(lemma, register, Tense.PRESENT, adjective) for register in (FORMAL, PLAIN, POLITE)]
    assert forms == expected.split()


def test_past_and_future() -> None:
    assert [final_form("듣다", r) for r in (FORMAL, PLAIN, POLITE)] == ["들었습니다", "들었다", "들었어요"]
    assert [final_form("듣다", r, Tense.FUTURE) for r in (FORMAL, PLAIN, POLITE)] == [
        "들을 것입니다",
        "들을 것이다",
        "들을 거예요",
    ]


def test_negation() -> None:
    assert negated_final("높다", PLAIN, Tense.PRESENT, adjective=True) == "높지 않다"
    assert negated_final("가다", PLAIN, Tense.PRESENT) == "가지 않는다"
    assert negated_final("가다", POLITE) == "가지 않았어요"


def test_headline_and_nominal() -> None:
    assert headline_form("발의하다") == "발의"
    assert headline_form("통과시키다") == "통과"
    assert headline_form("줄다") == "줄어"
    assert nominal_form("데우다") == "데우기"
    assert nominal_form("발의하다") == "발의"


def test_adnominal() -> None:
    assert adnominal("높다", True) == "높은"
    assert adnominal("맛있다", True) == "맛있는"
    assert adnominal("갚다", False) == "갚는"


def test_unknown_ending_and_bad_lemma() -> None:
    with pytest.raises(KeyError):
        conjugate("가다", "없는어미")
    with pytest.raises(ValueError, match="dictionary form"):
        conjugate("가", "고")


def test_every_predicate_takes_every_ending() -> None:
    for topic in TOPICS:
        for lemma in topic.predicates:
            for ending in ENDINGS:
                form = conjugate(lemma, ending)
                assert all("가" <= c <= "힣" for c in form), (lemma, ending, form)
            assert present_plain(lemma, lemma in topic.qualities).endswith("다")
