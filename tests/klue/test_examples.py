import gzip
import json

import pytest

from common.compressed import COMPRESSED
from common.errors import UserError
from klue.examples import files_hash, find_file, hash_share, load_splits, read_examples, sample_by_hash, without_leaks
from klue.results import not_comparable
from klue.tasks.base import Example
from tests.klue.names import KLUE_TASKS as TASKS
from tests.klue.names import SENTENCE_TASKS

YNAT, STS = TASKS["ynat"], TASKS["klue-sts"]


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return path


def headline(number, title=None, label="경제"):
    return {"guid": f"g{number}", "title": title or f"제목 {number}", "label": label}


def test_official_files(benchmark):
    for name in SENTENCE_TASKS:
        task = TASKS[name]
        splits = load_splits(task, benchmark)
        assert splits.counts == {"train": 70, "dev": 35, "train_in_dev": 0, "train_cut": 0}
        assert splits.note == "; ".join(task.shortfalls(splits.counts))


def test_official_name_goes_before_partial_copies(tmp_path):
    folder = tmp_path / "ynat-v1.1"
    write(folder / "ynat-v1.1_dev.reduced.json", [headline(0)])
    assert find_file(YNAT, tmp_path, "dev").name == "ynat-v1.1_dev.reduced.json"
    assert find_file(YNAT, tmp_path, "train") is None
    write(folder / "ynat-v1.1_dev.json", [headline(0)])
    assert find_file(YNAT, tmp_path, "dev").name == "ynat-v1.1_dev.json"
    write(folder / "ynat-v1.1_train.a.json", [headline(0)])
    write(folder / "ynat-v1.1_train.b.json", [headline(0)])
    with pytest.raises(UserError, match="holds 2 files"):
        find_file(YNAT, tmp_path, "train")


def test_competition_copy_with_dev_inside(tmp_path):
    folder = tmp_path / "ynat-v1.1"
    write(folder / "ynat-v1.1_dev.json", [headline(i) for i in range(3)])
    copy = [{"title": f"제목  {i} ", "label": "경제"} for i in range(8)]
    write(folder / "ynat_train.labelled_part.from_somewhere.json", copy)
    splits = load_splits(YNAT, tmp_path)
    assert splits.counts == {"train": 5, "dev": 3, "train_in_dev": 3, "train_cut": 0}
    stem = "ynat_train.labelled_part.from_somewhere"
    assert splits.note.startswith(
        f"3 train examples left out, as their text is a dev text; train from {stem}.json; 8 of"
    )
    assert splits.train[0].guid == f"{stem}-3"


def test_split_of_dev_without_train_file(tmp_path):
    pair = {"sentence1": "가", "labels": {"real-label": 1.5}}
    records = [{"guid": f"s{i}", "sentence2": "나", **pair, "sentence1": f"가 {i}"} for i in range(400)]
    write(tmp_path / "klue-sts-v1.1" / "klue-sts-v1.1_dev.json", records)
    splits = load_splits(STS, tmp_path)
    assert splits.note.startswith("split of dev: no train file")
    assert splits.counts["train"] + splits.counts["dev"] == 400
    assert 0.6 < splits.counts["train"] / 400 < 0.8
    assert not {e.guid for e in splits.train} & {e.guid for e in splits.dev}
    write(tmp_path / "klue-sts-v1.1" / "klue-sts-v1.1_dev.json", records[::-1])
    assert {e.guid for e in load_splits(STS, tmp_path).dev} == {e.guid for e in splits.dev}


def test_a_split_counts_what_is_trained_on(tmp_path):
    class ByGuid(type(YNAT)):
        """Equal texts may stand in different documents, as turns of WoS do."""

        def document(self, example):
            return example.guid

    write(tmp_path / "ynat-v1.1" / "ynat-v1.1_dev.json", [headline(i, f"제목 {i // 2}") for i in range(400)])
    splits = load_splits(ByGuid(), tmp_path)
    train, left_out = splits.counts["train"], splits.counts["train_in_dev"]
    assert left_out > 0 and f"no train file, {train} dev examples to train on" in splits.note
    assert f"{left_out:,} train examples left out" in splits.note


@pytest.mark.parametrize("ending", COMPRESSED)
def test_compressed_files_are_found(ending, tmp_path):
    for split, name in (("dev", f"ynat-v1.1_dev.json{ending}"), ("train", f"ynat-v1.1_train.reduced.json{ending}")):
        write(tmp_path / "ynat-v1.1" / name, [headline(0)])
        assert find_file(YNAT, tmp_path, split).name == name


