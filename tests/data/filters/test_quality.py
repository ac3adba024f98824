"""The classifier: its features against a slow count over strings, its values against scikit-learn's, and the filter."""

import itertools
import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from data.filter_models.classifier import save_classifier, train_classifier
from data.filter_models.ngrams import train_ngrams
from data.filters import FilterSettings, build_filters
from data.filters.ngram_model import save_ngrams
from data.filters.quality import buckets_of

from .filtering import batch_of, documents_of, scores


def slow_features(text: str) -> list[tuple]:
    """Return the features of a text of small letters, each as what it is made of."""
    words = text.split()
    found: list[tuple] = [("word", word) for word in words]
    found += [("pair", *words[n : n + 2]) for n in range(len(words) - 1)]
    found += [("run", word[n : n + size]) for word in words for size in (3, 4) for n in range(len(word) - size + 1)]
    return found


@given(st.lists(st.text("가나abc \n", max_size=30), min_size=1, max_size=6))
def test_features_are_words_pairs_and_runs(texts):
    """Each feature has one bucket, and different ones different buckets, in every document alike."""
    buckets, firsts = buckets_of(batch_of(texts), 30)
    meaning: dict[tuple, int] = {}
    for text, start, stop in zip(texts, firsts, firsts[1:], strict=False):
        expected, found = Counter(slow_features(text)), Counter(buckets[start:stop].tolist())
        assert sorted(expected.values()) == sorted(found.values())
    for text in texts:
        for feature in slow_features(text):
            word = feature[1]
            if feature[0] == "word" and len(word) < 3:  # a text of one word has that feature alone
                meaning[feature] = buckets_of(batch_of([word]), 30)[0].tolist()
    assert all(len(one) == 1 for one in meaning.values())
    assert len({one[0] for one in meaning.values()}) == len(meaning)


def texts_of(words: list[str], count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=draw.randrange(8, 30))) for _ in range(count)]


COMMON = ["오늘", "그리고", "있다.", "했다.", "우리", "여기"]
GOOD, BAD = [*COMMON, "연구", "역사를", "설명한다."], [*COMMON, "무료쿠폰", "클릭", "대박할인"]


@pytest.fixture(scope="module")
def trained():
    pytest.importorskip("sklearn")
    return train_classifier(texts_of(GOOD, 300, 1), texts_of(BAD, 120, 2))


@pytest.fixture(scope="module")
def model_file(trained, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "good.quality"
    save_classifier(path, trained)
    return path


def test_good_and_bad_are_told_apart(trained, model_file):
    assert trained.facts["roc_auc"] > 0.99 and trained.facts["held_out"] == 42
    good, bad = texts_of(GOOD, 40, 3), texts_of(BAD, 40, 4)
    tree = {"quality": {"model": str(model_file)}}
    values = scores(tree, [*good, *bad, "", " "])["good"]
    assert np.mean(values[:40]) > 0.8 and np.mean(values[40:80]) < 0.2 and values[80:] == [0.5, 0.5]
    chain = build_filters([FilterSettings.model_validate({"quality": {"model": str(model_file), "min_good": 0.5}})])
    kept = chain.apply(documents_of([*good, *bad]), [*good, *bad])
    assert len(set(kept.texts) & set(good)) > 35 and len(set(kept.texts) & set(bad)) < 5
    assert kept.scores["quality_good"].min() >= 0.5


def test_values_are_the_logistic_function_of_the_mean_weight(trained, model_file):
    texts = [*texts_of(GOOD, 5, 5), *texts_of(BAD, 5, 6), "ABC Def 가나다라마"]
    buckets, firsts = buckets_of(batch_of([text.lower() for text in texts]), 20)
    expected = [
        1 / (1 + math.exp(-trained.bias - sum(float(trained.weights[n]) for n in buckets[a:b]) / (b - a)))
        for a, b in itertools.pairwise(firsts)
    ]
    assert scores({"quality": {"model": str(model_file)}}, texts)["good"] == pytest.approx(expected, rel=1e-5)


def test_a_model_is_its_texts_and_nothing_else(trained, model_file, tmp_path):
    save_classifier(tmp_path / "again", train_classifier(texts_of(GOOD, 300, 1), texts_of(BAD, 120, 2)))
    assert (tmp_path / "again").read_bytes() == model_file.read_bytes()

    def identity(path: Path) -> list[str]:
        return build_filters([FilterSettings.model_validate({"quality": {"model": str(path)}})]).identity

    save_classifier(tmp_path / "other", train_classifier(texts_of(GOOD, 300, 7), texts_of(BAD, 120, 8)))
    assert identity(tmp_path / "again") == identity(model_file) != identity(tmp_path / "other")


def test_what_cannot_be_trained_on_and_the_model_of_another_filter_are_refused(tmp_path):
    with pytest.raises(UserError, match="3 bad documents are too few"):
        train_classifier(texts_of(GOOD, 60, 1), ["하나", "둘", "셋"])
    with pytest.raises(UserError, match="documents stand among the good and among the bad"):
        train_classifier(texts_of(GOOD, 60, 1), texts_of(GOOD, 60, 1))
    save_ngrams(tmp_path / "model", *train_ngrams(texts_of(GOOD, 100, 1)))
    with pytest.raises(UserError, match=r"no model of this filter but 'hunmin perplexity 1'"):
        scores({"quality": {"model": str(tmp_path / "model")}}, ["글"])
