"""Damaged inputs beside whole ones: read as far as they are whole, listed with the reason, and bounded in number."""

import gzip
import json
import random
import sqlite3
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import HunminError, UserError
from common.manifest import describe_outputs
from data.settings import CorpusSettings
from data.units.quarantine import Quarantine

from .building import OFF, build, listed, stop_before_the_shards, texts, write_files
from .building import settings as settings_of
from .readers.reading import COMPRESS

SYLLABLES = "가나다라마바사아자차카타파하고노도로모보소오조초코토포호"


def sentence(n: int) -> str:
    """Return an invented sentence that hardly compresses."""
    rng = random.Random(n)
    return f"{n}번 글은 " + "".join(rng.choice(SYLLABLES) for _ in range(60)) + "라고 적었다."


TEXTS = [sentence(n) for n in range(1500)]
TEXT = "\n".join(TEXTS).encode()


def settings(*inputs: object, **changes: Any) -> CorpusSettings:
    return settings_of(*inputs, **{"pii": OFF, "unit_mb": 0.05, **changes})


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Two whole files, between whose names a damaged one goes."""
    return write_files(tmp_path / "in", {f"{name}.txt": [f"온전한 파일 {name}의 글이다.", ""] for name in "az"})


@pytest.mark.parametrize("suffix", [*COMPRESS][1:])
def test_a_cut_archive_is_read_up_to_the_cut(inputs: Path, tmp_path: Path, suffix: str) -> None:
    packed = COMPRESS[suffix](TEXT)
    (inputs / f"m.txt{suffix}").write_bytes(packed[: len(packed) * 9 // 10])
    build(settings(inputs), tmp_path / "out")
    read = texts(tmp_path / "out", "m")
    assert read == TEXTS[: len(read)], "whole records alone, in order"
    # of bz2 whole blocks of 900 kB alone can be read, and this file is one
    assert len(read) > (0 if suffix == ".bz2" else 0.8 * len(TEXTS)) or (suffix == ".bz2" and read == [])
    assert texts(tmp_path / "out", "a") and texts(tmp_path / "out", "z")
    (entry,) = listed(tmp_path / "out")
    assert (entry["source"], entry["file"]) == ("m", f"m.txt{suffix}")
    assert entry["reason"].startswith("is damaged or cut short: ")
    assert json.loads((tmp_path / "out/statistics.json").read_bytes())["damaged"] == {entry["reason"]: 1}


@pytest.mark.parametrize(("rest", "damaged"), [(b"no archive any more", True), (b"\0" * 512, False)])
def test_what_follows_an_archive_takes_nothing_of_it(inputs: Path, tmp_path: Path, rest: bytes, damaged: bool) -> None:
    (inputs / "m.txt.gz").write_bytes(gzip.compress(TEXT + b"\n") + rest)
    build(settings(inputs), tmp_path / "out")
    assert texts(tmp_path / "out", "m") == TEXTS
    assert ["Not a gzipped file" in entry["reason"] for entry in listed(tmp_path / "out")] == [True] * damaged


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.txt", b"\0\1\2 binary"),
        ("m.jsonl", '{"text": "가"}\n'.encode() + b"\0" * 100),
        ("m.parquet", b"PAR1 and no table PAR1"),
        ("m.sqlite", b"SQLite format 3\0" + b"\xff" * 4096),
        ("m.txt.zst", b"no archive at all"),
    ],
)
def test_what_is_not_what_its_name_says(inputs: Path, tmp_path: Path, name: str, content: bytes) -> None:
    (inputs / name).write_bytes(content)
    build(settings(inputs), tmp_path / "out")
    assert texts(tmp_path / "out", "a") and texts(tmp_path / "out", "z") and not texts(tmp_path / "out", "m")
    assert [entry["file"] for entry in listed(tmp_path / "out")] == [name]


@pytest.mark.parametrize("workers", [1, 2])
def test_same_bytes_for_any_workers_and_after_a_stop(
    inputs: Path, tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(TEXT)
    (inputs / "m.txt.gz").write_bytes(packed[: len(packed) // 2])
    build(settings(inputs), tmp_path / "whole")

    stop_before_the_shards(settings(inputs, workers=workers), tmp_path / "out", monkeypatch)
    monkeypatch.setattr("data.readers.volume.SETTLED_SECONDS", -1.0)
    build(settings(inputs, workers=workers), tmp_path / "out")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")


@pytest.mark.parametrize(("files", "damaged", "share", "ends"), [
    (1, 1, 0.05, True), (2, 1, 0.05, False), (4, 2, 0.05, True), (40, 2, 0.05, False), (40, 3, 0.05, True),
    (40, 1, 0.0, True), (4, 2, 0.5, False),
])  # fmt: skip
def test_the_bound(files: int, damaged: int, share: float, ends: bool) -> None:
    aside = Quarantine(files, share)
    message = f"{damaged} of {files} inputs are damaged"
    with pytest.raises(HunminError, match=message) if ends else nullcontext():
        for number in [*range(damaged), 0]:
            aside.add(f"{number}.gz", "is cut short")


def test_a_file_with_two_places_of_damage_is_listed_once(inputs: Path, tmp_path: Path) -> None:
    path = inputs / "m.parquet"
    pq.write_table(pa.table({"text": TEXTS}), path, row_group_size=250, compression="zstd", use_dictionary=False)
    content = bytearray(path.read_bytes())
    for group, before, length, sign in ((1, 40, 360, b"\0"), (4, 0, 30, b"\xff")):  # of a page, and of its head
        place = pq.read_metadata(path).row_group(group).column(0).data_page_offset + before
        content[place : place + length] = sign * length
    path.write_bytes(content)
    build(settings(inputs, unit_mb=0.01), tmp_path / "out")
    assert texts(tmp_path / "out", "m")[:250] == TEXTS[:250], "the rows before the first of them"
    assert [entry["source"] for entry in listed(tmp_path / "out")] == ["m"]
    assert listed(tmp_path / "out")[0]["reason"].startswith("cannot be read as Parquet")
    assert sum(json.loads((tmp_path / "out/statistics.json").read_bytes())["damaged"].values()) == 1


def test_a_locked_database_is_no_damage(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.readers.sqlite.LOCK_SECONDS", 0.1)
    path = inputs / "m.sqlite"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("CREATE TABLE t (text TEXT)")
    writer.executemany("INSERT INTO t VALUES (?)", [(text,) for text in TEXTS[:200]])
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(HunminError, match=r"cannot read .*m\.sqlite: database is locked") as caught:
        build(settings(inputs), tmp_path / "out")
    assert "the program that has it open" in str(caught.value)
    writer.execute("COMMIT")
    writer.close()
    build(settings(inputs), tmp_path / "out")
    assert texts(tmp_path / "out", "m") == TEXTS[:200] and listed(tmp_path / "out") == []


def tables(folder: Path, good: int, bad: int) -> None:
    """Write CSV files, some of them without the column of the text."""
    folder.mkdir(exist_ok=True)
    for number in range(good + bad):
        column = "text" if number < good else "body"
        (folder / f"{number:04}.csv").write_text(f"id,{column}\n1,{number}번 표의 글이다.\n", encoding="utf-8")


def test_tables_without_the_column_are_set_aside_up_to_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("data.executors.failures.MOST_FAILURES", 3)  # which they are none of
    tables(tmp_path / "in", 95, 5)
    build(settings(tmp_path / "in"), tmp_path / "out")
    entries = listed(tmp_path / "out")
    assert len(entries) == 5 and {entry["reason"] for entry in entries} == {"has no column 'text'"}
    assert json.loads((tmp_path / "out/statistics.json").read_bytes())["damaged"] == {"has no column 'text'": 5}


def test_too_many_tables_without_the_column_end_the_stage(tmp_path: Path) -> None:
    tables(tmp_path / "in", 90, 10)
    with pytest.raises(UserError, match="6 of 100 inputs are damaged or do not fit") as caught:
        build(settings(tmp_path / "in"), tmp_path / "out")
    assert "no column 'text'" in str(caught.value) and "text_field" in str(caught.value)


def test_one_file_that_the_recipe_names_has_to_fit(inputs: Path, tmp_path: Path) -> None:
    tables(tmp_path / "tables", 0, 1)
    with pytest.raises(UserError, match=r"no column 'text'[\s\S]*columns are id, body"):
        build(settings(inputs, tmp_path / "tables/0000.csv"), tmp_path / "out")


@pytest.mark.parametrize("again", [False, True])
def test_an_input_none_of_whose_files_fits_ends_the_stage(
    inputs: Path, tmp_path: Path, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("data.readers.volume.SETTLED_SECONDS", -1.0)
    tables(tmp_path / "tables", 0, 2)
    chosen = settings(inputs, tmp_path / "tables", max_bad_file_share=0.5)
    for _ in range(1 + again):  # the second time they are known from the first
        with pytest.raises(UserError, match=r"no file of .*tables can be read[\s\S]*text_field"):
            build(chosen, tmp_path / "out")
