import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from klue.metrics.dependencies import weighted_dependency_scores
from klue.metrics.entities import weighted_entity_scores
from klue.metrics.reading import exact_match, rouge_w, weighted_korquad_scores
from klue.metrics.relations import auprc, micro_f1
from klue.metrics.sentence import accuracy, macro_f1, pearsonr, similarity_f1, spearmanr
from klue.metrics.sets import weighted_state_scores

LABELS = ("정치", "경제", "사회", "세계")
pairs = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=60)
ratings = st.floats(-1, 6, allow_nan=False)


@settings(max_examples=40)
@given(pairs)
def test_macro_f1_and_accuracy_equal_sklearn(items):
    gold, found = zip(*items, strict=True)
    assert macro_f1(gold, found) == pytest.approx(100 * f1_score(gold, found, average="macro"), abs=1e-9)
    assert accuracy(gold, found) == pytest.approx(100 * accuracy_score(gold, found), abs=1e-9)


@settings(max_examples=40)
@given(st.lists(st.tuples(ratings, ratings), min_size=3, max_size=50))
def test_pearsonr_equals_scipy(items):
    gold, found = zip(*items, strict=True)
    assume(max(gold) - min(gold) > 1e-3 and max(found) - min(found) > 1e-3)
    assert pearsonr(gold, found) == pytest.approx(100 * stats.pearsonr(gold, found)[0], abs=1e-6)


@pytest.mark.parametrize("found", [[0.1, 0.1, 0.1], [5e200, 5e200, 5e200]])
def test_pearsonr_of_a_constant_is_undefined(found):
    assert math.isnan(pearsonr([1.0, 2.0, 3.0], found))


def test_similarity_f1_by_hand_and_in_double_precision():
    # 2.9999999999 is below 3.0 in double precision, not in single
    assert similarity_f1([3.0, 4.2, 1.0, 2.9999999999], [3.0, 2.9999999999, 5.0, 0.0]) == pytest.approx(50.0)
    assert similarity_f1([1.0, 2.0], [0.0, 2.9]) == 0.0


@settings(max_examples=40)
@given(st.lists(st.tuples(ratings, ratings), min_size=1, max_size=50))
def test_similarity_f1_equals_sklearn(items):
    gold, found = zip(*items, strict=True)
    expected = f1_score([g >= 3.0 for g in gold], [p >= 3.0 for p in found], zero_division=0)
    assert similarity_f1(gold, found) == pytest.approx(100 * expected, abs=1e-9)


METRICS = {
    **dict.fromkeys((accuracy, macro_f1, pearsonr, spearmanr, similarity_f1), (1.0, ())),
    **dict.fromkeys((weighted_entity_scores, weighted_state_scores, weighted_korquad_scores), (["O"], ())),
    **dict.fromkeys((exact_match, rouge_w), (["O"], ())),
    weighted_dependency_scores: ({"heads": [0], "labels": ["VP"]}, (["VP"],)),
    micro_f1: ("a", (["a"],)),
    lambda gold, found, labels: auprc(gold, [[1.0]] * len(found), labels): ("a", (["a"],)),
}
"""Metric → an example of gold, and what else it takes."""


@pytest.mark.parametrize("metric", METRICS)
def test_lengths_must_agree(metric):
    one, rest = METRICS[metric]
    with pytest.raises(ValueError, match="one prediction an example"):
        metric([one], [one, one], *rest)
    with pytest.raises(ValueError, match="no examples"):
        metric([], [], *rest)
