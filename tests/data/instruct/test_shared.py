"""The sets at hand: counts by independent reading, test sentences removed, held-out rows apart, rows well made."""

import csv
import json
import os
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from data.benchmark import load_benchmark
from data.decontaminate.normalise import exact_key
from data.instruct.build import build_instructions
from data.instruct.rows import Row, read_rows
from data.instruct.settings import InstructSettings
from data.instruct.spec import USES, use_of

SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data")
KOBEST = {"boolq": "BoolQ", "copa": "COPA", "hellaswag": "HellaSwag", "wic": "WiC"}
FILES = {
    "apeach/APEACH": "instruct/apeach/APEACH",
    **{f"{use}/{name}": f"benchmarks/kobest/{name}" for use, name in KOBEST.items()},
    "korsts": "benchmarks/korsts",
    "parakqc/data": "instruct/parakqc/data",
    "stylekqc/sts/train.tsv": "instruct/stylekqc/sts/dev.tsv",  # the only file at hand stands for train
    "question-pair": "benchmarks/question_pair",
    "nsmc/ratings_train.txt": "benchmarks/nsmc/ratings_train.sample5000.txt",
    "sae4k/data": "instruct/sae4k/data",
    "petitions": "raw/petitions_archive",
    "math/public_mwp_data.json": "instruct/mwp/public_mwp_data.json",
    "kowikitext/news.train.txt": "raw/wikitext_twin.train.txt",
}
READ = {
    "apeach": 3770, "boolq": 3665, "copa": 3076, "hellaswag": 2029, "wic": 3318, "korsts": 5749, "stylekqc": 10800,
    "question-pair": 6136, "nsmc": 5000, "sae4k": 30837, "petitions": 662, "math": 3000,
}  # fmt: skip
ABSENT = {"unsmile", "hatescore", "lbox", "kornli", "pawsx"}
TEST_SENTENCES = {"copa": 408, "boolq": 34, "hellaswag": 41, "wic": 35}
"""Train rows with sentences of the set's own test split, by rules that asked less of short sentences: none is new."""
WHOLE = {"copa": 272, "boolq": 4, "hellaswag": 0, "wic": 5}
"""Train rows that hold a whole cell of the test split."""
CELLS = {
    "copa": ("sentence", "1", "2"),
    "boolq": ("Text", "Question"),
    "hellaswag": ("context",),
    "wic": ("SENTENCE1",),
}
"""Columns whose texts are compared whole, by this page's own reading."""


OWN = {"", "보기", *(f"유형{kind.replace(' ', '')}" for kind in use_of("sae4k").fields["kind"].values.values())}
"""Lines of templates without a text."""


class Built(NamedTuple):
    counts: dict[str, Any]
    out: Path
    train: list[Row]
    held_out: list[Row]

    def line(self, use: str) -> dict[str, Any]:
        return next(line for line in self.counts["uses"] if line["use"] == use)


