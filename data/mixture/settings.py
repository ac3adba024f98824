"""Settings of the mixture of sources."""

from __future__ import annotations

from pydantic import Field, model_validator

from common.settings import Settings

MOST_COPIES = 100


class SourceShare(Settings):
    """How much of one source is trained on."""

    weight: float = Field(1, gt=0)
    """Factor of the source's share of the text: 2 makes it twice as large relative to the other sources."""
    max_mb: float | None = Field(None, gt=0)
    """Maximum megabytes (10^6 bytes of UTF-8, as in `hunmin corpus stats`) of the source that are used, in whole
    documents drawn at random. The source's share is then computed from this amount. None uses all."""
    epochs: float | None = Field(None, ge=0, le=MOST_COPIES)
    """How often the documents of the source are used per epoch, whatever `alpha` is: 3 uses each three times, 0.25 uses
    a quarter of them once, 0 uses none. None leaves it to `alpha` and `weight`."""

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
    """Exponent of temperature sampling: a source of n bytes gets a share of the text proportional to weight · n^alpha;
    the total amount of text stays the same. 1 keeps the proportions, 0 makes all sources of the same weight equally
    large. XLM-R and mT5 take 0.3 over languages, XLM 0.5; the temperature of other papers is 1 / alpha."""
    max_epochs: float = Field(4, ge=1, le=MOST_COPIES)
    """Maximum number of times that `alpha` and `weight` may use a document per epoch; what exceeds it goes to the other
    sources (UniMax). Up to 4 repetitions are nearly as good as new text (Muennighoff et al. 2023). Several epochs of
    training multiply the repetitions."""
    sources: dict[str, SourceShare] = Field(default_factory=dict)
    """Sources that are treated otherwise, by their names as `hunmin corpus stats` shows them."""
    held_out: float = Field(0.005, ge=0, le=0.1)
    """Share of the documents that are never trained on, for the validation loss; each document is drawn independently.
    With 0, pretraining itself holds out samples, which it can if no document is used twice."""
    seed: int = Field(42, ge=0, lt=2**63)
    """Seed of all draws. The draws of a document depend on this seed, its source and its id."""
