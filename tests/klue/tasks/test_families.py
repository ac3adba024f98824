"""Every family of encoders × every task: faultless outputs score what reading the tokens along the text says.

Whatever a family's tokenizer does to entities after a space, with unknown characters, at the end of a sentence, or
inside of a token, is worked out by `read_along`, which never asks for offsets.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from klue.features import load_tokenizer, make_features
from klue.metrics.entities import LABELS
from klue.model_folder import read_model_folder
from klue.tasks import TASKS
from klue.tasks.base import Example
from klue.tasks.klue.ner import IGNORED
from klue.tasks.klue.wos import SLOTS
from klue.tokens import cut, pieces
from tests.klue.families import ANGLES, FAMILIES, ROLES, SENTENCEPIECE, WORDPIECE, read_along, write_family
from tests.klue.faultless import faultless

NER, RE, DP, MRC, WOS = (TASKS[name] for name in ("klue-ner", "klue-re", "klue-dp", "klue-mrc", "wos"))
MARKED = [
    "<이순신:PS>은 <쀍산:LC>에 왔다, <홍길동:PS>도 <서울:LC>",
    "<한국:LC>은행이 <서울:LC>은 <1991년:DT> <3월:DT>에 있다.",
    "<쀍순신:PS>은 <한국은행:OG>이 <은행쀍:OG>",
    "장군은 <부산:LC> <이순신:PS>",
    "'<이순신:PS>'도 <부산:LC>이다.",
]
"""After a space and without one, with unknown characters, at the end, over the edge of a token (한국은행이, 서울은)."""


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    """A family's name and its folder."""
    return request.param, write_family(request.param, tmp_path_factory.mktemp(request.param))


def made(task, examples, folder, length=512):
    tokenizer = load_tokenizer(folder)
    return make_features(task, examples, tokenizer, read_model_folder(folder), length), tokenizer


def tokens_of(row, tokenizer):
    return tokenizer.convert_ids_to_tokens(list(row))


def marked(text):
    """A sentence with the labels of its characters that are no space, and its entities' places."""
    plain, labels, entities = "", [], []
    for part in re.findall(r"<[^>]+>|[^<]", text):
        name, _, kind = part.strip("<>").partition(":") if part[0] == "<" else (part, "", "")
        if kind:
            entities.append((len(plain), len(plain) + len(name)))
        plain += name
        characters = [c for c in name if c != " "]
        labels += [f"{'I' if n else 'B'}-{kind}" if kind else "O" for n in range(len(characters))]
    return plain, labels, entities


def test_ner(family):
    name, folder = family
    sentences = [marked(text) for text in MARKED]
    features, tokenizer = made(NER, [Example(str(n), (s[0],), s[1]) for n, s in enumerate(sentences)], folder)
    expected = []
    columns = zip(features.columns["input_ids"], features.columns["labels"], strict=True)
    for (text, labels, _), (row, targets) in zip(sentences, columns, strict=True):
        gold = iter(labels)
        of = {at: next(gold) for at, character in enumerate(text) if character != " "}
        found = dict.fromkeys(of, "")
        reads = read_along(name, tokens_of(row[1:-1], tokenizer), text)
        # what is learnt from: tokens in which a character begins, so no space sign
        wanted = [LABELS.index(of[read.first]) if read.first < read.end else IGNORED for read in reads]
        assert targets.tolist() == [IGNORED, *wanted, IGNORED]
        for read in reads:
            for at in range(read.first, read.end):
                label = of[read.first]
                found[at] = label if at == read.first or label == "O" else f"I-{label[2:]}"
        expected.append(list(found.values()))
    assert NER.decode(faultless(NER, features), features) == expected
    scores = NER.score([s[1] for s in sentences], expected)
    gold = [s[1] for s in sentences]
    assert scores["entity_macro_f1"] == pytest.approx(
        100 * f1_score(gold, expected, average="macro", mode="strict", scheme=IOB2)
    )
    if name in SENTENCEPIECE:  # 은행이 behind 한국, 은 behind 서울, 이 behind 한국은행: each in one token with them
        assert sum(a != b for g, e in zip(gold, expected, strict=True) for a, b in zip(g, e, strict=True)) == 5


