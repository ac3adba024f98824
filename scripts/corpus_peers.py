"""Other tools that do a part of the corpus stage, for `bench_corpus.py`: each as a function over the same texts.

A peer that cannot be imported, or fails, is reported with the reason. Rates are processor seconds of this process on
one thread, loading and indexing not counted.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from timing import median_seconds

Work = Callable[[list[str]], object]
LIMIT = 120.0
"""Seconds of wall time after which a run of a peer is given up."""


class Peer(NamedTuple):
    """A tool: its name, what it is given at most, and how its function over texts is made (not timed)."""

    name: str
    task: str
    megabytes: float
    prepare: Callable[[list[str]], Work]


class PeerResult(NamedTuple):
    """A peer's rate beside Hunmin's on the same texts; `reason` says why there is none."""

    peer: Peer
    texts: int
    megabytes: float
    rate: float
    ours: float
    reason: str = ""


def kiwi_split(benchmark: list[str]) -> Work:
    """Return kiwipiepy's sentence splitter, on one thread."""
    from kiwipiepy import Kiwi

    kiwi = Kiwi(num_workers=1)
    return lambda texts: [kiwi.split_into_sents(text) for text in texts]


def kss_split(backend: str) -> Callable[[list[str]], Work]:
    """Return what makes the splitter of kss with a backend."""

    def prepare(benchmark: list[str]) -> Work:
        import kss

        kss.split_sentences("시작했다. 끝났다.", backend=backend, num_workers=1)
        return lambda texts: [kss.split_sentences(text, backend=backend, num_workers=1) for text in texts]

    return prepare


def bm25s_search(benchmark: list[str]) -> Work:
    """Return the search for each text's nearest benchmark sentence by words with bm25s (numba, one thread)."""
    import bm25s

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
    index.index([text.split() for text in benchmark], show_progress=False)
    return lambda texts: index.retrieve(
        [text.split() for text in texts], k=1, show_progress=False, n_threads=1, backend_selection="numba"
    )


def tantivy_search(benchmark: list[str]) -> Work:
    """Return the search for each text's nearest benchmark sentence by words with tantivy."""
    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("text", stored=False, tokenizer_name="whitespace").build()
    index = tantivy.Index(schema)
    writer = index.writer(num_threads=1)
    for text in benchmark:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(texts: list[str]) -> object:
        found = []
        for text in texts:
            terms = [tantivy.Query.term_query(schema, "text", word) for word in set(text.split())]
            query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
            found.append(searcher.search(query, 1).hits)
        return found

    return search


def presidio_find(benchmark: list[str]) -> Work:
    """Return presidio's pattern recognisers of what Hunmin replaces too, the Korean ones among them; no model."""
    from presidio_analyzer import predefined_recognizers as known

    names = (
        *("KrRrn", "KrFrn", "KrBrn", "KrPassport", "KrDriverLicense"),
        *("Email", "Ip", "MacAddress", "Phone", "Url", "CreditCard"),
    )
    made: list[Any] = [getattr(known, f"{name}Recognizer")() for name in names]
    return lambda texts: [one.analyze(text, one.supported_entities, None) for text in texts for one in made]


SPLIT, SEARCH, PII = "sentence splitting", "benchmark search", "personal data"
PEERS = (
    Peer("kiwipiepy", SPLIT, 0.5, kiwi_split),
    Peer("kss (mecab)", SPLIT, 0.1, kss_split("mecab")),
    Peer("kss (fast)", SPLIT, 0.1, kss_split("fast")),
    Peer("bm25s, nearest by words", SEARCH, 1, bm25s_search),
    Peer("tantivy, nearest by words", SEARCH, 1, tantivy_search),
    Peer("presidio, 11 of its recognisers", PII, 0.5, presidio_find),
)


def measure_peer(peer: Peer, texts: list[str], benchmark: list[str], ours: Work, repeat: int) -> PeerResult:
    """Return a peer's rate in MB/s (in texts/s for a search) over `texts`, beside Hunmin's."""
    logging.disable(logging.WARNING)
    size = sum(len(text.encode()) for text in texts) / 1e6
    amount = len(texts) if peer.task == SEARCH else size
    ours(texts)
    own = amount / median_seconds(lambda: ours(texts), repeat)
    try:
        work = peer.prepare(benchmark)
        work(texts[:5])
        return PeerResult(peer, len(texts), size, amount / median_seconds(lambda: work(texts), repeat, LIMIT), own)
    except Exception as error:  # a peer may fail in any way, and that is a result
        return PeerResult(peer, len(texts), size, math.nan, own, f"{type(error).__name__}: {error}"[:120])


def print_peers(results: list[PeerResult]) -> None:
    """Print the peers beside Hunmin, with the ratio."""
    print(f"\n  {'on the same text':34} {'texts':>7} {'MB':>6} {'peer':>12} {'Hunmin':>12} {'':12} {'ratio':>8}")
    for one in results:
        unit = "sentences/s" if one.peer.task == SEARCH else "MB/s"
        if one.reason:
            print(f"  {one.peer.name:34} {one.texts:7,} {one.megabytes:6.2f}   not measured: {one.reason}")
            continue
        numbers = (f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" for value in (one.rate, one.ours))
        peer, own = numbers
        print(
            f"  {one.peer.name:34} {one.texts:7,} {one.megabytes:6.2f} {peer:>12} {own:>12} {unit:12} "
            f"{one.ours / one.rate:7,.0f}x",
            flush=True,
        )
