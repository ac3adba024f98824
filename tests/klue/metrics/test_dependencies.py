import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from klue.metrics.dependencies import OTHERS_FROM, weighted_dependency_scores
from tests.klue.once import once

# 15 labels of their own and three of OTHERS
LABELS = tuple(f"L{place}" for place in range(OTHERS_FROM + 3))


def parse(heads, labels):
    return {"heads": list(heads), "labels": labels.split() if isinstance(labels, str) else list(labels)}


def scored(gold, found):
    return once(weighted_dependency_scores)(gold, found, LABELS)


def test_las_by_hand():
    # wrong head; wrong label; another label of OTHERS, which is right; right
    found = scored([parse([2, 3, 4, 0], "L0 L0 L15 L1")], [parse([3, 3, 4, 0], "L0 L1 L17 L1")])
    # L0: 0 of 2; L1: 2·1/(1+2); OTHERS: 1; the class of the wrong head: 0
    assert found["las_macro_f1"] == pytest.approx(100 * (0 + 2 / 3 + 1 + 0) / 4)
    assert found["las_macro_f1_without_pad"] == pytest.approx(100 * (0 + 2 / 3 + 1) / 3)
    assert found["las_micro_f1"] == 50.0


def test_one_wrong_head_of_22496_gives_94_1168():
    # the size of the dev set, with 3,415 words of the class of the wrong one (NP_AJT there)
    kinds = ["L1"] * 3415 + [LABELS[n % len(LABELS)] for n in range(22496 - 3415) if n % len(LABELS) != 1]
    kinds += ["L0"] * (22496 - len(kinds))
    gold = [parse([0], [kind]) for kind in kinds]
    assert set(scored(gold, gold).values()) == {100.0}
    found = scored(gold, [parse([2], "L1"), *gold[1:]])
    # 15 classes 1, L1 with one miss 2·3414/(3415+3414), and the class of the wrong head 0
    assert f"{found['las_macro_f1']:.4f}" == "94.1168"
    assert found["las_macro_f1_without_pad"] == pytest.approx(100 * (15 + 2 * 3414 / 6829) / 16)
    assert found["las_micro_f1"] == pytest.approx(100 * 22495 / 22496)


WORD = st.tuples(st.integers(0, 4), st.integers(0, 4), *[st.sampled_from(LABELS[11:])] * 2)


@settings(max_examples=40)
@given(st.lists(st.lists(WORD, min_size=1, max_size=8), min_size=1, max_size=4))
def test_uas_and_las_equal_sklearn(sentences):
    columns = [list(zip(*words, strict=True)) for words in sentences]
    found = scored([parse(c[0], c[2]) for c in columns], [parse(c[1], c[3]) for c in columns])
    words = [word for words in sentences for word in words]
    heads = [word[0] for word in words], [word[1] for word in words]
    kinds = (
        [min(LABELS.index(word[2]), OTHERS_FROM) for word in words],
        [min(LABELS.index(word[3]), OTHERS_FROM) if word[0] == word[1] else -1 for word in words],
    )
    real = sorted({*kinds[0], *kinds[1]} - {-1})
    wanted = {
        "uas_macro_f1": f1_score(*heads, average="macro", zero_division=0),
        "uas_micro_f1": f1_score(*heads, average="micro"),
        "las_macro_f1": f1_score(*kinds, average="macro", zero_division=0),
        "las_micro_f1": f1_score(*kinds, average="micro"),
        "las_macro_f1_without_pad": f1_score(*kinds, labels=real, average="macro", zero_division=0),
    }
    assert found == pytest.approx({name: 100 * value for name, value in wanted.items()}, abs=1e-9)


def test_wrong_input():
    one, two = parse([0], "L0"), parse([2, 0], "L0 L0")
    for gold, found, message in (
        ([one, one], [one, two], "example 1: 1 gold values and 2 predicted"),
        ([parse([], "")], [parse([], "")], "no words"),
    ):
        with pytest.raises(ValueError, match=message):
            scored(gold, found)
