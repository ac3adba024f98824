"""The character model: its probabilities against a slow count over strings, and the filter by it."""

import math
import pickle
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.errors import UserError
from data.filter_models.ngrams import estimate, train_ngrams
from data.filters import FilterSettings, build_filters
from data.filters.ngram_model import load_ngrams, save_ngrams

from .filtering import batch_of, documents_of, scores

START, UNKNOWN = "<", "?"
"""Signs of the slow model: before a document, and a character it does not know."""


class SlowModel:
    """Interpolated Kneser-Ney over strings, straight from the formula, for texts of Hangul with single blanks."""

    def __init__(self, texts: list[str], order: int, kept_from: tuple[int, ...]) -> None:
        self.order = order
        self.characters = {character for text in texts for character in text} | {" "}
        raw = [Counter() for _ in range(order + 1)]
        for text in texts:
            padded = START * (order - 1) + text
            for end in range(order, len(padded) + 1):
                for n in range(1, order + 1):
                    raw[n][padded[end - n : end]] += 1
        self.shares: list[dict[str, dict[str, float]]] = [{} for _ in range(order + 1)]
        for n in range(1, order + 1):
            left = defaultdict(set)
            for gram in raw[n + 1] if n < order else ():
                left[gram[1:]].add(gram[0])
            counts = {
                gram: count if n == order or gram[0] == START else len(left[gram]) for gram, count in raw[n].items()
            }
            ones, twos = (sum(count == size for count in counts.values()) for size in (1, 2))
            discount = ones / (ones + 2 * twos) if ones and twos else 0.5
            sums = Counter()
            for gram, count in counts.items():
                sums[gram[:-1]] += count
            for gram, count in counts.items():
                if raw[n][gram] >= kept_from[n - 1]:
                    share = (count - discount) / sums[gram[:-1]]
                    self.shares[n].setdefault(gram[:-1], {})[gram[-1]] = share

    def probability(self, character: str, history: str, n: int | None = None) -> float:
        n = self.order if n is None else n
        if n == 0:
            return 1 / (len(self.characters) + 1)
        shares = self.shares[n].get(history[-(n - 1) :] if n > 1 else "", {})
        return shares.get(character, 0) + (1 - sum(shares.values())) * self.probability(character, history, n - 1)

    def perplexity(self, text: str) -> float:
        text = "".join(one if one in self.characters else UNKNOWN for one in text)
        padded = START * (self.order - 1) + text
        logs = [
            math.log(self.probability(padded[at], padded[at - self.order + 1 : at]))
            for at in range(self.order - 1, len(padded))
        ]
        return math.exp(-sum(logs) / len(logs))


WORDS = st.text("가나다라", min_size=1, max_size=4)
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=12)


@settings(max_examples=60)
@example(["가가가"], ["나"], (1,) * 5, 5)  # fewer symbols than the order
@given(TEXTS, TEXTS, st.sampled_from([(1,) * 5, (1, 1, 2, 2, 2), (1, 2, 3, 3, 3)]), st.integers(2, 5))
def test_perplexities_are_those_of_the_formula(texts, others, kept_from, order):
    others = [*others, "마바 가나", texts[0]]
    slow = SlowModel(texts, order, kept_from)
    model = estimate(texts, order, kept_from).ready()
    batch = batch_of(others)
    found = model.perplexities(batch.codes, batch.borders, 1)
    assert found.tolist() == pytest.approx([slow.perplexity(text) for text in others], rel=1e-5)


@settings(max_examples=30)
@given(TEXTS, st.text("가나다라마 ", max_size=6))
def test_probabilities_of_all_characters_sum_to_one(texts, history):
    slow = SlowModel(texts, 4, (1, 1, 2, 2))
    known = sorted(slow.characters)
    padded = START * 3 + "".join(one if one in known else UNKNOWN for one in history)
    assert sum(slow.probability(one, padded) for one in [*known, UNKNOWN]) == pytest.approx(1)


def test_case_digits_and_blanks_make_no_difference():
    model = estimate(["Abc 2024 가나\n다라"] * 3).ready()
    batch = batch_of(["aBC  1999\t가나 다라\n", "abc 0000 가나 다라"])
    first, second = model.perplexities(batch.codes, batch.borders, 1)
    assert first == second


def korean(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    words = ["우리는", "어제", "학교에서", "밥을", "먹었다.", "그리고", "책을", "읽었다.", "친구가", "왔다."]
    return [" ".join(draw.choices(words, k=draw.randrange(15, 40))) for _ in range(count)]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "good.perplexity"
    save_ngrams(path, *train_ngrams(korean(400, 1)))
    return path


def test_a_model_is_its_texts_and_nothing_else(model_file, tmp_path):
    save_ngrams(tmp_path / "again", *train_ngrams(korean(400, 1)))
    assert (tmp_path / "again").read_bytes() == model_file.read_bytes()
    facts = load_ngrams(model_file).facts
    assert facts["documents"] == 380 and facts["held_out"] == 20
    values = list(facts["quantiles"].values())
    assert values == sorted(values) and values[0] > 1


def test_word_salad_goes_and_short_texts_are_not_judged(model_file):
    good = korean(30, 2)
    salad = ["".join(random.Random(n).sample(text, len(text))) for n, text in enumerate(good)]
    foreign, short = "This is English text that goes on and on, for a while at least.", "뷁쉛"
    tree = {"perplexity": {"model": str(model_file)}}
    values = scores(tree, [*good, *salad, foreign, short])["value"]
    bound = 1.5 * load_ngrams(model_file).facts["quantiles"]["0.999"]
    assert max(values[:30]) < bound < min(values[30:61]) and math.isnan(values[-1])
    chain = build_filters([FilterSettings.model_validate(tree)])
    texts = [*salad, foreign, short]
    found = chain.apply(documents_of(texts), texts)
    assert found.texts == [short] and np.isnan(found.scores["perplexity_value"][0])
    assert pickle.loads(pickle.dumps(chain)).apply(documents_of(texts), texts).dropped == found.dropped


def test_a_bound_of_the_recipe_goes_before_that_of_the_model(model_file):
    good = korean(30, 2)
    values = sorted(scores({"perplexity": {"model": str(model_file)}}, good)["value"])
    tree = {"perplexity": {"model": str(model_file), "max_perplexity": (values[9] + values[10]) / 2}}
    chain = build_filters([FilterSettings.model_validate(tree)])
    assert len(chain.apply(documents_of(good), good).texts) == 10


def test_the_bytes_of_the_model_are_part_of_what_a_corpus_depends_on(model_file, tmp_path):
    def identity(path: Path) -> list[str]:
        return build_filters([FilterSettings.model_validate({"perplexity": {"model": str(path)}})]).identity

    (tmp_path / "copy").write_bytes(model_file.read_bytes())
    save_ngrams(tmp_path / "other", *train_ngrams(korean(400, 3)))
    assert identity(tmp_path / "copy") == identity(model_file) != identity(tmp_path / "other")


def test_what_is_no_model_and_too_few_texts_are_refused(tmp_path):
    tree = {"perplexity": {"model": str(tmp_path / "none")}}
    with pytest.raises(UserError, match=r"there is no model at .*none"):
        scores(tree, ["글"])
    (tmp_path / "none").write_bytes(b"no model at all")
    with pytest.raises(UserError, match="damaged, or no model"):
        scores(tree, ["글"])
    with pytest.raises(UserError, match="2 documents are too few"):
        train_ngrams(["글", "말"])
