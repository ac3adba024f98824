"""Character n-grams as a model that mteb scores: what overlap of letters alone gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

WIDTH = 2**14
"""Width of the vectors: n-grams beyond it share a place."""


class CharacterNgrams(AbsEncoder):
    """Vectors of character 1- to 3-grams, weighted by rarity (tf-idf) in a task's texts; nothing is trained."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.model_prompts = None
        facts: dict[str, Any] = {"name": "hunmin/character-n-grams", "revision": "1", "training_datasets": set()}
        self.mteb_model_meta = ModelMeta.create_empty(facts | {"similarity_fn_name": ScoringFunction.COSINE})
        self.counts = HashingVectorizer(
            analyzer="char_wb", ngram_range=(1, 3), n_features=WIDTH, alternate_sign=False, norm=None
        )
        self.weights = TfidfTransformer(sublinear_tf=True).fit(self.counts.transform(texts))

    def encode(self, inputs: Any, **_: Any) -> Any:
        texts = [text for batch in inputs for text in batch["text"]]
        return self.weights.transform(self.counts.transform(texts)).toarray().astype(np.float32)
