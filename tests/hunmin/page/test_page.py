"""The page of runs made by hand: each number where it belongs, whatever is missing, and nothing that is not text."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hand_made import LINES, SENTENCES, HandMade, line, result, run_with_all
from selectolax.lexbor import LexborHTMLParser

from common.lock import is_locked, locked
from hunmin.main import run_command
from hunmin.page.facts import read_facts
from hunmin.page.page import render, write_page
from hunmin.page.words import ENGLISH
from pretrain.callbacks.checkpoint_metadata import write_metadata
from tests.runs import copy_run

NOW = 2_000_000_000.0
"""2033-05-18 03:33:20 UTC."""
HOSTILE = "<script>alert(1)</script>&amp;<img src=x onerror=alert(2)>\"'훈민{0}"


def page_of(run: Path) -> LexborHTMLParser:
    return LexborHTMLParser(render(read_facts(run, NOW)))


def words(node: object) -> str:
    return " ".join(node.text(separator=" ").split())  # type: ignore[attr-defined]


def cells(page: LexborHTMLParser, title: str) -> list[list[str]]:
    """Return a table's rows, its head first, by the name that is read out."""
    box = next(box for box in page.css('[role="region"]') if box.attributes["aria-label"] == title)
    return [[words(cell) for cell in row.css("th, td")] for row in box.css("tr")]


def named(page: LexborHTMLParser, items: str) -> dict[str, str]:
    """Return a list of names and values."""
    return {words(item.css_first("dt")): words(item.css_first("dd")) for item in page.css(items)}


def charts(page: LexborHTMLParser) -> dict[str, Any]:
    """Return what is drawn, by the titles."""
    return {words(figure.css_first("figcaption")): json.loads(figure.css_first(".plot").attributes["data-chart"] or "")
            for figure in page.css("figure")}  # fmt: skip


def headline(run: HandMade) -> str:
    return words(page_of(run.path).css_first(".headline"))


def encoded(folder: Path, rows: list[dict[str, Any]] | None = None, **klue: Any) -> HandMade:
    """Return a run whose tokens are done, with lines of an unfinished training."""
    run = HandMade(folder / "run", **klue)
    run.corpus()
    run.vocabulary()
    if rows:
        run.train(rows, "pretrain.partial")
    return run


@pytest.fixture
def made(tmp_path: Path) -> HandMade:
    return run_with_all(tmp_path / "run")


@pytest.fixture
def whole(made: HandMade) -> Path:
    return made.path


def test_overview_and_pipeline(whole: Path) -> None:
    page = page_of(whole)
    assert page.css_first("h1").text() == "by-hand"
    assert words(page.css_first(".headline")) == "finished: all stages are done"
    cards = named(page, ".cards > div")
    assert cards == {
        "Date": "2026-11-23",
        "Duration": "1h 05m of the finished stages",  # 65 + 5 + 1 + 3720 + 2 + 130 + 1 = 3924 s
        "Version": "Hunmin 0.1.0",
        "Hardware": "8 × NVIDIA H100 80GB HBM3",
        "Model": "RoBERTa 1.4M parameters, 2 layers, width 64, 4 heads",
        "Trained on": "100.0k tokens 100 of 100 steps",
        "Corpus": "4.0 MB 40 documents, 400 sentences",
        "Vocabulary": "14 entries the corpus is 10.0k tokens",
    }
    # YNAT alone has both: 81 and 30
    assert words(page.css_first(".figure")) == "+51.00 points gain over random weights"
    assert words(page.css_first(".sentence")) == "81.00 after pretraining, 30.00 from random weights on YNAT."
    order = [section.attributes["id"] for section in page.css("section")]
    assert order == ["verdict", "scores", "training", "embeddings", "pipeline", "privacy", "corpus", "vocabulary"]
    assert [words(part) for part in page.css(".fold > summary > h2")] == ["Corpus", "Vocabulary"]
    stages = [words(stage) for stage in page.css(".stages > li")]
    names = ("Corpus", "Tokenizer", "Encoding", "Pretraining", "Export", "Evaluation", "Report")
    assert [text.split()[:2] for text in stages] == [[name, "done"] for name in names]
    assert "1m 05s" in stages[0] and "400 sentences in 40 documents" in stages[0]
    assert (
        "1h 02m" in stages[3] and "100 steps, 100.0k tokens, validation loss 9.500 → 4.750, accuracy 37.5%" in stages[3]
    )
    assert ["package-of-klue", "1.2.3"] in cells(page, "Versions")


