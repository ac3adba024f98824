"""What an index of a task's documents takes, measured while mteb scores: bytes as fp32, and seconds."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from mteb.models import MultiVectorWrapper, SentenceTransformerEncoderWrapper
from mteb.types import PromptType

from embed.base import is_multi_vector


class Measured:
    """A wrapper of mteb that counts documents, bytes of their vectors, and seconds of encoding and comparing."""

    figures: Counter[str]

    def similarity(self, *vectors: Any) -> Any:
        begun = time.perf_counter()
        scores = super().similarity(*vectors)  # type: ignore[misc]
        self.figures["search_seconds"] += time.perf_counter() - begun  # type: ignore[assignment]
        return scores

    def measured(self, encode: Any, inputs: Any, options: dict[str, Any]) -> Any:
        """Return the vectors of `encode`; those of documents are counted."""
        begun = time.perf_counter()
        vectors = encode(inputs, **options)
        if options.get("prompt_type") == PromptType.document:
            seconds = time.perf_counter() - begun
            size = sum(vector.nbytes for vector in vectors)
            self.figures.update(documents=len(vectors), bytes=size, encode_seconds=seconds)  # type: ignore[arg-type]
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
    wrapper.figures = Counter()
    return wrapper
