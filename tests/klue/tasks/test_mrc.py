"""KLUE-MRC: windows, the best answer by SQuAD's rule written out slowly, long questions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klue.examples import load_splits
from klue.tasks import TASKS
from klue.tasks.base import Example, Features
from klue.tasks.klue.mrc import _most_context, _windows
from tests.klue.tasks.test_tasks import features_of

MRC = TASKS["klue-mrc"]


@settings(max_examples=40)
@given(st.integers(1, 900), st.integers(1, 400))
def test_every_token_has_most_context_in_exactly_one_window(tokens, room):
    windows = _windows(tokens, room)
    assert windows[0][0] == 0 and windows[-1][1] == tokens
    assert all(b[0] - a[0] == min(128, max(1, room // 2)) for a, b in pairwise(windows))
    counts = np.zeros(tokens, int)
    for number, (start, end) in enumerate(windows):
        counts[start:end] += _most_context(windows, number)
    assert counts.tolist() == [1] * tokens


def slow_answer(context, windows, outputs, answer_tokens=30, best=20):
    """SQuAD's rule, candidate by candidate: the best of all tokens, then those that can be."""
    null, found = np.inf, []
    for (begin, stop), start, end in zip(windows, outputs["start"], outputs["end"], strict=True):
        null = min(null, start[0] + end[0])
        for s in sorted(range(len(begin)), key=lambda i: -start[i])[:best]:
            for e in sorted(range(len(stop)), key=lambda i: -end[i])[:best]:
                if begin[s] >= 0 and stop[e] >= 0 and s <= e < s + answer_tokens:
                    found.append((start[s] + end[e], context[begin[s] : stop[e]]))
    score, text = max(found, default=(-np.inf, ""))
    return text if null - score <= 0 else ""


def test_answers_are_those_of_the_slow_rule(sample_benchmark, tiny_bert):
    examples = load_splits(MRC, sample_benchmark).dev[:20]
    features, _ = features_of(MRC, examples, tiny_bert, 100)
    assert len(features.owner) > 20
    random = np.random.default_rng(1)
    outputs = {
        name: [random.normal(size=len(ids)) for ids in features.columns["input_ids"]] for name in ("start", "end")
    }
    for row in range(0, len(features.owner), 3):
        outputs["start"][row][0] += 6
    found = MRC.decode(outputs, features)
    for number, example in enumerate(examples):
        rows = np.flatnonzero(features.owner == number)
        windows = [(features.columns["starts"][row], features.columns["ends"][row]) for row in rows]
        mine = {name: [values[row] for row in rows] for name, values in outputs.items()}
        assert found[number] == slow_answer(example.texts[1], windows, mine)
    assert "" in found and len(set(found)) > 5


@pytest.mark.parametrize(("high", "answer"), [(19, "가"), (20, "")])
def test_tokens_of_the_question_take_places_among_the_best(high, answer):
    """Twenty of them above all of the passage leave no answer, though the best one beats that of none."""
    begin, stop = np.full(60, -1), np.full(60, -1)
    begin[30:40], stop[30:40] = np.arange(10), np.arange(10) + 1
    logits = np.zeros(60)
    logits[1 : 1 + high], logits[30] = 5, 4
    columns = {"starts": [begin], "ends": [stop], "input_ids": [np.zeros(60)]}
    features = Features([Example("a", ("질문", "가나다라마바사아자차"), [], None)], np.array([0]), columns)
    outputs = {"start": [logits], "end": [logits]}
    assert MRC.decode(outputs, features) == [answer]
    assert slow_answer(features.examples[0].texts[1], [(begin, stop)], outputs) == answer


def test_long_questions_are_cut_and_every_character_is_in_a_window(tiny_roberta):
    context = "서울에 있다 " * 60
    example = Example("a", ("부산 " * 100, context), ["있다"], context.index("있다"))
    features, tokenizer = features_of(MRC, [example], tiny_roberta, 200)
    assert features.lengths.max() <= 200
    tokens = tokenizer.convert_ids_to_tokens(features.columns["input_ids"][0].tolist())
    assert tokens.count("부산") == 64
    starts = {int(at) for row in features.columns["starts"] for at in row if at >= 0}
    assert {at for at, character in enumerate(context) if character == "서"} <= starts
    assert features.columns["start_positions"][0] > 64 and features.columns["start_positions"][-1] == 0


@pytest.mark.parametrize("words", [1, 20, 55, 58, 60, 64, 200])
def test_questions_of_any_length_leave_room_for_the_passage(words, tiny_roberta):
    context = "서울에 있다 " * 60
    example = Example("a", ("부산 " * words, context), ["있다"], context.index("있다"))
    features, _ = features_of(MRC, [example], tiny_roberta, 64)
    assert features.lengths.max() <= 64 and len(features.owner) < 20
    assert (features.columns["start_positions"] > 0).any()