def test_corpus(whole: Path) -> None:
    page = page_of(whole)
    assert cells(page, "Sources")[1:] == [
        ["books", "30", "300", "3,000", "3.00", "4.00", "75.0%", "75.0%"],
        ["web", "10", "100", "1,000", "1.00", "1.00", "100.0%", "25.0%"],
        ["all", "40", "400", "4,000", "4.00", "5.00", "80.0%", "100.0%"],
    ]
    assert cells(page, "Mixture") == [
        ["source", "MB", "repeats", "documents held out", "left out", "MB per epoch", "of the epoch"],
        ["books", "3.40", "0.75", "2", "8", "2.40", "60.0%"], ["web", "1.00", "2.00", "1", "0", "1.60", "40.0%"],
    ]  # fmt: skip
    assert cells(page, "Cleaning")[1:] == [
        ["repeated blanks and line ends", "9", "300", "2.000%"],
        ["HTML", "7", "150", "1.000%"],
    ]
    assert cells(page, "Personal data")[1:] == [
        ["telephone number", "12", "2,400.0"], ["e-mail address", "3", "600.0"], ["all", "15", "3,000.0"],
    ]  # fmt: skip
    assert "BRN" not in page.html and "min_hangul_share" not in page.html
    assert cells(page, "Benchmark sentences") == [
        ["task", "identical", "shared words", "all"], ["KLUE-STS", "11", "0", "11"], ["YNAT", "5", "1", "6"],
        ["all", "16", "1", "17"],
    ]  # fmt: skip
    assert cells(page, "Left out")[1:] == [
        ["line rejected: no text", "2"], ["file: is damaged or cut short: no end mark", "1"],
        ["no document: redirect", "8"], ["document: too short", "4"],
        ["duplicate: documents", "6"],
    ]  # fmt: skip
    assert cells(page, "Input files quarantined") == [
        ["file", "reason"], ["web.jsonl.gz", "is damaged or cut short: no end mark"],
    ]  # fmt: skip
    lengths = cells(page, "Length of documents in characters")
    assert lengths[1:] == [["50–99", "30", "75.0%"], ["100–199", "10", "25.0%"]]


def test_one_is_singular() -> None:
    text = "{documents:document}, {entries:entry/entries} of {all:smaller source}"
    for values, said in {
        (1, 1, 1): "1 document, 1 entry of 1 smaller source",
        (0, 2, 1001): "0 documents, 2 entries of 1,001 smaller sources",
        ("1", "1.4M", 21): "1 document, 1.4M entries of 21 smaller sources",
    }.items():
        assert ENGLISH(text, **dict(zip(("documents", "entries", "all"), values, strict=True))) == said


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ("corpus: {pii: {enabled: false}, decontaminate: {benchmark: [a]}}", "Personal data was not looked for"),
        ("corpus: {decontaminate: {benchmark: [a]}}", "No personal data was found. No benchmark sentence was found."),
        ("corpus: {decontaminate: {benchmark: null}}", "Nothing was decontaminated"),
        ("corpus: {decontaminate: {enabled: false, benchmark: [a]}}", "Nothing was decontaminated"),
    ],
)
def test_what_was_not_looked_for_is_not_called_clean(section: str, sentence: str, made: HandMade, whole: Path) -> None:
    (whole / "recipe.yaml").write_text((whole / "recipe.yaml").read_text("utf-8") + f"{section}\n", "utf-8")
    path = whole / "corpus" / "statistics.json"
    statistics = json.loads(path.read_text(encoding="utf-8")) | {"pii": {}, "decontamination": {}}
    made.write("corpus/statistics.json", statistics)
    said = words(page_of(whole).css_first("#privacy"))
    assert sentence in said and ("No personal data was found" in said) is ("pii" not in section)
    assert ("No benchmark sentence was found" in said) is ("Nothing was decontaminated" not in said)


def test_vocabulary(whole: Path) -> None:
    page = page_of(whole)
    assert cells(page, "Entries")[1:] == [
        ["special", "5", "0", "35.7%"], ["Hangul", "2", "2", "28.6%"], ["Latin letters", "1", "1", "14.3%"],
        ["digits", "1", "0", "7.1%"], ["Hanja and kana", "1", "0", "7.1%"], ["other", "1", "0", "7.1%"],
    ]  # fmt: skip
    assert cells(page, "On held-out text")[1:] == [
        ["tokens per word (fertility)", "1.2345"], ["[UNK], share of the held-out text's tokens", "0.006700"],
    ]  # fmt: skip
    assert "On held-out text, 1,000 bytes" in [words(title) for title in page.css("#vocabulary h3")]
    assert cells(page, "Sizes")[1:] == [
        ["vocabulary entries", "14"], ["pre-tokens trained on (words cut at punctuation)", "987"],
        ["distinct pre-tokens trained on", "321"],
    ]  # fmt: skip
    assert "feedfeed" not in page.html
    encoded = dict(cells(page, "The encoded corpus"))
    assert encoded["[UNK], share of the corpus's tokens"] == "0.2500%"  # as in the pipeline
    assert "10,000 tokens, 0.2500% of them [UNK]" in words(page.css(".stages > li")[2])
    assert (encoded["tokens per word of the corpus"], encoded["tokens per document"]) == ("2.500", "250.0")
    rows = page.css(".splits tr")
    assert [words(word) for word in rows[1].css(".cut")] == ["[UNK]", "인공 ##지능", "[UNK]", "[UNK]", "[UNK] [UNK]"]
    assert words(rows[0].css(".cut")[1]).replace(" ", "") == "인공지능"


