"""Training of the classifier of the filter `quality`, by scikit-learn: logistic regression over hashed n-grams."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.errors import HunminError, UserError
from common.extras import pip_install
from data.filters.batch import Batch
from data.filters.ngram_model import write_model
from data.filters.quality import KIND, buckets_of
from data.readers.records import Document

BITS = 20
"""2^20 buckets: 4 MB of weights. Collisions of rare n-grams cost less than a larger model would slow down scoring."""
HELD_OUT_EVERY = 10
FEWEST_DOCUMENTS = 50
LONGEST = 20_000
"""Characters of a document that are learned from: its beginning tells what it is."""
C = 10.0
"""Inverse strength of the penalty on weights, of rows scaled to a mean length of 1."""


class Classifier(NamedTuple):
    """What a model file holds."""

    facts: dict[str, Any]
    weights: NDArray[np.float32]
    bias: float


def train_classifier(good: list[str], bad: list[str]) -> Classifier:
    """Return a classifier of cleaned texts; both kinds weigh the same, however many of them there are.

    Its facts hold, of every tenth document, which it is not trained on: the area under the ROC curve, and the share of
    good and of bad ones that the filter would drop at 0.1 and at 0.5.

    Raises:
        UserError: there are too few of a kind, or texts stand in both.
        HunminError: scikit-learn is not installed.
    """
    for name, texts in (("good", good), ("bad", bad)):
        if len(texts) < FEWEST_DOCUMENTS:
            raise UserError(
                f"{len(texts)} {name} documents are too few to train a classifier",
                f"it takes {FEWEST_DOCUMENTS} of each kind at least, and thousands to be of use",
                "give more texts",
            )
    if both := len(set(good) & set(bad)):
        raise UserError(
            f"{both:,} documents stand among the good and among the bad ones", "a document is one of them", "part them"
        )
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score
    except ImportError:
        raise HunminError("scikit-learn is not installed", "it trains the classifier", pip_install("quality")) from None
    texts = [text[:LONGEST] for text in (*good, *bad)]
    labels = np.repeat([1, 0], [len(good), len(bad)])
    held_out = np.concatenate([np.arange(len(kind)) % HELD_OUT_EVERY == 0 for kind in (good, bad)])
    rows = _rows(texts)
    model = LogisticRegression(C=C, class_weight="balanced", solver="liblinear", random_state=0)
    model.fit(rows[~held_out], labels[~held_out])
    weights, bias = model.coef_[0].astype(np.float32) * _SCALE, float(model.intercept_[0])
    values = model.predict_proba(rows[held_out])[:, 1]
    facts = {
        "good": len(good),
        "bad": len(bad),
        "held_out": int(held_out.sum()),
        "roc_auc": round(float(roc_auc_score(labels[held_out], values)), 4),
        **{
            f"{name}_below_{bound}": round(float((values[labels[held_out] == label] < bound).mean()), 4)
            for bound in (0.1, 0.5)
            for name, label in (("good", 1), ("bad", 0))
        },
    }
    return Classifier(facts, weights, bias)


_SCALE = np.float32(100)
"""Features are shares, of some hundreds in a document: rows are scaled, so that the penalty is of their order."""


def _rows(texts: list[str]) -> Any:
    """Return the features of documents as a sparse matrix: the share of each bucket, times `_SCALE`."""
    from scipy.sparse import csr_matrix

    batch = Batch([Document("", "", "", "")] * len(texts), texts)
    buckets, firsts = buckets_of(batch, BITS)
    counts = np.diff(firsts)
    shares = np.repeat(np.float64(_SCALE) / np.maximum(counts, 1), counts)
    rows = csr_matrix((shares, buckets, firsts), shape=(len(texts), 1 << BITS))
    rows.sum_duplicates()
    return rows


def save_classifier(path: Path, found: Classifier) -> None:
    """Write a model file, atomically; equal models give equal bytes."""
    write_model(path, KIND, found.facts, {"weights": found.weights, "bias": np.array([found.bias], np.float64)})
