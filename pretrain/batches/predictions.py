"""The predicted rows of a batch, their labels and their number.

Shapes: B samples in the batch, S tokens in a sample, M predicted rows a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pretrain.objectives.mlm import MaskingSettings

IGNORE = -100
"""Label of a row that is not predicted. Rows are told apart by this value, never by `label > 0`: id 0 is a label."""


@dataclass(frozen=True)
class MaskedBatch:
    """A batch after masking."""

    ids_BS: np.ndarray
    """int64: token ids after masking."""
    rows_BM: np.ndarray
    """int64: positions of the predicted tokens inside each sample, ascending; unused places hold 0."""
    labels_BM: np.ndarray
    """int64: original ids at those positions; IGNORE in unused places."""
    expected: float
    """Tokens predicted in such a batch, by which the sum of losses is divided. From `mask_batch` it is that of
    samples with nothing but ordinary tokens between [CLS] and [SEP]; from a loader, the mean over the corpus."""

    @property
    def predicted(self) -> int:
        """Number of tokens predicted in the batch."""
        return int((self.labels_BM != IGNORE).sum())


def rows_for(length: int, rate: float) -> int:
    """Return the budget of a sample without padding; at a run's largest rate it is M, its fixed rows a sample."""
    return max(1, int(rate * (length - 2) + 0.5))


def masking_rate(step: int, steps: int, settings: MaskingSettings) -> float:
    """Return the share of tokens that is predicted at a step: from `rate` at the first to `rate_end` at the last."""
    return settings.rate + (settings.last_rate - settings.rate) * step / max(1, steps - 1)
