import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from klue.metrics.dependencies import (
    OTHERS_FROM,
    Parse,
    las_macro_f1,
    las_macro_f1_without_pad,
    las_micro_f1,
    uas_macro_f1,
    uas_micro_f1,
)

# 15 labels of their own and three of OTHERS
LABELS = tuple(f"L{place}" for place in range(OTHERS_FROM + 3))


def las_metrics(gold, found):
    return [metric(gold, found, LABELS) for metric in (las_macro_f1, las_macro_f1_without_pad, las_micro_f1)]


def parses():
    word = st.tuples(st.integers(0, 4), st.integers(0, 4), *[st.sampled_from(LABELS[11:])] * 2)
    return st.lists(st.lists(word, min_size=1, max_size=8), min_size=1, max_size=4)


def sides(sentences):
    gold, found = [], []
    for words in sentences:
        gold_heads, found_heads, gold_labels, found_labels = zip(*words, strict=True)
        gold.append(Parse(gold_heads, gold_labels))
        found.append(Parse(found_heads, found_labels))
    return gold, found


def test_uas_by_hand():
    gold = [Parse([2, 0], ["L0", "L1"]), Parse([2, 3, 0], ["L0", "L0", "L1"])]
    found = [Parse([2, 0], ["L0", "L1"]), Parse([3, 3, 0], ["L0", "L0", "L1"])]
    # heads 0: 1; 2: 2·1/(2+1); 3: 2·1/(1+2)
    assert uas_macro_f1(gold, found) == pytest.approx(100 * (1 + 2 / 3 + 2 / 3) / 3)
    assert uas_micro_f1(gold, found) == pytest.approx(80.0)


def test_a_head_that_is_never_gold_costs_a_class():
    gold = [Parse([2, 0], ["L0", "L1"])] * 2
    found = [gold[0], Parse([2, 1], ["L0", "L1"])]
    # 2: 1; 0: 2·1/(2+1); 1 is predicted only: 0
    assert uas_macro_f1(gold, found) == pytest.approx(100 * (1 + 2 / 3 + 0) / 3)


def test_las_by_hand():
    gold = [Parse([2, 3, 4, 0], ["L0", "L0", "L15", "L1"])]
    # wrong head; wrong label; another label of OTHERS, which is right; right
    found = [Parse([3, 3, 4, 0], ["L0", "L1", "L17", "L1"])]
    # L0: 0 of 2; L1: 2·1/(1+2); OTHERS: 1; the class of the wrong head: 0
    assert las_macro_f1(gold, found, LABELS) == pytest.approx(100 * (0 + 2 / 3 + 1 + 0) / 4)
    assert las_macro_f1_without_pad(gold, found, LABELS) == pytest.approx(100 * (0 + 2 / 3 + 1) / 3)
    assert las_micro_f1(gold, found, LABELS) == 50.0


def test_one_wrong_head_of_22496_gives_94_1168():
    # the size of the dev set, with 3,415 words of the class of the wrong one (NP_AJT there)
    kinds = ["L1"] * 3415 + [LABELS[n % len(LABELS)] for n in range(22496 - 3415) if n % len(LABELS) != 1]
    kinds += ["L0"] * (22496 - len(kinds))
    gold = [Parse([0], [kind]) for kind in kinds]
    found = [Parse([2], ["L1"]), *gold[1:]]
    assert las_metrics(gold, gold) == [100.0, 100.0, 100.0]
    # 15 classes 1, L1 with one miss 2·3414/(3415+3414), and the class of the wrong head 0
    macro, without_pad, micro = las_metrics(gold, found)
    assert macro == pytest.approx(100 * (15 + 2 * 3414 / 6829) / 17)
    assert f"{macro:.4f}" == "94.1168"
    assert without_pad == pytest.approx(100 * (15 + 2 * 3414 / 6829) / 16)
    assert micro == pytest.approx(100 * 22495 / 22496)


@settings(deadline=None)
@given(parses())
def test_uas_and_las_equal_sklearn(sentences):
    gold, found = sides(sentences)
    words = [word for words in sentences for word in words]
    gold_heads, found_heads, gold_labels, found_labels = zip(*words, strict=True)
    expected = f1_score(gold_heads, found_heads, average="macro", zero_division=0)
    assert uas_macro_f1(gold, found) == pytest.approx(100 * expected, abs=1e-9)
    expected = f1_score(gold_heads, found_heads, average="micro")
    assert uas_micro_f1(gold, found) == pytest.approx(100 * expected, abs=1e-9)

    gold_classes = [min(LABELS.index(label), OTHERS_FROM) for label in gold_labels]
    found_classes = [
        min(LABELS.index(label), OTHERS_FROM) if g == p else -1
        for g, p, label in zip(gold_heads, found_heads, found_labels, strict=True)
    ]
    macro, without_pad, micro = las_metrics(gold, found)
    expected = f1_score(gold_classes, found_classes, average="macro", zero_division=0)
    assert macro == pytest.approx(100 * expected, abs=1e-9)
    real = sorted({*gold_classes, *found_classes} - {-1})
    expected = f1_score(gold_classes, found_classes, labels=real, average="macro", zero_division=0)
    assert without_pad == pytest.approx(100 * expected, abs=1e-9)
    expected = f1_score(gold_classes, found_classes, average="micro")
    assert micro == pytest.approx(100 * expected, abs=1e-9)


@pytest.mark.parametrize("metric", [uas_macro_f1, uas_micro_f1, lambda g, p: las_metrics(g, p)])
def test_wrong_input(metric):
    one = Parse([0], ["L0"])
    with pytest.raises(ValueError, match="one prediction an example"):
        metric([one], [])
    with pytest.raises(ValueError, match="example 1: 1 gold values and 2 predicted"):
        metric([one, one], [one, Parse([2, 0], ["L0", "L0"])])
    with pytest.raises(ValueError, match="no examples"):
        metric([], [])
    with pytest.raises(ValueError, match="no words"):
        metric([Parse([], [])], [Parse([], [])])


def test_wrong_labels():
    one = Parse([0], ["L0"])
    for metric in (las_macro_f1, las_macro_f1_without_pad, las_micro_f1):
        with pytest.raises(ValueError, match="'X' is not one of the labels"):
            metric([one], [Parse([0], ["X"])], LABELS)
        with pytest.raises(ValueError, match="1 heads and 2 labels"):
            metric([one], [Parse([0], ["L0", "L0"])], LABELS)
