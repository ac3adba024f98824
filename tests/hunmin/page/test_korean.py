"""The page in Korean: no English sentence is left on it, and each sentence of code and templates has its Korean."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hand_made import HandMade, line, result, run_that_failed, run_with_all
from selectolax.lexbor import LexborHTMLParser

from hunmin.main import run_command
from hunmin.page.facts import read_facts
from hunmin.page.page import render, write_comparison
from hunmin.page.scores import metric_name, notes
from hunmin.page.words import Words
from klue.tables import published_rows, tables
from klue.tasks import SUITES, TASKS

PACKAGE = Path(__file__).parents[3] / "hunmin" / "page"
KOREAN = yaml.safe_load((PACKAGE / "words.ko.yaml").read_text("utf-8"))
ENGLISH_WORDS = re.compile(r"\b(the|of|is|are|and|not|from|with|in|to|for|on|which|scores?|tokens?|steps?|files?)\b")
OTHERS = re.compile(r"hunmin (report|klue watch)|NaN/Inf|seed")
"""Commands are named as they are typed."""


def sentences(page: str) -> list[str]:
    """Return texts and labels of a page, without tables of settings and of versions, whose keys are names."""
    tree = LexborHTMLParser(page)
    for node in tree.css("script, style, [aria-label='설정'], [aria-label='버전'], .splits, h1, title"):
        node.decompose()
    found = [text for text in tree.body.text(separator="\n").splitlines() if text.strip()]
    for name in ("aria-label", "title"):
        found += [str(node.attributes[name]) for node in tree.css(f"[{name}]")]
    drawn = " ".join(str(node.attributes["data-chart"]) for node in tree.css("[data-chart]"))
    return found + re.findall(r'"(?:label|unit|x_label)":"([^"]*)"', drawn)


def english(texts: list[str]) -> list[str]:
    return [text for text in texts if ENGLISH_WORDS.search(OTHERS.sub("", text))]


@pytest.fixture(params=["all", "failed", "begun", "empty", "synthetic", "several"])
def page(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a page in Korean."""
    match request.param:
        case "all" | "synthetic" | "several":
            run = run_with_all(tmp_path / "run")
        case "failed":
            run = run_that_failed(tmp_path / "run")
        case "begun":
            run = HandMade(tmp_path / "run")
            run.train([line(10, float("nan")), line(20, 3.0)], "pretrain.partial")
        case _:
            run = HandMade(tmp_path / "run")
    if request.param == "synthetic":
        path = run.path / "klue" / "results.jsonl"
        text = re.sub(r'"data_note": "[^"]*"', '"data_note": "synthetic (hunmin sample)"', path.read_text("utf-8"))
        path.write_text(text, "utf-8")
    if request.param == "several":
        write_comparison([run.path, HandMade(tmp_path / "other").path], tmp_path / "both.html", "ko")
        return (tmp_path / "both.html").read_text("utf-8")
    return render(read_facts(run.path, 2e9), language="ko")


def test_no_english_sentence_is_left(page: str) -> None:
    texts = sentences(page)
    assert '<html lang="ko">' in page and len(texts) > 15
    assert english(texts) == []


def test_the_instrument_sees_english(tmp_path: Path) -> None:
    assert len(english(sentences(render(read_facts(run_with_all(tmp_path / "run").path, 2e9))))) > 30


def test_every_sentence_has_its_korean() -> None:
    """Those of the templates, and those that views call `words` with or hold in tables of theirs."""
    calls = {
        text
        for path in (PACKAGE / "templates").rglob("*.jinja")
        for text in re.findall(r'\b_\("((?:[^"\\]|\\.)+)"', path.read_text("utf-8"))
    }
    for path in [*PACKAGE.glob("*.py"), PACKAGE.parent / "report.py"]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "words":
                calls |= {ast.literal_eval(node.args[0])} if isinstance(node.args[0], ast.Constant) else set()
    assert len(calls) > 120 and sorted(calls - KOREAN.keys()) == []


def test_korean_has_the_values_of_the_english() -> None:
    fields = {text: set(re.findall(r"\{(\w+)\}", text)) for text in KOREAN}
    assert [text for text, korean in KOREAN.items() if set(re.findall(r"\{(\w+)\}", korean)) != fields[text]] == []


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("KLUE-STS 11, YNAT at most 5", "KLUE-STS 11, YNAT 최대 5"),
        ("published: KLUE paper, Table 36 (dev), May 2021.", "공개 점수: KLUE 논문 표 36(dev), 2021년 5월."),
        ("1,000 and more", "1,000 이상"),
        ("has no column 'text'", "'text' 열이 없음"),
        ("has no column 'text' (did you mean 'texts'?)", "'text' 열이 없음(비슷한 이름: 'texts')"),
        ("nobody has written this", "nobody has written this"),
    ],
)
def test_sentences_of_other_modules(english: str, korean: str) -> None:
    assert Words("ko").said(english) == korean and Words("en").said(english) == english