def test_training(whole: Path) -> None:
    page = page_of(whole)
    loss = cells(page, "Loss of predicted tokens: numbers")
    assert loss[0] == ["optimizer step", "training", "validation"]
    assert loss[1:3] == [["0", "–", "9.5000"], ["10", "9.5000", "–"]] and loss[-1] == ["100", "5.0000", "4.7500"]
    assert cells(page, "Model FLOPs utilisation (MFU): numbers")[1] == ["10", "31.00%"]
    assert cells(page, "Throughput: numbers")[1] == ["10", "500"]
    assert cells(page, "Learning rate: numbers")[1] == ["10", "0.05"]
    drawn = charts(page)["Loss of predicted tokens"]
    assert drawn["x"] == list(range(0, 101, 10)) and [line["label"] for line in drawn["lines"]] == [
        "training",
        "validation",
    ]
    training, validation = drawn["lines"]
    assert training["values"][:2] == [None, 9.5] and not training["dots"]
    assert validation["values"] == [9.5, *[None] * 9, 4.75] and validation["dots"]  # points alone: nothing joins step 0
    assert cells(page, "Checkpoints")[1:] == [["60", "60,000", "10 B", "bf16"]]
    pairs = named(page, "#training .pairs > div")
    assert pairs["batches skipped"] == "2" and pairs["at steps"] == "17, 33" and pairs["restarts"] == "1"
    assert cells(page, "Starts")[2] == ["2", "2026-11-23T11:00:00+00:00", "40", "4"]
    settings = dict(cells(page, "Settings"))
    assert settings["optimizer.learning_rate"] == "0.5" and settings["init_from"] == "first"


def test_scores(whole: Path) -> None:
    page = page_of(whole)
    head, *rows = cells(page, "KLUE scores")
    assert head[:4] == ["metric", "pretrained 1–2 seeds", "random weights 2 seeds", "gain"]
    by_name = {row[0]: row for row in rows}
    assert by_name["YNAT macro F1"][1:4] == ["81.00 80.00 · 82.00", "30.00 20.00 · 40.00", "+51.00"]
    assert by_name["KLUE-STS Pearson r (split of dev)¹"][1:4] == ["55.25", "–", "–"]
    marks = {(dot.attributes["class"], dot.attributes["style"]) for dot in page.css(".strip .dot")}
    assert {("dot pretrained", "left:82.0%;top:23px"), ("dot random", "left:40.0%;top:11px")} <= marks  # a point a seed
    head, *rows = cells(page, "Published models")
    assert dict(zip(head, rows[0], strict=True))["KLUE-RoBERTa-base"] == "86.03"  # Table 36
    notes = [words(note) for note in page.css("#scores .notes li")]
    assert any("KLUE paper, Table 36 (dev)" in note for note in notes) and any(
        "no train file" in note for note in notes
    )
    assert notes[-1].endswith("KLUE-STS 11.") or "YNAT 6, KLUE-STS 11" in notes[-1]
    assert cells(page, "Scores of each seed")[1] == ["YNAT macro F1", "pretrained", "5e-05", "80.00", "82.00"]
    assert ["YNAT macro F1, last evaluation", "80.00 ± 1.41", "29.00 ± 14.14"] in cells(page, "More metrics")
    assert cells(page, "YNAT macro F1: numbers")[1:] == [["50,000", "61.50"], ["100,000", "72.25"]]


def test_equal_scores_are_dots_one_above_another(made: HandMade, whole: Path) -> None:
    scores = [("pretrained", 42, 33.3), ("random", 42, 33.3), ("random", 43, 34.0), ("pretrained", 43, 35.8)]
    made.write("klue/results.jsonl", [result("ynat", init, seed, score) for init, seed, score in scores])
    strip = page_of(whole).css_first(".strip")
    dots = {(dot.attributes["style"], (dot.attributes["class"] or "").split()[1]) for dot in strip.css(".dot")}
    assert dots == {
        ("left:33.3%;top:11px", "pretrained"), ("left:33.3%;top:23px", "random"), ("left:34.0%;top:35px", "random"),
        ("left:35.8%;top:11px", "pretrained"),
    }  # fmt: skip
    assert strip.attributes["style"] == "height:46px"


