"""The build: balance, filling, draws, held-out rows, test sentences, extra files, and what it refuses."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.errors import UserError
from data.benchmark import BenchmarkSentence
from data.decontaminate.normalise import exact_key, folded_words
from data.instruct.build import _balanced, build_instructions, instruct_files
from data.instruct.rows import Row, read_rows
from data.instruct.settings import InstructSettings
from data.instruct.show import describe

NOUNS = (
    "바람", "구름", "나무", "바다", "들판", "시장", "학교", "공원", "다리", "골목",
    "극장", "병원", "식당", "역", "섬", "강",
)  # fmt: skip
VERBS = ("조용하다", "넓다", "붐빈다", "아름답다", "멀다", "가깝다", "새롭다", "오래되었다")


def sentence(n: int) -> str:
    return f"{NOUNS[n % 16]} 옆 {NOUNS[n // 16 % 16]} {n}호는 {VERBS[n % 8]}"


PLANTED = "보랏빛 자전거가 언덕 위 천문대까지 혼자 굴러갔다", "할머니께서 옥수수 다섯 자루를 이웃에게 나누어 주셨다"


def nsmc(folder: Path, labels: list[int], first: int = 0, *planted: str) -> None:
    path = folder / "nsmc/ratings_train.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{n}\t{sentence(n + first)}\t{label}\n" for n, label in enumerate(labels)]
    lines += [f"{n}\t{text}\t1\n" for n, text in enumerate(planted)]
    path.write_text("id\tdocument\tlabel\n" + "".join(lines), encoding="utf-8")


def pairs(folder: Path, rows: list[tuple[int, int, int]]) -> None:
    path = folder / "question-pair/train.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{sentence(a)}\t{sentence(b)}\t{label}\n" for a, b, label in rows]
    path.write_text("question1\tquestion2\tis_duplicate\n" + "".join(lines), encoding="utf-8")


def build(folder: Path, out: str = "out", tests: dict[str, list[BenchmarkSentence]] | None = None, **keys: Any) -> Any:
    made = InstructSettings.model_validate({"data": str(folder), "workers": 1, **keys})
    return build_instructions(made, folder / out, tests or {})


def rows(folder: Path, name: str = "out/train.jsonl") -> list[Row]:
    return read_rows(folder / name)


def line_of(counts: dict[str, Any], use: str) -> dict[str, Any]:
    return next(line for line in counts["uses"] if line["use"] == use)


def test_balanced_takes_equal_numbers_as_far_as_it_can() -> None:
    assert _balanced({"a": 10, "b": 10}, 8) == {"a": 4, "b": 4}
    assert _balanced({"a": 10, "b": 2}, 8) == {"a": 6, "b": 2}
    assert _balanced({"a": 1, "b": 2, "c": 9}, 10) == {"a": 1, "b": 2, "c": 7}
    assert _balanced({"a": 1, "b": 2}, 10) == {"a": 1, "b": 2}
    assert sum(_balanced({"a": 9, "b": 9, "c": 9}, 8).values()) == 8
    assert _balanced({}, 5) == {}


def test_labels_are_balanced_and_rows_are_distinct(tmp_path: Path) -> None:
    nsmc(tmp_path, [1] * 90 + [0] * 40)
    counts = build(tmp_path, uses=["nsmc"], per_use=60, held_out=10)
    train, held_out = rows(tmp_path), rows(tmp_path, "out/held_out.jsonl")
    labels = Counter("1" if row.output in ("긍정", "만족", "예", "추천", "호평") else "0" for row in train)
    assert labels == {"1": 30, "0": 30} and len({row.id.rsplit("-", 1)[0] for row in train}) == 60
    assert len(held_out) == 10 and len({row.id for row in train + held_out}) == 70
    assert len({row.template for row in train}) == 5, "templates are drawn"
    line = line_of(counts, "nsmc")
    assert (line["read"], line["distinct"], line["distinct_rows"], line["rows"], line["shortfall"]) == (
        130,
        130,
        60,
        60,
        0,
    )
    assert counts["rows"] == 60 and counts["licences"] == {"CC0-1.0": 60}
    assert json.loads((tmp_path / "out/table.json").read_bytes()) == counts


@pytest.mark.parametrize(
    ("fill", "per_use", "expected"),
    [("templates", 80, (80, 0, 20)), ("none", 100, (20, 80, 20)), ("templates", 300, (100, 200, 20))],
)
def test_filling_repeats_rows_under_other_templates(
    tmp_path: Path, fill: str, per_use: int, expected: tuple[int, ...]
) -> None:
    nsmc(tmp_path, [0, 1] * 10)
    line = line_of(build(tmp_path, uses=["nsmc"], per_use=per_use, held_out=0, fill=fill), "nsmc")
    assert (line["rows"], line["shortfall"], line["distinct_rows"]) == expected
    train = rows(tmp_path)
    assert len({row.id for row in train}) == len(train)
    first = {row.id.rsplit("-", 1)[0] for row in train[:20]}
    assert len(first) == 20, "every row comes once before one comes twice"


def test_the_same_bytes_from_any_number_of_workers_and_other_rows_from_another_seed(tmp_path: Path) -> None:
    nsmc(tmp_path, [0, 1] * 200)
    pairs(tmp_path, [(n, n + 1, n % 2) for n in range(300)])
    settings: dict[str, Any] = {"uses": ["question-pair", "nsmc"], "per_use": 50, "held_out": 5}
    build(tmp_path, "one", **settings)
    build(tmp_path, "two", **{**settings, "workers": 2})
    build(tmp_path, "other", **settings, seed=1)
    names = sorted(str(path.relative_to(tmp_path / "one")) for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert names == ["held_out.jsonl", "rejects/nsmc.jsonl", "rejects/question-pair.jsonl", "table.json", "train.jsonl"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one/train.jsonl").read_bytes() != (tmp_path / "other/train.jsonl").read_bytes()
    subset = {row.id: row for row in rows(tmp_path, "one/train.jsonl") if row.task == "nsmc"}
    build(tmp_path, "alone", **{**settings, "uses": ["nsmc"]})
    alone = {row.id: row for row in rows(tmp_path, "alone/train.jsonl")}
    assert len(subset.keys() & alone.keys()) > 40, "draws of a use do not depend on the other uses"
    assert all(subset[id] == alone[id] for id in subset.keys() & alone.keys())


def texts_of(row: Row) -> set[str]:
    """Return the lines that hold sentences of this file's sets, without labels before them."""
    return {exact_key(f"{text} ") for n in range(600) if (text := sentence(n)) in f"{row.instruction}\n{row.input}"}


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 1)), min_size=8, max_size=60),
    st.integers(0, 25),
    st.integers(0, 9),
)
def test_no_text_of_a_held_out_row_is_trained_on(
    tmp_path: Path, drawn: list[tuple[int, int, int]], first: int, seed: int
) -> None:
    pairs(tmp_path, drawn)
    nsmc(tmp_path, [0, 1] * 20, first)  # shares texts with the pairs
    try:
        build(tmp_path, uses=["question-pair", "nsmc"], per_use=500, held_out=6, seed=seed)
    except UserError as error:
        assert "no row is left" in str(error)
        return
    held_out = rows(tmp_path, "out/held_out.jsonl")
    trained = set().union(*map(texts_of, rows(tmp_path)))
    assert held_out and not trained & set().union(*map(texts_of, held_out))


