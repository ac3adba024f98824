"""Steps of the corpus stage as filters over JSON Lines streams, for shell pipes (`hunmin corpus …`).

Each takes and gives binary streams, one JSON object a line. A line that cannot be read is left out, counted by
reason, and never fatal; the counts come back to be reported at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from data.benchmark import load_benchmark
from data.decontaminate import DecontaminateSettings, Decontaminator
from data.pii import Pseudonymizer
from data.readers import is_utf8
from data.splitting import split_sentences
from data.statistics import Counters

BATCH_BYTES = 1 << 20
"""Lines handled at once."""


class _Record(NamedTuple):
    """A readable line and the object in it."""

    line: bytes
    value: dict[str, Any]


def pseudonymize_stream(input: IO[bytes], output: IO[bytes], key: bytes) -> Counters:
    """Write each object with its `text` pseudonymised and `spans` added, and return the counts.

    Args:
        input: lines {"text": …, …}.
        output: gets the same objects; spans are [{"start", "end", "type", "surrogate"}], in characters of the input.
        key: see `data.pii.resolve_key`.

    Returns:
        {"read", "written", "rejects": reason → lines, "pii": type → replacements}.
    """
    counts: Counters = {"read": 0, "written": 0, "rejects": {}, "pii": {}}
    pseudonymizer = Pseudonymizer(key)
    for batch in _batches(input, counts):
        results = pseudonymizer.apply_many([record.value["text"] for record in batch])
        for record, (text, replacements) in zip(batch, results, strict=True):
            spans = [{"start": r.start, "end": r.end, "type": r.type, "surrogate": r.surrogate} for r in replacements]
            for span in spans:
                counts["pii"][span["type"]] = counts["pii"].get(span["type"], 0) + 1
            output.write(orjson.dumps({**record.value, "text": text, "spans": spans}) + b"\n")
        counts["written"] += len(batch)
    return counts


def decontaminate_stream(
    benchmark: Path, input: IO[bytes], output: IO[bytes], hits: IO[bytes], settings: DecontaminateSettings
) -> Counters:
    """Write the lines that hold no benchmark sentence, unchanged and in order, and return the counts.

    Args:
        benchmark: folder or file with the benchmark.
        input: lines {"id", "text"}, a sentence each.
        output: gets the lines kept.
        hits: gets {"id", "text", "task", "benchmark_guid", "score", "rule"} of each line left out.
        settings: thresholds and rules.

    Returns:
        {"read", "written", "rejects": reason → lines, "hits": task → rule → lines}.

    Raises:
        UserError: the benchmark is missing or not recognised.
    """
    counts: Counters = {"read": 0, "written": 0, "rejects": {}, "hits": {}}
    decontaminator = Decontaminator.build(load_benchmark(benchmark, split_sentences), settings)
    for batch in _batches(input, counts):
        matched = decontaminator.match([record.value["text"] for record in batch])
        for record, hit in zip(batch, matched, strict=True):
            if hit is None:
                output.write(record.line + b"\n")
                counts["written"] += 1
                continue
            rules = counts["hits"].setdefault(hit.task, {})
            rules[hit.rule] = rules.get(hit.rule, 0) + 1
            found = {
                "id": record.value.get("id"),
                "text": record.value["text"],
                "task": hit.task,
                "benchmark_guid": hit.guid,
                "score": round(float(hit.score), 6),
                "rule": hit.rule,
            }
            hits.write(orjson.dumps(found) + b"\n")
    return counts


def split_stream(input: IO[bytes], output: IO[bytes]) -> Counters:
    """Write each object with its `sentences` added, and return the counts.

    Args:
        input: lines {"text": …, …}.
        output: gets the same objects; the sentences, joined, give back every non-space character of the text.

    Returns:
        {"read", "written", "rejects": reason → lines, "sentences"}.
    """
    counts: Counters = {"read": 0, "written": 0, "rejects": {}, "sentences": 0}
    for batch in _batches(input, counts):
        for record in batch:
            sentences = split_sentences(record.value["text"])
            output.write(orjson.dumps({**record.value, "sentences": sentences}) + b"\n")
            counts["sentences"] += len(sentences)
        counts["written"] += len(batch)
    return counts


def _batches(input: IO[bytes], counts: Counters) -> Iterator[list[_Record]]:
    """Yield the readable records in batches; blank lines are passed over, others counted as rejects by reason."""
    batch: list[_Record] = []
    size = 0
    for raw in input:
        line = raw.rstrip(b"\r\n")
        if not line.strip():
            continue
        counts["read"] += 1
        record = _parse(line)
        if isinstance(record, str):
            counts["rejects"][record] = counts["rejects"].get(record, 0) + 1
            continue
        batch.append(record)
        size += len(line)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _parse(line: bytes) -> _Record | str:
    """Return the record of a line, or the reason why it has none."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return "not JSON" if is_utf8(line) else "not UTF-8"
    if not isinstance(value, dict):
        return "not a JSON object"
    if not isinstance(value.get("text"), str):
        return "text is not a string" if "text" in value else "no field 'text'"
    return _Record(line, value)
