"""Settings of the stage `instruct`: which uses, how many rows of each, what is left out."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from common.errors import nearest
from common.settings import Settings, place, runtime
from data.instruct.spec import USES


class InstructSettings(Settings):
    """What `hunmin instruct build` makes instructions of."""

    data: str = place()
    """Folder with one folder per use, named after it (`copa`, `nsmc`), with the set's files in their authors' layout;
    wiki-text and wiki-qa share `kowikitext`. A use without files is left out and listed in the table."""
    uses: list[str] = Field(default=list(USES))
    """Uses to build. By default all twenty, as in KIT-19."""
    extra: list[str] = place([])
    """Files whose rows are instructions already; all rows are used. CSV with task, instruction, input, output, as in
    KIT-19's release; or JSON Lines with instruction, input, output and, if known, task, choices, licence."""
    per_use: int = Field(default=5000, ge=1)
    """Rows per use; KIT-19 has 5,000."""
    fill: Literal["templates", "none"] = "templates"
    """What to do if a use has fewer distinct rows than per_use: templates repeats rows under other templates, none
    leaves the shortfall. The table states distinct rows and shortfall in either case."""
    licences: Literal["open", "all"] = "open"
    """open leaves out sets whose licence is non-commercial, forbids changes or is unclear; all includes them, for
    research."""
    held_out: int = Field(default=50, ge=0)
    """Rows per use that are held out of training, with all their texts; of a use with few rows at most half. The suite
    `instruct` scores these rows."""
    seed: int = Field(default=42, ge=0, lt=2**63)
    """Seed of all draws: rows, templates, order of choices and of pairs. Another seed gives another sample."""
    max_reject_share: float = Field(default=0.05, ge=0, le=1)
    """Share of a file's records that may be rejected (unknown label, wrong number of columns, empty text); a single one
    is always allowed, unless this is 0. With more, the build stops: columns are swapped, or it is the wrong file."""
    workers: int | None = runtime(None, ge=1)
    """Worker processes, each of which reads one use; None uses all cores. The rows do not depend on it."""

    @field_validator("uses")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        if unknown := [name for name in value if name not in USES]:
            raise ValueError(f"no use is called '{unknown[0]}'{nearest(unknown[0], list(USES))}")
        return list(dict.fromkeys(value))
