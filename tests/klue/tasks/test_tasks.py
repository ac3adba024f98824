"""Reading, features and decoding of the tasks that are more than one label for a text."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from klue.examples import load_splits, read_examples
from klue.features import load_features, load_tokenizer, make_features, save_features
from klue.metrics.entities import LABELS
from klue.model_folder import read_model_folder
from klue.tasks.base import Example, Features
from klue.tasks.files import read_sentences
from klue.tasks.klue.dp import LABELS as DP_LABELS
from klue.tasks.klue.ner import IGNORED, character_labels, places
from klue.tasks.klue.wos import GATES, NONE, SLOTS, split_state
from tests.klue.conftest import write_model
from tests.klue.faultless import ceilings, faultless
from tests.klue.names import KLUE_TASKS as TASKS

NER, RE, DP, MRC, WOS = (TASKS[name] for name in ("klue-ner", "klue-re", "klue-dp", "klue-mrc", "wos"))


STRUCTURED = (NER, RE, DP, MRC, WOS)


def features_of(task, examples, model, length=64):
    tokenizer = load_tokenizer(model)
    facts = replace(read_model_folder(model), max_positions=512)
    return make_features(task, examples, tokenizer, facts, length), tokenizer


@pytest.mark.parametrize("task", STRUCTURED, ids=lambda task: task.name)
def test_features_survive_the_disk(task, sample_benchmark, request, tmp_path):
    kind = "tiny_roberta" if task in (NER, WOS) else "tiny_bert"
    examples = load_splits(task, sample_benchmark).dev
    made, tokenizer = features_of(task, examples, request.getfixturevalue(kind), 512)
    save_features({"dev": made}, tmp_path / "features")
    features = load_features(tmp_path / "features", "dev")
    assert features.examples == examples and features.shared == made.shared
    assert features.owner.tolist() == made.owner.tolist() and set(features.owner.tolist()) == set(range(len(examples)))
    for name, column in made.columns.items():
        assert len(column) == len(features.owner)
        assert all(np.array_equal(a, b) for a, b in zip(column, features.columns[name], strict=True))
    assert ("token_type_ids" in features.columns) == (kind == "tiny_bert")
    predictions = task.decode(faultless(task, features), features, tokenizer)
    gold = [example.label for example in examples]
    assert [task.check(p, g) for p, g in zip(predictions, gold, strict=True)] == predictions
    assert set(task.score(gold, predictions)) == {**task.metrics, **task.extra_metrics}.keys()


# files


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        (NER, "## a\t가나\n가\tB-PS\n나\n", "line 3 has 1 columns where a sentence's row has 2"),
        (NER, "가\tO\n", "line 1 has 2 columns"),
        (NER, "## a\t<가:PS>나다\n가\tB-PS\n나\tO\n", "a: the file's last sentence is shorter|shorter than its head"),
        (NER, "## a\t가\n가\tB-XX\n", "'B-XX' is not a label of klue-ner"),
        (NER, "## a\t가\n가\tO\n\n## a\t나\n나\tO\n", "the guid is there twice"),
        (NER, "## only a comment\n", "holds no records"),
        (DP, "## a\t나는 간다\n1\t나는\t나 는\tNP+JX\t2\tNP_SBJ\n", "shorter than its head line"),
        (DP, "## a\t간다\n1\t간다\t가 다\tVV+EF\t2\tVP\n", "head 2 is not a word's number"),
        (DP, "## a\t간다\n2\t간다\t가 다\tVV+EF\t0\tVP\n", "not numbered"),
        (DP, "## a\t간다\n1\t간다\t가 다\tVV+E\t0\tVP\n", "'E' is not a label of parts of speech"),
    ],
)
def test_bad_tab_separated_files(task, text, message, tmp_path):
    path = tmp_path / f"{task.folder}_dev.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_examples(task, path)


def test_comments_empty_lines_and_spaces_in_tab_separated_files():
    text = "## 칼럼 : CHAR\tNE_TAG\n## a-1\t<가:PS> 나\n가\tB-PS\n \tO\n나\tO\n\t\n## b\t#\n#\tO\n\n\n"
    first, second = read_sentences(io.BytesIO(text.encode()), ("tokens", "ner_tags"))
    spaced = {"tokens": ["가", " ", "나"], "ner_tags": ["B-PS", "O", "O"]}
    assert first == {"guid": "a-1", "head_line": "<가:PS> 나", **spaced}
    assert second == {"guid": "b", "head_line": "#", "tokens": ["#"], "ner_tags": ["O"], "last": True}
    assert NER.read(first, "x")[0].label == ["B-PS", "O"]


RELATION = {
    "guid": "r",
    "sentence": "서울은 한국",
    "subject_entity": {"start_idx": 4, "end_idx": 5},
    "object_entity": {"start_idx": 0, "end_idx": 1},
    "label": "no_relation",
}
QUESTION = {"guid": "q", "question": "어디?", "context": "서울이다", "answers": [{"text": "서울", "answer_start": 0}]}


@pytest.mark.parametrize(
    ("task", "record", "message"),
    [
        (RE, {**RELATION, "label": "per:friend"}, "'per:friend' is not a label of klue-re"),
        (RE, {**RELATION, "subject_entity": {"start_idx": 4, "end_idx": 6}}, "the sentence has 6 characters"),
        (RE, {**RELATION, "subject_entity": {"start_idx": 1, "end_idx": 2}}, "overlap"),
        (RE, {k: v for k, v in RELATION.items() if k != "object_entity"}, "field 'object_entity' is missing"),
        (MRC, {**QUESTION, "answers": [{"text": "부산", "answer_start": 0}]}, "an answer is not at character 0"),
        (MRC, {**QUESTION, "answers": []}, "no answer, and the question is not marked"),
        (WOS, {"guid": "w", "dialogue": [{"role": "user", "text": "a", "state": ["식당-맛-좋음"]}]}, "not a slot"),
        (WOS, {"guid": "w", "dialogue": [{"role": "user", "text": "a"}]}, "field 'state' is missing"),
    ],
)
def test_bad_records(task, record, message, tmp_path):
    path = tmp_path / f"{task.folder}_dev.json"
    path.write_text(json.dumps([record]), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_examples(task, path)


def test_plausible_answers_of_an_unanswerable_question_are_none():
    flat = {**QUESTION, "is_impossible": True, "plausible_answers": [{"text": "서울", "answer_start": 0}]}
    assert MRC.read(flat, "q")[0].label == []  # though `answers` holds one, as in some copies
    columns = {**QUESTION, "answers": {"text": ["서울"], "answer_start": [0]}, "is_impossible": False}
    assert MRC.read(columns, "q")[0].label == ["서울"]
    nested = {
        "data": [{"title": "t", "paragraphs": [{"context": "서울이다", "qas": [flat, {**columns, "guid": "p"}]}]}]
    }
    found = MRC.records(io.BytesIO(json.dumps(nested).encode()))
    assert [record["guid"] for record in found] == ["q", "p"] and found[1]["context"] == "서울이다"


@pytest.mark.parametrize(
    ("task", "label", "prediction", "message"),
    [
        (NER, ["O", "O"], ["O"], "1 labels for 2 characters"),
        (NER, ["O"], ["B-XX"], "not a label"),
        (NER, ["O"], "O", "list of labels"),
        (RE, "no_relation", "no_relation", "label.*probabilities"),
        (RE, "no_relation", {"label": "no_relation", "probabilities": [1.0]}, "30 numbers"),
        (RE, "no_relation", {"label": "no_relation", "probabilities": [float("nan")] * 30}, "not a finite number"),
        (RE, "no_relation", {"label": "no_relation", "probabilities": [10**400] * 30}, "not a finite number"),
        (DP, {"heads": [0], "labels": ["VP"]}, {"heads": [0, 1], "labels": ["VP", "VP"]}, "each of the 1 words"),
        (DP, {"heads": [0], "labels": ["VP"]}, {"heads": [-1], "labels": ["VP"]}, "head -1"),
        (DP, {"heads": [0], "labels": ["VP"]}, {"heads": [True], "labels": ["VP"]}, "head True"),
        (DP, {"heads": [0], "labels": ["VP"]}, {"heads": [0], "labels": ["V"]}, "not a label"),
        (MRC, [], None, "answer's text"),
        (WOS, [], "식당-지역-서울", "list of"),
        (WOS, [], ["식당-지역-서울", "없는-슬롯-값"], "'없는-슬롯-값' is not a slot of the benchmark"),
        (WOS, [], [""], "'' is not a slot"),
        (WOS, [], ["nonsense"], "'nonsense' is not a slot"),
        (WOS, [], ["식당-지역"], "'식당-지역' is not a slot of the benchmark with a value"),
    ],
)
def test_predictions_of_the_wrong_form(task, label, prediction, message):
    with pytest.raises(ValueError, match=message):
        task.check(prediction, label)


# NER


@settings(max_examples=60)
@given(st.text(st.sampled_from("가나다 A漢."), min_size=1, max_size=20), st.data())
def test_any_cutting_that_keeps_entity_starts_keeps_the_labels(text, data):
    """Tokens of several characters give back all labels where no entity starts inside one."""
    characters = [c for c in text if c != " "]
    labels: list[str] = []
    for _ in characters:
        allowed = ["O", "B-PS", "B-LC"] + ([f"I-{labels[-1][2:]}"] if labels and labels[-1] != "O" else [])
        labels.append(data.draw(st.sampled_from(allowed)))
    # a token may end before a space, a B- or an O after an entity, and anywhere else by chance
    offsets, start, place = [], None, -1
    for at, character in enumerate(text):
        if character == " ":
            if start is not None:
                offsets.append((start, at))
            start = None
            continue
        place += 1
        inside = labels[place][0] == "I" or (labels[place] == "O" and place and labels[place - 1] == "O")
        if start is not None and not (inside and data.draw(st.booleans())):
            offsets.append((start, at))
            start = None
        start = at if start is None else start
    if start is not None:
        offsets.append((start, len(text)))
    starts, ends = places(text, [(0, 0), *offsets, (0, 0)], np.zeros(len(offsets) + 2, bool))
    tags = np.array([LABELS.index(labels[s]) if e > s else 0 for s, e in zip(starts, ends, strict=True)])
    assert character_labels(tags, starts, ends, len(characters)) == labels


def test_characters_without_a_token_go_on_with_the_entity_around_them():
    starts, ends = places("가\u200b나다", [(0, 1), (2, 3)], np.zeros(2, bool))
    b, i, o = (LABELS.index(name) for name in ("B-PS", "I-PS", "O"))
    assert character_labels(np.array([b, i]), starts, ends, 4) == ["B-PS", "I-PS", "I-PS", "O"]
    assert character_labels(np.array([b, o]), starts, ends, 4) == ["B-PS", "O", "O", "O"]
    assert character_labels(np.array([b, b]), starts, ends, 4) == ["B-PS", "O", "B-PS", "O"]


def test_tokens_that_share_a_character_count_once():
    starts, ends = places("㎞가", [(0, 1), (0, 1), (1, 2)], np.zeros(3, bool))
    assert (ends > starts).tolist() == [True, False, True]


def test_a_word_with_unk_keeps_all_characters_after_it_in_place(tiny_roberta):
    example = Example("a", ("쀍쀍은 서울",), ["B-OG", "I-OG", "O", "B-LC", "I-LC"])
    features, tokenizer = features_of(NER, [example], tiny_roberta)
    assert tokenizer.unk_token_id in features.columns["input_ids"][0]
    predicted = NER.decode(faultless(NER, features), features)[0]
    assert len(predicted) == 5 and predicted[3:] == ["B-LC", "I-LC"]


# RE


@pytest.mark.parametrize(
    ("sentence", "subject", "object_", "wanted"),
    [
        # Hangul goes on with the word before the marker, a digit does not
        ("서울에 있다", (0, 1), (4, 5), "<subj> 서울 </subj> ##에 <obj> 있다 </obj>"),
        ("서울1 부산", (0, 1), (4, 5), "<subj> 서울 </subj> 1 <obj> 부산 </obj>"),
        # in either order, and at the end
        ("1부산", (1, 2), (0, 0), "<obj> 1 </obj> <subj> 부산 </subj>"),
    ],
)
def test_markers_and_what_goes_on_after_them(sentence, subject, object_, wanted, tiny_roberta):
    places = {f"{role}_entity": dict(zip(("start_idx", "end_idx"), at, strict=True))
              for role, at in (("subject", subject), ("object", object_))}  # fmt: skip
    features, tokenizer = features_of(RE, RE.read({**RELATION, "sentence": sentence, **places}, "x"), tiny_roberta)
    tokens = tokenizer.convert_ids_to_tokens(features.columns["input_ids"][0].tolist())
    assert tokens == ["[CLS]", *wanted.split(), "[SEP]"]
    assert features.shared["embeddings"] == len(tokenizer)


# DP


def test_words_without_tokens_and_words_beyond_the_longest_input(tiny_roberta):
    words = ["서울", "\u200b", "있다"]
    example = Example("a", tuple(words), {"heads": [3, 3, 0], "labels": ["NP", "AP", "VP"]}, ["NNP", "SW", "EF"])
    features, tokenizer = features_of(DP, [example], tiny_roberta)
    assert features.columns["input_ids"][0].tolist()[2] == tokenizer.unk_token_id
    assert features.columns["first"][0].tolist() == [1, 2, 3] == features.columns["last"][0].tolist()
    long, _ = features_of(
        DP, [Example("b", ("0123456789",), {"heads": [0], "labels": ["VP"]}, ["SN"])], tiny_roberta, 8
    )
    assert long.lengths.tolist() == [8] and long.columns["last"][0].tolist() == [6]  # of one word there is a part
    short, _ = features_of(DP, [example], tiny_roberta, 4)
    assert short.columns["heads"][0].tolist() == [IGNORED, IGNORED]  # their head is cut off
    found = DP.decode({"heads": [np.array([0, 1])], "relations": [np.array([2, 0])]}, short)
    assert found == [{"heads": [0, 1, 2], "labels": ["VP", "NP", "NP"]}]
    assert DP.check(found[0], example.label) == found[0]


def test_padding_can_be_a_head_as_published_where_the_batch_has_some():
    """Sentences of 2 and 3 words: of the shorter one, the arc of the first word scores less than padding's 0."""
    gold = [{"heads": [2, 0], "labels": ["NP", "VP"]}, {"heads": [3, 3, 0], "labels": ["NP", "NP", "VP"]}]
    examples = [Example(str(n), ("가",) * len(g["heads"]), g, []) for n, g in enumerate(gold)]
    columns = {"first": [np.arange(len(g["heads"])) for g in gold], "input_ids": [np.zeros(9)] * 2}
    features = Features(examples, np.arange(2), columns)
    relations = [np.array([DP_LABELS.index(label) for label in g["labels"]]) for g in gold]
    outputs = {"heads": [np.array(g["heads"]) for g in gold], "relations": relations}
    outputs["highest"] = [np.array([-1.0, 2.0, 5.0]), np.array([-1.0, -1.0, -1.0])]
    assert DP.score(gold, DP.decode(outputs, features))["uas_macro_f1"] == 100
    scores = DP.published(outputs, features)
    # heads 3, 0 | 3, 3, 0 for 2, 0 | 3, 3, 0: class 2 is lost, class 3 has two hits of 2 + 3
    assert scores["uas_macro_f1_as_published"] == pytest.approx(100 * (0 + 4 / 5 + 1) / 3)
    # labels PAD, VP | NP, NP, VP for NP, VP | NP, NP, VP
    assert scores["las_macro_f1_as_published"] == pytest.approx(100 * (0 + 1 + 4 / 5) / 3)
    alone = Features(examples[:1], np.arange(1), {name: column[:1] for name, column in columns.items()})
    assert DP.published(outputs, alone)["uas_macro_f1_as_published"] == 100  # no padding, so it cannot win


