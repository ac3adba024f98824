"""Inputs of kinds that were taken for something else, through the whole stage: the right documents, or a clear error.

Web archives, markup in tables, pointers of git-lfs, parts of archives, nested lists, separator lines, shifted
encodings and files of JSON without the field.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import UserError
from data.statistics.report import warnings_of

from .building import OFF, build, listed, rows, settings
from .readers.test_containers import LFS
from .readers.test_markup import NAMU, WIKI, needs_parser
from .readers.test_warc import page, record

TEXTS = [f"{number}번 아이는 저녁마다 {number}쪽의 동화책을 소리 내어 읽었다." for number in range(12)]


def built(out: Path, *inputs: object, **changes: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the documents that are left and the statistics."""
    build(settings(*inputs, **{"pii": OFF, "unit_mb": 1, **changes}), out)
    return [" ".join(row["sentences"]) for row in rows(out)], json.loads((out / "statistics.json").read_bytes())


def good(folder: Path) -> Path:
    path = folder / "good.jsonl"
    path.write_text("\n".join(json.dumps({"text": f"좋은 {text}"}) for text in TEXTS), encoding="utf-8")
    return path


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("name", "make"), [("a.warc.wet.gz", lambda text: record(text.encode())), ("a.warc.gz", page)])
def test_web_archives(tmp_path, name, make, workers):
    info = record(b"software: example", "warcinfo", "application/warc-fields")
    (tmp_path / name).write_bytes(b"".join(gzip.compress(one) for one in (info, *map(make, TEXTS))))
    texts, statistics = built(tmp_path / "out", tmp_path / name, workers=workers)
    assert texts == [f"머리 {text}" if make is page and "머리" in texts[0] else text for text in TEXTS]
    assert statistics["skipped"] == {"warcinfo record": 1} and statistics["rejects"] == {}


@pytest.mark.parametrize(("markup", "source"), [("namuwiki", NAMU), needs_parser("mediawiki", WIKI)])
def test_markup_in_tables_is_warned_of_and_read_by_a_setting(tmp_path, capsys, markup, source):
    path = tmp_path / "wiki.parquet"
    pq.write_table(pa.table({"title": TEXTS, "text": [f"{source}\n{text}" for text in TEXTS]}), path)
    texts, statistics = built(tmp_path / "raw", path)
    assert statistics["wiki_markup"] == {"wiki": {"documents": 12, "marked": 12}} and "[[" in texts[0]
    (line,) = warnings_of(statistics)
    assert "12 of 12 documents of 'wiki' that were looked at hold wiki markup" in line
    assert "hold wiki markup" in " ".join(capsys.readouterr().err.split())
    texts, statistics = built(tmp_path / "read", {"path": str(path), "markup": markup})
    assert statistics["wiki_markup"] == {} and warnings_of(statistics) == []
    assert len(texts) == 12 and not any(sign in text for text in texts for sign in ("[[", "==", "'''", "||", "<ref"))
    with pytest.raises(UserError, match=f"markup to {markup}"):
        built(tmp_path / "format", {"path": str(path), "format": markup})


def test_a_source_with_markup_in_few_documents_is_not_warned_of(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in [NAMU, *TEXTS]), encoding="utf-8")
    assert warnings_of(built(tmp_path / "out", path)[1]) == []


def test_a_clone_without_its_files(tmp_path):
    clone = tmp_path / "set"
    (clone / "data").mkdir(parents=True)
    (clone / "README.md").write_text("---\nlicense: cc0-1.0\n---\n# set\n")
    (clone / "data" / "train-0.parquet").write_bytes(LFS)
    for inputs in ([clone, good(tmp_path)], [clone]):
        with pytest.raises(UserError, match=r"train-0\.parquet is a pointer of git-lfs[\s\S]*git lfs pull"):
            built(tmp_path / "out", *inputs)
    (clone / "data" / "train-1.jsonl").write_text(json.dumps({"text": TEXTS[0]}))
    texts, _ = built(tmp_path / "out", clone, good(tmp_path))
    assert TEXTS[0] in texts and len(texts) == 13
    assert [entry["reason"].partition(",")[0] for entry in listed(tmp_path / "out")] == ["is a pointer of git-lfs"]


@pytest.mark.parametrize("name", ["TS_1.zip.part0", "원문.alz", "x.7z.001", "x.z01", "xaa"])
def test_parts_of_archives_stop_the_stage(tmp_path, name):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.json", "{}")
    (tmp_path / name).write_bytes(content.getvalue())
    good(tmp_path)
    with pytest.raises(UserError, match=r"archive|not read"):
        built(tmp_path / "out", tmp_path)
    assert not (tmp_path / "out" / "statistics.json").exists()


def test_texts_in_two_levels_of_lists(tmp_path):
    path = tmp_path / "train.json"
    documents = [
        {"id": str(n), "text": [[{"index": 0, "sentence": text}], [{"index": 1, "sentence": f"{n}번 끝이다."}]]}
        for n, text in enumerate(TEXTS)
    ]
    path.write_text(json.dumps({"name": "set", "documents": documents}), encoding="utf-8")
    source = {"path": str(path), "records_field": "documents"}
    texts, _ = built(tmp_path / "out", source | {"text_field": "text.sentence"})
    assert texts == [f"{text} {n}번 끝이다." for n, text in enumerate(TEXTS)]
    with pytest.raises(UserError, match=r"holds objects in 'text'[\s\S]*text\.sentence"):
        built(tmp_path / "no", source)


def test_a_spreadsheet_that_names_its_separator(tmp_path):
    lines = ["sep=;", "text;label", *(f'"{text}";{n}' for n, text in enumerate(TEXTS))]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    assert built(tmp_path / "out", tmp_path / "a.csv")[0] == TEXTS


@pytest.mark.parametrize("codec", ["iso2022_kr", "johab", "utf-32"])
def test_texts_in_other_encodings(tmp_path, codec):
    (tmp_path / "mail.txt").write_bytes("\n".join(TEXTS).encode(codec))
    texts, statistics = built(tmp_path / "out", tmp_path / "mail.txt", good(tmp_path))
    assert texts[:12] == TEXTS and len(texts) == 24 and warnings_of(statistics) == []


def test_one_file_of_json_without_the_field_is_set_aside_and_listed(tmp_path):
    (tmp_path / "set").mkdir()
    for name, field in (("a", "text"), ("b", "content")):
        records = (json.dumps({field: f"{name} {text}"}) for text in TEXTS)
        (tmp_path / "set" / f"{name}.jsonl").write_text("\n".join(records), encoding="utf-8")
    texts, statistics = built(tmp_path / "out", tmp_path / "set")
    assert texts == [f"a {text}" for text in TEXTS] and statistics["damaged"] == {"has no column 'text'": 1}
    assert [(entry["file"], entry["reason"]) for entry in listed(tmp_path / "out")] == [
        ("b.jsonl", "has no column 'text'")
    ]
    (tmp_path / "set" / "a.jsonl").unlink()
    with pytest.raises(UserError, match="no column 'text'"):
        built(tmp_path / "none", tmp_path / "set")
