import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc, f1_score, precision_recall_curve

from klue.metrics.relations import NO_RELATION, auprc, micro_f1
from tests.klue.once import once

LABELS = (NO_RELATION, "per:title", "org:members", "per:origin")
labels = st.sampled_from(LABELS)


def sklearn_auprc(gold, probabilities):
    areas = []
    for column, label in enumerate(LABELS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            precision, recall, _ = precision_recall_curve([g == label for g in gold], probabilities[:, column])
        areas.append(auc(recall, precision))
    return 100 * np.mean(areas)


def test_micro_f1_by_hand():
    gold = [NO_RELATION, "per:title", "per:title", "per:origin", NO_RELATION]
    found = [NO_RELATION, "per:title", NO_RELATION, "per:title", "per:title"]
    # 1 right of 3 in gold and 3 predicted; the right no_relation counts nowhere
    assert once(micro_f1)(gold, found, LABELS) == pytest.approx(100 * 2 / 6)
    assert once(micro_f1)([NO_RELATION], [NO_RELATION], LABELS) == 0.0


@settings(max_examples=40)
@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=40))
def test_micro_f1_equals_sklearn(pairs):
    gold, found = zip(*pairs, strict=True)
    expected = f1_score(gold, found, labels=LABELS[1:], average="micro", zero_division=0)
    assert once(micro_f1)(gold, found, LABELS) == pytest.approx(100 * expected, abs=1e-9)


@settings(max_examples=40)
@given(
    st.lists(labels, min_size=1, max_size=40).flatmap(
        lambda gold: st.tuples(
            st.just(gold),
            st.lists(
                # few values, so that there are ties
                st.lists(st.integers(0, 6).map(lambda n: n / 6), min_size=len(LABELS), max_size=len(LABELS)),
                min_size=len(gold),
                max_size=len(gold),
            ),
        )
    )
)
def test_auprc_equals_sklearn(case):
    gold, probabilities = case[0], np.array(case[1])
    assert once(auprc)(gold, probabilities, LABELS) == pytest.approx(sklearn_auprc(gold, probabilities), abs=1e-9)


def test_wrong_input():
    with pytest.raises(ValueError, match=r"shape \(1, 1\) for 1 examples and 2 labels"):
        auprc(["a"], [[1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="not finite"):
        auprc(["a"], [[float("nan")]], ["a"])
    with pytest.raises(ValueError, match="'c' is not one of the labels"):
        auprc(["c"], [[1.0]], ["a"])
    for gold, found in ((["c"], ["a"]), (["a"], ["c"])):
        with pytest.raises(ValueError, match="'c' is not one of the labels"):
            micro_f1(gold, found, ["a", "b"])
