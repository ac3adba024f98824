"""The sample's files: corpora in the formats the readers take, the tasks, the truth about what was planted."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import zstandard

from common.errors import UserError
from common.files import atomic_write
from hunmin.sample.documents import Document, any_topic, dialogue, entry, news, prose
from hunmin.sample.inflect import Register
from hunmin.sample.noise import NEWS_KINDS, WEB_KINDS, add_noise
from hunmin.sample.plant import plant_benchmark, plant_duplicates, plant_pii
from hunmin.sample.tasks import TaskFiles, build_tasks
from hunmin.sample.tasks.common import rng_for

LICENCE = "Apache-2.0"
MIN_SENTENCES = 2000
NOISY_SHARE = 0.15
"""Share of the documents of news and web that get noise."""

Generator = Callable[[random.Random], list[str]]

# file -> (share of the sentences, generator, kinds of noise). JSON Lines files name their documents, text files
# have a document a line.
CORPORA: dict[str, tuple[float, Generator, tuple[str, ...]]] = {
    "news.jsonl.gz": (0.28, lambda rng: news(rng, any_topic(rng), rng.randint(6, 12)), NEWS_KINDS),
    "web.jsonl.zst": (
        0.22,
        lambda rng: prose(rng, any_topic(rng), rng.randint(5, 12), rng.choice((Register.FORMAL, Register.POLITE))),
        WEB_KINDS,
    ),
    "books.txt": (0.2, lambda rng: prose(rng, any_topic(rng), rng.randint(10, 20), Register.PLAIN), ()),
    "dialogue.txt.gz": (0.2, lambda rng: dialogue(rng, any_topic(rng), rng.randint(8, 16)), ()),
    "encyclopedia.jsonl": (0.1, lambda rng: entry(rng, any_topic(rng), rng.randint(5, 10)), ()),
}

README = """# The embedded sample

Written by a seeded generator for this project: every sentence, name and number is invented. Apache-2.0.

| file | what |
|---|---|
| corpora/news.jsonl.gz | news, JSON Lines (text, id, source, licence); headline in the first line; furniture as noise |
| corpora/web.jsonl.zst | web pages in 합니다 and 해요, JSON Lines; markup, hashtags, invisible characters as noise |
| corpora/books.txt | running prose in 한다, a document a line |
| corpora/dialogue.txt.gz | dialogues in 해요, a document a line |
| corpora/encyclopedia.jsonl | definitions among prose, JSON Lines |
| klue/ | the eight KLUE tasks, train and dev, in the benchmark's file layouts |
| truth.jsonl | what was planted where: {"file", "document" (id, or line from 1), "kind", ...}; no input of any stage |

