"""Inputs of kinds that were taken for something else, through the whole stage: the right documents, or a clear error.

Markup in tables and pointers of git-lfs; what readers alone decide is tested beside them.
"""

import json
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

TEXTS = [f"{number}번 아이는 저녁마다 {number}쪽의 동화책을 소리 내어 읽었다." for number in range(12)]


def built(out: Path, *inputs: object, **changes: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the documents that are left and the statistics."""
    build(settings(*inputs, **{"pii": OFF, "unit_mb": 1, **changes}), out)
    return [" ".join(row["sentences"]) for row in rows(out)], json.loads((out / "statistics.json").read_bytes())


def good(folder: Path) -> Path:
    path = folder / "good.jsonl"
    path.write_text("\n".join(json.dumps({"text": f"좋은 {text}"}) for text in TEXTS), encoding="utf-8")
    return path


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
