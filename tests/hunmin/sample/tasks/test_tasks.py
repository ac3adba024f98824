"""The eight tasks: layouts, balance, what train and dev share."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from hunmin.sample.lexicon import TOPICS
from hunmin.sample.lexicon.halves import half_of
from hunmin.sample.tasks import BUILDERS, TaskFiles, build_tasks


@pytest.fixture(scope="module")
def tasks() -> TaskFiles:
    return build_tasks(42)


def load(tasks: TaskFiles, name: str) -> Any:
    return json.loads(tasks.files[name])


def test_files(tasks: TaskFiles) -> None:
    folders = {name.split("/")[0] for name in tasks.files}
    assert folders == {f"{task}-v1.1" for task in BUILDERS}
    for task in BUILDERS:
        for split in ("train", "dev"):
            suffix = "tsv" if task in ("klue-ner", "klue-dp") else "json"
            assert f"{task}-v1.1/{task}-v1.1_{split}.{suffix}" in tasks.files


def test_seed_decides() -> None:
    assert build_tasks(42).files == build_tasks(42).files
    assert BUILDERS["klue-sts"](1).files != BUILDERS["klue-sts"](2).files


def test_ynat(tasks: TaskFiles) -> None:
    for split, least in (("train", 600), ("dev", 200)):
        records = load(tasks, f"ynat-v1.1/ynat-v1.1_{split}.json")
        labels = Counter(record["label"] for record in records)
        assert len(records) >= least
        assert len(labels) == 7
        assert max(labels.values()) - min(labels.values()) <= 1
        assert len({record["title"] for record in records}) == len(records)


def test_nli(tasks: TaskFiles) -> None:
    for split, source in (("train", "genre"), ("dev", "source")):
        records = load(tasks, f"klue-nli-v1.1/klue-nli-v1.1_{split}.json")
        labels = Counter(record["gold_label"] for record in records)
        assert len(set(labels.values())) == 1
        assert all(record[source] and record["premise"] != record["hypothesis"] for record in records)
        # Negation alone does not give the label.
        negated = Counter(r["gold_label"] for r in records if "지 않" in r["hypothesis"])
        shares = [negated[label] / labels[label] for label in labels]
        assert max(shares) - min(shares) < 0.15


def test_sts(tasks: TaskFiles) -> None:
    for split in ("train", "dev"):
        records = load(tasks, f"klue-sts-v1.1/klue-sts-v1.1_{split}.json")
        for record in records:
            ratings = record["annotations"]["annotations"]
            assert record["labels"]["real-label"] == sum(ratings) / len(ratings)
            assert record["labels"]["binary-label"] == int(record["labels"]["real-label"] >= 3)
            assert record["sentence1"] != record["sentence2"]
        scores = [record["labels"]["real-label"] for record in records]
        assert min(scores) < 0.5
        assert max(scores) > 4.5


def blocks(text: str) -> list[list[str]]:
    body = text.split("\n", 5)[5]
    return [block.split("\n") for block in body.strip("\n").split("\n\n")]


def test_ner(tasks: TaskFiles) -> None:
    tags = set()
    for split in ("train", "dev"):
        for block in blocks(tasks.files[f"klue-ner-v1.1/klue-ner-v1.1_{split}.tsv"]):
            rows = [row.split("\t") for row in block[1:]]
            marked = block[0].split("\t")[1]
            assert sum(tag.startswith("B-") for _, tag in rows) == marked.count("<")
            previous = "O"
            for character, tag in rows:
                assert len(character) == 1
                assert not tag.startswith("I-") or previous[2:] == tag[2:]
                previous = tag
                tags.add(tag)
    assert {"B-PS", "B-OG", "B-LC", "B-DT", "B-TI", "B-QT", "O"} <= tags


def test_relation(tasks: TaskFiles) -> None:
    relations = load(tasks, "klue-re-v1.1/relation_list.json")["relations"]
    assert len(relations) == 30
    for split in ("train", "dev"):
        for record in load(tasks, f"klue-re-v1.1/klue-re-v1.1_{split}.json"):
            assert record["label"] in relations
            for role in ("subject_entity", "object_entity"):
                entity = record[role]
                assert record["sentence"][entity["start_idx"] : entity["end_idx"] + 1] == entity["word"]
            assert not set("«»‹›{}") & set(record["sentence"])


def test_dp(tasks: TaskFiles) -> None:
    for split in ("train", "dev"):
        for block in blocks(tasks.files[f"klue-dp-v1.1/klue-dp-v1.1_{split}.tsv"]):
            sentence = block[0].split("\t")[1]
            rows = [row.split("\t") for row in block[1:]]
            assert [row[1] for row in rows] == sentence.split(" ")
            heads = [int(row[4]) for row in rows]
            assert heads.count(0) == 1
            assert all(head == 0 or head > place for place, head in enumerate(heads, 1))
            assert all(len(row[2].split(" ")) == len(row[3].split("+")) for row in rows)


def test_mrc(tasks: TaskFiles) -> None:
    for split in ("train", "dev"):
        impossible = 0
        for article in load(tasks, f"klue-mrc-v1.1/klue-mrc-v1.1_{split}.json")["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    impossible += question["is_impossible"]
                    assert question["is_impossible"] is not bool(question["answers"])
                    for answer in question["answers"] + question.get("plausible_answers", []):
                        start = answer["answer_start"]
                        assert paragraph["context"][start : start + len(answer["text"])] == answer["text"]
        assert impossible


def test_wos(tasks: TaskFiles) -> None:
    ontology = load(tasks, "wos-v1.1/ontology.json")
    assert len(ontology) == 45
    for split in ("train", "dev"):
        for record in load(tasks, f"wos-v1.1/wos-v1.1_{split}.json"):
            previous: set[str] = set()
            for turn in record["dialogue"]:
                if turn["role"] == "sys":
                    assert turn["state"] == []
                    continue
                for item in turn["state"]:
                    domain, slot, value = item.split("-", 2)
                    assert value in ontology[f"{domain}-{slot}"]
                assert previous <= set(turn["state"])
                previous = set(turn["state"])


def test_dev_words_are_mostly_new(tasks: TaskFiles) -> None:
    """Most topical words of the dev titles are in no train title."""
    nouns = {word for topic in TOPICS for word in topic.things + topic.issues + topic.measures}

    def topical(split: str) -> Counter[str]:
        titles = [record["title"] for record in load(tasks, f"ynat-v1.1/ynat-v1.1_{split}.json")]
        return Counter(noun for title in titles for noun in nouns if noun in title.replace("·", " ").split())

    train, dev = topical("train"), topical("dev")
    assert sum(count for noun, count in dev.items() if noun not in train) > 0.7 * sum(dev.values())
    assert all(half_of(topic, "train").isdisjoint(half_of(topic, "dev")) for topic in TOPICS)
