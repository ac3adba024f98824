"""Rows: read by shape, refused with one clear error, held against what is scored."""

from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tiny_encoders import pairs, write_lines

from common.errors import UserError
from embed.card import facts_of, write_card
from embed.data import load_sets, positives_of, refuse_small_sets, write_rows
from embed.sets import Leaks, training_rows
from embed.settings import EmbedSettings

PAIR = {"query": "서울", "positive": "수도"}
SCORED = {"text_a": "가", "text_b": "나", "score": 0.5}


def settings(data: list[dict[str, Any]], **changes: Any) -> EmbedSettings:
    return EmbedSettings(data=data, batch=changes.pop("batch", 2), **changes)


BAD = [
    ({**PAIR, "positve": "x"}, "unknown field 'positve'.*did you mean 'positive'"),
    ({"query": "서울"}, "positive: Field required"),
    ({"query": "서울", "positive": "  "}, "positive: the text is empty"),
    ({"query": "서울", "positive": "서울"}, "query and positive are the same"),
    ({**PAIR, "negatives": ["수도"]}, "a negative is the query, the positive or another"),
    ({**PAIR, "negatives": "부산"}, "negatives: Input should be a valid list"),
    ({**PAIR, "negatives": [3]}, "negatives.0: Input should be a valid string"),
    ({**PAIR, "negatives": ["부산"], "scores": [1.0]}, "1 scores for 2 candidates"),
    ({**PAIR, "scores": [1.0]}, "scores without negatives"),
    ({**PAIR, "negatives": ["부산"], "scores": [1.0, None]}, "scores.1: Input should be a valid number"),
    ({**PAIR, "negatives": ["부산"], "scores": [1.0, -3.5]}, "a teacher's score -3.5 is outside -1 to 1"),
    ({**SCORED, "score": 1.5}, "score 1.5 is outside 0 to 1"),
    ({**SCORED, "score": "high"}, "score: Input should be a valid number"),
    ({**SCORED, "text_b": ""}, "text_b: the text is empty"),
    ([1, 2], "is no object"),
]


@pytest.mark.parametrize(("row", "message"), BAD, ids=[message[:20] for _, message in BAD])
def test_a_bad_row_is_one_clear_error(row: Any, message: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [SCORED if "text_a" in row else PAIR, row])
    with pytest.raises(UserError, match=f"rows.jsonl, line 2: .*{message}"):
        load_sets(settings([{"path": str(path)}]))


FILES = [
    ([PAIR, {"query": "부산", "positive": "항구", "negatives": ["산"]}],
     "line 2: the row is ranking with 3 texts, the rows before it are ranking with 2"),
    ([PAIR, SCORED], "line 2: the row is scored with 2 texts"),
    ([{**PAIR, "negatives": ["한양"]}, {"query": "서울", "positive": "한양", "negatives": ["부산"]}],
     "a negative of '서울' is a positive of it in another row"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "message"), FILES, ids=range(len(FILES)))
def test_a_bad_file_is_one_clear_error(rows: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        load_sets(settings([{"path": str(write_lines(tmp_path / "rows.jsonl", rows))}]))


def test_a_set_smaller_than_a_batch_is_no_error_until_it_is_trained(tmp_path: Path) -> None:
    sets = load_sets(settings([{"path": str(write_lines(tmp_path / "rows.jsonl", [PAIR]))}], batch=64))
    refuse_small_sets(sets, 1)
    with pytest.raises(UserError, match=r"0-rows has 1 rows, embed.batch is 2"):
        refuse_small_sets(sets, 2)
    with pytest.raises(UserError, match="0-rows has no rows"):
        load_sets(settings([{"path": str(write_lines(tmp_path / "rows.jsonl", []))}]))


def test_files_that_are_not_there_or_not_json(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none.jsonl is missing"):
        load_sets(settings([{"path": str(tmp_path / "none.jsonl")}]))
    (tmp_path / "cut.jsonl").write_text('{"query": "서', encoding="utf-8")
    with pytest.raises(UserError, match=r"cut.jsonl, line 1: not JSON"):
        load_sets(settings([{"path": str(tmp_path / "cut.jsonl")}]))


def test_prompts_are_one_of_queries_and_one_of_documents(rows: dict[str, Any]) -> None:
    asked = {"prompts": {"query": "질문: "}}
    with pytest.raises(UserError, match="the data sets have different prompts"):
        load_sets(settings([{**rows["pairs"], **asked}, rows["triplets"]]))
    with pytest.raises(UserError, match="has prompts, and its pairs are scored without"):
        load_sets(settings([{**rows["scored"], **asked}]))
    assert load_sets(settings([{**rows["pairs"], **asked}, rows["scored"]]))


def test_plain_and_compressed_files_hold_the_same_rows(tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "a.jsonl", [{**row, "scores": None} for row in pairs(5)])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes() + b"\n"))
    (tmp_path / "c.jsonl.zst").write_bytes(zstandard.compress(plain.read_bytes()))
    paths = [{"path": str(path)} for path in sorted(tmp_path.iterdir())]
    sets = load_sets(settings(paths))
    assert [one.name for one in sets] == ["0-a", "1-b", "2-c"]
    (mined,) = load_sets(settings([{"path": str(plain.rename(tmp_path / "3-0-a.jsonl"))}]))
    assert mined.name == "0-a"  # one number, however often its rows were mined or taught
    expected = [(row["query"], row["positive"], *row["negatives"]) for row in pairs(5)]
    assert all(one.texts == expected and one.shape == "ranking" and not one.labels for one in sets)
    assert positives_of(sets) == {row["query"].replace(" ", ""): {row["positive"].replace(" ", "")} for row in pairs(5)}


