"""Hard negatives for the rows of a recipe, by sentence-transformers' miner."""

from __future__ import annotations

import io
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, redirect_stderr
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import atomic_write
from embed.data import TrainingSet, load_sets
from embed.sets import plain
from embed.settings import EmbedSettings


def mine(s: EmbedSettings, model: Path, reranker: Path | None, out: Path) -> dict[str, Any]:
    """Write `out/SET.jsonl`, rows of {query, positive, negatives, scores?} that `embed.data` reads, for each set where
    any have negatives, and return {"documents", "sets": rows, rows left out, licence}.

    Texts equal but for white space are one text. A query's positives in all sets are never its negatives.

    Args:
        s: data sets, and `mine`.
        model: folder of sentence embeddings, or of an encoder, whose tokens are pooled as in `s`.
        reranker: folder of a cross-encoder that scores the candidates; None keeps the cosines.
        out: folder to write.

    Raises:
        UserError: there is no set with queries, there are too few documents or negatives, or a model is none.
    """
    from datasets import Dataset
    from sentence_transformers.util import mine_hard_negatives

    from embed.base import begin_model, load_model, read_base
    from embed.rerank import load_reranker

    sets, wanted = query_sets(load_sets(s)), s.mine.negatives
    spelling: dict[str, str] = {}
    every = [row for one in sets for row in one.texts] + [row for one in sets for row in one.removed]
    keys = {text: spelling.setdefault(plain(text), text) for row in every for text in row}
    documents = list(dict.fromkeys(keys[text] for one in sets for row in one.texts for text in row[1:]))
    if len(documents) <= wanted:
        raise UserError(
            f"the sets hold {len(documents)} documents, embed.mine.negatives is {wanted}",
            "a row has its positive and that many others", "lower embed.mine.negatives, or add rows",
        )  # fmt: skip
    there = {*documents}
    pairs = dict.fromkeys((keys[row[0]], keys[row[1]]) for row in every)  # a removed row's positive stays known
    queries, positives = zip(*(pair for pair in pairs if pair[1] in there), strict=True)
    if (model / "modules.json").is_file():
        encoder = load_model(model)
        encoder.similarity_fn_name = "cosine"  # as scores and margins are meant, whatever the model states
    else:
        read_base(model, s)
        encoder = begin_model(model, s)
    with nullcontext() if sys.stderr.isatty() else redirect_stderr(io.StringIO()):  # its bars
        mined = mine_hard_negatives(
            Dataset.from_dict({"query": queries, "positive": positives}), encoder, corpus=documents,
            num_negatives=wanted + 1, cross_encoder=load_reranker(reranker) if reranker else None,
            relative_margin=s.mine.margin, max_score=s.mine.max_score, output_format="triplet", output_scores=True,
            verbose=False,
        )  # fmt: skip
    found: dict[tuple[str, str], list[tuple[str, list[float]]]] = defaultdict(list)
    for query, positive, negative, scores in zip(*mined.to_dict().values(), strict=True):
        if negative != query:  # one too many is mined
            found[query, positive].append((negative, scores))
    counts: dict[str, Any] = {"documents": len(documents), "sets": {}}
    for one in sets:
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for query, positive, *_ in one.texts:
            key = keys[query], keys[positive]
            best = found[key][:wanted]
            if len(best) == wanted:
                rows[key] = {"query": query, "positive": positive, "negatives": [text for text, _ in best]}
                if s.mine.scores:
                    rows[key]["scores"] = [best[0][1][0], *(scores[1] for _, scores in best)]
        if rows:
            write_rows(out, one, rows.values())
        counts["sets"][one.name] = {"rows": len(rows), "left out": len(one.texts) - len(rows), "licence": one.licence}
    if not any(one["rows"] for one in counts["sets"].values()):
        raise UserError(
            f"no query has {wanted} negatives below the margin", "a row has embed.mine.negatives of them",
            "lower embed.mine.margin or embed.mine.negatives"
            + (", or raise embed.mine.max_score" if s.mine.max_score is not None else ""),
        )  # fmt: skip
    return counts


def query_sets(sets: Sequence[TrainingSet]) -> list[TrainingSet]:
    """Return the sets whose rows are queries and documents.

    Raises:
        UserError: there is none.
    """
    found = [one for one in sets if one.shape != "scored"]
    if not found:
        raise UserError(
            f"no set with queries: {', '.join(one.name for one in sets)}",
            "negatives and rerankers need rows of {query, positive}", "add one to embed.data (korquad, klue-mrc)",
        )  # fmt: skip
    return found


def write_rows(out: Path, one: TrainingSet, rows: Iterable[dict[str, Any]]) -> None:
    """Write the rows of a set as JSON Lines in a folder, each with the built-in sets that the set comes from."""
    origins = {"origins": sorted(one.origins)} if one.origins else {}
    with atomic_write(out / f"{one.name}.jsonl", as_given=True) as stream:
        stream.writelines(json.dumps(row | origins, ensure_ascii=False) + "\n" for row in rows)
