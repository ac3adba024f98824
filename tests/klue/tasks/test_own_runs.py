"""Own tasks of all kinds through the command line: from files to models that transformers loads, and their scores."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from transformers import AutoConfig, pipeline

from hunmin.main import run_command
from klue.job import run_job
from klue.plan import Job
from klue.tasks import TASKS
from tests.klue.conftest import FILLERS, PLACES, THINGS, TOPICS
from tests.klue.names import job_folder

TEXTS = [
    (f"{FILLERS[n % 8]} {n} {word} {PLACES[n % 4]}", topic)
    for n in range(16)
    for topic, words in list(TOPICS.items())[:3]
    for word in words
]
VALUES = "training.epochs=3 training.learning_rate=3e-3 training.max_seq_len=48 training.evaluations_per_epoch=1"
KINDS = {
    "topic": {"train": "topic.csv", "text": "글", "label": "분류"},
    "same": {"kind": "pairs", "train": "same.jsonl", "text": ["a", "b"], "label": "same"},
    "rating": {"kind": "regression", "train": "rating.tsv", "label": "score"},
    "marks": {"kind": "multi-label", "train": "marks.jsonl"},
    "places": {"kind": "tagging", "train": "places.conll"},
    "better": {"kind": "choice", "train": "better.jsonl", "text": "q", "choices": ["one", "two"]},
    "where": {"kind": "reading", "train": "where.json"},
}


def write_files() -> None:
    with Path("topic.csv").open("w", encoding="cp949", newline="") as stream:
        csv.writer(stream, delimiter=";").writerows([("글", "분류"), *TEXTS, ("빈 라벨", "")])
    trees = {
        "same": [{"a": t, "b": TEXTS[n * 7 % len(TEXTS)][0], "same": bool(n % 2)} for n, (t, _) in enumerate(TEXTS)],
        "marks": [{"text": t, "label": [label, *(["긴 글"] if n % 2 else [])]} for n, (t, label) in enumerate(TEXTS)],
        "better": [{"q": t, "one": THINGS[n % 6], "two": "좋다", "label": 1 + n % 2} for n, (t, _) in enumerate(TEXTS)],
    }
    for name, records in trees.items():
        Path(f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    rated = [f"{text}\t{len(text) / 10}\n" for text, _ in TEXTS]
    Path("rating.tsv").write_text("".join(["text\tscore\n", *rated]), encoding="utf-8")
    tagged = ["".join(f"{w} {'B-LC' if w in PLACES else 'O'}\n" for w in text.split()) + "\n" for text, _ in TEXTS]
    Path("places.conll").write_text("# 지명\n" + "".join(tagged), encoding="utf-8")
    asked = [
        {"context": text, "qas": [{"id": f"q{n}", "question": "에?", "answers": [{"text": (at := text.split()[-1]),
         "answer_start": text.index(at)}]}]}
        for n, (text, _) in enumerate(TEXTS)
    ]  # fmt: skip
    Path("where.json").write_text(json.dumps({"data": [{"paragraphs": asked}]}), encoding="utf-8")
    for name, row in KINDS.items():
        Path(f"{name}.yaml").write_text(json.dumps({"name": name, **row}), encoding="utf-8")


def run(line: str) -> None:
    """Run a command; a name with a star is the path that it matches, as in a shell."""
    words = [str(next(Path().glob(word))) if "*" in word else word for word in line.split()]
    assert run_command(words) == 0, line


@pytest.mark.slow
def test_from_files_to_models(
    tiny_reader: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    files = " ".join(f"--task-file {name}.yaml" for name in KINDS)
    run(f"klue finetune {tiny_reader} --out out {files} --save-model best --baseline-random --json workers=0 {VALUES}")
    rows = json.loads(capfd.readouterr().out)
    assert [row["task"] for row in rows] == [name for name in KINDS for _ in range(2)]
    assert "1 record of topic.csv without a text or a label left out" in rows[0]["data_note"]

    text = TEXTS[0][0]
    for name, row in KINDS.items():
        model = job_folder(Path("out"), name) / "model"
        run(f"klue predict {model} --in {row['train']} --out {name}.p.jsonl")
        lines = [json.loads(line) for line in Path(f"{name}.p.jsonl").read_text("utf-8").splitlines()]
        assert len(lines) == len(TEXTS) + (name == "topic")
        capfd.readouterr()
        run(f"klue score {name} --task-file {name}.yaml --gold {row['train']} --predictions {name}.p.jsonl --json")
        scored = json.loads(capfd.readouterr().out)
        assert scored["examples"] == len(TEXTS) and {*TASKS[name].metrics, *TASKS[name].extra_metrics} < scored.keys()
        if name in ("topic", "marks"):
            [best] = pipeline("text-classification", model=str(model))([text])
            assert best["label"] in TASKS[name].labels
        if name == "places":
            assert {*AutoConfig.from_pretrained(model).id2label.values()} == {"B-LC", "I-LC", "O"}
            found = [(e["start"], e["end"]) for e in lines[0]["entities"]]
            assert all(text[start:end].strip() for start, end in found)
            pipeline("token-classification", model=str(model), aggregation_strategy="simple")(text)

    listed = " ".join(f"--breakdown {name}" for name in KINDS)
    run(f"klue report out --interval {listed} --worst 1 --data {tmp_path} --plot x.png --format markdown")
    out = capfd.readouterr().out
    assert "Own tasks" in out and "| topic macro F1, dev" in out and Path("x.png").stat().st_size
    assert Path("x-topic.png").is_file() and Path("x-places.png").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("page", ["privacy.md", "privacy.ko.md"])
def test_the_page_on_privacy_prints_what_a_tagger_finds_beside_the_rules(
    page: str, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its commands and its Python as they stand, with a tagger that learns places and mail addresses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUNMIN_PII_KEY", "a key for invented text")
    mail = "ab@naver.com"
    rows = [
        {"text": f"{text} {mail}", "entities": [{"start": (at := text.index(PLACES[n // 6 % 4])), "end": at + 2,
         "label": "LC"}, {"start": len(text) + 1, "end": len(text) + 1 + len(mail), "label": "ID"}]}
        for n, text in enumerate(f"{filler} {place} {word}" for filler in FILLERS[:3] for place in PLACES[:4]
                                 for word in THINGS[:6])
    ]  # fmt: skip
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    Path("people.jsonl").write_text(lines, encoding="utf-8")
    Path("texts.jsonl").write_text(lines, encoding="utf-8")
    Path("people.yaml").write_text("kind: tagging\ntrain: people.jsonl\n", encoding="utf-8")
    text = (Path(__file__).parents[3] / "docs" / page).read_text("utf-8")
    commands, python = re.findall(r"```(?:python)?\n(.*?)```", text.partition("people.jsonl")[2], re.DOTALL)[:2]
    for command in commands.replace("MODEL", str(tiny_reader)).splitlines():
        more = f" {VALUES} training.epochs=12" if "finetune" in command else ""
        run(command.removeprefix("hunmin ") + more)
    capfd.readouterr()
    exec(compile(python, page, "exec"), {})
    printed = capfd.readouterr().out.splitlines()
    labels = [line.split()[1] for line in printed]
    assert labels.count("LC") > len(rows) / 2 and labels.count("ID") < len(rows) / 10  # the rules find mail addresses
    assert all(0 <= float(line.split()[-1]) <= 1 for line in printed)


@pytest.mark.slow
def test_a_job_reads_no_file_of_the_users(
    tiny_reader: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from klue import runner

    monkeypatch.chdir(tmp_path)
    write_files()

    def without_files(job: Job) -> dict:
        TASKS.pop("topic", None)  # as in a process of its own
        Path("topic.csv").unlink(missing_ok=True)
        return run_job(job)

    monkeypatch.setattr(runner, "run_job", without_files)
    run(f"klue finetune {tiny_reader} --out out --task-file topic.yaml workers=0 {VALUES}")
    assert TASKS["topic"].labels == ("IT과학", "경제", "사회")
