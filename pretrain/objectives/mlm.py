"""Masked language modelling (Devlin et al. 2019), over whole words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from common.errors import HunminError
from common.settings import Settings
from pretrain.batches.predictions import MaskedBatch, masking_rate, rows_for
from pretrain.objectives.objective import Corpus, Objective, Predict

if TYPE_CHECKING:
    import numpy as np

    from pretrain.batches.samples import Batch
    from pretrain.settings import PretrainSettings


class MaskingSettings(Settings):
    """Masked language modelling as in BERT, over whole words."""

    kind: Literal["dynamic", "static"] = "dynamic"
    """`dynamic`: new masks each epoch (RoBERTa). `static`: masks drawn once, for `dupe_factor` copies of the corpus
    (BERT, KLUE-BERT)."""
    dupe_factor: int = Field(10, ge=1)
    """Copies of the corpus under static masking, each with its own masks (and sentence pairs); BERT's code has 10."""
    whole_word: bool = True
    """Mask all pieces of a word together (a piece without ## and the ## pieces after it)."""
    max_word_tokens: int | None = Field(None, ge=1)
    """Maximum number of tokens masked in one word. In a longer word (such as a URL), a span of this length is masked,
    at a random place. None masks every word as a whole; a word with more tokens than the sample's masking budget is
    then never masked."""
    rate: float = Field(0.15, gt=0, lt=1)
    """Share of the ordinary *tokens* of a sample that is predicted (Devlin et al.: 15%)."""
    rate_end: float | None = Field(None, gt=0, lt=1)
    """Masking rate at the last step. The rate changes linearly from `rate` at the first step to this value (e.g. 0.30
    to 0.15); validation always uses this value. None keeps `rate`."""
    mask_share: float = Field(0.8, ge=0, le=1)
    """Share of the predicted tokens replaced by [MASK]."""
    random_share: float = Field(0.1, ge=0, le=1)
    """Share of the predicted tokens replaced by a random ordinary vocabulary entry; the rest stays."""

    @model_validator(mode="after")
    def _all_goes_together(self) -> MaskingSettings:
        if self.mask_share + self.random_share > 1:
            raise ValueError(
                f"mask_share ({self.mask_share}) + random_share ({self.random_share}) must not be more than 1"
            )
        if self.kind == "static" and self.rate_end is not None:
            raise ValueError(
                f"rate_end ({self.rate_end}) does not go with kind=static: masks that are drawn once keep their rate; "
                "leave rate_end out, or set kind=dynamic"
            )
        if self.max_word_tokens is not None and not self.whole_word:
            raise ValueError(
                f"max_word_tokens ({self.max_word_tokens}) is a limit of whole-word masking, and whole_word is false; "
                "leave one of them out"
            )
        return self

    @property
    def last_rate(self) -> float:
        """Share that is predicted at the last step."""
        return self.rate if self.rate_end is None else self.rate_end

    @property
    def largest_rate(self) -> float:
        """Largest share that is predicted at any step."""
        return max(self.rate, self.last_rate)


class MaskedLanguageModelling(Objective):
    """Tokens that were masked are predicted from all others."""

    name = "mlm"
    sections = ("masking",)

    def rows(self, settings: PretrainSettings) -> int:
        return rows_for(settings.max_seq_len, settings.masking.largest_rate)

    def rate(self, settings: PretrainSettings, step: int | None) -> float:
        if step is None:
            return settings.masking.last_rate
        return masking_rate(step, settings.steps, settings.masking)

    def noted(self, settings: PretrainSettings, step: int) -> dict[str, float]:
        return {"masking_rate": round(self.rate(settings, step), 5)}

    def predict(self, corpus: Corpus) -> Predict:
        from pretrain.batches.budgets import mean_budget  # both load numba
        from pretrain.batches.masking import mask_batch

        settings, m = corpus.settings, corpus.settings.masking
        if not min(mean_budget(corpus.by_ordinary_L, rate) for rate in (m.rate, m.last_rate)):
            raise HunminError(
                f"at pretrain.masking.rate={m.rate} no sample of the corpus is long enough to predict a token of",
                "the share of a sample's tokens, rounded, is at least 1 in some of them",
                "raise pretrain.masking.rate or pretrain.max_seq_len, or give the corpus stage longer texts",
            )
        rows = self.rows(settings)  # shapes stay the same at any rate

        def mask(batch: Batch, ids_B: np.ndarray, epochs_B: np.ndarray, step: int | None) -> MaskedBatch:
            rate = self.rate(settings, step)
            masked = mask_batch(
                batch.ids_BS, batch.unmaskable_BS, ids_B, epochs_B, corpus.table, settings.seed, rate, m.mask_share,
                m.random_share, m.whole_word, m.max_word_tokens, rows,
            )  # fmt: skip
            return replace(masked, expected=len(ids_B) * mean_budget(corpus.by_ordinary_L, rate))

        return mask
