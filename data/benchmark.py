"""Benchmark text: every sentence of KLUE's eight layouts, of other suites' tables, and of any JSON Lines benchmark.

A file is recognised by what it holds, not by its name, so train, dev and test files, partial copies, hub exports
(Parquet) and renamed files all load. What counts as benchmark text, by task:

    ynat       the title                              klue-re   the sentence
    klue-sts   both sentences                         klue-dp   the sentence of the "## guid<TAB>sentence" line
    klue-nli   premise and hypothesis                 klue-mrc  the question; the context, sentence by sentence
    klue-ner   as klue-dp, without <...:PS> marks     wos       every utterance

KorQuAD is as klue-mrc. Of other sets with a question (KMMLU, ARC) the choices and the passage count, too. The tables
of KoBEST, KorSTS and others: see data/benchmark_tables.py.
"""

from __future__ import annotations

import io
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common.bounded import UnreadableError, decoded, load_json
from common.compressed import decompression_errors
from common.errors import UserError
from common.files import open_bytes, stem
from common.globs import expand
from common.parquet import parquet_rows
from data.benchmark_tables import Layout, layout_of, table_rows
from data.readers.containers import first_bytes, refuse_content
from data.splitting.scan import split_sentences

LAYOUTS = (
    "a benchmark file is KLUE's own JSON or TSV, its hub Parquet, a table of KoBEST or of KoELECTRA's table, "
    "or JSON Lines with "
    '{"text", optional "guid" or "id", optional "task"} or {"question", optional choices and passage}'
)
_PASSAGE = re.compile("context|context_preview|paragraph|passage|question_plus|hint|explanation|rationale|solution")
_CHOICE = re.compile(r"(?:option|choice|candidate|ending)s?(?:[_# ]?[0-9a-f])?|answer_(?:choices|options)|[a-f1-5]")
_NO_TEXT = re.compile(
    "u?id|guid|task|labels?|gold|category|subject|url|raw_html|.*(?:title|source|name|category|level)"
    "|answers?|answer_?key|(?:first|correct|best|plausible|incorrect)_answers?|answer_(?:start|index|text)"
)
"""Names of fields beside a question: of running text, of choices, and those without text of the benchmark's."""
_SHORTEST = 8
"""Letters and digits of a choice that counts, as of a passage's sentences: shorter ones (네, 서울) are everywhere."""
FIX = "move the file out of the benchmark folder, or convert it to JSON Lines"


class BenchmarkSentence(NamedTuple):
    """A sentence of a benchmark, with the task and the record it stands in."""

    task: str
    """Name of the task ("klue-nli"); for a JSON Lines benchmark its "task" field or the file's stem."""
    guid: str
    """The benchmark's own identifier; "STEM:NUMBER" (from 0) where a record has none."""
    text: str
    """The sentence, as the benchmark writes it."""
    passage: bool = False
    """Whether it belongs to a running text: its neighbours with the same task, guid and flag continue it."""
    listed: str | None = None
    """Text shown in lists of hits instead of `text`, which may hold personal data."""


class _NotRecognisedError(ValueError):
    """A file or record is of no known layout; the message says what it holds instead."""


def benchmark_files(path: str) -> list[str]:
    """Return the files at `path` that `load_benchmark` reads, sorted: licences and read-me files are passed over.

    Raises:
        UserError: nothing is there.
    """
    return [name for name in dict.fromkeys(expand(path)) if not _is_auxiliary_name(name)]


def load_benchmark(path: str | Path | Sequence[str | Path]) -> list[BenchmarkSentence]:
    """Return every sentence of the benchmark at `path`, files in sorted order, records in file order.

    Args:
        path: a file, a folder (searched recursively, hidden files left out) or a glob, or several of these one after
            the other; .gz, .bz2, .xz, .zst allowed.

    Raises:
        UserError: nothing is there, a file is of no known layout (licence, ontology, relation list and read-me files
            are passed over), is damaged, or no sentence is found at all.
    """
    contexts: set[str] = set()
    sentences: list[BenchmarkSentence] = []
    for place in [path] if isinstance(path, (str, Path)) else path:
        before = len(sentences)
        for name in benchmark_files(str(place)):
            sentences += _read_file(name, contexts)
        if len(sentences) == before:
            raise UserError(
                f"no benchmark sentence found at {place}", LAYOUTS, "name the folder that holds the task files"
            )
    return sentences


def strip_entity_marks(marked: str) -> str:
    """Return a KLUE-NER sentence without its entity marks: "<경찰:OG>은" → "경찰은"."""
    return _ENTITY_MARK.sub(r"\1", marked)


_ENTITY_MARK = re.compile(r"<([^<>]+):(?:PS|LC|OG|DT|TI|QT)>")
_TSV_HEADER = re.compile(r"##[ \t]*(\S+)\t(.*)")