def test_the_hash_of_the_files_is_that_of_their_examples(tmp_path):
    write(tmp_path / "ynat-v1.1" / "ynat-v1.1_dev.json", [headline(0)])
    before = files_hash(YNAT, tmp_path)
    train = write(tmp_path / "ynat-v1.1" / "ynat-v1.1_train.json", [headline(1)])
    assert before != files_hash(YNAT, tmp_path) == load_splits(YNAT, tmp_path).data_hash
    write(train, [headline(2)])
    assert files_hash(YNAT, tmp_path) == load_splits(YNAT, tmp_path).data_hash


def test_sample_is_nested_and_does_not_depend_on_order():
    examples = [Example(f"g{i}", (str(i),), "경제") for i in range(100)]
    small, large = sample_by_hash(examples, 10), sample_by_hash(examples, 30)
    assert {e.guid for e in small} < {e.guid for e in large} and len(small) == 10
    assert {e.guid for e in sample_by_hash(examples[::-1], 10)} == {e.guid for e in small}
    assert sample_by_hash(examples, 1000) == examples
    assert 0 <= hash_share("g") < 1


def test_without_leaks_needs_the_whole_pair():
    train = [Example("a", ("가", "나"), "x"), Example("b", ("가", "다"), "x")]
    assert without_leaks(train, [Example("c", ("가", "나"), "y")]) == (train[1:], 1)


def test_max_train_examples(benchmark):
    splits = load_splits(YNAT, benchmark, 20)
    assert splits.counts == {"train": 20, "dev": 35, "train_in_dev": 0, "train_cut": 50}
    assert splits.note.startswith("trained on 20 of 70 train examples (the whole train set has at least 45,678); 35")
    assert "trained on" not in load_splits(YNAT, benchmark, 70).note


def test_compressed_gold(tmp_path):
    path = tmp_path / "ynat-v1.1_dev.json.gz"
    path.write_bytes(gzip.compress(json.dumps([headline(1)]).encode()))
    assert read_examples(YNAT, path)[0].texts == ("제목 1",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"guid": "g0", "tit', "is not a file of ynat: not JSON from line 1 on"),
        ("{}", "not a list"),
        ("[]", "holds no records"),
        ("[3]", "record 0 is not a record of ynat"),
        (json.dumps([headline(0, label="날씨")]), "record 0: '날씨' is not a label of ynat"),
        (json.dumps([{"guid": "g0", "label": "경제"}]), "field 'title' is missing"),
        (json.dumps([headline(0), headline(0)]), "g0: the guid is there twice"),
        (json.dumps([{**headline(0), "guid": 3}]), "guid 3 is not text"),
        (json.dumps([{**headline(0), "title": None}]), "'title' is not text"),
    ],
)
def test_damaged_files(tmp_path, text, message):
    path = tmp_path / "ynat-v1.1_dev.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_examples(YNAT, path)


def test_missing_dev_and_nothing_to_train_on(tmp_path):
    with pytest.raises(UserError, match="no dev file of ynat"):
        load_splits(YNAT, tmp_path)
    for split in ("train", "dev"):
        write(tmp_path / "ynat-v1.1" / f"ynat-v1.1_{split}.json", [headline(0)])
    with pytest.raises(UserError, match="0 examples to train on"):
        load_splits(YNAT, tmp_path)


@pytest.mark.slow
def test_files_at_hand(shared_klue):
    for name, task in TASKS.items():
        splits, train = load_splits(task, shared_klue), find_file(task, shared_klue, "train")
        counts, documents = splits.counts, [{task.document(e) for e in part} for part in (splits.train, splits.dev)]
        assert splits.note.startswith("split of dev: no train file") is (train is None), name
        if train is None:
            assert counts["train"] and not documents[0] & documents[1], name
            continue
        there = len(read_examples(task, train))
        assert there == counts["train"] + counts["train_in_dev"], name
        part = f"{there:,} of at least {task.sizes.train:,} train examples"
        assert (part in splits.note) is (there < task.sizes.train), name
        assert ("left out" in splits.note) is (counts["train_in_dev"] > 0), name


@pytest.mark.parametrize("named", ["klue-sts-v1.1_train.json", "klue-sts-v1.1_train.first3.json"])
def test_scores_of_a_part_of_the_train_set_say_how_large_it_is(tmp_path, named):
    pair = {"sentence2": "나", "labels": {"real-label": 1.5}}
    for file, count in ((named, 3), ("klue-sts-v1.1_dev.json", 519)):
        records = [{"guid": f"{file}-{i}", "sentence1": f"{file} {i}", **pair} for i in range(count)]
        write(tmp_path / "klue-sts-v1.1" / file, records)
    splits = load_splits(STS, tmp_path)
    assert "3 of at least 11,668 train examples" in splits.note and "dev examples" not in splits.note
    row = {"task": "klue-sts", "examples": splits.counts, "data_note": splits.note}
    assert not_comparable([row]) == {"klue-sts": "3 of at least 11,668 train examples"}
