"""Nothing personal is left: no original found by the detectors, and no key, stands anywhere under a run's folder."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from common.errors import HunminError, UserError
from data import corpus
from data.pii.detect import find_many
from data.pii.type_names import PII_TYPES
from hunmin.main import run_command
from hunmin.recipes.recipe import load_recipe
from tests.data.pii.examples import COMMON

KEY = "a-key-that-must-not-be-found-either"
TEXTS = [case.text for case in COMMON]
ENDINGS = ("갔다", "왔다", "보았다", "들었다", "적었다")
IDS = ("hong.gildong@example.com", "https://blog.example.net/hong/77", "010-9753-8642", "900101-1234568", "@hong_9753")
SOURCE = "장부 kim.source@example.org"
LICENCE = "CC BY 4.0 https://creativecommons.org/licenses/by/4.0/ (문의 lee.licence@example.org)"
IN_REJECTS = ("010-2468-1357", "park.reject@example.com", "11-17-246813-57")
IN_BENCHMARK = "분실물은 관리실 직원 휴대전화 010-8642-9753 번으로 언제든지 알려 주시기 바랍니다."
IN_DROPPED = "Please write to choi.dropped@example.com or call +82-10-1593-5728 today."


def write_inputs(folder: Path) -> list[str]:
    """Write the inputs below `folder`, personal data of all types at every place of them, and return all originals."""
    folder.mkdir()
    prose = [
        " ".join(f"{n}번 사람은 {(n * 7 + i) % 90}번 골목으로 {ENDINGS[(n + i) % 5]}." for i in range(1 + n % 5))
        for n in range(300)
    ]
    texts = [f"{prose[n]}\n{text}\n{prose[-n]}" for n, text in enumerate(TEXTS)] + prose + [IN_DROPPED, IN_BENCHMARK]
    texts += texts[:20]
    lines = []
    for n, text in enumerate(texts):
        identity = IDS[n % len(IDS)] if n % 3 == 0 else str(n)
        record = {"id": identity, "text": text, "source": SOURCE, "licence": LICENCE, "writer": IN_REJECTS[1]}
        lines.append(json.dumps(record, ensure_ascii=False).encode())
    lines.insert(3, f'{{"text": "연락처 {IN_REJECTS[0]}'.encode())
    lines.insert(5, json.dumps({"text": 5, "note": IN_REJECTS[1]}).encode())
    lines.insert(7, f'{{"text": "면허 {IN_REJECTS[2]}'.encode() + b'\xff"}')
    (folder / "a.jsonl").write_bytes(b"\n".join(lines))
    (folder / "b.tsv").write_text("id\ttext\n" + "\n".join(f"{IDS[n % 5]}\t{TEXTS[n]}" for n in range(40)), "utf-8")
    (folder.parent / "bench.jsonl").write_text(json.dumps({"guid": "g1", "text": IN_BENCHMARK}), "utf-8")
    fields = [*TEXTS, IN_DROPPED, IN_BENCHMARK, SOURCE, LICENCE.split("(")[1], *IDS, *IN_REJECTS]
    spans = [(text, span) for text, field_spans in zip(fields, find_many(fields), strict=True) for span in field_spans]
    assert {span.type for _, span in spans} == set(PII_TYPES)
    return sorted({text[span.start : span.end] for text, span in spans} | {*IDS, *IN_REJECTS})


def write_recipe(folder: Path, **corpus_changes: object) -> Path:
    recipe = {
        "name": "leak",
        "out": str(folder / "run"),
        "corpus": {
            "inputs": [str(folder / "in")],
            "pii": {"key": KEY, "key_env": "HUNMIN_TEST_PII_KEY"},
            "decontaminate": {"benchmark": str(folder / "bench.jsonl")},
            "deduplicate": {"sentences": True},
            "unit_mb": 0.01,
            "workers": 1,
            **corpus_changes,
        },
        "tokenizer": {"vocab_size": 400, "min_character_count": 2, "workers": 1},
        "encode": {"workers": 1},
        "klue": {"data": str(folder / "klue")},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe, allow_unicode=True), encoding="utf-8")
    return path


def contents(root: Path) -> dict[str, bytes]:
    """Return path → everything that can be read out of each file: Parquet column by column, the rest as bytes."""
    files = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            files[str(path.relative_to(root))] = data = path.read_bytes()
            if data.startswith(b"PAR1"):
                table = pq.read_table(path)
                text = "\n".join(str(table.column(name).to_pylist()) for name in table.column_names)
                files[str(path.relative_to(root))] = text.encode() + str(table.schema.metadata).encode() + data
    return files


def leaks(files: dict[str, bytes], originals: list[str]) -> list[str]:
    """Return "file: original" for every original that stands in a file's content or name."""
    return [
        f"{name}: {value}"
        for name, data in files.items()
        for value in originals
        if value.encode() in data or value in name
    ]


