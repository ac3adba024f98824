"""The suites beside KLUE: their files, their counts, their metrics against other implementations."""

from __future__ import annotations

import json
import os
import re
import string
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from common.errors import UserError
from data.benchmark import load_benchmark
from hunmin.pipeline.report import contamination
from hunmin.recipes.recipe import load_recipe
from klue.examples import load_splits
from klue.metrics.reading import weighted_korquad_scores
from klue.metrics.sentence import spearmanr
from klue.results import not_comparable
from klue.settings import KlueSettings
from klue.tasks import SUITE_OF, TASKS
from tests.klue.conftest import write_benchmark
from tests.klue.once import once
from tests.klue.suite_files import COUNTS, write_suites

OTHERS = [name for name, suite in SUITE_OF.items() if suite != "klue"]


def splits_of(name: str, root: Path, klue: Path | None = None):
    settings = KlueSettings(data=str(klue or root), benchmarks=str(root), tasks=[name])
    return load_splits(TASKS[name], settings.folder_of(name), None, settings.source_of(name))


@pytest.mark.parametrize("name", OTHERS)
def test_every_layout_is_read(name: str, suites: Path) -> None:
    task, found = TASKS[name], splits_of(name, suites)
    wanted = {"train": 24, "dev": 12} | ({"test": 10} if task.sizes.test else {})
    if name == "nsmc":
        assert found.counts["train"] + found.counts["dev"] == 24 and found.counts["dev"] > 0
        assert re.match(r"no dev file: \d train examples are dev; 24 of at least 150,000 train examples", found.note)
    else:
        assert {split: found.counts[split] for split in wanted} == wanted
        assert found.note == "; ".join(task.shortfalls(found.counts))
    for example in [*found.train, *found.dev, *found.test]:
        answer = example.label[0] if name == "korquad" else example.label
        assert task.check(answer, example.label) == answer
    assert len({e.guid for e in [*found.train, *found.dev, *found.test]}) == sum(
        found.counts.get(split, 0) for split in COUNTS
    )


def test_the_traps(suites: Path) -> None:
    boolq, copa, sentineg = (splits_of(f"kobest-{name}", suites) for name in ("boolq", "copa", "sentineg"))
    assert [e.label for e in boolq.train[:2]] == ["False", "True"] and {e.label for e in boolq.test} == {
        "False",
        "True",
    }
    assert boolq.dev[0].texts == ("0 집이 있다?", 'dev 0번 "집이 없다.')  # a quote is text, the question goes first
    assert copa.train[2].texts[1] == "원인" and copa.train[0].label == "2"
    assert TASKS["kobest-copa"].pairs(copa.train[0]) == [("train 0번 꽃이 있다. 원인", c) for c in ("책", "길")]
    # columns change place, and the scored text of test is the negated one
    assert [s[1].texts for s in (sentineg.train, sentineg.dev, sentineg.test)] == [
        ("train 1 좋다",), ("dev 1 좋다",), ("test 1 좋다",),
    ]  # fmt: skip
    assert [s[1].label for s in (sentineg.train, sentineg.dev, sentineg.test)] == ["1"] * 3
    assert [e.texts[1] for e in splits_of("paws-x", suites).test[3:5]] == ["NS", ""]
    assert splits_of("korsts", suites).dev[5].label == 5.0


def test_without_a_train_file(suites: Path, tmp_path: Path) -> None:
    root = write_suites(tmp_path / "suites")
    for name in ("kornli/multinli.train.ko.tsv", "paws_x/translated_train.tsv", "korsts/sts-test.tsv"):
        (root / name).unlink()
    klue = write_benchmark(tmp_path / "klue")
    lent = splits_of("kornli", root, klue)
    assert lent.note == "zero-shot transfer: trained on the 70 train examples of KLUE-NLI"
    assert (len(lent.train), len(lent.dev), len(lent.test)) == (70, 12, 10)
    assert lent.data_hash != splits_of("kornli", root).data_hash
    cut = splits_of("paws-x", root)
    assert cut.note.startswith("split of dev: no train file") and cut.note.endswith("chosen by")
    assert len(cut.train) + len(cut.dev) == 12 and len(cut.test) == 10
    with pytest.raises(
        UserError, match=r"no test file of korsts .*\n.*official layout, korsts/sts-test.tsv\n.*benchmarks"
    ):
        splits_of("korsts", root)
    path = root / "question_pair" / "train.tsv"
    path.write_text(path.read_text("utf-8") + "하나뿐\n", "utf-8")
    with pytest.raises(UserError, match="line 26 has 1 columns, the line of names 3"):
        splits_of("question-pair", root)


