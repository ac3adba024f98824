"""What an index of a task's documents takes, measured while mteb scores: bytes as fp32, and seconds."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from mteb.models import MultiVectorWrapper, SentenceTransformerEncoderWrapper
from mteb.types import PromptType

from embed.base import is_multi_vector


class Measured:
    """A wrapper of mteb that counts documents, bytes of their vectors, and seconds of encoding and comparing."""

    figures: dict[str, float]

    def similarity(self, *vectors: Any) -> Any:
        begun = time.perf_counter()
        scores = super().similarity(*vectors)  # type: ignore[misc]
        self.figures["search_seconds"] += time.perf_counter() - begun
        return scores

    def measured(self, encode: Any, inputs: Any, options: dict[str, Any]) -> Any:
        """Return the vectors of `encode`; those of documents are counted."""
        begun = time.perf_counter()
        vectors = encode(inputs, **options)
        if options.get("prompt_type") == PromptType.document:
            self.figures["encode_seconds"] += time.perf_counter() - begun
            self.figures["documents"] += len(vectors)
            self.figures["bytes"] += sum(vector.nbytes for vector in vectors)
        elif options.get("prompt_type") == PromptType.query:
            self.figures["queries"] += len(vectors)
        return vectors


class MeasuredDense(Measured, SentenceTransformerEncoderWrapper):
    def encode(self, inputs: Any, **options: Any) -> Any:
        return self.measured(super().encode, inputs, options)


class MeasuredTokens(Measured, MultiVectorWrapper):
    def _encode(self, inputs: Any, **options: Any) -> Any:
        return self.measured(super()._encode, inputs, options)


def measured_encoder(model: Any) -> Any:
    """Return mteb's wrapper of a model of sentence-transformers, whose `figures` are of its last task."""
    wrapper: Any = (MeasuredTokens if is_multi_vector(model) else MeasuredDense)(model)
    wrapper.figures = defaultdict(int)
    return wrapper
