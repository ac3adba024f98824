"""What the corpus stage makes of its fixed input: rows, rejects, hits and counts of three builds.

One is of texts for each rule, one of the tables of cases that other tests have, one of texts for each filter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import orjson
from pydantic import BaseModel

from common.settings import parse_settings
from data.cleaning.news import RULES as NEWS_RULES
from data.cleaning.old_hangul import require_old_hangul
from data.cleaning.settings import CleanSettings
from data.corpus import build_corpus
from data.decontaminate.criteria import RULES as SEARCHES
from data.deduplicate.decide import KINDS as DUPLICATES
from data.filters.settings import KINDS as FILTERS
from data.filters.settings import FilterSettings
from data.pii.types import BY_NAME
from data.readers.settings import Format
from data.settings import CorpusSettings
from data.shards import read_shard, read_shard_manifest, shard_paths

from .corpus_files import filtered_texts, write_benchmark, write_cases, write_formats, write_texts

PII = {"key": "a key for tests only, 32 letters", "key_env": "HUNMIN_TEST_PII_KEY", "types": list(BY_NAME)}
CODE = (
    *("data/assemble.py", "data/benchmark.py", "data/benchmark_tables.py", "data/cleaning", "data/corpus.py"),
    *("data/decontaminate", "data/deduplicate", "data/filters", "data/mixture", "data/nfc.py"),
    *("data/pii", "data/readers", "data/settings.py", "data/shards.py", "data/splitting", "data/statistics"),
    *("data/units/survey.py", "data/units/work.py", "common/nulls.py", "common/control_characters.py"),
)
INPUT = (
    *("tests/rules/corpus.py", "tests/rules/corpus_files.py", "tests/rules/corpus_texts.py", "tests/data/cases.py"),
    *("tests/data/cleaning/cases.txt", "tests/data/pii/cases.txt", "tests/data/splitting_cases.txt"),
)
FILTER_SETTINGS: list[dict[str, Any]] = [
    {"licence": {"deny": ["*NC*"]}},
    {"length": {"min_chars": 10, "min_sentence_chars": 8}},
    *("symbols", "repetition", "language"),
]


def output(folder: Path) -> dict[str, Any]:
    """Build three corpora below a folder and return what they hold."""
    inputs = folder / "in"
    inputs.mkdir(parents=True)
    with _old_hangul():
        return {
            "whole": _whole(folder, inputs),
            "cases": _cases(folder, inputs),
            "filtered": _filtered(folder, inputs),
        }


@contextmanager
def _old_hangul() -> Iterator[None]:
    """Have a table of two letters stand for hypua2jamo's, which is not there on every Python."""
    table = str.maketrans({"\ue1a7": "\u1112\u119e", "\ue302": "\u11ab"})
    stand_in: Any = SimpleNamespace(translate=lambda text: text.translate(table))
    before = sys.modules.get("hypua2jamo")
    sys.modules["hypua2jamo"] = stand_in
    require_old_hangul.cache_clear()
    try:
        yield
    finally:
        del sys.modules["hypua2jamo"]
        if before:
            sys.modules["hypua2jamo"] = before
        require_old_hangul.cache_clear()


def _whole(folder: Path, inputs: Path) -> dict[str, Any]:
    return _build(
        folder / "whole",
        inputs=[*write_formats(inputs), *write_texts(inputs)],
        clean={"max_han_kana": 10, "min_sentence_chars": 4, "max_word_chars": 100},
        pii=PII,
        decontaminate={"benchmark": str(write_benchmark(folder / "benchmark"))},
        deduplicate={"near": True, "paragraphs": True, "sentences": True},
        mixture={"alpha": 0.7, "held_out": 0.1, "sources": {"plain": {"epochs": 1.5}}},
    )


def _cases(folder: Path, inputs: Path) -> dict[str, Any]:
    return _build(
        folder / "cases",
        inputs=write_cases(inputs),
        pii=PII,
        deduplicate={"documents": False},
    )


