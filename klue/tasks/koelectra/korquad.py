"""KorQuAD 1.0: the answer to a question in a passage of Wikipedia; exact match and F1 over characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from klue.metrics.pairs import Weighted
from klue.metrics.reading import weighted_korquad_scores
from klue.tasks.base import AuthorsValues, Features, Outputs, Sizes
from klue.tasks.klue.mrc import ReadingComprehension


class KorQuad(ReadingComprehension):
    """Reading as in KLUE-MRC, but every question has an answer. Test labels are not public."""

    name = "korquad"
    title = "KorQuAD 1.0"
    folder = "korquad"
    hub_config = ""
    files = ("KorQuAD_v1.0_train.json", "KorQuAD_v1.0_dev.json", "")
    partial_files: ClassVar[dict[str, tuple[str, ...]]] = {}
    sizes = Sizes(60_407, 5774)
    unanswerable = False
    metrics: ClassVar[dict[str, str]] = {"exact_match": "EM", "f1": "F1"}
    as_published: ClassVar[dict[str, str]] = {}
    selection = "f1"
    authors = AuthorsValues(epochs=7, warmup_share=0.0, global_batch=8, max_seq_len=510)

    def published(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> dict[str, float]:
        """Return nothing: answers are scored by one rule."""
        return {}

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_korquad_scores(gold, predictions)
