"""Hard negatives for the rows of a recipe."""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.decontaminate.normalise import text_key
from embed.data import load_sets, query_sets, write_rows
from embed.settings import EmbedSettings, MineSettings

REPEATED, MARGIN = "left out: repeated", "left out: too few below margin"
MAX_SCORE = "left out: too few below max_score"
"""Why a row has no negatives."""


def mine(s: EmbedSettings, model: Path, reranker: Path | None, out: Path) -> dict[str, Any]:
    """Write `out/SET.jsonl`, rows of {query, positive, negatives, scores?} that `embed.data` reads, for each set where
    any have negatives, and return {"documents", "sets": rows, rows left out by reason, licence}.

    Texts are compared by `text_key`. A query's positives in all sets are never its negatives.

    Args:
        model: folder of sentence embeddings, or of an encoder, whose tokens are pooled as in `s`.
        reranker: folder of a cross-encoder that scores the candidates; None keeps the cosines.

    Raises:
        UserError: there is no set with queries, there are too few documents or negatives, or a model is none.
    """
    from embed.base import TOKEN_SIMILARITY, begin_model, is_multi_vector, load_model, read_base
    from embed.rerank import load_reranker

    sets, per_row = query_sets(load_sets(s)), s.mine.negatives
    spelling: dict[str, str] = {}
    every = [row for dataset in sets for row in dataset.texts] + [row for dataset in sets for row in dataset.removed]
    keys = {text: spelling.setdefault(text_key(text), text) for row in every for text in row}
    documents = list(dict.fromkeys(keys[text] for dataset in sets for row in dataset.texts for text in row[1:]))
    if len(documents) <= per_row:
        raise UserError(
            f"the sets hold {len(documents)} documents, embed.mine.negatives is {per_row}",
            "a row has its positive and that many others",
            "lower embed.mine.negatives, or add rows",
        )
    document_set = {*documents}
    pairs = dict.fromkeys((keys[row[0]], keys[row[1]]) for row in every)  # a removed row's positive stays known
    if (model / "modules.json").is_file():
        encoder = load_model(model)
        if is_multi_vector(encoder):  # as margins are meant, whatever the model states
            encoder.similarity_fn_name = TOKEN_SIMILARITY
    else:
        read_base(model, s)
        encoder = begin_model(model, s)
    query_positives: dict[str, list[str]] = defaultdict(list)
    for query, positive in pairs:
        if positive in document_set:
            query_positives[query].append(positive)
    mined = _search(encoder, load_reranker(reranker) if reranker else None, query_positives, documents, s.mine)
    counts: dict[str, Any] = {"documents": len(documents), "sets": {}}
    for dataset in sets:
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        tally = Counter({"rows": 0, REPEATED: 0, MARGIN: 0, **({} if s.mine.max_score is None else {MAX_SCORE: 0})})
        for query, positive, *_ in dataset.texts:
            key = keys[query], keys[positive]
            best = mined[key]
            tally[REPEATED if key in rows else best if isinstance(best, str) else "rows"] += 1
            if key not in rows and not isinstance(best, str):
                rows[key] = {"query": query, "positive": positive, "negatives": [text for text, _ in best[1:]]}
                if s.mine.scores:
                    rows[key]["scores"] = [score for _, score in best]
        if rows:
            write_rows(out, dataset, rows.values())
        counts["sets"][dataset.name] = {**tally, "licence": dataset.licence}
    if not any(dataset["rows"] for dataset in counts["sets"].values()):
        raise UserError(
            f"no query has {per_row} negatives below the margin",
            "a row has embed.mine.negatives of them",
            "lower embed.mine.margin or embed.mine.negatives"
            + (", or raise embed.mine.max_score" if s.mine.max_score is not None else ""),
        )
    return counts


def _search(
    encoder: Any, reranker: Any, query_positives: Mapping[str, Sequence[str]], documents: list[str], m: MineSettings
) -> dict[tuple[str, str], Any]:
    """Return (query, positive) → [(text, score)] of the positive and its hardest negatives, or why they are too few.

    The encoder's cosines rank the documents; a reranker scores ten times as many of them each time until there are
    enough. `query_positives` is query → positives, all of them documents.
    """
    import torch

    from embed.rerank import predicted

    place = {text: number for number, text in enumerate(documents)}

    def scored(query: str, texts: Iterable[str]) -> torch.Tensor:
        return torch.as_tensor(predicted(reranker, [(query, text) for text in texts]), device=encoder.device)

    def widening(query: str, cosines_D: torch.Tensor, count: int) -> Iterator[torch.Tensor]:
        """Yield the scores of all documents; -inf where they are no candidates, or not looked at yet."""
        if reranker is None:
            yield cosines_D
            return
        scores_D = torch.full_like(cosines_D, -math.inf)
        order = cosines_D.topk(count).indices
        size = 0
        yield scores_D
        while size < count:
            block = order[size : (size := min(count, 10 * (size or m.negatives)))]
            scores_D[block] = scored(query, (documents[number] for number in block)).to(scores_D.dtype)
            yield scores_D

    mined: dict[tuple[str, str], Any] = {}
    few: dict[tuple[str, str], Any] = {}
    rows = _similarities(encoder, list(query_positives), documents)
    for (query, positives), cosines_D in zip(query_positives.items(), rows, strict=True):
        own = [place[text] for text in positives]
        scores_P = (cosines_D[own] if reranker is None else scored(query, positives)).tolist()
        excluded = {*own, place.get(query, own[0])}
        cosines_D[[*excluded]] = -math.inf
        for scores_D in widening(query, cosines_D, len(documents) - len(excluded)):
            for positive, score in zip(positives, scores_P, strict=True):
                margin = score - abs(score) * m.margin
                limit = margin if m.max_score is None else min(margin, m.max_score)
                best = scores_D.masked_fill(scores_D > limit, -math.inf).topk(m.negatives)
                if best.values[-1] > -math.inf:
                    texts = [documents[number] for number in best.indices]
                    negatives = [*zip(texts, best.values.tolist(), strict=True)]
                    mined.setdefault((query, positive), [(positive, score), *negatives])
                elif (query, positive) not in mined:
                    below = ((scores_D > -math.inf) & (scores_D <= margin)).sum()
                    few[query, positive] = MARGIN if below < m.negatives else MAX_SCORE
            if all((query, positive) in mined for positive in positives):
                break
    return few | mined


def _similarities(encoder: Any, queries: list[str], documents: list[str]) -> Iterator[Any]:
    """Yield each query's scores of all documents: cosines, or a multi-vector model's mean MaxSim."""
    import torch

    from embed.base import is_multi_vector

    several = is_multi_vector(encoder)
    encoding = {"show_progress_bar": sys.stderr.isatty()}
    encoding |= {} if several else {"normalize_embeddings": True, "convert_to_tensor": True}
    documents_D = encoder.encode_document(documents, **encoding)
    queries_Q = encoder.encode_query(queries, **encoding)
    for begin in range(0, len(queries), 128):
        part = queries_Q[begin : begin + 128]
        yield from encoder.similarity(part, documents_D) if several else torch.as_tensor(part @ documents_D.T)
