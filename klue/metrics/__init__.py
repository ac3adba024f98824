"""The benchmark's metrics as its authors compute them: pure functions on gold and predictions, scores × 100."""

from __future__ import annotations

from klue.metrics.confidence import intervals
from klue.metrics.dependencies import (
    Parse,
    las_macro_f1,
    las_macro_f1_without_pad,
    las_micro_f1,
    uas_macro_f1,
    uas_micro_f1,
)
from klue.metrics.dialogue import joint_goal_accuracy, slot_micro_f1, slot_true_micro_f1
from klue.metrics.entities import (
    character_macro_f1,
    character_macro_f1_without_o,
    entity_macro_f1,
    entity_spans,
)
from klue.metrics.reading import exact_match, overlap_f1_as_published, rouge_w
from klue.metrics.relations import auprc, micro_f1
from klue.metrics.sentence import accuracy, macro_f1, pearsonr, similarity_f1, spearmanr

__all__ = [
    "Parse",
    "accuracy",
    "auprc",
    "character_macro_f1",
    "character_macro_f1_without_o",
    "entity_macro_f1",
    "entity_spans",
    "exact_match",
    "intervals",
    "joint_goal_accuracy",
    "las_macro_f1",
    "las_macro_f1_without_pad",
    "las_micro_f1",
    "macro_f1",
    "micro_f1",
    "overlap_f1_as_published",
    "pearsonr",
    "rouge_w",
    "similarity_f1",
    "slot_micro_f1",
    "slot_true_micro_f1",
    "spearmanr",
    "uas_macro_f1",
    "uas_micro_f1",
]