def relation(text):
    plain, _, entities = marked(text)
    return Example(plain, (plain,), "no_relation", [list(entities[1]), list(entities[0])])


def test_relation_markers(family):
    """The entities are what stands between the markers, and all other tokens are those of the plain sentence."""
    name, folder = family
    examples = [relation(text) for text in MARKED]
    features, tokenizer = made(RE, examples, folder)
    found = RE.decode(faultless(RE, features), features)
    assert [prediction["label"] for prediction in found] == ["no_relation"] * len(examples)
    for example, row in zip(examples, features.columns["input_ids"], strict=True):
        text, (subject, object_) = example.texts[0], example.given
        whole = tokenizer(text, add_special_tokens=False)["input_ids"]
        tokens = tokens_of(row[1:-1], tokenizer)
        for marker, (start, end) in (("subj", subject), ("obj", object_)):
            at, to = tokens.index(f"<{marker}>"), tokens.index(f"</{marker}>")
            inner = [token for token in tokens[at + 1 : to] if "subj>" not in token and "obj>" not in token]
            if name in WORDPIECE:  # as the authors: tokenised by itself
                assert inner == tokens_of(tokenizer(text[start:end], add_special_tokens=False)["input_ids"], tokenizer)
                continue
            before = len([token for token in tokens[:at] if "subj>" not in token and "obj>" not in token])
            plain = [token for token in tokens if "subj>" not in token and "obj>" not in token]
            reads = read_along(name, plain, text)[before : before + len(inner)]
            covered = [at for read in reads for at in range(read.start, read.end)]
            assert (covered[0], covered[-1] + 1) == (start, end)
            if start and text[start - 1] == " ":
                assert inner[0][0] in "▁Ġ"
            else:
                assert inner[0][0] not in "▁Ġ" or start == 0
        if name not in WORDPIECE:
            assert "".join(plain) == "".join(tokens_of(whole, tokenizer))
            if not any(edge in text for edge in ("한국은행이", "서울은", "은행쀍")):
                assert plain == tokens_of(whole, tokenizer)


def test_an_entity_that_is_a_part_of_an_only_token_is_marked_round_it(tmp_path):
    from transformers import XLMRobertaTokenizer

    tokenizer = XLMRobertaTokenizer(vocab=[*((name, 0.0) for name in ANGLES), ("▁서울은", -1.0), ("▁서울", -2.0)])
    found = pieces("서울은", [5], [(0, 3)], set())
    assert cut(found, [2], "서울은", tokenizer) == found  # 은 would be unknown
    columns = RE.features(
        [Example("a", ("서울은",), "no_relation", [[0, 2], [2, 3]])], tokenizer_with(tokenizer), 32, 0
    )
    tokens = tokenizer.convert_ids_to_tokens(columns["input_ids"][0])
    assert tokens == ["<s>", "<subj>", "▁서울은", "</subj>", "<obj>", "</obj>", "</s>"]


def test_a_token_of_letters_and_hangul_bytes_is_cut_between_them():
    """The left half is ASCII, so as long in bytes as in characters; the right half is not."""
    tokenizer = bytes_tokenizer("A씨는", "A", "씨는", "Ġ5", "년전")
    text = "A씨는 5년전"
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    found = pieces(text, encoded["input_ids"], encoded["offset_mapping"], set())
    assert [(piece.start, piece.end) for piece in found] == [(0, 3), (4, 5), (5, 7)]
    parts = cut(found, [1], text, tokenizer)
    assert [(piece.start, piece.end) for piece in parts] == [(0, 1), (1, 3), (4, 5), (5, 7)]
    [row] = RE.features(
        [Example("a", (text,), "no_relation", [[0, 1], [4, 7]])], tokenizer_with(tokenizer), 32, 0
    )["input_ids"]  # fmt: skip
    assert tokenizer.decode(row[1:-1]) == "<subj>A</subj>씨는<obj> 5년전</obj>"


