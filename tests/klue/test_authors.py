"""Answers and entities as the authors' code makes them, worked by hand."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np
import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
from sklearn.metrics import f1_score as sklearn_f1

from klue.authors import final_text, joined, spread, token_places, words_around
from klue.examples import load_splits
from klue.metrics.entities import LABELS
from klue.metrics.reading import overlap_f1, overlap_f1_as_published
from klue.tasks import TASKS
from klue.tasks.base import Example
from tests.klue.families import write_family
from tests.klue.faultless import SURE, faultless
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


def test_both_numbers_of_answers_come_from_the_same_outputs(tmp_path):
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


NER = TASKS["klue-ner"]
KEYS = ("entity_macro_f1_as_published", "character_macro_f1_as_published")


@pytest.mark.parametrize(
    ("word", "tokens", "wanted"),
    [
        # the two examples in the authors' code
        ("베쏭이,제5원소", "[UNK] , 제 ##5 ##원 ##소", "[UNK] + + , 제 ##5 ##원 ##소"),
        ("미나藤井美菜27가", "미나 [UNK] [UNK] 美 [UNK] 27 ##가", "미나 [UNK] [UNK] 美 [UNK] 27 ##가"),
        ("찝찝이", "[UNK]", "[UNK] + +"),
        ("쀍,", "[UNK] ,", "[UNK] ,"),
        ("'쀍쀍'", "' [UNK] '", "' [UNK] + '"),
    ],
)
def test_an_unknown_token_takes_characters_up_to_the_next_tokens_first(word, tokens, wanted):
    assert spread(word, tokens.split(), "##", "[UNK]") == [part.strip("+") for part in wanted.split()]


@pytest.mark.parametrize(
    ("word", "tokens"), [("쀍①", ["[UNK]", "1"]), ("①쀍", ["1", "##2", "[UNK]"]), ("쀍\u200b", ["[UNK]", ","])]
)
def test_words_that_their_code_makes_no_end_of_end_here(word, tokens):
    assert len(spread(word, tokens, "##", "[UNK]")) <= len(word) + 1


def numbers(sentence, tokens, limit=510, sign="##", unknown="[UNK]"):
    words = sentence.split(" ")
    there = 2 + sum(map(len, tokens))
    return token_places(words, tokens, sign, unknown, there, limit).tolist()


def test_without_unknown_tokens_every_character_has_its_own():
    assert numbers("서울에 왔다", [["서울", "##에"], ["왔다"]]) == [2, 3, 4, 6, 7]
    assert numbers("서울 왔", [["▁", "서울"], ["▁왔"]], sign="▁", unknown="<unk>") == [4, 5, 6]


def test_behind_an_unknown_word_labels_slip_by_a_token():
    # 쀍 and 이 of token 1, which is not moved on from: 서울 gets token 1 again, 에 token 2 (서울)
    assert numbers("쀍이 서울에", [["[UNK]"], ["서울", "##에"]]) == [2, 3, 2, 3, 4]


def test_in_a_word_with_an_unknown_token_others_give_one_character_each():
    # 쀍 1; the comma 2; 서울 gets token 2 again, and for one character only: 울 is lost
    assert numbers("쀍,서울", [["[UNK]", ",", "서울"]]) == [2, 4, 4]


def test_the_longest_input_labels_nothing_at_its_end():
    assert numbers("서울에 왔다", [["서울", "##에"], ["왔다"]], limit=4) == [2, 3, 4]


def test_both_numbers_of_entities_come_from_the_same_outputs(tmp_path):
    folder = write_family("bert", tmp_path / "bert")
    examples = [
        Example("a", ("쀍이 서울에",), ["B-PS", "O", "B-LC", "I-LC", "O"]),
        Example("b", ("쀍,서울 부산",), ["O", "O", "B-LC", "I-LC", "B-LC", "I-LC"]),
    ]
    features, _ = made(NER, examples, folder)
    # [CLS] [UNK] 서울 ##에 [SEP]; [CLS] [UNK] , 서울 부산 [SEP]
    assert [len(row) for row in features.columns["input_ids"]] == [5, 6]
    tags = [["O", "B-PS", "B-LC", "O", "O"], ["O", "O", "O", "B-LC", "B-LC", "O"]]
    outputs = {"tags": [np.array([LABELS.index(label) for label in row]) for row in tags]}
    assert NER.decode(outputs, features) == [["B-PS", "I-PS", "B-LC", "I-LC", "O"], examples[1].label]
    # theirs: 쀍이 PS, 서울 once more, 에 gets what is 서울's; then 서 gets the comma's, and a label of gold is dropped
    theirs = [["B-PS", "I-PS", "B-PS", "I-PS", "B-LC"], ["O", "O", "O", "B-LC", "I-LC"]]
    gold = [examples[0].label, examples[1].label[:5]]
    scores = NER.published(outputs, features)
    expected = 100 * f1_score(gold, theirs, average="macro", mode="strict", scheme=IOB2)
    assert scores["entity_macro_f1_as_published"] == pytest.approx(expected)
    assert set(scores) == set(KEYS)
    sides = [[*chain(*side), *["O"] * 4] for side in (gold, theirs)]  # [CLS] and [SEP] of both
    expected = 100 * sklearn_f1(*sides, labels=list(LABELS), average="macro", zero_division=1)
    assert scores["character_macro_f1_as_published"] == pytest.approx(expected)


def test_without_unknown_tokens_both_numbers_are_one(tmp_path):
    folder = write_family("xlm-r", tmp_path / "xlm-r")
    text = "이순신은 부산에 왔다"
    features, _ = made(
        NER, [Example("a", (text,), ["B-PS", "I-PS", "I-PS", "O", "B-LC", "I-LC", "O", "O", "O"])], folder
    )
    outputs = faultless(NER, features)
    scores = NER.score(features.labels, NER.decode(outputs, features))
    assert NER.published(outputs, features) == {key: scores[key.removesuffix("_as_published")] for key in KEYS}
    outputs["tags"][0][:] = LABELS.index("B-DT")
    scores = NER.score(features.labels, NER.decode(outputs, features))
    assert NER.published(outputs, features) == {key: scores[key.removesuffix("_as_published")] for key in KEYS}


def test_there_is_no_number_as_published_for_a_tokenizer_that_their_code_refuses(sample_benchmark, tmp_path):
    folder = write_family("roberta", tmp_path / "roberta")
    features, _ = made(NER, load_splits(NER, sample_benchmark).dev[:5], folder)
    assert all(math.isnan(value) for value in NER.published(faultless(NER, features), features).values())
