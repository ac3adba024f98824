"""Steps of the corpus stage as filters over JSON Lines streams (`hunmin corpus …`): bad lines are only counted."""

from __future__ import annotations

import io
import json
import select
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson
import pyarrow as pa

from common.bounded import MOST_LEVELS, TOO_DEEP, UnreadableError, load_json
from common.errors import HunminError
from data.benchmark import load_benchmark
from data.decontaminate.matcher import Decontaminator
from data.pii.surrogate import Pseudonymizer, pseudonymize
from data.splitting.scan import split_sentences
from data.statistics.counts import Counters, count_documents, histograms, merge, text_size, total

BATCH_BYTES = 1 << 20
"""Lines handled at once."""
LINE_BYTES = 128 << 20
"""A longer line is no document; it is skipped without being held in memory."""


class _Record(NamedTuple):
    line: bytes
    value: dict[str, Any]


def pseudonymize_stream(input: IO[bytes], output: IO[bytes], key: bytes) -> Counters:
    """Write each object with its `text` pseudonymised and `spans` added, and return the counts.

    Args:
        input: lines {"text": …, optional "sentences": […], …}.
        output: gets the same objects; spans are [{"start", "end", "type", "surrogate"}], in characters of the input
            text. Sentences, which repeat the text, are pseudonymised too.

    Returns:
        {"read", "written", "rejects": reason → lines, "pii": type → replacements in the texts}.

    Raises:
        HunminError: no line could be read.
    """
    counts: Counters = {"read": 0, "written": 0, "rejects": {}, "pii": {}}
    pseudonymizer = Pseudonymizer(key)
    for batch in _batches(input, counts):
        results = pseudonymize(pseudonymizer, [record.value["text"] for record in batch])
        repeated = _pseudonymized_sentences(pseudonymizer, [record.value for record in batch])
        values = []
        for record, more, (text, replacements) in zip(batch, repeated, results, strict=True):
            spans = [{"start": r.start, "end": r.end, "type": r.type, "surrogate": r.surrogate} for r in replacements]
            values.append({**record.value, **more, "text": text, "spans": spans})
        for value in _write_values(output, values, counts):
            merge(counts["pii"], Counter(span["type"] for span in value["spans"]))
            counts["written"] += 1
    return counts