def _is_auxiliary_name(name: str) -> bool:
    lower = Path(name).name.lower()
    return lower.endswith((".md", ".pdf")) or lower.startswith(("license", "licence", "readme", "dataset_info"))


def _read_file(name: str, contexts: set[str]) -> list[BenchmarkSentence]:
    refuse_content(name, first_bytes(name))
    with decompression_errors(name), open_bytes(name) as stream:
        content = stream.read()
    try:
        if content.startswith(b"PAR1"):
            rows, _ = parquet_rows(io.BytesIO(content))
            records: Iterable[tuple[str, Any]] = ((f"row {number}", row) for number, row in enumerate(rows, 1))
        else:
            content = content.removeprefix(BOM_UTF8)
            if not content.startswith((b"{", b"[")):
                text = decoded(content)
                if text.lstrip().startswith("##"):
                    return list(_tsv_sentences(text))
                if layout := layout_of(text):
                    return list(_table_sentences(text, layout, stem(name), contexts))
            records = _json_records(content)
        sentences: list[BenchmarkSentence] = []
        label = stem(name)
        for number, (place, record) in enumerate(records):
            try:
                sentences += _record_sentences(record, f"{label}:{number}", label, contexts)
            except _NotRecognisedError as error:
                raise _NotRecognisedError(f"{place}: {error}") from None
        return sentences
    except (_NotRecognisedError, UnreadableError) as error:
        raise UserError(f"{name} is not recognised as benchmark data: {error}", LAYOUTS, FIX) from None


def _json_records(content: bytes) -> Iterator[tuple[str, Any]]:
    """Yield (place, record) of a JSON array, a SQuAD-style object or JSON Lines; nothing for an auxiliary object."""
    try:
        loaded = load_json(content, place=True)
    except UnreadableError:
        if not content.lstrip().startswith(b"{"):
            raise
        yield from _json_lines(content)
        return
    records: Iterable[Any] = loaded
    if isinstance(loaded, dict) and isinstance(loaded.get("data"), list):
        records = _squad_records(loaded["data"])
    elif not isinstance(loaded, list):
        records = [] if _is_auxiliary_object(loaded) else [loaded]
    for number, record in enumerate(records, 1):
        yield f"record {number}", record


def _json_lines(content: bytes) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", load_json(line)
            except UnreadableError as error:
                raise UnreadableError(f"line {number}: {error}") from None


def _is_auxiliary_object(loaded: Any) -> bool:
    """Whether a JSON object is KLUE's ontology or relation list: lists of plain words by name, and nothing else."""
    return (
        isinstance(loaded, dict)
        and bool(loaded)
        and all(isinstance(v, list) and all(isinstance(word, str) for word in v) for v in loaded.values())
    )


def _squad_records(articles: list[Any]) -> Iterator[Any]:
    for article in articles:
        if not isinstance(article, dict) or not isinstance(article.get("paragraphs"), list):
            yield article
            continue
        for paragraph in article["paragraphs"]:
            questions = paragraph.get("qas", []) if isinstance(paragraph, dict) else None
            if not isinstance(questions, list) or not all(isinstance(question, dict) for question in questions):
                raise _NotRecognisedError("a paragraph without a list of questions under qas")
            for question in questions:
                yield {**question, "context": paragraph.get("context", "")}


def _tsv_sentences(text: str) -> Iterator[BenchmarkSentence]:
    """Yield the header sentences of a KLUE-NER or KLUE-DP file; the rows tell which (6 columns: DP)."""
    columns = next((row.count("\t") + 1 for row in text.split("\n") if row and not row.startswith("##")), 0)
    task = "klue-dp" if columns >= 3 else "klue-ner"
    marked = (row.rstrip("\r") for row in text.split("\n") if row.startswith("##"))
    headers = [match for row in marked if (match := _TSV_HEADER.fullmatch(row))]
    if not headers:
        raise _NotRecognisedError('it starts with "##" but no line is "## guid<TAB>sentence"')
    for match in headers:
        guid, sentence = match.groups()
        named = next((known for known in ("klue-ner", "klue-dp") if guid.startswith(known)), task)
        sentence = strip_entity_marks(sentence) if named == "klue-ner" else sentence
        if sentence.strip():
            yield BenchmarkSentence(named, guid, sentence.strip())


def _table_sentences(text: str, layout: Layout, stem: str, contexts: set[str]) -> Iterator[BenchmarkSentence]:
    try:
        rows = table_rows(text, layout)
    except ValueError as error:
        raise _NotRecognisedError(str(error)) from None
    for number, (texts, passage) in enumerate(rows):
        guid = f"{stem}:{number}"
        yield from (BenchmarkSentence(layout.task, guid, sentence.strip()) for sentence in texts)
        if passage and passage not in contexts:
            contexts.add(passage)
            pieces = (piece.strip() for piece in split_sentences(passage))
            yield from (BenchmarkSentence(layout.task, guid, piece, True) for piece in pieces if piece)