def test_planted_test_rows_are_found_removed_and_counted(tmp_path: Path) -> None:
    first, second = PLANTED
    nsmc(tmp_path, [0, 1] * 50, 0, first, f"어제 본 이야기: {first}!", second.replace("다섯", "여섯"))
    pairs(tmp_path, [(n, n + 1, n % 2) for n in range(300, 400)])
    tests = {
        "first": [
            BenchmarkSentence("task", "a", first),
            BenchmarkSentence("task", "b", "아무 데도 없는 문장이 여기 있다"),
        ],
        "second": [BenchmarkSentence("task", "c", first), BenchmarkSentence("task", "d", f"{second}.")],
        "none": [],
    }
    counts = build(tmp_path, tests=tests, uses=["nsmc", "question-pair"], per_use=1000, held_out=0)
    assert line_of(counts, "nsmc")["contaminated_by"] == {
        "first": {"embedded": 1, "exact": 1},
        "second": {"bigrams": 1, "embedded": 1, "exact": 1},
    }
    assert line_of(counts, "question-pair")["contaminated_by"] == {"first": {}, "second": {}}
    assert (line_of(counts, "nsmc")["contaminated"], counts["contaminated"]) == (3, 3)
    assert counts["contaminated_by"]["second"] == {"bigrams": 1, "embedded": 1, "exact": 1}
    text = "\n".join(f"{row.instruction}\n{row.input}" for row in rows(tmp_path))
    assert sentence(6) in text and first not in text and "옥수수" not in text
    rejects = [json.loads(line) for line in (tmp_path / "out/rejects/nsmc.jsonl").read_text("utf-8").splitlines()]
    assert {"file": "nsmc/ratings_train.txt", "line": 102, "reason": "test sentence: first, task, a, exact"} in rejects


