"""Rows: every format, the authors' layouts, and one error for every bad row."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from unicodedata import normalize

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import UserError
from leaderboard.rows import read_rows
from leaderboard.suites import TASKS, load_rows
from tests.leaderboard.invented import nine_rows, write


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    rows = nine_rows()["ko_winogrande"]
    for row in rows:
        row["answer"] = str(row["answer"])
    write(tmp_path / "a" / "ko_winogrande.jsonl", rows)
    for name in "bcde":
        (tmp_path / name).mkdir()
    (tmp_path / "b/ko_winogrande.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    (tmp_path / "c/ko_winogrande.json").write_text(json.dumps({"data": rows}), encoding="utf-8-sig")
    with (tmp_path / "d/ko_winogrande.csv").open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "e/ko_winogrande.parquet")
    by_format = [load_rows("ko_winogrande", tmp_path / name, {}) for name in "abcde"]
    assert all(loaded == by_format[0] for loaded in by_format)
    assert [row["gold"] for row in by_format[0][0]] == [1, 0, 1]
    assert by_format[0][0][0]["contexts"] == ["지우는 민서에게 책을 주었고, 지우", "지우는 민서에게 책을 주었고, 민서"]
    assert by_format[0][0][0]["rest"] == "는 고마워했다."


def test_authors_layouts_are_found_below_the_folder(kit: Path) -> None:
    boolq = load_rows("kobest_boolq", kit, {})[0]
    assert [row["label"] for row in boolq] == [1, 0, 1] and boolq[2]["paragraph"] == '"물"을 마셨다.'
    assert [row["label"] for row in load_rows("kobest_copa", kit, {})[0]] == [0, 1, 1]
    assert load_rows("kobest_hellaswag", kit, {})[0][3] == {
        "context": "3번 학생이 문을 열었다.", "ending_1": "나갔다.", "ending_2": "들어왔다.", "ending_3": "잠들었다.",
        "ending_4": "뛰었다.", "label": 3,
    }  # fmt: skip
    assert [row["label"] for row in load_rows("klue_sts", kit, {})[0]] == [1, 0, 0, 1, 0]
    assert [row["label"] for row in load_rows("klue_ynat", kit, {})[0]] == [0, 1, 2, 2, 3, 4, 5, 6]


def test_hub_columns(tmp_path: Path) -> None:
    write(tmp_path / "kobest_boolq.jsonl", [{"paragraph": "가", "question": "나?", "label": 1}])
    write(tmp_path / "klue_ynat.jsonl", [{"title": "가", "label": 3}])
    copa = {"premise": "가", "question": "원인", "alternative_1": "나", "alternative_2": "다", "label": 1}
    write(tmp_path / "kobest_copa.jsonl", [copa])
    assert load_rows("kobest_boolq", tmp_path, {})[0][0]["label"] == 1
    assert load_rows("klue_ynat", tmp_path, {})[0][0]["label"] == 3
    assert load_rows("kobest_copa", tmp_path, {})[0] == [copa]


def bad(**changes: object) -> dict:
    return {"question": "물음", "choices": ["가", "나", "다", "라"], "answer": 0, **changes}


REFERENCE = {f"emotion{i}": name for i, name in enumerate("가나다라", 1)} | {
    f"emotion{i}_score": i for i in (1, 2, 3, 4)
}
SHARES = {"question": "물음", "choices": list("가나다라마")}


@pytest.mark.parametrize(
    ("task", "row", "why"),
    [
        ("kornat_common", bad(answer=4), "beyond"),
        ("kornat_common", bad(answer="E"), "beyond"),
        ("kornat_common", bad(answer=1.5), "no whole number"),
        ("kornat_common", bad(choices=["가", "가 ", "다", "라"]), "equal"),
        ("kornat_common", bad(choices="__import__('os')"), "literal"),
        ("kornat_common", bad(question=""), "no text"),
        ("kornat_social", {**SHARES, "shares": [0.2, 0.2, 0.2, 0.2, 0.1]}, "add to 0.9"),
        ("kornat_social", {**SHARES, "shares": [0.2, 0.2, 0.2, 0.4]}, "five"),
        ("kornat_social", {**SHARES, "choices": list("가나다라"), "shares": [0.2] * 5}, "4 choices"),
        ("ko_winogrande", {"sentence": "빈칸 없음", "option1": "가", "option2": "나", "answer": 1}, "blank"),
        ("ko_winogrande", {"sentence": "_은 왔다", "option1": "가", "option2": "나", "answer": 3}, "beyond"),
        ("ko_winogrande", {"sentence": "_은 왔다", "option1": "가", "option2": "가", "answer": 1}, "equal"),
        ("ko_gsm8k", {"question": "몇?", "answer": "둘"}, "####"),
        ("ko_gsm8k", {"question": "몇?", "answer": "#### 둘"}, "####"),
        (
            "ko_eqbench",
            {"prompt": "가", "reference_answer_fullscale": {**REFERENCE, "emotion2_score": "많이"}},
            "no number",
        ),
        ("ko_eqbench", {"prompt": "가", "reference_answer_fullscale": {**REFERENCE, "emotion2": "가"}}, "equal"),
        ("ko_ifeval", {"prompt": "가", "instruction_id_list": ["punctuation:no_coma"], "kwargs": [{}]}, "no_comma"),
        ("ko_ifeval", {"prompt": "가", "instruction_id_list": ["punctuation:no_comma"], "kwargs": []}, "arguments"),
        ("kobest_boolq", {"paragraph": "가", "question": "나", "label": "maybe"}, "unknown label"),
        ("kobest_boolq", {"paragraph": 1, "question": "True", "label": "나"}, "no text"),
        ("klue_ynat", {"title": "가", "label": "연예"}, "unknown label"),
        ("klue_sts", {"sentence1": "가", "sentence2": "나", "label": 1}, "binary-label"),
    ],
)
def test_one_bad_row_is_an_error(task: str, row: dict, why: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"{task}.jsonl", [row])
    with pytest.raises(UserError) as error:
        load_rows(task, tmp_path, {})
    assert why in str(error.value) and f"{path}, row 1" in str(error.value)


def test_damaged_files(tmp_path: Path) -> None:
    for name, content, why in (
        ("cut.jsonl", b'{"a": 1}\n{"a": ', "line 2"),
        ("cut.json", b'[{"a": 1}', "cannot read"),
        ("cut.csv", b'a,b\n"1,2', "cannot read"),
        ("ragged.tsv", b"a\tb\n1\n", "1 columns"),
        ("latin.jsonl", "가".encode("cp949"), "line 1: not UTF-8"),
        ("broken.parquet", b"PAR1", "cannot read"),
        ("empty.jsonl", b"\n", "no rows"),
        ("lists.json", b"[[1]]", "no rows"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=why):
            read_rows(tmp_path / name)
    with pytest.raises(UserError, match="cannot read"):
        read_rows(tmp_path / "none.jsonl")


def test_no_rows_says_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        load_rows("kobest_copa", tmp_path, {})
    assert "kobest_copa.{jsonl,json,csv,parquet}, COPA/test.tsv" in str(error.value)
    with pytest.raises(UserError):
        load_rows("kobest_copa", None, {})


def test_two_files_for_a_task_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "ko_gsm8k.jsonl", nine_rows()["ko_gsm8k"])
    (tmp_path / "ko_gsm8k.csv").write_text("question,answer\n", encoding="utf-8")
    with pytest.raises(UserError, match="both"):
        load_rows("ko_gsm8k", tmp_path, {})


def test_shots_are_never_test_rows(tmp_path: Path) -> None:
    rows = nine_rows()["ko_gsm8k"]
    write(tmp_path / "ko_gsm8k.jsonl", rows)
    assert load_rows("ko_gsm8k", tmp_path, {})[1] == []
    write(tmp_path / "ko_gsm8k.fewshot.jsonl", [{"question": "하나 더하기 하나?", "answer": "#### 2"}])
    assert [shot["gold"] for shot in load_rows("ko_gsm8k", tmp_path, {})[1]] == ["2"]
    for spelled in (str, lambda text: normalize("NFD", text).removesuffix("?"), lambda text: text.replace(" ", "　")):
        shot = rows[0] | {"question": spelled(rows[0]["question"])}
        write(tmp_path / "ko_gsm8k.fewshot.jsonl", [shot])
        with pytest.raises(UserError, match="never test rows"):
            load_rows("ko_gsm8k", tmp_path, {})


def test_python_literals_and_json_are_the_same(tmp_path: Path) -> None:
    choices = ["가", "나", "다", "라"]
    for form in (choices, str(choices), json.dumps(choices, ensure_ascii=False)):
        write(tmp_path / "kornat_common.jsonl", [bad(choices=form, answer="C")])
        row = load_rows("kornat_common", tmp_path, {})[0][0]
        assert row == {"prompt": "물음: 물음\n답:", "choices": choices, "gold": 2}
    listed = load_rows("kornat_common", tmp_path, {"listed": ["kornat_common"]})[0][0]
    assert listed["prompt"] == "물음: 물음\nA. 가\nB. 나\nC. 다\nD. 라\n답:" and listed["choices"] == list("ABCD")


def test_numbers_of_worked_answers(tmp_path: Path) -> None:
    for answer, gold in (("#### 1,234", "1234"), ("셋.\n#### 3원", "3"), ("#### -2.", "-2"), ("#### 0.5", "0.5")):
        write(tmp_path / "ko_gsm8k.jsonl", [{"question": "몇?", "answer": answer}])
        assert load_rows("ko_gsm8k", tmp_path, {})[0][0]["gold"] == gold


def test_every_task_file_has_its_task() -> None:
    from leaderboard.suites import SUITES, tasks_folder
    from leaderboard.tasks import lm_eval_spec

    files = {path.stem for path in tasks_folder().glob("*.yaml")}
    specs = {name: lm_eval_spec(task) for name, task in TASKS.items()}
    assert {spec for spec in specs.values() if isinstance(spec, str)} <= files
    kobest = {name: spec["task"] for name, spec in specs.items() if not isinstance(spec, str)}
    assert {*kobest} == {name for name in SUITES["kit19"] if name.startswith("kobest")}
    assert all([child["task"] for child in children] == [name] for name, children in kobest.items())
    assert len(SUITES["leaderboard2"]) == 9 and len(SUITES["kit19"]) == 6