def test_scores_are_brought_to_one_range(tmp_path: Path) -> None:
    rows = [{**SCORED, "score": score} for score in (1, 2, 5)]
    (one,) = load_sets(settings([{"path": str(write_lines(tmp_path / "a.jsonl", rows)), "range": [1, 5]}]))
    assert (one.shape, one.labels) == ("scored", [0.0, 0.25, 1.0])


def klue(folder: Path) -> Path:
    """KLUE-STS with two dev pairs; KLUE-NLI whose first premise has two entailed and one contradicting hypothesis."""

    def sts(number: int, first: str, second: str) -> dict[str, Any]:
        return {"guid": f"s{number}", "sentence1": first, "sentence2": second,
                "labels": {"label": 3.0 + number, "real-label": 2.96 + number, "binary-label": number}}  # fmt: skip

    def nli(number: int, premise: str, hypothesis: str, label: str) -> dict[str, Any]:
        return {"guid": f"n{number}", "premise": premise, "hypothesis": hypothesis, "gold_label": label}

    files = {
        "klue-sts-v1.1/klue-sts-v1.1_dev.json": [sts(0, "비가 온다.", "비가  내린다."), sts(1, "밥을 먹자.", "자자.")],
        "klue-nli-v1.1/klue-nli-v1.1_train.json": [
            nli(0, "눈이 온다.", "날이 춥다.", "entailment"), nli(1, "눈이 온다.", "눈이 안 온다.", "contradiction"),
            nli(2, "눈이 온다.", "눈이다.", "entailment"), nli(3, "눈이 온다.", "밤이다.", "neutral"),
            nli(4, "책이다.", "책이 아니다.", "contradiction"),
        ],
    }  # fmt: skip
    for name, rows in files.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return folder


def test_rows_that_hold_a_scored_pair_are_removed(tmp_path: Path) -> None:
    source = klue(tmp_path / "klue")
    rows = [
        {"query": "비가 내린다.", "positive": "다른 글.", "negatives": ["비가 온다. "]},  # both texts
        {"query": "밥을 먹자.", "positive": "식사하자.", "negatives": ["비가 온다."]},  # one text of each of two pairs
        {"query": "꽃이 핀다.", "positive": "봄이다.", "negatives": ["겨울이다."]},
    ]  # fmt: skip
    path = write_lines(tmp_path / "rows.jsonl", rows)
    (one,) = load_sets(settings([{"path": str(path)}], sources=[str(tmp_path)], score=["KLUE-STS"]))
    assert [row[0] for row in one.texts] == ["밥을 먹자.", "꽃이 핀다."]
    assert one.counts == {"read": 3, "removed as a scored pair": 1, "with one scored text (not removed)": 1}
    assert positives_of([one])["비가내린다"] == {"다른글"}  # a removed row's stays known
    leaks = Leaks(["KLUE-STS"], [source])
    assert [leaks.of(texts) for texts in (["비가 온다.", "비가 내린다."], ["자자."], ["봄이다."])] == [
        "pair",
        "text",
        "",
    ]


