"""Steps of the corpus stage as filters over JSON Lines streams, for shell pipes (`hunmin corpus …`).

Each takes and gives binary streams, one JSON object a line. A line that cannot be read is left out, counted by
reason, and never fatal; the counts come back to be reported at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson
import pyarrow as pa

from data.benchmark import load_benchmark
from data.decontaminate import DecontaminateSettings, Decontaminator
from data.lines import LINE_BYTES, line_batches
from data.pii import Pseudonymizer
from data.readers import is_utf8
from data.splitting import split_sentences
from data.statistics import Counters, count_documents, histograms, merge, text_size, total

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
        written = []
        for record, (text, replacements) in zip(batch, results, strict=True):
            spans = [{"start": r.start, "end": r.end, "type": r.type, "surrogate": r.surrogate} for r in replacements]
            for span in spans:
                counts["pii"][span["type"]] = counts["pii"].get(span["type"], 0) + 1
            written.append(orjson.dumps({**record.value, "text": text, "spans": spans}))
        _write(output, written)
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
        kept, found = [], []
        for record, hit in zip(batch, matched, strict=True):
            if hit is None:
                kept.append(record.line)
                continue
            rules = counts["hits"].setdefault(hit.task, {})
            rules[hit.rule] = rules.get(hit.rule, 0) + 1
            facts = {
                "id": record.value.get("id"),
                "text": record.value["text"],
                "task": hit.task,
                "benchmark_guid": hit.guid,
                "score": round(float(hit.score), 6),
                "rule": hit.rule,
            }
            found.append(orjson.dumps(facts))
        _write(output, kept)
        _write(hits, found)
        counts["written"] += len(kept)
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
        written = []
        for record in batch:
            sentences = split_sentences(record.value["text"])
            written.append(orjson.dumps({**record.value, "sentences": sentences}))
            counts["sentences"] += len(sentences)
        _write(output, written)
        counts["written"] += len(batch)
    return counts


def stats_stream(input: IO[bytes]) -> Counters:
    """Return the statistics of a stream, of the shape of a corpus's `statistics.json`.

    Args:
        input: lines {"text": …, optional "source": …, optional "sentences": […]}; without sentences the text is split.
    """
    counts: Counters = {"read": 0, "rejects": {}}
    read: Counters = {}
    kept: Counters = {"sources": {}, "lengths": {}}
    for batch in _batches(input, counts):
        names = [str(record.value.get("source") or "-") for record in batch]
        sentences = [_sentences(record.value) for record in batch]
        merge(kept, count_documents(pa.array(names, pa.string()), pa.array(sentences, pa.list_(pa.string()))))
        texts: dict[str, list[str]] = {}
        for name, record in zip(names, batch, strict=True):
            texts.setdefault(name, []).append(record.value["text"])
        for name, of_source in texts.items():
            merge(read.setdefault(name, {}), text_size(of_source))
    nothing: Counters = {
        name: {} for name in ("cleaning", "dropped", "pii", "decontamination", "duplicates", "skipped")
    }
    return {
        "total": {"read": total(read), "kept": total(kept["sources"])},
        "sources": {name: {"read": size, "kept": kept["sources"][name]} for name, size in sorted(read.items())},
        "lengths": histograms(kept["lengths"]),
        "split": total(kept["sources"]).get("sentences", 0),
        **nothing,
        "rejects": counts["rejects"],
    }


def _sentences(record: dict[str, Any]) -> list[str]:
    found = record.get("sentences")
    if isinstance(found, list) and all(isinstance(sentence, str) for sentence in found):
        return found
    return split_sentences(record["text"])


def _batches(input: IO[bytes], counts: Counters) -> Iterator[list[_Record]]:
    """Yield the readable records in batches; blank lines are passed over, others counted as rejects by reason."""
    for lines in line_batches(input, BATCH_BYTES):
        batch: list[_Record] = []
        for line in lines:
            record = _parse(line.rstrip(b"\r")) if line is not None else f"longer than {LINE_BYTES >> 20} MiB"
            if record is None:
                continue
            counts["read"] += 1
            if isinstance(record, str):
                counts["rejects"][record] = counts["rejects"].get(record, 0) + 1
            else:
                batch.append(record)
        if batch:
            yield batch


def _parse(line: bytes) -> _Record | str | None:
    """Return the record of a line, or the reason why it has none, or None for a blank line."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        if not line.strip():
            return None
        return "not JSON" if is_utf8(line) else "not UTF-8"
    if not isinstance(value, dict):
        return "not a JSON object"
    if not isinstance(value.get("text"), str):
        return "text is not a string" if "text" in value else "no field 'text'"
    return _Record(line, value)


def _write(output: IO[bytes], records: list[bytes]) -> None:
    """Write lines and hand them on: the next program in the pipe must not wait for the next batch."""
    output.write(b"\n".join([*records, b""]))
    output.flush()