def test_probabilities_may_be_rounded_or_any_numbers():
    assert RE.check({"label": "no_relation", "probabilities": [0.33] * 3 + [0] * 27}, "")["probabilities"][0] == 0.33
    assert RE.check({"label": "no_relation", "probabilities": [0.5] * 30}, "")


def test_words_of_a_tokenizer_whose_tokens_hold_the_space_before_them():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = pre_tokenizers.ByteLevel.alphabet()
    vocab = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *sorted(alphabet)])}
    backend = Tokenizer(models.BPE(vocab, [], unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    names = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    example = Example("a", ("ab", "cd"), {"heads": [2, 0], "labels": ["NP", "VP"]}, ["NNG", "EF"])
    columns = DP.features([example], tokenizer, 32, False)
    tokens = tokenizer.convert_ids_to_tokens(columns["input_ids"][0])
    assert tokens == ["<s>", "a", "b", "Ġ", "c", "d", "</s>"]
    assert (columns["first"][0].tolist(), columns["last"][0].tolist()) == ([1, 3], [2, 5])


# WoS


def test_one_example_a_user_turn_with_all_turns_before_it():
    dialogue = [
        {"role": "user", "text": "가", "state": ["식당-지역-서울 북쪽"]},
        {"role": "sys", "text": "나", "state": []},
        {"role": "user", "text": "다", "state": ["식당-지역-서울 북쪽", "식당-예약 시간-11:30"]},
    ]
    first, second = WOS.read({"guid": "w", "dialogue": dialogue}, "x")
    assert (first.guid, first.texts) == ("w-0", ("", "가"))
    assert (second.guid, second.texts) == ("w-1", ("", "가", "나", "다"))
    assert WOS.document(first) == WOS.document(second) == "w"


def test_inputs_are_turns_with_separators_cut_at_their_beginning(tiny_roberta):
    examples = [Example("a-0", ("", "서울"), [], "a"), Example("a-1", ("", "서울", "부산", "대구"), [], "a")]
    features, tokenizer = features_of(WOS, examples, tiny_roberta)
    tokens = [tokenizer.convert_ids_to_tokens(row.tolist()) for row in features.columns["input_ids"]]
    assert tokens[0] == ["[CLS]", "[SEP]", "[SEP]", "서울", "[SEP]"]
    assert tokens[1] == ["[CLS]", "[SEP]", "서울", "[SEP]", "부산", "[SEP]", "대구", "[SEP]"]
    short, _ = features_of(WOS, examples, tiny_roberta, 5)
    assert tokenizer.convert_ids_to_tokens(short.columns["input_ids"][1].tolist()) == [
        "[CLS]", "부산", "[SEP]", "대구", "[SEP]"]  # fmt: skip


def test_values_with_hyphens_and_slots_in_the_ontologys_order():
    assert len(SLOTS) == len(set(SLOTS)) == 45 and list(SLOTS) == sorted(SLOTS)
    assert split_state(["식당-이름-A-B", "숙소-흡연 가능-dontcare"]) == {
        "식당-이름": "A-B",
        "숙소-흡연 가능": "dontcare",
    }
    assert GATES.index(NONE) == 0
    free = [
        "식당-이름-A-B",
        "식당-이름-A-B",
        "식당-지역-없는 곳",
        "식당-지역-",
    ]  # values are free, repeated ones count twice
    assert WOS.check(free, []) == free


def test_slots_at_hand_are_those_of_the_ontology(shared_klue):
    ontology = json.loads((shared_klue / "wos-v1.1" / "ontology.json").read_bytes())
    assert sorted(ontology) == list(SLOTS)


def test_relations_at_hand_are_those_of_the_list(shared_klue):
    listed = json.loads((shared_klue / "klue-re-v1.1" / "relation_list.json").read_bytes())["relations"]
    assert tuple(listed) == RE.labels


# ceilings


def test_ceilings_of_all_tasks(sample_benchmark, sample_roberta):
    """It knows every character; where something is lost it is the tokenizer's doing, see `test_families.py`."""
    scores = ceilings(sample_roberta, sample_benchmark, list(TASKS))
    for name, task in TASKS.items():
        expected = dict.fromkeys(task.metrics, 100.0)
        if task is RE:  # a relation without an example has an area of one half
            there = {example.label for example in load_splits(task, sample_benchmark).dev}
            expected["auprc"] -= 50 * (len(RE.labels) - len(there)) / len(RE.labels)
        assert {key: scores[name][key] for key in expected} == pytest.approx(expected)


@pytest.mark.slow
def test_ner_ceiling_is_above_the_authors(shared_klue, tmp_path):
    """Their tokenizer reaches 94.08 / 97.22 with their alignment; a character tokenizer with ours reaches all."""
    examples = read_examples(NER, shared_klue / "klue-ner-v1.1" / "klue-ner-v1.1_dev.tsv")
    characters = sorted({character for example in examples for character in example.texts[0]} - {" "})
    model = write_model(tmp_path / "model", text="".join(characters), max_position_embeddings=514)
    scores = ceilings(model, shared_klue, ["klue-ner"])["klue-ner"]
    assert set(scores.values()) == {100.0}, scores
