"""Answers' texts as the authors' code makes them, worked by hand."""

import numpy as np
import pytest

from klue.authors.mrc import final_text, joined, words_around
from klue.metrics.reading import overlap_f1, overlap_f1_as_published
from klue.tasks import TASKS
from klue.tasks.base import Example
from tests.klue.families import write_family
from tests.klue.faultless import SURE
from tests.klue.tasks.test_families import made

MRC = TASKS["klue-mrc"]
CONTEXT = "이순신은 조선의\u202f장군 (충무공),\n끝"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("순신", "이순신은"),
        ("은 조", "이순신은 조선의"),
        ("장군", "장군"),
        ("충무공", "(충무공),"),
        ("공),\n끝", "(충무공), 끝"),
    ],
)
def test_words_around(answer, words):
    start = CONTEXT.index(answer)
    assert words_around(CONTEXT, start, start + len(answer)) == words


@pytest.mark.parametrize(
    ("tokens", "words", "text"),
    [
        (["이순신"], "이순신은", "이순신"),  # a particle comes off
        (["##은"], "이순신은", "이순신은"),  # a token from inside of the word is not found, so all of it
        (["[UNK]"], "쀍이다", "쀍이다"),
        (["(", "충무", "##공"], "(충무공),", "(충무공"),
        (["충무", "##공"], "(충무공),", "충무공"),
        (["조선", "##의", "장군"], "조선의 장군이", "조선의 장군"),
        (["2", ".", "5"], "2.5%", "2.5"),
        (["漢", "江"], "漢江에", "漢江"),
        (["Abc"], "ABC가", "ABC가"),  # cased: not found
    ],
)
def test_final_text(tokens, words, text):
    assert final_text(joined(tokens), words, False) == text


def test_lower_case():
    assert final_text("abc", "ABC,", True) == "ABC"
    assert final_text("abc", "ABC가", True) == "ABC가"  # taking accents off takes Hangul apart: no longer as many


def spans(tmp_path, family, answers, context):
    folder = write_family(family, tmp_path / family)
    examples = [Example(a, ("어디에 있다.", context), [a], context.index(a)) for a in answers]
    features, tokenizer = made(MRC, examples, folder)
    outputs = {}
    for name in ("start", "end"):
        places = features.columns[f"{name}_positions"]
        outputs[name] = [SURE * (np.arange(n) == at) for n, at in zip(features.lengths, places, strict=True)]
    return outputs, features, tokenizer


def test_both_numbers_come_from_the_same_outputs(tmp_path):
    context = "이순신은 쀍산에 왔다, 서울의 은행"
    answers = ["이순신", "쀍산", "왔다", "은행"]
    outputs, features, tokenizer = spans(tmp_path, "bert", answers, context)
    # 은행 without its first character's token is not in the vocabulary: the span is put on ##다 of 왔다 instead
    place = tokenizer.convert_ids_to_tokens(features.columns["input_ids"][2].tolist()).index("##다", 8)
    outputs["start"][2][:], outputs["start"][2][place] = 0, SURE
    assert MRC.decode(outputs, features, tokenizer) == ["이순신", "쀍산에", "다", "은행"]
    published = MRC.published(outputs, features, tokenizer)
    # theirs: 이순신, 쀍산에 (the whole word), "왔다," (likewise, punctuation is not scored), 은행
    assert MRC.score(features.labels, MRC.decode(outputs, features, tokenizer))["exact_match"] == 50
    assert published["exact_match_as_published"] == 75
    assert published["rouge_w_as_published"] == pytest.approx(100 * (1 + 4 / 5 + 1 + 1) / 4)


@pytest.mark.parametrize("family", ["xlm-r", "roberta"])
def test_other_tokenizers_too(family, tmp_path):
    answers = ["이순신", "부산", "서울", "3월"]
    outputs, features, tokenizer = spans(tmp_path, family, answers, "이순신은 부산, 서울의 '3월'")
    assert MRC.published(outputs, features, tokenizer) == {
        "exact_match_as_published": 100.0,
        "rouge_w_as_published": 100.0,
    }


def test_no_answer_stays_none(tmp_path):
    outputs, features, tokenizer = spans(tmp_path, "bert", ["이순신"], "이순신은 왔다")
    outputs["start"][0][0] = outputs["end"][0][0] = 9 * SURE
    assert MRC.published(outputs, features, tokenizer) == {"exact_match_as_published": 0, "rouge_w_as_published": 0}


def test_long_golds_lose_their_frequent_characters_as_published():
    """From 200 characters on difflib leaves out what makes up more than one in a hundred."""
    gold = "다" + "가나" * 110
    assert overlap_f1(gold, "가나") == 4 / 223 and overlap_f1_as_published(gold, "가나") == 0
    assert overlap_f1(gold[:199], "가나") == overlap_f1_as_published(gold[:199], "가나") == 4 / 201