def test_utilisation_is_shown_where_the_peak_is_published(whole: Path) -> None:
    for path in (whole / "pretrain" / "checkpoints").glob("*/complete.json"):
        write_metadata(path.parent, {**json.loads(path.read_bytes()), "device": "AMD EPYC", "world": 1})
    page = page_of(whole)
    assert named(page, ".cards > div")["Hardware"] == "AMD EPYC"
    assert "Throughput" in charts(page) and not [title for title in charts(page) if "MFU" in title]


def test_date_and_commit_are_those_of_the_last_stage(whole: Path) -> None:
    with (whole / "logs" / "timing.jsonl").open("a", encoding="utf-8") as stream:
        row = {"stage": "report", "seconds": 1.0, "time": "2026-11-28T01:02:03+00:00", "commit": "c231af169"}
        stream.write(json.dumps(row) + "\n")
    cards = named(page_of(whole), ".cards > div")
    assert (cards["Date"], cards["Commit"]) == ("2026-11-28", "c231af169 Hunmin 0.1.0")


@pytest.mark.parametrize(
    ("rows", "figure", "sentence"),
    [
        ([("ynat", "pretrained", 60.0), ("klue-nli", "pretrained", 30.0)], "45.00 mean score", "Mean of 2 tasks"),
        (
            [("ynat", "pretrained", 60.0), ("ynat", "random", 20.0), ("klue-nli", "pretrained", 30.0),
             ("klue-nli", "random", 34.0)],
            "+18.00 points mean difference from random weights",
            "The pretrained model scores higher on 1 of 2. With one seed, this difference may be noise.",
        ),
        (
            [("ynat", "pretrained", 60.0), ("ynat", "random", 20.0)], "+40.00 points difference from random weights",
            "60.00 after pretraining, 20.00 from random weights on YNAT. With one seed, this difference may be noise.",
        ),
        ([("ynat", "pretrained", 60.0)], "60.00 YNAT", "No model from random weights was fine-tuned"),
        ([], "9.500 → 4.750 validation loss", "37.5% of the tokens predicted correctly."),
    ],
)  # fmt: skip
def test_verdict(rows: list[tuple[str, str, float]], figure: str, sentence: str, made: HandMade, whole: Path) -> None:
    if rows:
        made.write("klue/results.jsonl", [result(task, init, 42, score) for task, init, score in rows])
    else:
        made.leave_out("klue/results.jsonl")
    page = page_of(whole)
    assert words(page.css_first(".figure")) == figure and sentence in words(page.css_first(".sentence"))


def test_a_loss_that_does_not_change_is_shown_once(made: HandMade, whole: Path) -> None:
    made.leave_out("klue/results.jsonl")
    losses = [
        {"step": step, "validation_loss": 5.42449 - step / 10**6, "validation_accuracy": 0.1} for step in (0, 100)
    ]
    made.train([losses[0], line(50, 5.0), losses[1]])
    page = page_of(whole)
    assert words(page.css_first(".figure")) == "5.424 validation loss"
    assert "validation loss 5.424, accuracy 10.0%" in words(page.css_first(".stages"))


def test_a_gain_is_one_of_several_seeds(made: HandMade, whole: Path) -> None:
    """With two seeds everywhere it is a gain; with one anywhere it is a difference, which the page says itself."""
    rows = [
        result(task, init, seed, score)
        for task in ("ynat", "klue-nli")
        for seed in (42, 43)
        for init, score in (("pretrained", 50.0 + seed), ("random", 10.0))
    ]
    made.write("klue/results.jsonl", rows)
    page = page_of(whole)
    assert words(page.css_first(".figure")) == "+82.50 points mean gain over random weights"
    sentence = words(page.css_first(".sentence"))
    assert sentence.endswith("one metric each. Pretraining helps on 2 of 2.") and "seed" not in sentence
    made.write("klue/results.jsonl", rows[:-1])  # random weights of one task lack a seed
    assert "gain" not in words(page_of(whole).css_first(".verdict"))
    korean = LexborHTMLParser(render(read_facts(whole, NOW), language="ko"))
    assert words(korean.css_first(".figure")).endswith("무작위 가중치와의 평균 차이")
    assert words(korean.css_first(".sentence")).endswith("시드가 하나인 점수여서 우연한 차이일 수 있습니다.")


