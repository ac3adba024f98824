"""Causal language modelling on an encoder's weights: every position predicts the token after it.

A first phase of a run, from which masked language modelling continues: each position learns, not 15% of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from common.errors import HunminError
from pretrain.batches.predictions import IGNORE, MaskedBatch
from pretrain.objectives.objective import Corpus, Objective, Predict

if TYPE_CHECKING:
    from pretrain.batches.samples import Batch
    from pretrain.settings import PretrainSettings


class CausalLanguageModelling(Objective):
    """The next token of a text is predicted from those before it; a text sees no other."""

    name = "clm"
    causal, scored = True, False

    def rows(self, settings: PretrainSettings) -> int:
        return settings.max_seq_len - 1

    def predict(self, corpus: Corpus) -> Predict:
        samples = corpus.samples
        mean = (samples.positions - samples.texts) / max(1, len(samples))
        if not mean:
            raise HunminError("no text of the corpus has a token after another", "a text is [CLS] … [SEP]", "add text")

        def shift(batch: Batch, ids_B: np.ndarray, epochs_B: np.ndarray, step: int | None) -> MaskedBatch:
            segments_BS = batch.segment_ids_BS
            follows_BM = (segments_BS[:, 1:] == segments_BS[:, :-1]) & (segments_BS[:, 1:] >= 0)
            rows_BM = np.where(follows_BM, np.arange(follows_BM.shape[1]), 0)
            labels_BM = np.where(follows_BM, batch.ids_BS[:, 1:], IGNORE)
            return MaskedBatch(batch.ids_BS, rows_BM, labels_BM, len(ids_B) * mean)

        return shift
