"""Settings of the mixture of sources."""

from __future__ import annotations

from pydantic import Field, model_validator

from common.settings import Settings

MOST_COPIES = 100


class SourceShare(Settings):
    """How much of one source is trained on."""

    weight: float = Field(1, gt=0)
    """Factor of the source's share of the text: 2 makes it twice as large beside the other sources."""
    max_mb: float | None = Field(None, gt=0)
    """Most megabytes (10^6 bytes of UTF-8, as `hunmin corpus stats` has them) of its text that are used, in whole
    documents drawn at random; its share goes by what is left. None uses all."""
    epochs: float | None = Field(None, ge=0, le=MOST_COPIES)
    """How often its documents come in one pass over the corpus, whatever `alpha`: 3 is three times, 0.25 a quarter of
    them once, 0 none at all. None leaves it to `alpha` and `weight`."""

    @model_validator(mode="after")
    def _one_rule(self) -> SourceShare:
        if self.epochs is not None and self.weight != 1:
            raise ValueError(
                f"epochs ({self.epochs:g}) says how often its documents come, and weight ({self.weight:g}) changes "
                "nothing of it; leave one of them out"
            )
        return self


class MixtureSettings(Settings):
    """In which proportions the sources are trained on, and which documents are held out of training.

    Without sources and with `alpha: 1` nothing is repeated and nothing left out but for `held_out`.
    """

    alpha: float = Field(1, ge=0, le=1)
    """Exponent of temperature sampling: of sources of n bytes each gets a share of the text as weight · n^alpha, all of
    them together as much as there is. 1 keeps the proportions as they are, 0 makes all sources (of one weight) equally
    large. XLM-R and mT5 take 0.3 over languages, XLM 0.5; the temperature of other papers is 1 / alpha."""
    max_epochs: float = Field(4, ge=1, le=MOST_COPIES)
    """Most copies of a document in a pass that `alpha` and `weight` give a source; what it would have got beyond goes
    to the others (UniMax). Up to 4 repetitions are nearly as good as new text (Muennighoff et al. 2023), and the passes
    of a training multiply them."""
    sources: dict[str, SourceShare] = Field(default_factory=dict)
    """Sources that are treated otherwise, by their names as `hunmin corpus stats` shows them."""
    held_out: float = Field(0.005, ge=0, le=0.1)
    """Share of the documents that are never trained on, for the validation loss; each is drawn by itself. 0 leaves it
    to pretraining to hold out samples, which it can where no document comes twice."""
    seed: int = Field(42, ge=0, lt=2**63)
    """Seed of all draws: a document's depend on it, its source and its id."""
