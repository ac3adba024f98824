"""The filter `licence`: documents under licences that are not to be used."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from common.settings import Settings
from data.filters.base import Batch, Measure


class LicenceSettings(Settings):
    """Keep documents by their licence; `*` in a name stands for any characters, and case makes no difference."""

    allow: list[str] | None = None
    """Licences to keep (`CC0*`, `CC-BY-4.0`); an empty name is a document without one. None keeps all that `deny` does
    not name."""
    deny: list[str] = Field(default_factory=list)
    """Licences to drop, also where `allow` names them (`*NC*`)."""

    @model_validator(mode="after")
    def _something(self) -> LicenceSettings:
        if self.allow is None and not self.deny:
            raise ValueError("name licences to allow or to deny")
        return self

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (Measure("allowed", 1),)

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        """Return 1 for the documents whose licence is allowed, else 0 [D, 1]."""
        licences = [document.licence for document in batch.documents]
        verdicts = {licence: self._allows(licence) for licence in set(licences)}
        return np.array([[verdicts[licence]] for licence in licences], np.float64).reshape(-1, 1)

    def _allows(self, licence: str) -> bool:
        def named(patterns: list[str]) -> bool:
            return any(fnmatchcase(licence.casefold(), pattern.casefold()) for pattern in patterns)

        return (self.allow is None or named(self.allow)) and not named(self.deny)
