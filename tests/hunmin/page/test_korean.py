"""The page in Korean: no English sentence is left on it, and each sentence of code and templates has its Korean."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections import Counter
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
import yaml
from hand_made import HandMade, line, result, run_that_failed, run_with_all
from selectolax.lexbor import LexborHTMLParser

from common.message import Message, as_tree, from_tree
from data.cleaning.news import RULES as NEWS
from data.cleaning.settings import CleanSettings
from data.decontaminate.criteria import RULES
from data.deduplicate.settings import DeduplicateSettings
from data.filters.settings import KINDS
from data.pii.types import BY_NAME
from hunmin.main import run_command
from hunmin.page.facts import read_facts
from hunmin.page.page import render, write_comparison
from hunmin.page.scores import metric_name, notes
from hunmin.page.words import Words
from hunmin.pipeline.stages import encoder_stages
from klue.examples import CUT_AND_SHORT, IN_DEV, IN_DEV_OR_TEST, SPLIT_TO_CHOOSE, SPLIT_TO_SCORE
from klue.tables import published_rows, tables
from klue.tasks import SUITES, TASKS

PACKAGE = Path(__file__).parents[3] / "hunmin" / "page"
KOREAN = yaml.safe_load((PACKAGE / "words.yaml").read_text("utf-8"))
ROOT = PACKAGE.parents[1]
PACKAGES = ("hunmin", "embed", "klue", "pretrain", "tokenizer", "data", "common")
SOURCES = [path for name in PACKAGES for kind in ("py", "jinja") for path in (ROOT / name).rglob(f"*.{kind}")]
"""Modules and templates that the page's sentences come from."""
ENGLISH_WORDS = re.compile(r"\b(the|of|is|are|and|not|from|with|in|to|for|on|which|scores?|tokens?|steps?|files?)\b")
OTHERS = re.compile(r"hunmin (report|klue watch)|NaN/Inf|seed")
"""Commands are named as they are typed."""


def sentences(page: str) -> list[str]:
    """Return texts and labels of a page, without tables of settings and of versions, whose keys are names."""
    tree = LexborHTMLParser(page)
    for node in tree.css("script, style, [aria-label='설정'], [aria-label='버전'], .splits, h1, title"):
        node.decompose()
    texts = [text for text in tree.body.text(separator="\n").splitlines() if text.strip()]
    for name in ("aria-label", "title"):
        texts += [str(node.attributes[name]) for node in tree.css(f"[{name}]")]
    drawn = " ".join(str(node.attributes["data-chart"]) for node in tree.css("[data-chart]"))
    return texts + re.findall(r'"(?:label|unit|x_label)":"([^"]*)"', drawn)


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
        note = dict.fromkeys(("data_note", "data_message"), "synthetic (hunmin sample)")
        run.write("klue/results.jsonl", [json.loads(row) | note for row in path.read_text("utf-8").splitlines()])
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


def strings(path: Path) -> set[str]:
    """Return the texts in the quotes of a template, or the strings of a module."""
    text = path.read_text("utf-8")
    if path.suffix == ".jinja":
        return {quoted for part in re.findall(r"\{[{%].*?[%}]\}", text) for quoted in re.findall('"([^"]*)"', part)}
    return {
        node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and type(node.value) is str
    }


