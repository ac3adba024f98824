"""What an objective is: all that depends on what is learned, so that one more is one file and a line in the registry.

Settings and plans ask for facts alone: torch is imported where something is computed.
Shapes: B samples, S tokens a sample, M predicted rows a sample, R = B·M, H hidden width, L samples' length − 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from pretrain.batches.inputs import MicroBatch
    from pretrain.batches.masking import MaskTable
    from pretrain.batches.predictions import MaskedBatch
    from pretrain.batches.samples import Batch, SampleSet
    from pretrain.models.encoder import MaskedRowsModel
    from pretrain.settings import ModelSettings, PretrainSettings

Sums = dict[str, "Tensor"]
"""What a forward pass gives: a scalar for each of an objective's `sums`, added up over the batch."""
Predict = Callable[["Batch", np.ndarray, np.ndarray, "int | None"], "MaskedBatch"]
"""(batch, ids of its samples, epoch of each, step or None for held-out samples) → what is predicted of it."""


@dataclass(frozen=True)
class Corpus:
    """What an objective may know of a run's samples."""

    settings: PretrainSettings
    table: MaskTable
    samples: SampleSet
    count_ordinary: Callable[[], np.ndarray]

    @cached_property
    def by_ordinary_L(self) -> np.ndarray:
        """How many samples hold 0, 1, … ordinary tokens."""
        return self.count_ordinary()


class Objective(ABC):
    """What is predicted of a batch, and what that is worth."""

    name: ClassVar[str]
    """By which recipes call it."""
    head: ClassVar[str] = "mlm"
    """Of the model: a key of `Architecture.classes`."""
    sums: ClassVar[tuple[str, ...]] = ("loss", "correct", "predicted")
    """What is added up over batches, steps and processes, at least these."""
    causal: ClassVar[bool] = False
    """Whether a position sees those before it alone."""
    scored: ClassVar[bool] = True
    """Whether a model that learned it last can be fine-tuned and published as an encoder."""
    sections: ClassVar[Sequence[str]] = ()
    """Sections of `pretrain` that it reads, and other objectives may not."""

    def fault(self, settings: PretrainSettings) -> str:
        """Return why a run cannot learn this, with what to set instead; "" where it can."""
        if settings.packing != "sentence-pairs":
            return ""
        return (
            f"pretrain.objective={self.name} does not go with pretrain.packing=sentence-pairs, which next-sentence "
            "prediction learns from; set another packing"
        )

    @abstractmethod
    def rows(self, settings: PretrainSettings) -> int:
        """Return M, the rows of a sample that the head computes at any step."""

    def rate(self, settings: PretrainSettings, step: int | None) -> float:
        """Return the share of the tokens that is predicted at a step, or of held-out samples (None).

        It changes evenly from step to step, or not at all.
        """
        return 1.0

    def predicted_share(self, settings: PretrainSettings, first: int = 0, end: int | None = None) -> float:
        """Return the share of the tokens that passes through the head, on average over steps.

        Args:
            settings: the run.
            first: of the steps.
            end: behind the last of them; None: the run's.
        """
        last = (settings.steps if end is None else end) - 1
        return (self.rate(settings, first) + self.rate(settings, last)) / 2

    def noted(self, settings: PretrainSettings, step: int) -> dict[str, float]:
        """Return what the log says of a step beside `figures`."""
        return {}

    def span(self, span: float) -> float:
        """Return how many positions one sees on average, of as many as see each other."""
        return span / 2 if self.causal else span

    def parameters(self, model: ModelSettings) -> int:
        """Return the parameters beyond those of the masked-language-model head."""
        return 0

    @abstractmethod
    def predict(self, corpus: Corpus) -> Predict:
        """Return what draws a run's predictions, a function of (seed, epoch, sample, step).

        Raises:
            HunminError: nothing can be predicted of the corpus.
        """

    def inputs(self, batch: Batch, starts_B: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return the model's arguments beside those of `MaskedRowsModel.sums`; `gather` is given them.

        Args:
            batch: before anything is predicted of it.
            starts_B: first position of each sample, where they stand one after the other; else None.
        """
        return {}

    def gather(self, model: MaskedRowsModel, encoded: Any, **arrays: Tensor) -> dict[str, Tensor]:
        """Return what `head_sums` is given beside rows and labels, of the encoder's output."""
        return {}

    def head_sums(self, model: MaskedRowsModel, hidden_RH: Tensor, labels_R: Tensor, **gathered: Tensor) -> Sums:
        """Return the sums of a batch: −log probability of the labels, rows predicted right, and rows predicted.

        Args:
            model: with the head.
            hidden_RH: the encoder's output where something is predicted.
            labels_R: int64 labels, IGNORE where the row is unused.
            gathered: of `gather`.
        """
        return dict(zip(Objective.sums, model.vocabulary_sums(hidden_RH, labels_R), strict=True))

    def loss(self, sums: Sums, batch: MicroBatch) -> Tensor:
        """Return what is minimised: a sum over the batch divided by a constant of the run.

        As many tokens as such a batch predicts on average, so that it takes no count of all processes, and every
        predicted token weighs the same, whatever micro-batch or process it is in.
        """
        return sums["loss"] / batch.expected

    def judged(self, totals: Mapping[str, Tensor]) -> Tensor:
        """Return the loss by which a step is judged, from the totals of all processes: a predicted token's; 0 where
        nothing is predicted."""
        return totals["loss"] / totals["predicted"].clamp(min=1)

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """Return what the log says of totals: loss and accuracy of a predicted token."""
        if not totals["predicted"]:  # every batch was skipped
            return {}
        return {
            "loss": totals["loss"] / totals["predicted"],
            "accuracy": totals["correct"] / totals["predicted"],
        }
