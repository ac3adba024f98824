"""An objective: all that depends on the loss, so that one more is one file, a line in the registry and a
name in the settings.

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
"""Loss statistics of a forward pass: a scalar for each of an objective's `sums`, added up over the batch."""
Predict = Callable[["Batch", np.ndarray, np.ndarray, "int | None"], "MaskedBatch"]
"""(batch, ids of its samples, epoch of each, step or None for held-out samples) → what is predicted of it."""


@dataclass(frozen=True)
class Corpus:
    """The properties of a run's samples that an objective may use."""

    settings: PretrainSettings
    table: MaskTable
    samples: SampleSet
    count_ordinary: Callable[[], np.ndarray]

    @cached_property
    def by_ordinary_L(self) -> np.ndarray:
        """Number of samples with 0, 1, … ordinary tokens."""
        return self.count_ordinary()


class Objective(ABC):
    """The predictions for a batch, and their loss."""

    name: ClassVar[str]
    """Name in recipes."""
    head: ClassVar[str] = "mlm"
    """Head of the model: a key of `Architecture.classes`."""
    sums: ClassVar[tuple[str, ...]] = ("loss", "correct", "predicted")
    """Names of the sums over batches, steps and processes; at least these."""
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
        """Return the share of the tokens predicted at a step or of held-out samples (None); linear in the step."""
        return 1.0

    def predicted_share(self, settings: PretrainSettings, first: int = 0, end: int | None = None) -> float:
        """Return the share of the tokens that passes through the head, on average over steps first … end − 1."""
        last = (settings.steps if end is None else end) - 1
        return (self.rate(settings, first) + self.rate(settings, last)) / 2

    def noted(self, settings: PretrainSettings, step: int) -> dict[str, float]:
        """Return the entries of a step's log line beside `figures`, by name."""
        return {}

    def span(self, span: float) -> float:
        """Return how many positions one sees on average, of as many as see each other."""
        return span / 2 if self.causal else span

    def parameters(self, model: ModelSettings) -> int:
        """Return the parameters beyond those of the masked-language-model head."""
        return 0

    @abstractmethod
    def predict(self, corpus: Corpus) -> Predict:
        """Return the function that draws predictions by (seed, epoch, sample, step); HunminError for none."""

    def inputs(self, batch: Batch, starts_B: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return the arguments of `gather`; `starts_B` is each sample's first position where samples are unpadded."""
        return {}

    def gather(self, model: MaskedRowsModel, encoded: Any, **arrays: Tensor) -> dict[str, Tensor]:
        """Return the part of the encoder's output that `head_sums` takes beside rows and labels."""
        return {}

    def head_sums(self, model: MaskedRowsModel, hidden_RH: Tensor, labels_R: Tensor, **gathered: Tensor) -> Sums:
        """Return the sums of a batch: −log probability of the labels, rows predicted right, and rows predicted."""
        return dict(zip(Objective.sums, model.vocabulary_sums(hidden_RH, labels_R), strict=True))

    def loss(self, sums: Sums, batch: MicroBatch) -> Tensor:
        """Return the loss: a sum over the batch divided by the tokens that such a batch predicts on average.

        So it takes no count of all processes, and every predicted token weighs the same, in whatever micro-batch or
        process.
        """
        return sums["loss"] / batch.expected

    def judged(self, totals: Mapping[str, Tensor]) -> Tensor:
        """Return the loss that judges a step: a predicted token's, over all processes; 0 where none is."""
        return totals["loss"] / totals["predicted"].clamp(min=1)

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """Return the figures of a log line from totals: loss and accuracy of a predicted token."""
        if not totals["predicted"]:  # every batch was skipped
            return {}
        return {
            "loss": totals["loss"] / totals["predicted"],
            "accuracy": totals["correct"] / totals["predicted"],
        }
