"""Decomposed Hangul (NFD): labels, answers and scores as for the composed text, on whole syllables."""

import json
import shutil
import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from common.names import find, shown_name
from klue.examples import find_file, load_splits, read_examples
from klue.features import load_tokenizer, make_features
from klue.metrics.reading import exact_match, rouge_w, weighted_korquad_scores
from klue.model_folder import read_model_folder
from klue.predict import read_texts
from tests.klue.families import write_family
from tests.klue.faultless import ceiling, faultless
from tests.klue.names import KLUE_TASKS as TASKS
from tests.klue.once import once


def nfd(text):
    return unicodedata.normalize("NFD", text)


def long(model):
    return replace(read_model_folder(model), max_positions=510)


def decomposed(task, file, folder):
    """Write a dev file as a tool does that decomposes all text and counts places anew."""
    target = folder / file.relative_to(file.parents[1])
    target.parent.mkdir(parents=True)
    text = file.read_text("utf-8")
    if task.suffix == "tsv":
        target.write_text(nfd(text), "utf-8")
        return
    tree = json.loads(text)

    def change(node):
        if isinstance(node, str):
            return nfd(node)
        if isinstance(node, list):
            return [change(one) for one in node]
        if not isinstance(node, dict):
            return node
        found = {key: change(value) for key, value in node.items()}
        for qa in node.get("qas", []):
            for answers in (qa["answers"], qa.get("plausible_answers", [])):
                for answer in answers:
                    answer["answer_start"] = len(nfd(node["context"][: answer["answer_start"]]))
        if "qas" in node:
            found["qas"] = [change(qa) for qa in node["qas"]]
        for role in ("subject_entity", "object_entity"):
            if role in node:
                at = node[role]
                start, end = (len(nfd(node["sentence"][:place])) for place in (at["start_idx"], at["end_idx"] + 1))
                found[role] |= {"start_idx": start, "end_idx": end - 1}
        return found

    target.write_text(json.dumps(change(tree), ensure_ascii=False), "utf-8")


@pytest.mark.parametrize("name", TASKS)
def test_inputs_and_faultless_scores_are_those_of_the_composed_file(name, sample_benchmark, sample_roberta, tmp_path):
    task, file = TASKS[name], find_file(TASKS[name], sample_benchmark, "dev")
    decomposed(task, file, tmp_path)
    examples = [read_examples(task, folder)[:40] for folder in (file, find_file(task, tmp_path, "dev"))]
    model = long(sample_roberta)
    features = [make_features(task, part, load_tokenizer(sample_roberta), model, 256) for part in examples]
    rows = [[row.tolist() for row in part.columns["input_ids"]] for part in features]
    assert rows[0] == rows[1]
    scores = [ceiling(task, part, model, 256)[0] for part in examples]
    assert scores[1] == pytest.approx(scores[0]) and scores[0][task.selection] == pytest.approx(100)


@pytest.mark.parametrize("family", ["bert", "xlm-r", "roberta"])
def test_labels_of_decomposed_characters_are_on_whole_syllables(family, tmp_path):
    folder, task = write_family(family, tmp_path / "model"), TASKS["klue-ner"]
    text = "이순신은 한국은행이 있는 서울에 왔다."
    labels = ["O"] * sum(character != " " for character in text)
    labels[0:3], labels[4:8] = ["B-PS", "I-PS", "I-PS"], ["B-OG", "I-OG", "I-OG", "I-OG"]
    whole = [character for character in text if character != " "]
    spread = [label.replace("B-", "I-") if n else label
              for label, character in zip(labels, whole, strict=True) for n in range(len(nfd(character)))]  # fmt: skip
    found = {}
    for form, gold in ((text, labels), (nfd(text), spread)):
        rows = [{"tokens": list(form), "ner_tags": _with_spaces(form, gold)}]
        examples = task.read(rows[0], "a")
        features = make_features(task, examples, load_tokenizer(folder), read_model_folder(folder), 64)
        found[form] = task.decode(faultless(task, features), features)[0]
    # a token over two labels decides for both: the same syllables have the same labels
    sizes = [len(nfd(character)) for character in whole]
    expected = [label.replace("B-", "I-") if n else label
                for label, size in zip(found[text], sizes, strict=True) for n in range(size)]  # fmt: skip
    assert found[nfd(text)] == expected