def bytes_tokenizer(*words):
    """Return a byte-level BPE with the words as tokens; Ġ stands for a space in them."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {name: number for number, name in enumerate([*ANGLES, *sorted(alphabet)])}
    merges = []
    for word in words:
        signs = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(word.replace("Ġ", " "))[0][0]
        for end in range(2, len(signs) + 1):
            merges.append((signs[: end - 1], signs[end - 1]))
            vocabulary.setdefault(signs[:end], len(vocabulary))
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    roles = dict(zip(ROLES, ANGLES, strict=True))
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return PreTrainedTokenizerFast(tokenizer_object=backend, **roles)


def tokenizer_with(tokenizer):
    tokenizer.add_tokens(list(RE.markers), special_tokens=True)
    return tokenizer


def test_parsing(family):
    name, folder = family
    sentences = [("이순신은", "쀍산에", "왔다,", "서울은", "쀍"), ("홍길", "한국은행이", "있다.")]
    examples = []
    for words in sentences:
        parse = {"heads": [*range(2, len(words) + 1), 0], "labels": ["NP"] * len(words)}
        examples.append(Example(words[0], words, parse, ["EF"] * len(words)))
    features, tokenizer = made(DP, examples, folder)
    assert DP.decode(faultless(DP, features), features) == [example.label for example in examples]
    for number, words in enumerate(sentences):
        text, row = " ".join(words), features.columns["input_ids"][number]
        assert list(row[1:-1]) == tokenizer(text, add_special_tokens=False)["input_ids"]
        reads = read_along(name, tokens_of(row[1:-1], tokenizer), text)
        starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
        owner = [max(i for i, start in enumerate(starts) if start <= read.start) for read in reads]
        # the first token that is more than a sign for the space before the word
        written = [word if read.start < read.end else -1 for word, read in zip(owner, reads, strict=True)]
        assert features.columns["first"][number].tolist() == [1 + written.index(i) for i in range(len(words))]
        assert features.columns["last"][number].tolist() == [
            len(owner) - owner[::-1].index(i) for i in range(len(words))
        ]


@pytest.mark.parametrize("length", [512, 18])
def test_reading(family, length):
    name, folder = family
    context = "이순신은 쀍산에 왔다, 한국은행이 있는 서울은 3월 부산 쀍순신"
    answers = ["이순신", "쀍산", "한국", "은행", "서울", "3월 부산", "쀍순신"]
    examples = [Example(a, ("어디에 있다.", context), [a], context.index(a)) for a in answers]
    examples.append(Example("none", ("어디에 있다.", context), [], None))
    features, tokenizer = made(MRC, examples, folder, length)
    assert (len(features.owner) > len(examples)) == (length == 18)
    reads = read_along(name, tokens_of(tokenizer(context, add_special_tokens=False)["input_ids"], tokenizer), context)
    expected = []
    for answer in answers:
        start = context.index(answer)
        over = [
            read for read in reads if read.start < read.end and read.end > start and read.start < start + len(answer)
        ]
        expected.append(context[over[0].start : over[-1].end])
    assert MRC.decode(faultless(MRC, features), features, tokenizer) == [*expected, ""]
    for number, answer in enumerate(answers):  # what is learned begins and ends with a token that has text
        rows = [i for i in np.flatnonzero(features.owner == number) if features.columns["start_positions"][i]]
        for row in rows:
            ids = features.columns["input_ids"][row].tolist()
            edges = [ids[features.columns[f"{side}_positions"][row]] for side in ("start", "end")]
            assert all(tokenizer.decode([token]).strip() for token in edges), (answer, edges)
    assert expected[0] == "이순신" and (name in WORDPIECE) == (expected[1] == "쀍산에")


def test_dialogue_states(family):
    name, folder = family
    values = ["서울 북쪽", "3월", "11:30", "한국은행이", "이순신 장군은", "쀍집"]
    slots = [slot for slot in SLOTS if not slot.endswith(("가능", "유무"))][: len(values)]
    state = [f"{slot}-{value}" for slot, value in zip(slots, values, strict=True)]
    said = f"내일 {' 부산 '.join(values)} 예약"
    features, tokenizer = made(WOS, [Example("w-0", ("", said), state, "w")], folder)
    found = WOS.decode(faultless(WOS, features), features, tokenizer)
    assert found == [state if name in ("modernbert", "roberta") else state[:-1]]  # nobody else can write 쀍
    row = features.columns["input_ids"][0].tolist()
    targets = features.columns["values"][0].reshape(len(SLOTS), -1)
    for slot in slots:  # what is to be copied stands in the dialogue
        ids = targets[SLOTS.index(slot)].tolist()
        ids = ids[: ids.index(tokenizer.sep_token_id)]
        assert any(row[at : at + len(ids)] == ids for at in range(len(row))), slot


def test_a_value_of_unknown_characters_is_none(family):
    name, folder = family
    features, tokenizer = made(WOS, [Example("w-0", ("", "쀍쀍"), ["식당-이름-쀍쀍"], "w")], folder)
    found = WOS.decode(faultless(WOS, features), features, tokenizer)
    assert found == [["식당-이름-쀍쀍"] if name in ("modernbert", "roberta") else []]


ONE_TEXT = ("ynat", "nsmc", "hate-speech", "kobest-sentineg")
PAIR = ("klue-sts", "klue-nli", "korsts", "kornli", "paws-x", "question-pair", "kobest-boolq", "kobest-wic")


@pytest.mark.parametrize("number", [0, 1])
def test_sentences(family, number):
    """They share their code: each task with one family, or two."""
    tasks, folder = [*ONE_TEXT, *PAIR], family[1]
    task = TASKS[tasks[(2 * FAMILIES.index(family[0]) + number) % len(tasks)]]
    labels = [1.5, 4.0] if task.outputs == 1 else list(task.labels[:2])
    texts = [("이순신은 왔다.", "쀍산에 있다."), ("서울은 한국", "부산")]
    texts = [pair[:1] for pair in texts] if task.name in ONE_TEXT else texts
    examples = [Example(str(n), pair, label) for n, (pair, label) in enumerate(zip(texts, labels, strict=True))]
    features, tokenizer = made(task, examples, folder)
    assert task.decode(faultless(task, features), features) == labels
    assert [row.tolist() for row in features.columns["input_ids"]] == [tokenizer(*pair)["input_ids"] for pair in texts]


def test_choices(family):
    """Each choice is read beside what is given, as the tokenizer joins a pair."""
    copa, hellaswag = TASKS["kobest-copa"], TASKS["kobest-hellaswag"]
    given = "이순신은 쀍산에 왔다."
    for task, texts, first, choices in (
        (copa, (given, "원인", "서울은 한국", "부산"), f"{given} 원인", ("서울은 한국", "부산")),
        (hellaswag, (given, "서울", "부산", "쀍", "3월"), given, ("서울", "부산", "쀍", "3월")),
    ):
        examples = [Example(label, texts, label) for label in task.labels]
        features, tokenizer = made(task, examples, family[1])
        assert task.decode(faultless(task, features), features) == list(task.labels)
        wanted = [tokenizer(first, choice)["input_ids"] for choice in choices]
        for row, lengths in zip(features.columns["input_ids"], features.columns["pair_lengths"], strict=True):
            assert row.tolist() == list(chain(*wanted)) and list(lengths) == list(map(len, wanted))


def test_reading_where_every_question_has_an_answer(family):
    task, context = TASKS["korquad"], "이순신은 쀍산에 왔다, 한국은행이 있는 서울은 3월 부산 쀍순신"
    answers = ["이순신", "3월 부산"]
    examples = [Example(a, ("어디에 있다.", context), [a, "부산"], context.index(a)) for a in answers]
    features, tokenizer = made(task, examples, family[1])
    outputs = faultless(task, features)
    assert task.decode(outputs, features, tokenizer) == answers
    for row in (*outputs["start"], *outputs["end"]):
        row[0] = 1e6  # however likely none is
    assert task.decode(outputs, features, tokenizer) == answers


def test_the_fixtures_are_as_hard_as_they_say(family):
    name, folder = family
    tokenizer = load_tokenizer(folder)
    tokens = [token for text in MARKED for token in tokens_of(tokenizer(marked(text)[0])["input_ids"], tokenizer)]
    if name in SENTENCEPIECE:
        assert "▁" in tokens and "▁서울은" in tokens
    elif name in WORDPIECE:
        assert {"[UNK]", "서울은", "한국은행이"} <= set(tokens)
    else:
        assert "ľìĭł" in tokens and any(token.startswith("ĠíķľêµŃìĿĢ") for token in tokens)
    if name not in ("modernbert", "roberta"):
        assert tokenizer.unk_token in tokens
    assert replace(read_model_folder(folder), max_positions=1).vocab_size >= len(tokenizer)
