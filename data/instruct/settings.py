"""Settings of the stage `instruct`: which uses, how many rows of each, what is left out."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from common.errors import nearest
from common.settings import Settings, runtime
from data.instruct.spec import USES


class InstructSettings(Settings):
    """What `hunmin instruct build` makes instructions of."""

    data: str
    """Folder with a folder a use, named after it (`copa`, `nsmc`), which holds the set's files in their authors'
    layout; wiki-text and wiki-qa share `kowikitext`. A use without files is left out and is a line of the table."""
    uses: list[str] = Field(default=list(USES))
    """Uses to take. All twenty by default, as KIT-19 does; name fewer for a study of some."""
    extra: list[str] = Field(default=[])
    """Files of finished rows, all of which are taken: CSV with task, instruction, input, output, as KIT-19 came out; or
    JSON Lines with instruction, input, output and, if known, task, choices, licence."""
    per_use: int = Field(default=5000, ge=1)
    """Rows a use; 5,000 are KIT-19's."""
    fill: Literal["templates", "none"] = "templates"
    """Where a use has fewer distinct rows than per_use: templates repeats rows under other templates, none leaves the
    shortfall. The table states distinct rows and shortfall in either case."""
    licences: Literal["open", "all"] = "open"
    """open leaves out what is non-commercial, forbids changes, or has no clear licence; all takes it, for research."""
    held_out: int = Field(default=50, ge=0)
    """Rows a use that are kept from training, none of whose texts is trained on; of a use with few rows at most half.
    They are what the suite `instruct` scores."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed of all draws: rows, templates, order of choices and of pairs. Another seed gives another sample."""
    pool: int = Field(default=50_000, ge=1)
    """Records of a use that are drawn before anything is removed: bounds memory and time for sets of a million. Ten
    times per_use is plenty; raise it with per_use."""
    max_reject_share: float = Field(default=0.05, ge=0, le=1)
    """Share of a file's records that may be rejected (unknown label, wrong number of columns, empty text); unless it is
    0, one may. More end the build: columns are swapped, or it is another file."""
    workers: int | None = runtime(None, ge=1)
    """Worker processes, each reading a use; None takes all cores. The rows are the same with any number."""

    @field_validator("uses")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        if unknown := [name for name in value if name not in USES]:
            raise ValueError(f"no use is called '{unknown[0]}'{nearest(unknown[0], list(USES))}")
        return list(dict.fromkeys(value))