DATA_NOTES = (
    "split of dev: no train file, 20 dev examples to train on and the other 15 scored",
    "split of dev: no train file, 20 dev examples to train on and the other 15 chosen by",
    "no dev file: 30 train examples are dev",
    "12 train examples left out, as their text is a dev text; dev from mine.tsv",
    "3 train examples left out, as their text is a dev or test text; train from mine.tsv",
    "trained on 1,000 of 24,998 examples; 35 of 519 dev examples",
    "35 of at least 11,668 train examples; 35 of 519 dev examples; 5 of 10 test examples",
    "3 of 35 dev, 4 of 20 train inputs cut at 64 tokens",
)
"""As `klue.examples`, the tasks and `klue.features` write them."""


def _rows() -> list[dict[str, Any]]:
    """Return results of all tasks with all that a footnote is about."""
    borrowed = next(name for name, task in TASKS.items() if task.transfer)
    noted = dict(zip((name for name in TASKS if name != borrowed), DATA_NOTES, strict=False))
    noted[borrowed] = "zero-shot transfer: trained on the 9,427 train examples of KorNLI"
    settings: dict[str, dict[str, Any]] = {
        "klue-dp": {"parser_width": 192, "pos_tags": False}, "wos": {"texts_only": True}, "klue-sts": {"patience": 3},
        "klue-mrc": {"metric_for_best_model": "rouge_w"},
    }  # fmt: skip
    rows = []
    for task in TASKS:
        for init in ("pretrained", "random"):
            row = result(task, init, 42, 50.0, data_note=noted.get(task, "") if init == "pretrained" else "")
            row["settings"] |= {"evaluations_per_epoch": 2, **settings.get(task, {})}
            rows.append(row | ({"one_answer": "x"} if task in ("nsmc", "question-pair") else {}))
    return [*rows, {**rows[0], "settings": {**rows[0]["settings"], "learning_rate": 3e-5}}]


@pytest.mark.parametrize(
    ("note", "korean"),
    [
        (
            "¹ YNAT: 1,050 of at least 45,678 train examples, 280 of 9,107 dev examples.",
            "¹ YNAT: 학습 예제 45,678개 이상 중 1,050개, dev 예제 9,107개 중 280개.",
        ),
        (
            "⁴ Question pair: pretrained: trained on 5 of 10 examples; dev from a.tsv; "
            "random initialisation: all of the data.",
            "⁴ 질문 쌍: 사전학습: 예제 10개 중 5개로 학습; dev 파일: a.tsv; 무작위 가중치: 전체 데이터.",
        ),
        ("YNAT, my model, pretrained: 1 of 2 fine-tunings predict one label for every example, so that the score says "
         "nothing of the model; raise epochs or the learning rate.",
         "YNAT, my model, 사전학습: 미세조정 2번 가운데 1번은 모든 예제에 같은 레이블을 예측합니다. "
         "이 점수로는 모델의 성능을 알 수 없으니 에폭을 늘리거나 학습률을 높이세요."),
        ("No published scores beside YNAT (dev is split), KLUE-RE (5 of 7 dev examples, 1 of 2 test examples).",
         "공개 점수와 비교하지 않은 과제: YNAT(dev를 나눔), KLUE-RE(dev 예제 7개 중 5개, test 예제 2개 중 1개)."),
    ],
)  # fmt: skip
def test_footnotes_keep_their_values(note: str, korean: str) -> None:
    assert notes(replace(tables(_rows())[0], notes=[note]), Words("ko")) == [korean]


@pytest.mark.parametrize("contamination", [{"ynat": 3, "klue-sts": 12}, None])
def test_footnotes_are_korean(contamination: dict[str, int] | None) -> None:
    words, names = (
        Words("ko"),
        re.compile(
            r"\b(dev|test|train|learning_rate|search|mine\.tsv|by-hand|docs/klue\.md|zero-shot transfer)(?![a-z])"
        ),
    )
    found = tables(_rows(), published_rows(), contamination)
    said = [text for table in found for text in [*notes(table, words), words.said(table.title)]]
    said += [metric_name(name, words) for table in found for name in [*table.columns, *(one for one, _ in table.extra)]]
    assert len(said) > 90 and [text for text in said if re.search(r"(?<![A-Za-z])[a-z]{3}", names.sub("", text))] == []


def test_captions_of_all_suites() -> None:
    assert [suite.name for suite in SUITES.values() if Words("ko").said(suite.caption) == suite.caption] == []


def test_the_language_is_that_of_the_card_or_the_one_asked_for(tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run")
    recipe = run.path / "recipe.yaml"
    recipe.write_text(recipe.read_text("utf-8") + "hub: {language: ko}\n", "utf-8")
    for option, lang in (([], "ko"), (["--language", "en"], "en"), (["--language", "ko"], "ko")):
        assert run_command(["report", str(run.path), *option]) == 0
        assert f'<html lang="{lang}">' in (run.path / "report.html").read_text("utf-8")
    assert Words("ko").duration(3725) == "1시간 2분" and Words("ko").duration(65) == "1분 5초"