def _filtered(folder: Path, inputs: Path) -> dict[str, Any]:
    rows = [
        {"id": f"{measure or 'kept'}-{n}", "licence": licence, "text": text}
        for measure, texts in filtered_texts().items()
        for n, (licence, text) in enumerate(texts)
    ]
    path = inputs / "filtered.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return _build(
        folder / "filtered",
        inputs=[str(path)],
        pii={"enabled": False},
        clean=_nothing(CleanSettings),
        filters=FILTER_SETTINGS,
        keep_scores=True,
        deduplicate={"documents": False},
    )


def _nothing(settings: type[BaseModel]) -> dict[str, Any]:
    """Return settings of cleaning that clean nothing."""
    off = {name: False for name, field in settings.model_fields.items() if field.annotation is bool}
    return {**off, "max_word_chars": None, "min_hangul_share": 0}


def _build(out: Path, **tree: Any) -> dict[str, Any]:
    small = {"workers": 1, "unit_mb": 0.02, "shard_mb": 0.01, "max_reject_share": 1, "max_bad_file_share": 1}
    out.mkdir()
    build_corpus(parse_settings(CorpusSettings, {**small, **tree}, "tests/rules"), out)
    listed = {
        path.relative_to(out).as_posix(): [orjson.loads(line) for line in path.read_bytes().splitlines()]
        for path in out.rglob("*.jsonl")
    }
    shards = [
        {
            "copies": read_shard_manifest(path).get("copies", 1),
            "rows": [row for batch in read_shard(path) for row in batch.to_pylist()],
        }
        for path in shard_paths(out)
    ]
    return {"shards": shards, "lists": listed, "statistics": orjson.loads((out / "statistics.json").read_bytes())}


def unhit(output: dict[str, Any]) -> list[str]:
    """Return the rules of the stage, by the registries of the code, that the input does not hit."""
    whole, filtered = (output[name]["statistics"] for name in ("whole", "filtered"))
    news = [name for name, _, _ in NEWS_RULES]
    dropped = {f"{title}.{measure}" for title, counts in filtered["filters"].items() for measure in counts}
    chain = [FilterSettings.model_validate(tree) for tree in FILTER_SETTINGS]
    measures = [f"{each.title}.{measure.name}" for each in chain for measure in getattr(each, each.kind).measures]
    searches = {rule for rules in whole["decontamination"].values() for rule in rules}
    sources = {row["source"] for shard in output["whole"]["shards"] for row in shard["rows"]}
    copies = {shard["copies"] for shard in output["whole"]["shards"]}
    reasons = ("no field 'text'", "not a JSON object", "not UTF-8", "no number in 'grade'")
    passed = ("redirect", "other namespace", "no wikitext", "no text", "'grade' beyond its bounds")
    asked: dict[str, tuple[Any, Any]] = {
        "cleaning": ([*(set(CleanSettings.model_fields) - {"news"}), *news, "html_hidden", "private_use"],
                     whole["cleaning"]),
        "pii": (BY_NAME, whole["pii"]),
        "search": (SEARCHES, searches),
        "duplicate": (DUPLICATES, [kind for kind, number in whole["duplicates"].items() if number]),
        "filter": (FILTERS, {settings.kind for settings in chain}),
        "measure": (measures, dropped),
        "format": (set(get_args(Format)) - {"auto", "hf"}, sources),
        "reject": (reasons, whole["rejects"]),
        "skipped": (passed, whole["skipped"]),
        "dropped": (("no sentence after cleaning", "only benchmark sentences"), whole["dropped"]),
        "damage": (("damaged",), ["damaged"] if whole["damaged"] else []),
        "copies": ((0, 1, 2), copies),
    }  # fmt: skip
    return [f"{kind} {name}" for kind, (names, hit) in asked.items() for name in names if name not in hit]
