"""Masked language modelling with next-sentence prediction beside it (Devlin et al. 2019, appendix A.2).

Shapes: P pairs (= B samples), H hidden width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrain.batches.predictions import IGNORE
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.mlm import MaskedLanguageModelling
from pretrain.objectives.objective import Objective, Sums

if TYPE_CHECKING:
    from torch import Tensor

    from pretrain.batches.inputs import MicroBatch
    from pretrain.batches.samples import Batch
    from pretrain.models.encoder import MaskedRowsModel
    from pretrain.settings import ModelSettings, PretrainSettings


class NextSentence(MaskedLanguageModelling):
    """Whether the second text of a sample follows the first one is predicted, too."""

    name = head = "mlm+nsp"
    sums = (*Objective.sums, "pair_loss", "pairs_correct", "pairs")

    def fault(self, settings: PretrainSettings) -> str:
        if settings.packing != "sentence-pairs":
            return (
                f"pretrain.objective={self.name} does not go with pretrain.packing={settings.packing}: "
                "next-sentence prediction (mlm+nsp) is learned from pretrain.packing=sentence-pairs, and "
                "nothing else is"
            )
        if self.head not in ARCHITECTURES[settings.model.type].classes:
            kinds = " or ".join(name for name, family in ARCHITECTURES.items() if self.head in family.classes)
            return (
                f"pretrain.objective={self.name} needs pretrain.model.type={kinds}: {settings.model.type} has no head "
                "for it"
            )
        return ""

    def parameters(self, model: ModelSettings) -> int:
        """Count the pooler and the head with two outputs."""
        return model.hidden**2 + 3 * model.hidden + 2

    def inputs(self, batch: Batch, starts_B: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return BertForPreTraining's labels: 0 "follows", 1 "does not", IGNORE for samples that do not count."""
        pairs_P = np.where(batch.counted_B, (~batch.follows_B).astype(np.int64), IGNORE)
        return {"pairs_P": pairs_P} if starts_B is None else {"pairs_P": pairs_P, "starts_P": starts_B}

    def gather(self, model: MaskedRowsModel, encoded: Any, **arrays: Tensor) -> dict[str, Tensor]:
        pooled_PH = encoded.pooler_output
        if "starts_P" in arrays:
            firsts_P1H = encoded.last_hidden_state[0, arrays["starts_P"]][:, None]
            pooled_PH = model.hf_model.base_model.pooler(firsts_P1H)
        return {"pooled_PH": pooled_PH, "pairs_P": arrays["pairs_P"]}

    def head_sums(self, model: MaskedRowsModel, hidden_RH: Tensor, labels_R: Tensor, **gathered: Tensor) -> Sums:
        from torch.nn.functional import cross_entropy

        sums = super().head_sums(model, hidden_RH, labels_R)
        pairs_P = gathered["pairs_P"]
        logits_P2 = model.hf_model.cls.seq_relationship(gathered["pooled_PH"]).float()
        sums["pair_loss"] = cross_entropy(logits_P2, pairs_P, ignore_index=IGNORE, reduction="sum")
        sums["pairs_correct"] = (logits_P2.argmax(-1) == pairs_P).sum()
        sums["pairs"] = (pairs_P != IGNORE).sum()
        return sums

    def loss(self, sums: Sums, batch: MicroBatch) -> Tensor:
        """Return the sum of two means, as BERT has it: a predicted token's and a pair's."""
        return super().loss(sums, batch) + sums["pair_loss"] / batch.size

    def judged(self, totals: Mapping[str, Tensor]) -> Tensor:
        """Return the loss a predicted token; NaN where that of the pairs is not finite."""
        import torch

        return torch.where(totals["pair_loss"].isfinite(), super().judged(totals), math.nan)

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        figures = super().figures(totals)
        if figures and totals["pairs"]:
            figures["pair_loss"] = totals["pair_loss"] / totals["pairs"]
            figures["pair_accuracy"] = totals["pairs_correct"] / totals["pairs"]
        return figures
