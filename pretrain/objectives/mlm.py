"""Masked language modelling (Devlin et al. 2019), over whole words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from common.errors import HunminError
from pretrain.batches.predictions import MaskedBatch, masking_rate, rows_for
from pretrain.objectives.objective import Corpus, Objective, Predict, Sums

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from pretrain.batches.samples import Batch
    from pretrain.models.encoder import MaskedRowsModel
    from pretrain.settings import PretrainSettings


class MaskedLanguageModelling(Objective):
    """Tokens that were masked are predicted from all others."""

    name = "mlm"
    sums: ClassVar[tuple[str, ...]] = ("loss", "correct", "predicted")
    sections = ("masking",)

    def fault(self, settings: PretrainSettings) -> str:
        """Return why the samples are none for it."""
        if settings.packing != "sentence-pairs":
            return ""
        return (
            f"pretrain.objective={self.name} does not go with pretrain.packing=sentence-pairs, which next-sentence "
            "prediction learns from; set pretrain.objective=mlm+nsp, or another packing"
        )

    def rows(self, settings: PretrainSettings) -> int:
        """Return the budget of a sample without padding at the largest rate."""
        return rows_for(settings.max_seq_len, settings.masking.largest_rate)

    def rate(self, settings: PretrainSettings, step: int | None) -> float:
        """Return the masking rate."""
        if step is None:
            return settings.masking.last_rate
        return masking_rate(step, settings.steps, settings.masking)

    def noted(self, settings: PretrainSettings, step: int) -> dict[str, float]:
        """Return the masking rate."""
        return {"masking_rate": round(self.rate(settings, step), 5)}

    def predict(self, corpus: Corpus) -> Predict:
        """Return what masks batches."""
        from pretrain.batches.budgets import mean_budget
        from pretrain.batches.masking import mask_batch

        s, m = corpus.settings, corpus.settings.masking
        if not min(mean_budget(corpus.by_ordinary_L, rate) for rate in (m.rate, m.last_rate)):
            raise HunminError(
                f"at pretrain.masking.rate={m.rate} no sample of the corpus is long enough to predict a token of",
                "the share of a sample's tokens, rounded, is at least 1 in some of them",
                "raise pretrain.masking.rate or pretrain.max_seq_len, or give the corpus stage longer texts",
            )
        rows = self.rows(s)  # shapes stay the same at any rate

        def mask(batch: Batch, ids_B: np.ndarray, epochs_B: np.ndarray, step: int | None) -> MaskedBatch:
            rate = self.rate(s, step)
            masked = mask_batch(
                batch.ids_BS, batch.barred_BS, ids_B, epochs_B, corpus.table, s.seed, rate, m.mask_share,
                m.random_share, m.whole_word, m.max_word_tokens, rows,
            )  # fmt: skip
            return replace(masked, expected=len(ids_B) * mean_budget(corpus.by_ordinary_L, rate))

        return mask

    def head_sums(self, model: MaskedRowsModel, hidden_RH: Tensor, labels_R: Tensor, **_: Tensor) -> Sums:
        """Return −log probability, tokens predicted right, and tokens predicted."""
        return dict(zip(("loss", "correct", "predicted"), model.vocabulary_sums(hidden_RH, labels_R), strict=True))