def letters(text: str) -> str:
    """What two equal texts have in common: letters and digits of any case and width."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def tsv(path: str) -> list[dict[str, str]]:
    lines = (SHARED / path).read_bytes().decode("utf-8-sig").split("\n")
    rows = [line.rstrip("\r").split("\t") for line in lines if line]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    if not (SHARED / "instruct").is_dir():
        pytest.skip("shared data not there")
    folder = tmp_path_factory.mktemp("data")
    for name, target in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(SHARED / target)
    tests = {use: load_benchmark(SHARED / f"benchmarks/kobest/{name}/test.tsv") for use, name in KOBEST.items()}
    settings = InstructSettings(data=str(folder), licences="all", workers=1)
    counts = build_instructions(settings, folder / "out", tests)
    return Built(
        counts, folder / "out", read_rows(folder / "out/train.jsonl"), read_rows(folder / "out/held_out.jsonl")
    )


def test_all_rows_of_the_files_are_read(built: Built) -> None:
    with (SHARED / "instruct/apeach/APEACH/test.csv").open(encoding="utf-8", newline="") as stream:
        assert Counter(row["class"] for row in csv.DictReader(stream)) == {"Spoiled": 1922, "Default": 1848}
    assert len(json.loads((SHARED / "instruct/mwp/public_mwp_data.json").read_text("utf-8-sig"))) == READ["math"]
    for use, path in (("copa", "kobest/COPA/train.tsv"), ("korsts", "korsts/sts-train.tsv")):
        assert len(tsv(f"benchmarks/{path}")) == READ[use]
    assert {use: built.line(use)["read"] for use in READ} == READ
    assert built.counts["rejected"] == built.line("math")["rejected"] == 2, "answers that are nan"
    assert {line["use"] for line in built.counts["uses"] if line["state"].startswith("absent")} == ABSENT
    pairs = {
        (row["context"], *sorted(row[f"choice{n}"] for n in range(1, 5)))
        for row in tsv("benchmarks/kobest/HellaSwag/train.tsv")
    }
    assert built.line("hellaswag")["distinct"] == len(pairs) == 1892


@pytest.mark.parametrize("use", TEST_SENTENCES)
def test_train_rows_with_test_sentences_are_removed(built: Built, use: str) -> None:
    by_suite = built.line(use)["contaminated_by"]
    contaminated = sum(by_suite[use].values())
    rows = tsv(f"benchmarks/kobest/{KOBEST[use]}/train.tsv")
    twice = len(rows) - built.line(use)["distinct"]  # equal rows count once here
    tested = {letters(row[name]) for row in tsv(f"benchmarks/kobest/{KOBEST[use]}/test.tsv") for name in CELLS[use]}
    whole = sum(any(letters(row[name]) in tested for name in CELLS[use]) for row in rows)
    assert whole - twice <= contaminated <= TEST_SENTENCES[use] and whole == WHOLE[use]
    assert built.line(use)["contaminated"] >= contaminated
    assert built.counts["contaminated_by"][use]["exact"] >= by_suite[use]["exact"] > 0
    if use == "copa":
        test = {
            exact_key(row[name]) for row in tsv("benchmarks/kobest/COPA/test.tsv") for name in ("sentence", "1", "2")
        }
        hit = {row["ID"] for row in rows if {exact_key(row[name]) for name in ("sentence", "1", "2")} & test}
        used = {str(int(row.id.split("-")[1])) for row in built.train + built.held_out if row.task == "copa"}
        assert len(hit) > 200 and not hit & used, "numbers of records are the file's own"


def test_labels_are_balanced(built: Built) -> None:
    for use in ("apeach", "boolq", "korsts", "question-pair", "stylekqc", "parakqc", "wic", "nsmc", "copa"):
        assert list(built.line(use)["labels"].values()) == [2500, 2500], use
        assert built.line(use)["shortfall"] == 0 and built.line(use)["held_out"] == 50
    assert set(built.line("hellaswag")["labels"].values()) == {1250}
    places = Counter((row.choices or ()).index(row.output) for row in built.train if row.task == "hellaswag")
    assert set(places.values()) == {1250}


def test_rows_are_well_made(built: Built) -> None:
    assert len({row.id for row in built.train + built.held_out}) == len(built.train) + len(built.held_out)
    for row in built.train + built.held_out:
        assert re.fullmatch(rf"{row.task}-\d{{6}}-{row.template}", row.id)
        assert row.output == row.output.strip() != "" and row.instruction == row.instruction.strip() != ""
        assert row.choices is None or (row.choices.count(row.output) == 1 and len(row.choices) > 1)
        assert row.licence == use_of(row.task).licence and row.split == use_of(row.task).split
        assert (
            not re.search(r"\{\w+\}", use_of(row.task).templates[row.template].instruction)
            or "{" not in row.instruction
        )
    assert {row.task for row in built.train} == set(USES) - ABSENT
    assert {row.template for row in built.train if row.task == "hellaswag"} == set(range(6))


def test_no_held_out_text_is_trained_on(built: Built) -> None:
    """By lines: what stands on a line of a held-out row, after its label, stands on no line of a training row."""
    label = re.compile(
        r"^(?:(?:문장|글|말|발화|요청|전제|가설|댓글|감상평|리뷰|지문|물음|질문|상황|문제) ?\d?: |\d[.)] |- )"
    )

    def lines(row: Row) -> set[str]:
        return {re.sub(r"\W", "", label.sub("", line)) for line in row.input.split("\n")} - OWN

    trained = set().union(*map(lines, built.train))
    for use in set(READ) - {"petitions"} | {"parakqc"}:
        held_out = {line for row in built.held_out if row.task == use for line in lines(row) if len(line) >= 8}
        assert held_out and not held_out & trained, use
