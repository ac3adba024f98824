"""What of a run goes to the model hub, and what its card says that no run can know."""

from __future__ import annotations

from typing import Literal

from common.settings import Settings, runtime


class HubSettings(Settings):
    """Uploads to the model hub. Nothing of it changes what is trained or scored."""

    repository: str | None = runtime(None)
    """OWNER/NAME that a finished run is pushed to; None: nothing is."""
    private: bool = runtime(True)
    """Whether a repository that is made for it is seen by its owner alone."""
    every: int | None = runtime(None, ge=1)
    """While it trains, push checkpoints whose step is a multiple of this, each with a tag step-N; None: the last."""
    dtype: Literal["fp32", "bf16", "fp16"] = runtime("fp32")
    """Of the weights that are pushed."""
    language: Literal["en", "ko"] = runtime("en")
    """Of the card."""
    license: str | None = runtime(None)
    """Licence of the model, by the hub's names, such as cc-by-sa-4.0."""
    source_licenses: dict[str, str] = runtime({})
    """Source of the corpus → its licence."""
    note: str = runtime("")
    """Markdown that stands at the beginning of the card."""
    commits: dict[str, str] = runtime({})
    """Name on the hub in this recipe (OWNER/NAME, OWNER/NAME@REVISION) → commit that it stands for. Hunmin writes it
    into the run's recipe.yaml, so that a resumed run reads the same files; change it to move to another commit."""