def _pseudonymized_sentences(pseudonymizer: Pseudonymizer, values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sentence_lists = [value["sentences"] if isinstance(value.get("sentences"), list) else None for value in values]
    texts = [sentence for sentences in sentence_lists for sentence in sentences or () if isinstance(sentence, str)]
    replaced = iter(pseudonymize(pseudonymizer, texts))
    return [
        {}
        if sentences is None
        else {"sentences": [next(replaced)[0] if isinstance(sentence, str) else sentence for sentence in sentences]}
        for sentences in sentence_lists
    ]


def decontaminate_stream(benchmark: Path, input: IO[bytes], output: IO[bytes], hits: IO[bytes]) -> Counters:
    """Write the lines that hold no benchmark sentence, unchanged and in order, and return the counts.

    Args:
        input: lines {"id", "text"}, a sentence each.
        hits: gets {"id", "text", "task", "benchmark_guid", "score", "rule"} of each line left out.

    Returns:
        {"read", "written", "rejects": reason → lines, "hits": task → rule → lines}.

    Raises:
        UserError: the benchmark is missing or not recognised.
        HunminError: no line could be read.
    """
    counts: Counters = {"read": 0, "written": 0, "rejects": {}, "hits": {}}
    decontaminator = Decontaminator.build(load_benchmark(benchmark))
    for batch in _batches(input, counts):
        matched = decontaminator.match([record.value["text"] for record in batch])
        clean_lines = [record.line for record, hit in zip(batch, matched, strict=True) if hit is None]
        facts = [
            {"id": record.value.get("id"), "text": record.value["text"], **hit.as_record()}
            for record, hit in zip(batch, matched, strict=True)
            if hit is not None
        ]
        _write(output, clean_lines)
        counts["written"] += len(clean_lines)
        for value in _write_values(hits, facts, counts):
            merge(counts["hits"], {value["task"]: {value["rule"]: 1}})
    return counts


def split_stream(input: IO[bytes], output: IO[bytes]) -> Counters:
    """Write each object with its `sentences` added, and return the counts.

    Args:
        input: lines {"text": …, …}.
        output: gets the same objects; the sentences, joined, give back every non-space character of the text.

    Returns:
        {"read", "written", "rejects": reason → lines, "sentences"}.

    Raises:
        HunminError: no line could be read.
    """
    counts: Counters = {"read": 0, "written": 0, "rejects": {}, "sentences": 0}
    for batch in _batches(input, counts):
        values = [{**record.value, "sentences": split_sentences(record.value["text"])} for record in batch]
        for value in _write_values(output, values, counts):
            counts["sentences"] += len(value["sentences"])
            counts["written"] += 1
    return counts


def stats_stream(input: IO[bytes]) -> Counters:
    """Return the statistics of a stream, of the shape of a corpus's `statistics.json`.

    Args:
        input: lines {"text": …, optional "source": …, optional "sentences": […]}; without sentences the text is split.

    Raises:
        HunminError: no line could be read.
    """
    counts: Counters = {"read": 0, "rejects": {}}
    read: Counters = {}
    kept_counts: Counters = {"sources": {}, "lengths": {}}
    for batch in _batches(input, counts):
        names = [str(record.value.get("source") or "-") for record in batch]
        sentences = [_sentences(record.value) for record in batch]
        merge(kept_counts, count_documents(pa.array(names, pa.string()), pa.array(sentences, pa.list_(pa.string()))))
        texts: dict[str, list[str]] = {}
        for name, record in zip(names, batch, strict=True):
            texts.setdefault(name, []).append(record.value["text"])
        for name, of_source in texts.items():
            merge(read.setdefault(name, {}), text_size(of_source))
    nothing: Counters = {
        name: {} for name in ("cleaning", "dropped", "pii", "decontamination", "duplicates", "skipped", "damaged")
    }
    return {
        "total": {"read": total(read), "kept": total(kept_counts["sources"])},
        "sources": {name: {"read": size, "kept": kept_counts["sources"][name]} for name, size in sorted(read.items())},
        "lengths": histograms(kept_counts["lengths"]),
        "split": total(kept_counts["sources"]).get("sentences", 0),
        **nothing,
        "rejects": counts["rejects"],
    }


def _sentences(record: dict[str, Any]) -> list[str]:
    sentences = record.get("sentences")
    if isinstance(sentences, list) and all(isinstance(sentence, str) for sentence in sentences):
        return sentences
    return split_sentences(record["text"])


def line_batches(stream: IO[bytes], batch_bytes: int) -> Iterator[list[bytes | None]]:
    """Yield the lines of a stream without their line ends; None stands for a line of more than `LINE_BYTES`.

    A batch ends at about `batch_bytes`, at the end of the stream, or when a pipe is empty: what came in is handed on at
    once, however slowly the rest comes.
    """
    read = getattr(stream, "read1", stream.read)
    batch: list[bytes | None] = []
    size = 0
    begun: list[bytes] = []  # pieces of the line whose end has not come yet
    begun_size = 0
    while chunk := read(batch_bytes):
        size += len(chunk)
        *whole, tail = chunk.split(b"\n")
        if whole:
            first = None if begun_size + len(whole[0]) > LINE_BYTES else b"".join([*begun, whole[0]])
            batch += [first, *(line if len(line) <= LINE_BYTES else None for line in whole[1:])]
            begun, begun_size = [], 0
        begun_size += len(tail)
        begun = [*begun, tail] if begun_size <= LINE_BYTES else []
        if batch and (size >= batch_bytes or not _ready(stream)):
            yield batch
            batch, size = [], 0
    if begun_size:
        batch.append(None if begun_size > LINE_BYTES else b"".join(begun))
    if batch:
        yield batch


def _ready(stream: IO[bytes]) -> bool:
    """Return whether reading will not wait: files and buffers never do, pipes and terminals may."""
    try:
        return bool(select.select([stream.fileno()], [], [], 0)[0])
    except (io.UnsupportedOperation, AttributeError, ValueError):
        return True


def _batches(input: IO[bytes], counts: Counters) -> Iterator[list[_Record]]:
    """Yield readable records in batches; blank lines are skipped, others counted; HunminError if all are unreadable."""
    for lines in line_batches(input, BATCH_BYTES):
        batch: list[_Record] = []
        for line in lines:
            record = _parse(line.rstrip(b"\r")) if line is not None else f"longer than {LINE_BYTES >> 20} MiB"
            if record is None:
                continue
            counts["read"] += 1
            if isinstance(record, str):
                merge(counts["rejects"], {record: 1})
            else:
                batch.append(record)
        if batch:
            yield batch
    if counts["read"] and counts["read"] == sum(counts["rejects"].values()):
        raise HunminError(
            "none of the lines could be read: " + ", ".join(f"{n:,} {why}" for why, n in counts["rejects"].items()),
            'the input is JSON Lines in UTF-8, an object with "text" a line',
            "rename the field or convert the file: iconv -f CP949 -t UTF-8 FILE, jq -c '{text: .content}' FILE",
        )


def _parse(line: bytes) -> _Record | str | None:
    """Return the record of a line, or the reason why it has none, or None for a blank line."""
    line = line.removeprefix(BOM_UTF8)
    try:
        value = load_json(line, exact=True)
    except UnreadableError as error:
        return str(error) if line.strip() else None
    if not isinstance(value, dict):
        return "not a JSON object"
    if not isinstance(value.get("text"), str):
        return "text is not a string" if "text" in value else "no field 'text'"
    return _Record(line, value)


def _dumps(value: dict[str, Any], counts: Counters) -> bytes | None:
    """Return an object as JSON; None, and a reject more, where it is nested too deeply."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer of more than 64 bits, or many levels
        if _levels(value) > MOST_LEVELS:
            merge(counts["rejects"], {TOO_DEEP: 1})
            return None
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _levels(value: Any) -> int:
    levels = 0
    layer = [value]
    while layer := [item for item in layer if isinstance(item, (dict, list))]:
        levels += 1
        layer = [inner for item in layer for inner in (item.values() if isinstance(item, dict) else item)]
    return levels


def _write_values(output: IO[bytes], values: list[dict[str, Any]], counts: Counters) -> list[dict[str, Any]]:
    """Write objects as lines and return them, but for those that are nested too deeply."""
    lines = [(value, line) for value in values if (line := _dumps(value, counts)) is not None]
    _write(output, [line for _, line in lines])
    return [value for value, _ in lines]


def _write(output: IO[bytes], records: list[bytes]) -> None:
    """Write lines and hand them on: the next program in the pipe must not wait for the next batch."""
    output.write(b"\n".join([*records, b""]))
    output.flush()