def test_a_passage_is_cut_into_sentences(tmp_path: Path) -> None:
    (tmp_path / "boolq").mkdir()
    passages = [f"{sentence(n)}. {PLANTED[0] if n == 7 else sentence(50 + n)}. 끝이다 {n}." for n in range(20)]
    lines = [f"{n}\t{passage}\t그런가 {n}?\t{'TRUE' if n % 2 else 'FALSE'}\n" for n, passage in enumerate(passages)]
    (tmp_path / "boolq/train.tsv").write_text("ID\tText\tQuestion\tAnswer\n" + "".join(lines), encoding="utf-8")
    tests = {"suite": [BenchmarkSentence("task", "x", PLANTED[0])]}
    assert build(tmp_path, tests=tests, uses=["boolq"], held_out=0)["contaminated_by"] == {"suite": {"exact": 1}}


def test_equal_rows_count_once(tmp_path: Path) -> None:
    pairs(tmp_path, [(1, 2, 0), (2, 1, 0), (1, 2, 0), (3, 4, 1)])
    line = line_of(build(tmp_path, uses=["question-pair"], held_out=0, fill="none"), "question-pair")
    assert (line["read"], line["distinct"], line["rows"]) == (4, 2, 2)


def test_order_of_a_pair_is_drawn(tmp_path: Path) -> None:
    pairs(tmp_path, [(2 * n, 2 * n + 1, n % 2) for n in range(100)])
    build(tmp_path, uses=["question-pair"], held_out=0, per_use=100)
    places = [[row.instruction + row.input].pop() for row in rows(tmp_path)]
    swapped = sum(
        text.index(sentence(2 * n + 1)) < text.index(sentence(2 * n))
        for text in places for n in range(100) if sentence(2 * n) in text and sentence(2 * n + 1) in text
    )  # fmt: skip
    assert 25 < swapped < 75


def test_the_pool_bounds_what_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.instruct.build.POOL", 30)
    nsmc(tmp_path, [0, 1] * 100)
    line = line_of(build(tmp_path, uses=["nsmc"], per_use=2, fill="none"), "nsmc")
    assert (line["read"], line["distinct"], line["held_out"]) == (200, 200, 15)  # half of the pool


def test_absent_and_closed_sets_are_lines_of_the_table(tmp_path: Path) -> None:
    nsmc(tmp_path, [0, 1] * 5)
    (tmp_path / "lbox").mkdir()
    (tmp_path / "lbox/train.jsonl").write_text(
        '{"precedent": "긴 판결이다.", "summary": "요지"}\n' * 2, encoding="utf-8"
    )
    settings: dict[str, Any] = {"uses": ["nsmc", "lbox", "copa"], "held_out": 0}
    counts = build(tmp_path, **settings)
    assert [line["state"] for line in counts["uses"]] == [
        "built", "left out: its licence needs instruct.licences=all", "absent: no file in copa",
    ]  # fmt: skip
    assert line_of(counts, "copa")["shortfall"] == 5000
    files = [str(tmp_path / "nsmc/ratings_train.txt")]
    assert instruct_files(InstructSettings(data=str(tmp_path), uses=settings["uses"])) == files
    counts = build(tmp_path, **settings, licences="all")
    assert line_of(counts, "lbox")["rows"] == 5 and counts["licences"] == {"CC-BY-NC-4.0": 5, "CC0-1.0": 50}
    with pytest.raises(UserError, match="no use has a file"):
        build(tmp_path, uses=["copa", "lbox"])


def test_swapped_columns_end_the_build(tmp_path: Path) -> None:
    nsmc(tmp_path, [0, 1] * 30)
    path = tmp_path / "nsmc/ratings_train.txt"
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    path.write_text(
        "".join(f"{a}\t{c}\t{b}\n" if n else f"{a}\t{b}\t{c}\n" for n, (a, b, c) in enumerate(lines)), "utf-8"
    )
    with pytest.raises(UserError) as caught:
        build(tmp_path, uses=["nsmc"])
    assert "60 of 60 records" in str(caught.value) and "'label' is none of 1, 0 (60)" in str(caught.value)
    assert not any(sentence(n) in str(caught.value) for n in range(60)), "no text is told"
    nsmc(tmp_path, [0, 1] * 30 + [2] * 3)
    assert build(tmp_path, uses=["nsmc"], held_out=0)["rejected"] == 3
    with pytest.raises(UserError, match="3 of 63 records"):
        build(tmp_path, uses=["nsmc"], max_reject_share=0.0)