def test_synthetic_scores_say_so_first(made: HandMade, whole: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [result("ynat", "pretrained", 42, 80.0, data_note="synthetic (hunmin sample)")]
    made.write("klue/results.jsonl", rows)
    said = "These are not scores of the benchmark: the data is synthetic."
    page = page_of(whole)
    assert words(page.css_first("main")).startswith(f"Result {said}")
    assert words(page.css_first("#scores h2")) == "Scores of synthetic tasks" and not page.css(
        "[aria-label='Published models']"
    )
    report = json.loads((whole / "report" / "report.json").read_bytes())
    made.write("report/report.json", {**report, "klue": rows})
    assert run_command(["report", str(whole)]) == 0 and said in capfd.readouterr().out


def test_several_runs_on_one_page(whole: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = HandMade(tmp_path / "other")
    other.train([line(10, 3.0), {"step": 10, "validation_loss": 2.5}])
    other.write("klue/results.jsonl", [result("ynat", "pretrained", 42, 85.0)])
    out = tmp_path / "both.html"
    assert run_command(["report", str(whole), str(other.path), "--out", str(out)]) == 0
    assert str(out) in capfd.readouterr().out
    page = LexborHTMLParser(out.read_text("utf-8"))
    drawn = charts(page)["Training loss"]
    assert [drawn_line["label"] for drawn_line in drawn["lines"]] == ["by-hand (run)", "by-hand (other)"]
    assert [drawn_line["colour"] for drawn_line in drawn["lines"]] == [1, 2] and drawn["lines"][1]["values"][0] == 3
    assert cells(page, "Scores")[:2] == [
        ["metric", "by-hand (run)", "by-hand (other)"], ["YNAT macro F1", "81.00", "85.00"],
    ]  # fmt: skip
    assert "No line" not in page.html and str(tmp_path) not in page.html
    assert run_command(["report", str(whole), str(other.path), "--watch"]) == 2
    assert run_command(["report", *[str(whole)] * 9, "--out", str(out)]) == 2


def test_a_finished_run_gives_the_same_bytes_at_any_time(whole: Path) -> None:
    first = render(read_facts(whole, NOW))
    assert render(read_facts(whole, NOW + 1e6)) == first
    assert str(whole.parent) not in first and "/home/someone" not in first and "/data/klue" not in first


def test_many_sources_do_not_push_the_rest_off_the_page(made: HandMade, whole: Path) -> None:
    path = whole / "corpus" / "statistics.json"
    statistics = json.loads(path.read_text(encoding="utf-8"))
    small = {"read": {"documents": 1, "bytes": 10}, "kept": {"documents": 1, "bytes": 10}}
    statistics["sources"] |= {f"small-{number:02d}": small for number in range(30)}
    made.write("corpus/statistics.json", statistics)
    page = page_of(whole)
    shown = [row[0] for row in cells(page, "Sources")]
    assert shown[:4] == ["source", "books", "web", "small-00"] and shown[-1] == "all" and len(shown) == 17
    folded = next(block for block in page.css("details") if words(block.css_first("summary")) == "17 smaller sources")
    assert words(folded.css("tr")[-1].css_first("th")) == "small-29"
    assert [row[0] for row in cells(page, "Smaller sources")[1:]] == [f"small-{number:02d}" for number in range(13, 30)]


def test_everything_is_text(tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run", name=HOSTILE)
    run.corpus(first=HOSTILE, second="다른 출처 & Co")
    run.vocabulary()
    beat = {"state": "failed", "failure": HOSTILE, "processes": 2, "late_processes": 1, "step": 5, "late": [
        {"host": HOSTILE, "processes": 1, "ranks": [1], "step": 4, "silent_seconds": 99.5}]}  # fmt: skip
    run.write("pretrain.partial/logs/heartbeat.json", beat)
    run.train([line(10, 3.0)], "pretrain.partial")
    run.write("pretrain.partial/logs/starts.jsonl", [{"time": HOSTILE, "step": 0, "processes": HOSTILE}])
    page = page_of(run.path)
    assert len(page.css("script")) == 1 and not page.css("img") and not page.css("[onerror]")
    assert page.css_first("h1").text() == HOSTILE == page.css_first("title").text().removesuffix(" · Hunmin")
    assert cells(page, "Sources")[1][0] == HOSTILE and cells(page, "Sources")[2][0] == "다른 출처 & Co"
    assert cells(page, "Late processes")[1] == ["node 1", "1", "1", "4", "99.5"]
    assert any(words(part).startswith("Failed: an error (") for part in page.css(".warning"))


@pytest.mark.parametrize(
    ("rank", "kind", "shown"),
    [
        (1, "FileNotFoundError", "rank 1: FileNotFoundError"),
        (12, "OutOfMemoryError", "rank 12: out of memory"),
        (0, "closed", "rank 0: its connection has closed"),
        (3, "silent", "rank 3: no heartbeat"),
        (3, "DiskFullError", "rank 3: the disk is full"),
        (2, "UserError", "rank 2: an error"),
    ],
)
def test_a_failure_is_told_without_names_and_paths(rank: int, kind: str, shown: str, tmp_path: Path) -> None:
    """Whatever its text says: out of memory, a timeout, the name of another class."""
    message = f"rank {rank} on hong-laptop failed: /home/hong/secret: CUDA out of memory, KeyError: timed out"
    run = encoded(tmp_path, [line(10, 3.0)])
    late = [{"host": host, "processes": 1, "ranks": ranks, "step": 4, "silent_seconds": 9.5}
            for host, ranks in (("hong-desktop", [9, 1]), ("hong-laptop", [2]))]  # fmt: skip
    beat = {
        "state": "failed",
        "failure": message,
        "failed_rank": rank,
        "failure_kind": kind,
        "processes": 9,
        "late_processes": 3,
        "step": 5,
        "late": late,
    }
    run.write("pretrain.partial/logs/heartbeat.json", beat)
    recipe = run.path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("optimizer:", "wandb_project: hongs-own\n  optimizer:"))
    page = page_of(run.path)
    assert "hong" not in page.html and "secret" not in page.html
    (warning,) = [words(part) for part in page.css(".warning")]
    assert warning.startswith(f"Failed: {shown} (")
    assert [row[0] for row in cells(page, "Late processes")[1:]] == ["node 1", "node 2"]  # of ranks 1 and 2


def test_a_folder_with_nothing_but_a_recipe(tmp_path: Path) -> None:
    page = page_of(HandMade(tmp_path / "run").path)
    assert words(page.css_first(".headline")) == "not running; the next stage is Corpus"
    said = words(page.css_first("main"))
    assert not page.css("#corpus, #vocabulary")
    for text in ("Training has not logged a step yet", "There are no scores yet"):
        assert text in said


def test_embeddings(whole: Path, tmp_path: Path) -> None:
    page = page_of(whole)
    assert cells(page, "Scores of the embeddings") == [["model", "KLUE-STS"], ["tuned", "70.12"], ["untuned", "12.50"]]
    figures = ["200", "7,500", "1.5", "400", "2.50"]
    assert cells(page, "Index of the documents")[1] == ["tuned", "AutoRAGRetrieval", *figures]
    assert cells(page, "ONNX graphs")[1] == ["onnx-int8", "1.7", "2,345", "0.9993"]
    assert charts(page)["Loss of the embeddings"]["lines"][0]["values"] == [3.5, 1.25]
    assert "1 of 20 tasks of MTEB(kor, v2)" in words(page.css_first("#embeddings"))
    assert page_of(encoded(tmp_path / "other").path).css_first("#embeddings") is None


def test_a_run_whose_embeddings_are_not_done_is_not_finished(whole: Path, tmp_path: Path) -> None:
    run = copy_run(whole, tmp_path / "copy")
    (run / "recipe.yaml").write_text((run / "recipe.yaml").read_text("utf-8") + "embed: {data: [{use: klue-nli}]}\n")
    shutil.rmtree(run / "embed", ignore_errors=True)
    facts = read_facts(run, NOW)
    assert [stage.name for stage in facts.stages][4:6] == ["export", "embed"]
    assert facts.state == "not running" and facts.stage("embed").state == "waiting"


def test_a_run_that_trains(tmp_path: Path) -> None:
    """A line has 10,000 tokens in 10 steps at 500 tokens a second: 2 s a step, 40 steps, 80 s."""
    run = encoded(tmp_path, [line(step, 5.0) for step in range(10, 61, 10)])
    assert headline(run) == "not running: Pretraining, step 60 of 100"
    with locked(run.path):
        assert is_locked(run.path)
        page = page_of(run.path)
    assert not is_locked(run.path)
    assert words(page.css_first(".headline")) == "running: Pretraining, step 60 of 100"
    run.write("pretrain.partial/logs/heartbeat.json", {"state": "running", "step": 62, "processes": 2})
    assert headline(run) == "not running: Pretraining, step 62 of 100"
    pairs = named(page, "#verdict .pairs > div")
    assert (pairs["time per step"], pairs["training ends in about"]) == ("2 s", "1m 20s")
    assert pairs["expected end"] == "2033-05-18 03:34:40 UTC"
    assert page.css_first("progress").attributes["value"] == "0.6000"
    states = [words(stage).split(" ", 1)[1] for stage in page.css(".stages > li")]
    assert states[3].startswith("running") and states[4].startswith("not started")
    assert "last written" in pairs
    run.write("pretrain.partial/logs/stopped", "")
    checkpoint = "pretrain.partial/checkpoints/step-00000060/complete.json"
    write_metadata((run.path / checkpoint).parent, {**json.loads((run.path / checkpoint).read_bytes()), "step": 64})
    assert headline(run) == "stopped: Pretraining, step 64 of 100"


def test_a_file_just_written_shows_a_run_on_another_machine(tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run")
    run.write("corpus.partial/units/1.json", {})
    run.write("corpus.partial/notes.json", {})
    written = (run.path / "corpus.partial" / "notes.json").stat().st_mtime
    assert read_facts(run.path, written + 500).state == "running"
    assert read_facts(run.path, written + 700).state == "not running"


def test_a_run_that_fine_tunes(tmp_path: Path) -> None:
    run = encoded(tmp_path, tasks=["ynat", "klue-sts"], seeds=2, baseline_random=True)
    run.train(LINES)
    run.finish("pretrain", {"steps": 100, "tokens": 100_000}, 3720.0)
    run.finish("export", {"parameters": 1_400_000}, 2.0)
    run.fine_tune("klue.partial")
    page = page_of(run.path)
    assert words(page.css_first(".headline")) == "not running: Evaluation, 3 of 8 fine-tunings"
    assert "3 of 8 fine-tunings are done." in words(page.css_first("#scores"))
    assert cells(page, "KLUE scores")[1][1:3] == ["81.00 80.00 · 82.00", "20.00"]
    log = run.path / "made/jobs/klue-sts-pretrained-42-0123456789/logs/history.jsonl"
    run.write(str(log.relative_to(run.path)), [])  # of a job under way, on another machine
    for path in (run.path / "klue.partial").rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert read_facts(run.path, log.stat().st_mtime + 500).state == "running"
    assert read_facts(run.path, log.stat().st_mtime + 700).state == "not running"


def test_what_an_earlier_training_left_is_outdated(made: HandMade, whole: Path) -> None:
    made.finish("pretrain", {"steps": 101, "tokens": 101_000}, 40.0, again=True)
    page = page_of(whole)
    states = [words(stage).split(" ", 1)[1].split(",")[0].split()[0] for stage in page.css(".stages > li")]
    assert states == ["done"] * 4 + ["outdated"] * 3
    assert "These scores belong to an earlier state of the run" in words(page.css_first("#scores"))
    assert words(page.css_first(".headline")) == "not running; the next stage is Export"
    made.train([line(10, 3.0)], "pretrain.partial")  # what a stage at work made before is not shown
    recipe = whole / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("layers: 2", "layers: 1"))
    page = page_of(whole)
    assert words(page.css(".stages > li")[3]) == "Pretraining interrupted The same command resumes it."
    cards = named(page, ".cards > div")
    assert cards["Duration"].startswith("1m 11s ")  # 65 + 5 + 1: what comes after is outdated
    assert words(page.css_first(".sentence")).endswith("Scores of an earlier state of the run.")


def test_losses_that_are_not_finite(tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run")
    nan = float("nan")
    run.train(
        [line(10, 3.0), line(20, nan), line(30, float("inf")), line(40, 2.0), {"step": 40, "validation_loss": nan}]
    )
    page = page_of(run.path)
    assert "2 of 4 lines of the log have no finite loss" in words(page.css_first("#training"))
    loss = cells(page, "Loss of predicted tokens: numbers")
    assert loss[0] == ["optimizer step", "training"]  # no validation that could be drawn
    assert [row[1] for row in loss[1:]] == ["3.0000", "not finite", "not finite", "2.0000"]
    values = charts(page)["Loss of predicted tokens"]["lines"][0]["values"]
    assert values == [3, False, False, 2]  # a gap, not a missing point
    run.train([line(10, nan)])
    assert "Loss of predicted tokens" not in page_of(run.path).html


def test_a_line_cut_short_and_lines_of_something_else_are_passed_over(tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run")
    run.write(
        "pretrain/logs/metrics.jsonl", f'{json.dumps(line(10, 3.0))}\n[1]\n"x"\n{{"step": "a"}}\n{{"step": 20, "lo'
    )
    assert cells(page_of(run.path), "Loss of predicted tokens: numbers")[1:] == [["10", "3.0000"]]


@pytest.mark.slow
def test_a_million_lines_make_a_small_page_with_their_spike(tmp_path: Path) -> None:
    run = HandMade(tmp_path / "run")
    template = json.dumps(line(10, 3.0)).replace('"step": 10', '"step": <step>').replace("3.0", "<loss>", 1)
    with (run.path / "metrics").open("w", encoding="utf-8") as stream:
        for step in range(1, 1_000_001):
            loss = 77.5 if step == 654_321 else 2 + (step % 1000) / 1000
            stream.write(template.replace("<step>", str(step)).replace("<loss>", str(loss)) + "\n")
    (run.path / "pretrain" / "logs").mkdir(parents=True)
    (run.path / "metrics").rename(run.path / "pretrain" / "logs" / "metrics.jsonl")
    write_page(run.path)
    page = (run.path / "report.html").read_text("utf-8")
    assert len(page.encode()) < 5_000_000
    parsed = LexborHTMLParser(page)
    assert len(cells(parsed, "Loss of predicted tokens: numbers")) <= 101
    assert max(value for value in charts(parsed)["Loss of predicted tokens"]["lines"][0]["values"]) == 77.5


def test_text_of_the_corpus_only_where_it_is_asked_for(whole: Path, tmp_path: Path) -> None:
    (whole / "corpus" / "shards").mkdir()
    table = pa.table({"id": ["b-1"], "source": ["books"], "licence": [""], "sentences": [SENTENCES]})
    pq.write_table(table, whole / "corpus" / "shards" / "shard-00000.parquet")
    facts = {"file": "shard-00000.parquet"}
    (whole / "corpus" / "shards" / "shard-00000.json").write_text(json.dumps(facts))
    for option, there in (([], False), (["--with-text"], True)):
        assert run_command(["report", str(whole), "--out", str(tmp_path / "page.html"), *option]) == 0
        page = LexborHTMLParser((tmp_path / "page.html").read_text("utf-8"))
        assert ("둘째" in page.html) == there
    assert [words(part) for part in page.css("#text .sentence")] == [
        "첫째 문장이다.", "[UNK] [UNK] [UNK]", "둘째 문장도 있다.", "[UNK] [UNK] [UNK] [UNK]",
    ]  # fmt: skip


def test_the_command_prints_what_there_is_and_where(
    whole: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = HandMade(tmp_path / "going")
    run.corpus()
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    assert run_command(["report", str(run.path)]) == 0
    out = capfd.readouterr().out
    assert "not running; the next stage is Tokenizer" in out and "400 sentences in 40 documents" in out
    assert "1 input file quarantined, see corpus/rejects/files.jsonl" in out
    assert f"page:   {run.path / 'report.html'}" in out
    written = {path for path in run.path.rglob("*") if path.is_file()} - before.keys()
    assert written == {run.path / "report.html"} and all(path.read_bytes() == text for path, text in before.items())
    assert run_command(["report", str(run.path), "--json"]) == 2  # a run's report is its last stage
    assert run_command(["report", str(whole), "--json", "--watch"]) == 2
    assert run_command(["report", str(tmp_path)]) == 2 and "is no run folder" in capfd.readouterr().err


def test_watch_writes_until_the_run_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = HandMade(tmp_path / "run")
    run.corpus()
    pages: list[str] = []

    def sleep(seconds: float) -> None:
        assert seconds == 7
        pages.append((run.path / "report.html").read_text("utf-8"))
        if len(pages) == 1:
            run.vocabulary()
        elif len(pages) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    assert run_command(["report", str(run.path), "--watch", "--every", "7"]) == 130
    assert ["the next stage is Tokenizer" in pages[0], "the next stage is Pretraining" in pages[1]] == [True, True]
    assert all('<meta http-equiv="refresh" content="7">' in page for page in pages)
    assert "refresh" not in (run.path / "report.html").read_text("utf-8")


def test_a_file_of_the_future_shows_no_command_at_work(tmp_path: Path) -> None:
    """The clock was set back after a run was killed; one that still writes is seen by its new files."""
    run = encoded(tmp_path, [line(10, 3.0)])
    written = sorted((run.path / "pretrain.partial").rglob("*"))
    for path in written:
        os.utime(path, (2e9, 2e9))
    assert read_facts(run.path, 2e9 - 3600).state == "not running"
    assert read_facts(run.path, 2e9 - 5).state == read_facts(run.path, 2e9 + 5).state == "running"
    os.utime(run.path / "pretrain.partial" / "logs" / "metrics.jsonl", (2e9 - 3610,) * 2)
    assert read_facts(run.path, 2e9 - 3600).state == "running"


@pytest.mark.parametrize("end", ["failed", "killed"])
def test_watch_ends_with_a_run_that_does_not_go_on(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run, sleeps = encoded(tmp_path, [line(10, 3.0)]), list[float]()
    monkeypatch.setattr("hunmin.page.facts.is_locked", lambda run: len(sleeps) < 2)
    monkeypatch.setattr("hunmin.page.facts.FRESH", -1.0)

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        assert len(sleeps) < 4
        if end == "failed" and len(sleeps) == 2:
            run.write("pretrain.partial/logs/heartbeat.json", {"state": "failed", "failure": "x", "step": 10})

    monkeypatch.setattr("time.sleep", sleep)
    assert run_command(["report", str(run.path), "--watch"]) == 1
    message = "failed: Pretraining" if end == "failed" else "not running: Pretraining"
    assert len(sleeps) == 2 and message in capfd.readouterr().out
    assert "refresh" not in (run.path / "report.html").read_text("utf-8")