@pytest.mark.parametrize(
    "spelled", ["비가 내린다", "비가내린다.", "비가 내린다．", unicodedata.normalize("NFD", "비가 내린다!")]
)
def test_a_scored_pair_is_removed_however_it_is_spelled(spelled: str, tmp_path: Path) -> None:
    klue(tmp_path / "klue")
    rows = [{"query": "비가　온다", "positive": spelled}, {"query": "꽃이 핀다.", "positive": "봄이다."}]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    (one,) = load_sets(settings([{"path": str(path)}], sources=[str(tmp_path)], score=["KLUE-STS"]))
    assert one.texts == [("꽃이 핀다.", "봄이다.")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("물음", "답", "답 ")], "a negative is the query"),
        ([("물음", "답 １", "답1")], "a negative is the query"),
        ([("물음", "답", unicodedata.normalize("NFD", "물음?"))], "a negative is the query"),
        ([("물음", "답", "가"), ("물음 ", "나", "답.")], "is a positive of it in another row"),
    ],
)
def test_a_negative_that_is_right_in_another_spelling_is_refused(rows: Any, message: str, tmp_path: Path) -> None:
    lines = [{"query": query, "positive": positive, "negatives": [negative]} for query, positive, negative in rows]
    with pytest.raises(UserError, match=message):
        load_sets(settings([{"path": str(write_lines(tmp_path / "rows.jsonl", lines))}]))


def test_a_premise_with_what_it_entails_and_what_contradicts_it(tmp_path: Path) -> None:
    assert training_rows("klue-nli", [klue(tmp_path)]) == [
        {"query": "눈이 온다.", "positive": "날이 춥다.", "negatives": ["눈이 안 온다."]}
    ]
    with pytest.raises(UserError, match=r"no train file of KLUE-STS in .*\n.*\n.*embed.sources"):
        training_rows("klue-sts", [tmp_path])


def test_rows_that_are_mined_or_taught_name_the_set_they_come_from(tmp_path: Path) -> None:
    (one,) = load_sets(settings([{"use": "klue-nli"}], sources=[str(klue(tmp_path / "klue"))]))
    for folder in (tmp_path / "mined", tmp_path / "taught"):
        write_rows(folder, one, [{"query": "눈이 온다.", "positive": "날이 춥다.", "negatives": ["덥다."]}])
        given = settings([{"path": str(folder / f"{one.name}.jsonl")}])
        (one,) = load_sets(given)
    facts = facts_of(given, tmp_path, [one])
    assert [(told["set"], told["origins"]) for told in facts["trained_on"]] == [("0-klue-nli.jsonl", ["klue-nli"])]
    assert "| 0-klue-nli.jsonl, klue-nli | train | 1 |" in write_card(facts, "x")


def test_question_pairs_with_label_0_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "question_pair").mkdir()
    lines = [
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
        "1\t1\t2\t몇 시?\t시간이?\t0",
        "2\t3\t4\t뭐?\t왜?\t1",
    ]
    (tmp_path / "question_pair" / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert training_rows("question_pair", [tmp_path]) == [{"query": "몇 시?", "positive": "시간이?"}]


def test_questions_without_an_answer_are_out(tmp_path: Path) -> None:
    asked = [
        {"guid": "a", "question": "수도는?", "answers": [{"text": "서울", "answer_start": 0}], "is_impossible": False},
        {"guid": "b", "question": "인구는?", "answers": [], "is_impossible": True},
    ]
    tree = {"data": [{"title": "한국", "paragraphs": [{"context": "서울은 수도다.", "qas": asked}]}]}
    path = tmp_path / "klue-mrc-v1.1" / "klue-mrc-v1.1_train.json"
    path.parent.mkdir()
    path.write_text(json.dumps(tree, ensure_ascii=False), encoding="utf-8")
    assert training_rows("klue-mrc", [tmp_path]) == [{"query": "수도는?", "positive": "서울은 수도다."}]


@pytest.mark.slow
def test_the_authors_sets(shared: list[str]) -> None:
    """Triplets of KLUE-NLI by the specification; three pairs of KorSTS are test pairs, one but for a full stop."""
    given = [{"use": "klue-nli"}, {"use": "korsts"}, {"use": "klue-sts"}]
    nli, korsts, sts = load_sets(settings(given, sources=shared, score=["KorSTS", "KLUE-STS", "KLUE-NLI"]))
    assert (len(nli.texts), len(korsts.texts), len(sts.texts)) == (8049, 5746, 11_668)
    assert korsts.counts["removed as a scored pair"] == 3 and not sts.counts["removed as a scored pair"]
