"""Examples of the documents that filters dropped from a finished corpus: their ids, and where asked for their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import xxhash

from common.errors import UserError
from data.cleaning import clean
from data.corpus import FILTERED, corpus_files
from data.readers import DamagedInputError, read_documents
from data.settings import CorpusSettings

Row = dict[str, Any]
"""A line of `filtered.jsonl`: id, source, filter, measure, score."""
BLOCK_BYTES = 8_000_000


def dropped_examples(corpus: Path, most: int) -> list[Row]:
    """Return up to so many dropped documents of each filter and measure, the same ones every time.

    Args:
        corpus: a run folder, or the corpus folder in it.
        most: of each filter and measure.

    Raises:
        UserError: the corpus has no list of dropped documents.
    """
    folder = corpus / "corpus" if (corpus / "corpus").is_dir() else corpus
    path = folder / FILTERED
    if not path.is_file():
        raise UserError(
            f"{folder} has no {FILTERED}", "a corpus built with filters has it", "name filters in corpus.filters"
        )
    chosen: dict[tuple[str, str], list[tuple[int, int, Row]]] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines):
            row = orjson.loads(line)
            drawn = xxhash.xxh3_64_intdigest(row["id"].encode()), number, row
            of_pair = chosen.setdefault((row["filter"], row["measure"]), [])
            of_pair[:] = sorted([*of_pair, drawn], key=lambda one: one[:2])[:most]
    return [row for pair in sorted(chosen) for _, _, row in chosen[pair]]


def texts_of(rows: list[Row], settings: CorpusSettings) -> Iterator[tuple[Row, str]]:
    """Yield dropped documents with their cleaned texts, read again from the inputs, in the order of these.

    A document whose id held personal data has another name in the list, and is not found. Where several documents of a
    source have one id, a note in brackets says so in place of the text.

    Args:
        rows: from `dropped_examples`.
        settings: those that the corpus was built by.

    Raises:
        UserError: the inputs are not there any more.
    """
    wanted: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        wanted.setdefault((row["source"], row["id"]), []).append(row)
    counts: Counter[tuple[str, str]] = Counter()
    texts: dict[tuple[str, str], str] = {}
    for file in corpus_files(settings):
        with suppress(DamagedInputError):  # the corpus has what stands before the damage
            for document in read_documents(file, BLOCK_BYTES):
                if (key := (document.source, document.id)) in wanted:
                    counts[key] += 1
                    if key not in texts:
                        texts[key] = clean(document.text, file.settings.clean or settings.clean, {})
    for key, text in texts.items():
        note = f"[{counts[key]} documents of {key[0]} have this id, so the dropped one is not known]"
        yield from ((row, text if counts[key] == 1 else note) for row in wanted[key])