def test_klue_sts_without_a_train_file_is_learned_from_korsts(suites: Path, tmp_path: Path) -> None:
    klue = write_benchmark(tmp_path / "klue", sts_train=False)
    lent = splits_of("klue-sts", suites, klue)
    assert lent.note == "zero-shot transfer: trained on the 24 train examples of KorSTS"
    assert (len(lent.train), len(lent.dev), lent.test) == (24, 35, [])  # all of KLUE-STS's dev is scored
    assert [e.label for e in lent.train] == [e.label for e in splits_of("korsts", suites).train]
    row = {"task": "klue-sts", "examples": lent.counts, "data_note": lent.note}
    assert not_comparable([row]) == {"klue-sts": "trained on KorSTS"}
    settings = KlueSettings(data=str(klue), benchmarks=str(suites), tasks=["klue-sts", "ynat"])
    assert settings.inputs == [str(klue), str(suites / "korsts")]  # seen when it changes, taken out of the corpus
    whole = KlueSettings(data=str(write_benchmark(tmp_path / "all")), benchmarks=str(suites), tasks=["klue-sts"])
    assert whole.inputs == [whole.data]
    # where KorSTS is not at hand dev is split, and where KLUE-STS has its own train file KorSTS is not looked at
    assert splits_of("klue-sts", klue, klue).note.startswith("split of dev: no train file")
    assert splits_of("klue-sts", suites, write_benchmark(tmp_path / "whole")).note.startswith("70 of at least")


def test_train_examples_that_are_in_test_are_dropped(suites: Path, tmp_path: Path) -> None:
    root = write_suites(tmp_path / "suites")
    path = root / "question_pair" / "train.tsv"
    path.write_text(path.read_text("utf-8") + "test 1  집은?\t1 길은?\t1\n", "utf-8")
    found = splits_of("question-pair", root)
    assert found.counts["train_in_dev"] == 1
    assert found.note.startswith("1 train examples left out, as their text is a dev or test text; 25 of at least 6,136")


NOT_AT_HAND = ("kornli", "paws-x", "korquad")
"""Tasks whose train sets are not among the shared files; of NSMC nothing is."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OTHERS if name != "nsmc"])
def test_the_official_files(name: str) -> None:
    shared = Path(os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data")
    if not (shared / "benchmarks").is_dir():
        pytest.skip("the benchmarks' files are not at hand")
    task, found = TASKS[name], splits_of(name, shared / "benchmarks", shared / "klue")
    if name == "kornli":
        assert "zero-shot transfer" in found.note
    elif name in NOT_AT_HAND:
        assert "split of dev" in found.note and len(found.train) + len(found.dev) == task.sizes.dev
    else:
        assert len(found.train) + found.counts["train_in_dev"] == task.sizes.train
    assert (name in NOT_AT_HAND and name != "kornli") or len(found.dev) == task.sizes.dev
    assert len(found.test) == task.sizes.test


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-5, 5)), min_size=2, max_size=30))
def test_spearman_is_scipys(pairs: list[tuple[int, float]]) -> None:
    gold, found = [float(g) for g, _ in pairs], [p for _, p in pairs]
    if len(set(gold)) > 1 and len(set(found)) > 1:
        assert spearmanr(gold, found) == pytest.approx(100 * stats.spearmanr(gold, found).statistic, abs=1e-9)
    else:
        assert np.isnan(spearmanr(gold, found))


def by_hand(text: str) -> list[str]:
    """KorQuAD's rule, one step after the other."""
    for sign in "'\"《》<>〈〉()‘’":
        text = text.replace(sign, " ")
    kept = [letter for letter in text.lower() if letter not in set(string.punctuation)]
    return "".join(kept).split()