Kinds in truth.jsonl: "pii" (type, value), "benchmark" (task, guid, how: verbatim, josa, space; text),
"duplicate" (of, how: exact, near), "noise" (type).
"""


def write_sample(out: Path, seed: int = 42, sentences: int = 40_000) -> dict[str, int]:
    """Write the sample into the folder `out` and return counts (documents, sentences, planted things, examples).

    The same seed and number of sentences give the same bytes.

    Args:
        out: folder; created if missing, files of an earlier sample in it are replaced.
        seed: of every random choice.
        sentences: about how many sentences the corpora get, at least 2,000.

    Raises:
        UserError: fewer sentences are asked for than the planted things need.
    """
    if sentences < MIN_SENTENCES:
        raise UserError(
            f"a sample of {sentences} sentences",
            f"the sample has at least {MIN_SENTENCES:,} sentences, so that the planted things do not crowd it",
        )
    tasks = build_tasks(seed)
    taken = {_normalised(text.text) for text in tasks.texts}
    corpora = {name: _documents(name, seed, sentences, taken) for name in CORPORA}
    counts = _plant(corpora, tasks, seed, sentences)
    for name, documents in corpora.items():
        _write_corpus(out / "corpora" / name, documents)
    for name, content in tasks.files.items():
        _write(out / "klue" / name, content.encode())
    _write(out / "truth.jsonl", _truth(corpora).encode())
    _write(out / "README.md", README.encode())
    counts["documents"] = sum(len(documents) for documents in corpora.values())
    counts["sentences"] = sum(len(document.sentences) for documents in corpora.values() for document in documents)
    counts["benchmark_sentences"] = len(tasks.texts)
    return dict(sorted(counts.items()))


def _normalised(sentence: str) -> str:
    """Return the letters and digits of a sentence: what an exact match goes by."""
    return "".join(character for character in sentence if character.isalnum())


def _documents(name: str, seed: int, sentences: int, taken: set[str]) -> list[Document]:
    """Return the documents of one corpus, without any sentence that the benchmark has."""
    share, generate, _ = CORPORA[name]
    rng = rng_for(seed, "corpora", name)
    stem = name.split(".")[0]
    documents: list[Document] = []
    left = int(sentences * share)
    while left > 0:
        made = [sentence for sentence in generate(rng) if _normalised(sentence) not in taken]
        documents.append(Document(f"{stem}-{len(documents):06d}", made, titled=stem == "news"))
        left -= len(made)
    return documents


def _plant(corpora: dict[str, list[Document]], tasks: TaskFiles, seed: int, sentences: int) -> dict[str, int]:
    """Plant everything, in place: benchmark and personal data first, then copies, noise last. Return counts."""
    rng = rng_for(seed, "plant")
    everything = [document for documents in corpora.values() for document in documents]
    counts: Counter[str] = Counter()
    counts["planted_pii"] = plant_pii(everything, rng, max(4, sentences // 1000))
    counts["planted_benchmark"] = plant_benchmark(everything, rng, tasks.texts, max(8, sentences // 500))
    for name, documents in corpora.items():
        each = max(2, len(documents) // 100)
        counts["planted_duplicates"] += plant_duplicates(documents, rng, each, each)
        kinds = CORPORA[name][2]
        # Noise would blur what was planted exactly: benchmark sentences, copies and their originals.
        originals = {fact["of"] for document in documents for fact in document.facts if fact["kind"] == "duplicate"}
        for document in documents:
            spared = document.id in originals or {"duplicate", "benchmark"} & {str(f["kind"]) for f in document.facts}
            if kinds and rng.random() < NOISY_SHARE and not spared:
                kind = rng.choice(kinds)
                document.sentences = add_noise(rng, document.sentences, kind)
                document.facts.append({"kind": "noise", "type": kind})
                counts["planted_noise"] += 1
    return dict(counts)


def _write_corpus(path: Path, documents: list[Document]) -> None:
    if ".jsonl" in path.name:
        source = path.name.split(".")[0]
        lines = [
            json.dumps({"text": d.text(), "id": d.id, "source": source, "licence": LICENCE}, ensure_ascii=False)
            for d in documents
        ]
    else:
        lines = [d.text(newline=" ") for d in documents]
    _write(path, ("\n".join(lines) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    """Write bytes, compressed as the name says, with no time or name in the archive."""
    if path.suffix == ".gz":
        buffer = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
            stream.write(content)
        content = buffer.getvalue()
    elif path.suffix == ".zst":
        content = zstandard.ZstdCompressor(level=10).compress(content)
    with atomic_write(path, "wb") as stream:
        stream.write(content)


def _truth(corpora: dict[str, list[Document]]) -> str:
    """Return truth.jsonl: a line for every planted thing, in the order of the files."""
    lines: list[str] = []
    for name, documents in corpora.items():
        numbers = {document.id: line for line, document in enumerate(documents, 1)}
        for line, document in enumerate(documents, 1):
            where = document.id if ".jsonl" in name else line
            for fact in document.facts:
                record: dict[str, object] = {"file": f"corpora/{name}", "document": where, **fact}
                if "of" in fact and ".jsonl" not in name:
                    record["of"] = numbers[str(fact["of"])]
                lines.append(json.dumps(record, ensure_ascii=False))
    return "\n".join(lines) + "\n"