def called(path: Path) -> set[str]:
    """Return the sentences that a template or a module says by `_`, `words` or `Message`."""
    if path.suffix == ".jinja":
        return set(re.findall(r'\b_\("((?:[^"\\]|\\.)+)"', path.read_text("utf-8")))
    text = path.read_text("utf-8")
    if "Words" not in text and "Message" not in text:
        return set()
    calls = [
        node.args[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("words", "Message")
    ]
    chosen = [part for call in calls for part in ((call.body, call.orelse) if isinstance(call, ast.IfExp) else (call,))]
    return {part.value for part in chosen if isinstance(part, ast.Constant)}


def fields(template: str) -> dict[str, int]:
    """Return how often each field of a template comes."""
    return Counter(name for _, name, _, _ in Formatter().parse(template) if name is not None)


def test_every_sentence_of_code_and_templates_has_both_languages() -> None:
    said = set().union(*map(called, SOURCES))
    worded = {text for text in said if re.search("[A-Za-z]", re.sub(r"{\w+(:; )?}", "", text))}
    assert len(worded) > 160 and sorted(worded - KOREAN.keys()) == []


def test_both_languages_have_the_same_fields() -> None:
    assert [english for english, korean in KOREAN.items() if fields(english) != fields(korean)] == []


def test_no_sentence_is_unused() -> None:
    there = set().union(*map(strings, SOURCES), [task.title for task in TASKS.values()])
    published = published_rows()
    for suite in (published, *published["suites"].values()):
        there |= {suite["source"], *suite["flags"].values()}
    # of a reason of the corpus with values the beginning, as in "no field '{name}'"
    assert [text for text in KOREAN if text not in there and not ("{}" in text and text.split("{}")[0] in there)] == []


@pytest.mark.parametrize(
    ("reason", "korean"),
    [
        ("not JSON at all", "not JSON at all"),
        ("no text", "글이 없음"),
        ("no field 'text'", "'text' 필드가 없음"),
        ("has no column 'text'", "'text' 열이 없음"),
        ("'year' beyond its bounds", "'year'의 값이 범위를 벗어남"),
        (
            "text is not a string ('a' holds objects; a dot leads to their fields: a.FIELD)",
            "글이 문자열이 아님('a'에는 객체가 있음. 점으로 필드를 가리킬 수 있음: a.FIELD)",
        ),
        ("has no column 'text' (did you mean 'texts'?)", "'text' 열이 없음(비슷한 이름: 'texts')"),
        ("has no column 'it's {0}'", "has no column 'it's {0}'"),
        ("is damaged or cut short: no end mark", "손상되었거나 잘림(no end mark)"),
        ("is damaged or cut short: {x}: y", "손상되었거나 잘림({x}: y)"),
        ("cannot be read as Parquet: x", "cannot be read as Parquet: x"),
    ],
)
def test_reasons_of_the_corpus(reason: str, korean: str) -> None:
    assert Words("ko").reason(reason) == korean and Words("en").reason(reason) == reason


def test_a_message_keeps_its_values_through_json_and_pickle() -> None:
    parts = [Message("{cut} of {all} {split}", cut=1, all=1234, split=split) for split in ("dev", "train")]
    message = Message(
        "{notes:; }", notes=["synthetic", Message("{task}: {note}.", task="a {b}", note=parts[0]), *parts]
    )
    assert message == "synthetic; a {b}: 1 of 1,234 dev.; 1 of 1,234 dev; 1 of 1,234 train"
    for copied in (from_tree(json.loads(json.dumps(as_tree(message)))), pickle.loads(pickle.dumps(message))):
        assert copied == message and Words("en")(copied) == message
        assert Words("ko")(copied) == "합성; a {b}: dev 1,234개 중 1개.; dev 1,234개 중 1개; train 1,234개 중 1개"
    assert as_tree("plain {x}") == from_tree("plain {x}") == Words("ko")("plain {x}") == "plain {x}"


def names_in_the_data() -> set[str]:
    """Return the names of rules, types, filters, duplicates and stages, as the corpus and the run count them."""
    called = [
        str(node.args[0].value)
        for path in (ROOT / "data" / "cleaning").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_add", "_count")
        if isinstance(node.args[0], ast.Constant)
    ]
    return {
        *called, *CleanSettings.model_fields, *(name for name, _, _ in NEWS), *BY_NAME, *KINDS,
        *(f"rule {rule}" for rule in RULES), *(f"stage {stage.name}" for stage in encoder_stages(True)),
        *(name for name, field in DeduplicateSettings.model_fields.items() if field.annotation is bool),
    } - {"news"}  # fmt: skip


def test_every_name_in_the_data_has_both_languages() -> None:
    names = yaml.safe_load((PACKAGE / "names.yaml").read_text("utf-8"))
    there = names_in_the_data()
    assert {"private_use", "html_hidden", "NICKNAME", "stage pretrain"} <= there and sorted(there - names.keys()) == []
    assert [name for name in there if not re.search("[가-힣]", names[name][1]) and name != "html"] == []


def said_as(node: ast.expr) -> set[str]:
    """Return the sentences that an argument may be: a text, or an f-string with {} for each value."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.JoinedStr(values=parts):
            return {"".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)}
        case ast.IfExp(body=body, orelse=other):
            return said_as(body) | said_as(other)
    return set()


def reasons() -> set[str]:
    """Return why a record of an input is no document, as the readers say it; bare values make no sentence."""
    calls = [
        node
        for path in (ROOT / "data" / "readers").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
    ]
    names = ("Reject", "Skipped", "UnreadableError", "Passed")
    texts = set().union(*(said_as(call.args[-1]) for call in calls if call.func.id in names))  # type: ignore[attr-defined]
    return {text for text in texts if "{}" not in text.replace("'{}'", "")}


def test_reasons_of_records_have_both_languages() -> None:
    said = {re.sub(r"'\w+'", "'{}'", text) for text in reasons()}
    assert len(said) > 15 and sorted(said - KOREAN.keys()) == []


def test_the_headline_names_the_stage_in_korean(tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run")
    assert "다음 단계: 말뭉치" in render(read_facts(run.path, 2e9), language="ko")
    run.train([line(10, 3.0)], "pretrain.partial")
    assert "사전학습 · 100스텝 중" in render(read_facts(run.path, 2e9), language="ko")


DATA_NOTES: tuple[list[str], ...] = (
    [Message(SPLIT_TO_SCORE, train=20, dev=15)],
    [Message(SPLIT_TO_CHOOSE, train=20, dev=15)],
    [Message("no dev file: {count} train examples are dev", count=30)],
    [Message(IN_DEV, count=12), Message("{split} from {file}", split="dev", file="mine.tsv")],
    [Message(IN_DEV_OR_TEST, count=3), Message("{split} from {file}", split="train", file="mine.tsv")],
    [Message("trained on {kept} of {all} examples", kept=1000, all=24998)],
    [Message(CUT_AND_SHORT, kept=1000, all=36547, want=45678)],
    [*TASKS["ynat"].shortfalls({"train": 35, "dev": 35})],
    ["synthetic (hunmin sample)"],
    [
        Message(
            "{counts} inputs cut at {length} tokens",
            length=64,
            counts=[
                Message("{cut} of {all} {split}", cut=3, all=35, split="dev"),
                Message("{cut} of {all} {split}", cut=4, all=20, split="train"),
            ],
        )
    ],
)
"""As `klue.examples` and `klue.features` write them."""


def _rows() -> list[dict[str, Any]]:
    """Return results of all tasks with all that a footnote is about."""
    borrowed = next(name for name, task in TASKS.items() if task.transfer)
    notes = [Message("{notes:; }", notes=each) for each in DATA_NOTES]
    noted = dict(zip((name for name in TASKS if name != borrowed), notes, strict=False))
    text = "zero-shot transfer: trained on the {count} train examples of {other}"
    noted[borrowed] = Message(text, count=9427, other="KorNLI")
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


def test_footnotes_keep_their_values() -> None:
    short = result("ynat", "pretrained", 42, 50.0) | {"examples": {"train": 1050, "dev": 280}}
    split = result("klue-sts", "pretrained", 42, 50.0, data_note=Message(SPLIT_TO_SCORE, train=7, dev=3))
    cut = Message("{notes:; }", notes=[
        Message("trained on {kept} of {all} examples", kept=5, all=10),
        Message("{split} from {file}", split="dev", file="a.tsv"),
    ])  # fmt: skip
    pair = [result("question-pair", "pretrained", 42, 50.0, data_note=cut), result("question-pair", "random", 42, 50.0)]
    twice = [result("klue-re", "pretrained", seed, 50.0) | ({"one_answer": "x"} if seed else {}) for seed in (0, 1)]
    other = result("klue-re", "random", 42, 50.0) | {"model": "my {model}", "one_answer": "x"}
    shown_tables = tables([short, split, *pair, *twice, other], published_rows())
    said = [note for table in shown_tables for note in notes(table, Words("ko"))]
    for note in (
        "¹ YNAT: 학습 예제 45,678개 이상 중 1,050개, dev 예제 9,107개 중 280개.",
        "² KLUE-STS: train 파일이 없어 dev를 나눔(학습 7개, 채점 3개).",
        "¹ 질문 쌍: 사전학습: 예제 10개 중 5개로 학습; dev 파일: a.tsv; 무작위 가중치: 전체 데이터.",
        "KLUE-RE, by-hand, 사전학습: 미세조정 2번 가운데 1번은 모든 예제에 같은 레이블을 예측합니다. "
        "이 점수로는 모델의 성능을 알 수 없으니 에폭을 늘리거나 학습률을 높이세요.",
        "무작위 가중치에서 미세조정해 모든 예제나 거의 모든 예제에 같은 레이블을 예측한 것: KLUE-RE, my {model} 1/1.",
        "공개 점수와 비교하지 않은 과제: YNAT(학습 예제 45,678개 이상 중 1,050개, dev 예제 9,107개 중 280개), "
        "KLUE-STS(dev를 나눔).",
        "공개 점수: KLUE 논문 표 36(dev), 2021년 5월.",
    ):
        assert note in said, said


def test_a_jobs_note_reaches_the_page_with_its_values(tmp_path: Path) -> None:
    run = run_with_all(tmp_path / "run")
    note = Message("{notes:; }", notes=[Message("trained on {kept} of {all} examples", kept=5, all=10)])
    row = result("ynat", "pretrained", 42, 80.0, data_note=note)
    run.write("klue/results.jsonl", [row])
    facts = read_facts(run.path, 2e9)
    assert "YNAT: 예제 10개 중 5개로 학습." in render(facts, language="ko")
    assert "YNAT: trained on 5 of 10 examples." in render(facts)


@pytest.mark.parametrize("contamination", [{"ynat": 3, "klue-sts": 12}, None])
def test_footnotes_are_korean(contamination: dict[str, int] | None) -> None:
    words, names = (
        Words("ko"),
        re.compile(
            r"\b(dev|test|train|learning_rate|search|mine\.tsv|by-hand|docs/klue\.md|zero-shot transfer)(?![a-z])"
        ),
    )
    shown_tables = tables(_rows(), published_rows(), contamination)
    said = [text for table in shown_tables for text in [*notes(table, words), words(table.title)]]
    columns = [name for table in shown_tables for name in [*table.columns, *(key for key, _ in table.extra)]]
    said += [metric_name(name, words) for name in columns]
    assert len(said) > 90 and [text for text in said if re.search(r"(?<![A-Za-z])[a-z]{3}", names.sub("", text))] == []


def test_captions_of_all_suites() -> None:
    assert [suite.name for suite in SUITES.values() if Words("ko")(suite.caption) == suite.caption] == []


def test_the_language_is_that_of_the_card_or_the_one_asked_for(tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run")
    recipe = run.path / "recipe.yaml"
    recipe.write_text(recipe.read_text("utf-8") + "hub: {language: ko}\n", "utf-8")
    for option, lang in (([], "ko"), (["--language", "en"], "en"), (["--language", "ko"], "ko")):
        assert run_command(["report", str(run.path), *option]) == 0
        assert f'<html lang="{lang}">' in (run.path / "report.html").read_text("utf-8")
    assert Words("ko").duration(3725) == "1시간 2분" and Words("ko").duration(65) == "1분 5초"