@given(
    st.lists(
        st.tuples(st.text("가나A a.'《)-", max_size=6), st.text("가나A a.'《)-", max_size=6)), min_size=1, max_size=5
    )
)
def test_korquad_by_a_slow_count(pairs: list[tuple[str, str]]) -> None:
    exact, f1 = 0.0, 0.0
    for answer, found in pairs:
        wanted, there = by_hand(answer), by_hand(found)
        exact += wanted == there
        a, b = list("".join(wanted)), list("".join(there))
        same = sum(min(a.count(letter), b.count(letter)) for letter in set(a))
        f1 += 2 * (same / len(a)) * (same / len(b)) / (same / len(a) + same / len(b)) if same else 0.0
    gold, predicted = [[answer] for answer, _ in pairs], [found for _, found in pairs]
    assert once(weighted_korquad_scores)(gold, predicted) == pytest.approx(
        {"exact_match": 100 * exact / len(pairs), "f1": 100 * f1 / len(pairs)}
    )


def test_kobest_by_scikit_learn() -> None:
    from sklearn.metrics import accuracy_score, f1_score

    draw = np.random.default_rng(3)
    for name in ("kobest-boolq", "kobest-hellaswag"):
        labels = TASKS[name].labels
        gold, found = ([labels[i] for i in draw.integers(len(labels), size=50)] for _ in range(2))
        assert TASKS[name].score(gold, found) == {
            "macro_f1": pytest.approx(100 * f1_score(gold, found, average="macro")),
            "accuracy": pytest.approx(100 * accuracy_score(gold, found)),
        }


def test_what_is_taken_out_of_corpora(suites: Path) -> None:
    """Every text of every table, and whose it is."""
    found = load_benchmark(suites)
    counts = Counter(sentence.task for sentence in found)
    assert set(counts) == set(OTHERS)
    texts = {sentence.text for sentence in found}
    assert {
        "본디 1",
        '"제목 3',
        "dev 1 차 있다.",
        'test 0번 "집이 없다.',
        "책",
        "train 7 좋다",
    } <= texts and "NS" not in texts
    for name in OTHERS:
        part = splits_of(name, suites)
        for example in [*part.train, *part.dev, *part.test]:
            for text in example.texts:
                held = re.sub(r"\[(.)\]", r"\1", text)
                assert held in texts or held in ("NS", "", "원인", "결과") or name == "kobest-hellaswag", (name, text)


def test_a_recipe_decontaminates_against_all_that_it_scores(suites: Path, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    tree = {"name": "t", "out": "o", "corpus": {"inputs": ["x"]}, "klue": {"data": "k"}}
    path.write_text(json.dumps(tree))
    assert load_recipe(path).corpus.decontaminate.benchmark == "k"  # as before: nothing is redone
    both = load_recipe(path, [f"klue.benchmarks={suites}", "klue.suites=[klue,kobest]"])
    folders = [str(suites / "kobest" / name) for name in ("BoolQ", "COPA", "HellaSwag", "SentiNeg", "WiC")]
    assert both.corpus.decontaminate.benchmarks == ["k", *folders]
    assert {s.task for s in load_benchmark(folders)} == {name for name in OTHERS if name.startswith("kobest")}
    stated = load_recipe(path, ["klue.suites=[kobest]", "corpus.decontaminate.benchmark=other"])
    assert stated.corpus.decontaminate.benchmarks == ["other"]
    # and the report counts what was taken out by the names of the tasks
    (tmp_path / "hits.jsonl").write_text('{"task": "kobest-copa", "benchmark_guid": "test:3"}\n' * 2)
    assert contamination(tmp_path / "hits.jsonl") == {"kobest-copa": 2}
    guids = {(sentence.task, sentence.text): sentence.guid for sentence in load_benchmark(suites)}
    assert guids["kobest-copa", "test 3번 꽃이 있다."] == "test:3"