def _record_sentences(record: Any, guid: str, stem: str, contexts: set[str]) -> Iterator[BenchmarkSentence]:
    """Yield the benchmark text of one record; `contexts` holds the MRC contexts already given."""
    if not isinstance(record, dict):
        raise _NotRecognisedError(f"a {type(record).__name__} where a record should be")
    for key in ("id", "guid"):
        if record.get(key) not in (None, ""):
            guid = str(record[key])
    task, texts, passages = _texts(record, stem, contexts)
    for passage, group in ((False, texts), (True, passages)):
        for text in group:
            if not isinstance(text, str):
                raise _NotRecognisedError(f"a {type(text).__name__} where text should be")
            if stripped := text.strip():
                yield BenchmarkSentence(task, guid, stripped, passage)


def _texts(record: dict[str, Any], stem: str, contexts: set[str]) -> tuple[str, list[Any], list[Any]]:
    """Return (task, single sentences, sentences of a passage) of a record, told by the fields it has."""
    if isinstance(record.get("dialogue"), list):
        turns = record["dialogue"]
        if not all(isinstance(turn, dict) and "text" in turn for turn in turns):
            raise _NotRecognisedError("a dialogue turn without text")
        return "wos", [], [turn["text"] for turn in turns]
    if "premise" in record and "hypothesis" in record:
        return "klue-nli", [record["premise"], record["hypothesis"]], []
    if "sentence1" in record and "sentence2" in record:
        return "klue-sts", [record["sentence1"], record["sentence2"]], []
    if "premise" in record and "alternative_1" in record:
        return "kobest-copa", [record["premise"], record["alternative_1"], _text_at(record, "alternative_2")], []
    if "question" in record:
        return _question(record, stem, contexts)
    if "sentence" in record:
        if "subject_entity" in record:
            return "klue-re", [record["sentence"]], []
        if "ner_tags" in record:
            return "klue-ner", [strip_entity_marks(_text_at(record, "sentence"))], []
        if "head" in record or "deprel" in record:
            return "klue-dp", [record["sentence"]], []
    if "text" in record:
        return str(record.get("task") or stem), [record["text"]], []
    if "title" in record and "comment" in record:
        return stem, [record["title"], record["comment"]], []
    if isinstance(record.get("qas"), list):
        raise _NotRecognisedError(
            "`qas` outside of `paragraphs`: write its questions and context as records of their own"
        )
    if "title" in record:
        return "ynat", [record["title"]], []
    raise _NotRecognisedError(
        "a record with none of the known fields: " + ", ".join(sorted(name[:40] for name in record)[:8])
    )


def _question(record: dict[str, Any], stem: str, contexts: set[str]) -> tuple[str, list[Any], list[Any]]:
    """Return `_texts` of a record with a question; a record with an unknown field that holds a phrase is refused."""
    fields = {name.lower(): value for name, value in record.items()}
    choices = [text for name in fields if _CHOICE.fullmatch(name) for text in _strings(fields[name]) if _is_long(text)]
    known = ("question", *(name for name in fields if any(p.fullmatch(name) for p in (_PASSAGE, _CHOICE, _NO_TEXT))))
    if unknown := sorted(name[:40] for name, value in fields.items() if name not in known and _phrase_in(value)):
        raise _NotRecognisedError(
            f"a question beside fields that are not known: {', '.join(unknown[:8])}; "
            "call choices `choices` and running text `passage`"
        )
    texts = {name: text for name in fields if _PASSAGE.fullmatch(name) and (text := _text_at(fields, name))}
    if "context" in texts:
        texts.pop("context_preview", None)  # its beginning
    task = str(record.get("task") or stem)
    if {"context", "context_preview"} & fields.keys():
        task = "korquad" if stem.lower().startswith("korquad") else "klue-mrc"
    context = "\n".join(dict.fromkeys(texts.values())).removesuffix("...")
    if context in contexts:
        return task, [record["question"], *choices], []
    contexts.add(context)
    return task, [record["question"], *choices], split_sentences(context)


def _is_long(text: str) -> bool:
    return sum(map(str.isalnum, text)) >= _SHORTEST


def _phrase_in(value: Any) -> bool:
    return any(_is_long(text) and " " in text.strip() for text in _strings(value))


def _strings(value: Any) -> list[str]:
    """Return the strings that a field holds, in lists and mappings, too, but for labels of choices (ARC)."""
    if isinstance(value, dict):
        return [text for name, field in value.items() if name not in ("label", "labels") for text in _strings(field)]
    if isinstance(value, list):
        return [text for element in value for text in _strings(element)]
    return [value] if isinstance(value, str) else []


def _text_at(record: dict[str, Any], name: str) -> str:
    text = record.get(name)
    if text is not None and not isinstance(text, str):
        raise _NotRecognisedError(f"a {type(text).__name__} where {name} should be text")
    return text or ""
