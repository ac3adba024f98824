import json

import pytest

from common.errors import UserError
from klue.score_file import score


@pytest.fixture
def gold(tmp_path):
    path = tmp_path / "ynat-v1.1_dev.json"
    labels = ["정치", "정치", "경제", "사회"]
    path.write_text(json.dumps([{"guid": f"g{i}", "title": f"제목 {i}", "label": k} for i, k in enumerate(labels)]))
    return path


def write(tmp_path, *pairs):
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps({"guid": g, "prediction": p}) + "\n" for g, p in pairs))
    return path


def test_any_order(gold, tmp_path):
    found = score("ynat", gold, write(tmp_path, ("g3", "세계"), ("g2", "경제"), ("g0", "정치"), ("g1", "경제")))
    assert found == {"macro_f1": pytest.approx(100 * (2 / 3 + 2 / 3) / 4), "examples": 4}


def test_missing_guid_is_named_and_subset_allows_it(gold, tmp_path):
    path = write(tmp_path, ("g0", "정치"), ("g2", "경제"))
    with pytest.raises(UserError, match=r"no prediction for g1 \(2 of 4"):
        score("ynat", gold, path)
    assert score("ynat", gold, path, subset=True) == {"macro_f1": 100.0, "examples": 2}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("g0", "정치"), ("other", "정치")], r"line 2: guid 'other' is not in the gold file"),
        ([("g0", "정치"), ("g0", "정치")], r"line 2: guid 'g0' is repeated"),
        ([("g0", "날씨")], r"line 1 \(g0\): '날씨' is not a label of ynat"),
        ([("g0", ["정치"])], r"line 1 \(g0\)"),
        ([], "no prediction for g0"),
    ],
)
def test_wrong_predictions_are_named(gold, tmp_path, pairs, message):
    with pytest.raises(UserError, match=message):
        score("ynat", gold, write(tmp_path, *pairs))


def test_a_line_that_is_no_prediction(gold, tmp_path):
    path = tmp_path / "predictions.jsonl"
    for text, why in (("정치\n", ": not JSON"), ('{"guid": "g0"}\n', " is not a"), ("[1]\n", " is not a prediction")):
        path.write_text(text)
        with pytest.raises(UserError, match=f"line 1{why}"):
            score("ynat", gold, path)


def test_empty_subset(gold, tmp_path):
    with pytest.raises(UserError, match="holds no predictions"):
        score("ynat", gold, write(tmp_path), subset=True)


def test_similarity_and_undefined_correlation(tmp_path):
    gold = tmp_path / "klue-sts-v1.1_dev.json"
    records = [
        {"guid": f"s{i}", "sentence1": "가", "sentence2": "나", "labels": {"real-label": r}}
        for i, r in enumerate([1, 3, 5])
    ]
    gold.write_text(json.dumps(records))
    found = score("klue-sts", gold, write(tmp_path, ("s0", 0.5), ("s1", 3), ("s2", 6.5)))
    assert found["f1"] == 100.0 and found["pearsonr"] == pytest.approx(100 * 12 / (8 * 109 / 6) ** 0.5)
    assert score("klue-sts", gold, write(tmp_path, ("s0", 1), ("s1", 1), ("s2", 1)))["pearsonr"] is None
    for wrong in ("3", True, None):
        with pytest.raises(UserError, match="not a finite number"):
            score("klue-sts", gold, write(tmp_path, ("s0", wrong)))


def test_tasks_that_cannot_be_scored(gold, tmp_path):
    with pytest.raises(UserError, match=r"not a file of klue-ner: line 1 has 1 columns where a sentence's row has 2"):
        score("klue-ner", gold, gold)
    with pytest.raises(UserError, match="did you mean 'ynat'"):
        score("ynatt", gold, gold)


def test_intervals_lie_round_the_score(tmp_path):
    gold = tmp_path / "ynat-v1.1_dev.json"
    records = [{"guid": f"y{i}", "title": str(i), "label": "경제"} for i in range(200)]
    gold.write_text(json.dumps(records), encoding="utf-8")
    labels = ["경제" if i % 4 else "정치" for i in range(200)]
    found = score("ynat", gold, write(tmp_path, *((f"y{i}", label) for i, label in enumerate(labels))), interval=True)
    low, high = found["macro_f1_interval"]
    assert low < found["macro_f1"] < high < low + 15


def test_heads_beyond_the_last_word_count_as_wrong_and_are_told_of(tmp_path, capfd):
    """As in the authors' metric: the number is a class that gold never has, and the word's label is PAD's."""
    gold = tmp_path / "klue-dp-v1.1_dev.tsv"
    rows = "1\t나는\t나 는\tNP+JX\t2\tNP_SBJ\n2\t간다\t가 다\tVV+EF\t0\tVP\n"
    gold.write_text(f"## a\t나는 간다\n{rows}\n## b\t나는 간다\n{rows}", encoding="utf-8")
    right, beyond = ({"heads": [head, 0], "labels": ["NP_SBJ", "VP"]} for head in (2, 3))
    found = score("klue-dp", gold, write(tmp_path, ("a", right), ("b", beyond)))
    # heads 2, 0, 3, 0 for 2, 0, 2, 0: classes 2, 0, 3; labels NP_SBJ, VP, PAD, VP for NP_SBJ, VP, NP_SBJ, VP
    assert found["uas_macro_f1"] == pytest.approx(100 * (2 / 3 + 1 + 0) / 3)
    assert found["las_macro_f1"] == pytest.approx(100 * (2 / 3 + 1 + 0) / 3)
    assert found["uas_micro_f1"] == found["las_micro_f1"] == 75
    said = " ".join(capfd.readouterr().err.split())
    assert "1 heads beyond the last word, in 1 of 2 examples: they count as wrong" in said
    score("klue-dp", gold, write(tmp_path, ("a", right), ("b", right)))
    assert "beyond" not in capfd.readouterr().err
