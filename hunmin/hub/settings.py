"""What of a run goes to the model hub, and what its card says that no run can know."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator

from common.settings import Settings, runtime
from hunmin.hub.licenses import license_fault


class HubSettings(Settings):
    """Uploads to the model hub. Nothing of it changes what is trained or scored."""

    repository: str | None = runtime(None)
    """OWNER/NAME to which a finished run is pushed; None pushes nothing."""
    private: bool = runtime(True)
    """Create the repository as private."""
    every: int | None = runtime(None, ge=1)
    """During training, push each checkpoint whose step is a multiple of this, with a tag step-N; None pushes only the
    last one."""
    dtype: Literal["fp32", "bf16", "fp16"] = runtime("fp32")
    """Numeric type of the pushed weights."""
    language: Literal["en", "ko"] = runtime("en")
    """Language of the card."""
    license: str | None = runtime(None)
    """Licence of the model, by the hub's name for it, such as cc-by-sa-4.0; `other:NAME` for one that the hub has no
    name for."""
    source_licenses: dict[str, str] = runtime({})
    """Licence of each source of the corpus, by the source's name. Without it, `licence` of its input."""
    note: str = runtime("")
    """Markdown text for the beginning of the card."""
    commits: dict[str, str] = runtime({})
    """Commit for each name on the hub in this recipe (OWNER/NAME, OWNER/NAME@REVISION). Hunmin writes it into the run's
    recipe.yaml, so that a resumed run reads the same files; change it to move to another commit."""

    @field_validator("license")
    @classmethod
    def _known_license(cls, value: str | None) -> str | None:
        if value is not None and (fault := license_fault(value)):
            raise ValueError(fault)
        return value
