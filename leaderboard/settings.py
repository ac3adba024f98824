"""Settings of scoring a decoder."""

from typing import Annotated, Literal

from pydantic import Field

from common.settings import Settings, place, runtime
from leaderboard.prepare import GROUPS, LISTED


class LeaderboardSettings(Settings):
    """Which suites score a model, and how; what a suite's authors left unsaid is a setting here."""

    suites: tuple[Literal["kit19", "leaderboard2", "instruct"], ...] = Field(("kit19",), min_length=1)
    """Suites to score: kit19 (six sets), leaderboard2 (nine tasks), instruct (held-out rows of a build)."""
    data: str = place("")
    """Folder with the rows: TASK.jsonl, .json, .csv or .parquet, or the authors' files. Shots: TASK.fewshot.*."""
    tasks: tuple[str, ...] = ()
    """Tasks of the suites to score; none = all tasks that have rows. A task named here must have rows."""
    limit: int | None = Field(None, ge=1)
    """Maximum rows per task, the first ones; None = all. For trials only: limited scores are not in the means."""
    chat_template: bool = False
    """Whether prompts use the tokenizer's chat template. The suite instruct always uses the template of tuning."""
    shots: dict[str, Annotated[int, Field(ge=0)]] = Field({}, examples=[{"ko_gsm8k": 5}])
    """Number of shots by task, the first ones of its file. Default 0: the leaderboard's numbers are unpublished."""
    max_gen_toks: int | None = Field(None, ge=1)
    """Maximum tokens per answer; None = the task file's value. Lower it for models with few positions."""
    listed: tuple[str, ...] = LISTED
    """Tasks whose prompts list the choices, so that letters are scored. The leaderboard's own list is unpublished."""
    groups: tuple[tuple[int, ...], ...] = GROUPS
    """Groups of choices of kornat_social (numbered from 0) that A-SVA merges. The official groups are unpublished; by
    default the two that agree are merged, and the two that disagree."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type of the weights; auto = that of the checkpoint."""
    batch_size: int = runtime(8, ge=1)
    """Prompts per batch. Raise it until the device's memory is full."""
    device: str = runtime("auto")
    """Device: cpu, cuda, cuda:1 …; auto = a GPU if there is one."""
