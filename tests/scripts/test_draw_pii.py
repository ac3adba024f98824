"""Texts drawn from a grammar: their spans are what was written, and recall by kind is counted by hand's rules."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from data.pii.detect import Span
from data.pii.type_names import PII_TYPES

DIGITS = str.maketrans("공일이삼사오육칠팔구O", "01234567890")
LENGTHS = {
    "RRN": {7, 13},
    "FRN": {7, 13},
    "CARD": {15, 16},
    "BRN": {10},
    "HEALTH_INSURANCE": {11},
    "DRIVER_LICENSE": {10, 12},
    "VEHICLE_PLATE": {4, 6, 7},
    "PASSPORT": {7, 8, 9},
    "BANK_ACCOUNT": range(11, 15),
}
"""Digits of a type's values, from the descriptions of the types."""


@pytest.fixture
def draw(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("draw_pii")


@pytest.fixture
def cases(draw: ModuleType) -> list[dict[str, Any]]:
    return [draw.drawn(7, number, draw.FORMS) for number in range(1500)]


def test_a_text_depends_on_seed_and_number_alone(draw: ModuleType) -> None:
    assert draw.drawn(7, 31, draw.FORMS) == draw.drawn(7, 31, draw.FORMS)
    assert draw.drawn(7, 31, draw.FORMS) != draw.drawn(8, 31, draw.FORMS)


def test_every_type_and_form_is_drawn(draw: ModuleType, cases: list[dict[str, Any]]) -> None:
    assert {form.kind.type for form in draw.FORMS} == set(PII_TYPES) - {"NAME", "NICKNAME"}
    assert len({form.kind for form in draw.FORMS}) == len(draw.FORMS)
    assert {case["kind"] for case in cases if case["spans"]} == {"/".join(form.kind) for form in draw.FORMS}


def test_spans_lie_in_their_text_side_by_side(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        assert not re.search("[\ue000-\uf8ff]", case["text"])
        end = 0
        for span in sorted(case["spans"], key=lambda span: span["start"]):
            first, last = span["within"]
            assert end <= first <= span["start"] < span["end"] <= last <= len(case["text"])
            assert case["text"][span["start"] : span["end"]].strip() == case["text"][span["start"] : span["end"]]
            end = last


def test_numbers_have_the_digits_of_their_type(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        for span in case["spans"]:
            value = case["text"][span["start"] : span["end"]]
            if span["type"] in ("RRN", "FRN", "CARD", "BRN", "HEALTH_INSURANCE", "BANK_ACCOUNT"):
                value = value.translate(DIGITS)
            count = sum(char.isnumeric() for char in value)
            assert count in LENGTHS.get(span["type"], range(100)), (span, value)


def test_texts_without_personal_data_have_no_spans(draw: ModuleType, cases: list[dict[str, Any]]) -> None:
    without = [case for number, case in enumerate(cases) if number % draw.WITHOUT == 0]
    assert without and not any(case["spans"] for case in without)
    assert all(case["spans"] for number, case in enumerate(cases) if number % draw.WITHOUT)
    assert not any("{" in case["text"] for case in without)


def test_marks_become_spans_wherever_a_template_puts_them(draw: ModuleType) -> None:
    marks = sys.modules["pii_grammar.marks"]
    page = marks.Page("seed")
    value = page.mark(marks.Kind("TEL", "extension"), "02-012-3456", before="(", after=" 내선 7)")
    page.put_around(value, "quotes")
    text, spans = page.finish(json.dumps({"전화": f'"{value}"', "다시": value}, ensure_ascii=False))
    assert text == r'{"전화": "\"(02-012-3456 내선 7)\"", "다시": "(02-012-3456 내선 7)"}'
    assert [(text[slice(*s["within"])], text[s["start"] : s["end"]], s["form"], s["habit"]) for s in spans] == [
        ("(02-012-3456 내선 7)", "02-012-3456", "extension", "quotes")
    ] * 2


@pytest.mark.parametrize(
    ("value", "spec", "written"),
    [
        ("010-0123-4567", "로", "010-0123-4567로"),
        ("010-0123-4560", "로", "010-0123-4560으로"),
        ("010-0123-4562", "은", "010-0123-4562는"),
        ("10길 3)", "을", "10길 3)을"),
        ("구름로 4", "과", "구름로 4와"),
        ("１２３", "이라", "１２３이라"),
        ("101호", "이", "101호가"),
        ("dam@example.com", "로", "dam@example.com으로"),
        ("sol@example.kr", "로", "sol@example.kr로"),
    ],
)
def test_josa_follows_how_a_value_is_read(draw: ModuleType, value: str, spec: str, written: str) -> None:
    page = sys.modules["pii_grammar.marks"]
    assert format(page.Value(value), spec) == written


@pytest.mark.parametrize(
    ("writer", "groups", "written"),
    [
        ("hyphen", ["02", "012", "3456"], {"02-012-3456"}),
        ("full width", ["02", "012"], {"０２－０１２"}),
        ("hangul group", ["1", "2"], {"일-2", "1-이"}),
        (
            "letters",
            ["010", "1"],
            {"O1O-1", "OlO-1", "OIO-1", "o1o-1", "olo-1", "oIo-1", "ㅇ1ㅇ-1", "ㅇlㅇ-1", "ㅇIㅇ-1"},
        ),
        ("boxed", ["12", "3"], {"[1][2]-[3]"}),
        ("line end", ["12", "3"], {"12-\n3"}),
    ],
)
def test_writers(draw: ModuleType, writer: str, groups: list[str], written: set[str]) -> None:
    write = sys.modules["pii_grammar.writers"].WRITERS[writer]
    rng = sys.modules["random"].Random(0)
    assert {write(groups, rng) for _ in range(50)} <= written


def test_check_digits(draw: ModuleType) -> None:
    values = sys.modules["pii_grammar.values"]
    assert values.luhn("411111111111111") == "4111111111111111"
    rng = sys.modules["random"].Random(1)
    for _ in range(50):
        body = [int(digit) for digit in "".join(values.business(rng))]
        total = sum(a * b for a, b in zip(body, (1, 3, 7, 1, 3, 7, 1, 3, 5), strict=False)) + body[8] * 5 // 10
        assert (total + body[9]) % 10 == 0
        body = [int(digit) for digit in "".join(values.resident(rng))]
        total = sum(a * b for a, b in zip(body, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5), strict=False))
        assert (11 - total % 11) % 10 == body[12] and body[7] == 9 and body[8] >= 7


TEXT = "전화 02-012-3456~7 (내선 12)"
GOLD = {"start": 3, "end": 16, "type": "TEL", "form": "range", "habit": "plain", "within": [3, 24]}


@pytest.mark.parametrize(
    ("spans", "right", "clear"),
    [
        ([Span(3, 16, "TEL")], True, False),
        ([Span(3, 14, "TEL"), Span(15, 16, "TEL")], True, False),
        ([Span(2, 17, "TEL")], True, False),
        ([Span(3, 24, "TEL")], True, False),
        ([Span(1, 16, "TEL")], False, False),
        ([Span(3, 14, "TEL")], False, True),
        ([Span(6, 16, "TEL")], False, True),
        ([Span(3, 16, "BANK_ACCOUNT")], False, False),
        ([], False, True),
    ],
)
def test_what_counts_as_found(draw: ModuleType, spans: list[Span], right: bool, clear: bool) -> None:
    scores = draw.Scores()
    scores.add({"text": TEXT, "spans": [GOLD], "kind": "TEL/range", "carrier": "form"}, spans)
    count = scores.types["TEL"]
    assert (count.gold, count.right, count.clear) == (1, right, clear)
    assert count.exact == (spans == [Span(3, 16, "TEL")])
    assert {key for key, kind in scores.kinds.items() if kind.gold == 1} == {
        ("TEL", "form", "range"),
        ("TEL", "carrier", "form"),
        ("TEL", "habit", "plain"),
    }


@pytest.mark.parametrize(
    ("text", "kind", "clear"),
    [("구름로 31", "ADDRESS", "31"), ("M123A4567", "PASSPORT", "M123A4567"), ("010-일이3삼-45", "TEL", "010일이3삼45")],
)
def test_what_identifies(draw: ModuleType, text: str, kind: str, clear: str) -> None:
    places = draw.identifying(text, {"start": 0, "end": len(text), "type": kind})
    assert "".join(text[place] for place in places) == clear


def run(draw: ModuleType, monkeypatch: pytest.MonkeyPatch, detect: Callable[[str], list[Span]], *options: str) -> int:
    monkeypatch.setattr(draw, "find_many", lambda texts: [detect(text) for text in texts])
    monkeypatch.setattr(sys, "argv", ["draw_pii.py", "--texts", "400", *options])
    return draw.main()


def test_exit_code_and_table(
    draw: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "drawn.jsonl"
    cases = [draw.drawn(42, number, draw.FORMS) for number in range(400)]
    gold = {case["text"]: [Span(s["start"], s["end"], s["type"]) for s in case["spans"]] for case in cases}
    assert run(draw, monkeypatch, lambda text: gold[text], "--out", str(path)) == 0
    table = capsys.readouterr().out
    assert "kinds below 0.99 (0 of" in table and "without personal data: 0" in table
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == cases

    assert run(draw, monkeypatch, lambda text: [] if "02" in text else gold[text]) == 1
    assert run(draw, monkeypatch, lambda text: gold[text] or [Span(0, 1, "URL")]) == 1
    assert "false alarms in 80 texts without personal data: 80" in capsys.readouterr().out
    assert run(draw, monkeypatch, lambda text: [], "--only", "NOTHING") == 2


def test_score_pii_reads_drawn_texts(
    draw: ModuleType, load_script: Callable[[str], ModuleType], cases: list[dict[str, Any]]
) -> None:
    by_span = load_script("score_pii").by_span
    case = next(case for case in cases if case["spans"])
    gold = [Span(span["start"], span["end"], span["type"]) for span in case["spans"]]
    assert by_span(case, gold) == (by_span(case, gold).right, [], [])