EXTRA = "task,instruction,input,output\n감정,분류하세요,{},긍정\n,,입력만 있다,답\n감정,분류하세요,빈 답,\n"


def test_extra_rows_of_the_released_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nsmc(tmp_path, [0, 1] * 10)
    path = tmp_path / "toolkit_100000.csv"
    path.write_text("\ufeff" + EXTRA.format('"첫 줄\n둘째 줄"'), encoding="utf-8")
    with pytest.raises(UserError, match="no row is left"):
        build(tmp_path, uses=[], extra=[str(path)])
    assert "built, but 2 rows: its licence needs instruct.licences=all" in capsys.readouterr().err
    counts = build(tmp_path, uses=["nsmc"], extra=[str(path)], licences="all", held_out=0, per_use=10)
    line = line_of(counts, "extra1")
    assert (line["read"], line["rejected"], line["rows"]) == (3, 1, 2)
    extra = [row for row in rows(tmp_path) if row.id.startswith("extra1-")]
    assert [(row.task, row.instruction, row.input, row.output) for row in extra] == [
        ("감정", "분류하세요", "첫 줄\n둘째 줄", "긍정"),
        ("extra", "입력만 있다", "", "답"),
    ]
    assert {row.licence for row in extra} == {"unclear: none stated"} and extra[0].dataset == "toolkit_100000"


def test_extra_json_lines_keep_their_licence_and_lose_test_and_held_out_texts(tmp_path: Path) -> None:
    nsmc(tmp_path, [0, 1] * 10)
    build(tmp_path, "first", uses=["nsmc"], held_out=4)
    held_out = next(n for n in range(20) if sentence(n) in "".join(map(str, rows(tmp_path, "first/held_out.jsonl"))))
    inputs = [f"리뷰: {sentence(held_out)}", f"리뷰: {PLANTED[0]}", "아무 관련 없는 새로운 글이다.", "닫힌 글이다."]
    licences = ["MIT", "MIT", "MIT", "CC-BY-NC-4.0"]
    lines = [
        {"instruction": f"{n}번 일", "input": text, "output": "답", "licence": licence, "choices": ["답", "말"]}
        for n, (text, licence) in enumerate(zip(inputs, licences, strict=True))
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    tests = {"suite": [BenchmarkSentence("t", "g", PLANTED[0])]}
    line = line_of(build(tmp_path, tests=tests, uses=["nsmc"], held_out=4, extra=[str(path)]), "extra1")
    assert line["passed_over"] == {"its licence needs instruct.licences=all": 1}
    assert (line["contaminated"], line["shares_held_out"], line["rows"]) == (1, 1, 1)
    extra = [row for row in rows(tmp_path) if row.task == "extra"]
    assert [(row.input, row.choices, row.licence) for row in extra] == [(inputs[2], ("답", "말"), "MIT")]


def test_show(tmp_path: Path) -> None:
    nsmc(tmp_path, [0, 1] * 20)
    pairs(tmp_path, [(n, n + 1, n % 2) for n in range(300, 340)])
    counts = build(tmp_path, uses=["nsmc", "question-pair"], held_out=4)
    shown = describe(tmp_path / "out", None, 2)
    assert {name: shown[name] for name in counts} == counts
    assert Counter(row["task"] for row in shown["examples"]) == {"nsmc": 2, "question-pair": 2}
    described = describe(tmp_path / "out", "nsmc", 3)
    assert {row["task"] for row in described["examples"] + described["held_out_examples"]} == {"nsmc"}
    with pytest.raises(UserError, match="did you mean 'nsmc'"):
        describe(tmp_path / "out", "nsmcs", 3)
    with pytest.raises(UserError, match=r"holds no table\.json"):
        describe(tmp_path, None, 3)


def test_sentences_of_this_file_are_told_apart() -> None:
    assert len({exact_key(sentence(n)) for n in range(600)}) == 600 and len(folded_words(sentence(1))) >= 4