def test_a_run_leaves_no_original_and_no_key(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    originals = write_inputs(tmp_path / "in")
    assert run_command(["run", str(write_recipe(tmp_path)), "--until", "encode"]) == 0
    files = contents(tmp_path / "run")
    shown = capfd.readouterr()
    files["standard output and error"] = (shown.out + shown.err).encode()
    assert not leaks(files, [*originals, KEY])

    corpus, tokens = ((tmp_path / "run" / stage).readlink() for stage in ("corpus", "tokens"))
    statistics = json.loads(files[f"{corpus}/statistics.json"])
    assert set(statistics["pii"]) == set(PII_TYPES)
    assert sum(statistics["rejects"].values()) == 3
    assert b'"benchmark_guid":"g1"' in files[f"{corpus}/hits.jsonl"]
    assert any(name.startswith(f"{tokens}/") for name in files)
    (shard,) = (tmp_path / "run/corpus/shards").glob("*.parquet")
    table = pq.read_table(shard).to_pydict()
    assert all("https://creativecommons.org/licenses/by/4.0/" in licence for licence in table["licence"] if licence)
    assert len({source for source in table["source"] if source.startswith("장부 ")}) == 1
    assert {"1", "2"} < set(table["id"]), "ordinary ids stay"


def test_an_unfinished_run_leaves_no_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    originals = write_inputs(tmp_path / "in")

    def fail(*arguments: object) -> None:
        raise HunminError("stopped before the shards", "this test stops here", "none")

    monkeypatch.setattr(corpus, "assemble", fail)
    assert run_command(["run", str(write_recipe(tmp_path)), "--until", "corpus"]) == 1
    files = contents(tmp_path / "run")
    assert any("part-" in name and name.endswith(".parquet") for name in files)
    assert not leaks(files, [*originals, KEY])


def test_a_key_beside_the_output_is_refused(tmp_path: Path) -> None:
    path = write_recipe(tmp_path)
    inside = tmp_path / "run" / "mine" / "recipe.yaml"
    inside.parent.mkdir(parents=True)
    path.rename(inside)
    with pytest.raises(UserError, match="lies in the run folder") as caught:
        load_recipe(inside)
    assert KEY not in str(caught.value)
    assert load_recipe(inside, [f"out={tmp_path / 'elsewhere'}"]).corpus.pii.key == KEY


@pytest.mark.parametrize("named", ["in", "in/010-1234-5678.txt"])
def test_a_personal_file_name_is_refused(named: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "010-1234-5678.txt").write_text("대화 내용이 여기에 있다.\n", "utf-8")
    (tmp_path / "bench.jsonl").write_text(json.dumps({"guid": "g1", "text": IN_BENCHMARK}), "utf-8")
    recipe = write_recipe(tmp_path, inputs=[str(tmp_path / named)])
    assert run_command(["run", str(recipe), "--until", "corpus"]) == 2
    assert "holds personal data (TEL)" in capfd.readouterr().err
    assert not leaks(contents(tmp_path / "run"), ["010-1234-5678"])