def _with_spaces(text, labels):
    given = iter(labels)
    return ["O" if character == " " else next(given) for character in text]


def test_answers_of_a_decomposed_passage_end_with_whole_syllables(tmp_path):
    folder, task = write_family("our-roberta", tmp_path / "model"), TASKS["klue-mrc"]
    given = tmp_path / "given.jsonl"
    context = "이순신은 조선의 장군이다. 홍길동이 부산에서 태어났다."
    lines = [
        {"guid": form, "question": "장군은?", "context": unicodedata.normalize(form, context)}
        for form in ("NFC", "NFD")
    ]
    given.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    examples = read_texts(task, given)
    features = make_features(task, examples, load_tokenizer(folder), read_model_folder(folder), 128)
    assert features.columns["input_ids"][0].tolist() == features.columns["input_ids"][1].tolist()
    size = len(features.columns["input_ids"][0])
    for start in range(5, size - 1):
        for end in range(start, min(start + 3, size - 1)):
            outputs = {"start": [9.0 * (np.arange(size) == start)] * 2, "end": [9.0 * (np.arange(size) == end)] * 2}
            one, other = task.decode(outputs, features)
            assert other == nfd(one)  # as it stands in the passage, and nothing cut


def test_labels_and_slots_are_known_in_both_forms():
    ynat, wos = TASKS["ynat"], TASKS["wos"]
    [example] = ynat.read({"title": nfd("새 제목"), "label": nfd("경제")}, "a")
    assert (example.texts, example.label) == (("새 제목",), "경제")
    assert ynat.check(nfd("경제"), "경제") == "경제"
    state = ["식당-지역-서울 서쪽"]
    [turn] = wos.read({"dialogue": [{"role": "user", "text": nfd("안녕"), "state": [nfd(state[0])]}]}, "d")
    assert turn.label == state == wos.check([nfd(state[0])], state)


def test_answers_are_compared_in_one_form():
    assert exact_match([["바닷가"]], [nfd("바닷가")]) == rouge_w([[nfd("바닷가")]], ["바닷가"]) == 100
    assert once(weighted_korquad_scores)([["바닷가"]], [nfd("바닷가")])["exact_match"] == 100


def test_a_train_text_is_a_dev_text_in_any_form(tmp_path):
    for split, form in (("train", "NFD"), ("dev", "NFC")):
        texts = ["처음", "다음"] if split == "train" else ["처음"]
        rows = [
            {"guid": f"{split}{i}", "title": unicodedata.normalize(form, t), "label": "경제"}
            for i, t in enumerate(texts)
        ]
        path = tmp_path / "ynat-v1.1" / f"ynat-v1.1_{split}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    assert load_splits(TASKS["ynat"], tmp_path).counts["train_in_dev"] == 1


@pytest.mark.parametrize(("on_disk", "typed"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_names_of_files_and_folders_are_found_in_either_form(on_disk, typed, sample_benchmark, tmp_path):
    name, gold = "모두의 자료", find_file(TASKS["ynat"], sample_benchmark, "dev")
    folder = tmp_path / unicodedata.normalize(on_disk, name)
    shutil.copytree(sample_benchmark, folder)
    asked = tmp_path / unicodedata.normalize(typed, name)
    assert find(str(asked), "dataset") == folder
    found = read_examples(TASKS["ynat"], asked / gold.relative_to(sample_benchmark))
    assert found == read_examples(TASKS["ynat"], gold)
    assert shown_name(folder) == name
