"""Settings of scoring a decoder."""

from typing import Annotated, Literal

from pydantic import Field

from common.settings import Settings, runtime
from leaderboard.prepare import GROUPS, LISTED


class LeaderboardSettings(Settings):
    """Which suites score a model, and how; what a suite's authors left unsaid is a setting here."""

    suites: tuple[Literal["kit19", "leaderboard2", "instruct"], ...] = Field(("kit19",), min_length=1)
    """Suites to score: kit19 (six sets), leaderboard2 (nine tasks), instruct (held-out rows of a build)."""
    data: str = ""
    """Folder with the rows: TASK.jsonl, .json, .csv or .parquet, or the authors' files. Shots: TASK.fewshot.*."""
    tasks: tuple[str, ...] = ()
    """Tasks of the suites to score; none = all whose rows are there. A task named here must have its rows."""
    limit: int | None = Field(None, ge=1)
    """Rows a task at most, from the first; None = all. For trials: limited scores enter no mean."""
    chat_template: bool = False
    """Whether prompts use the tokenizer's chat template. The suite instruct always takes the layout of tuning."""
    shots: dict[str, Annotated[int, Field(ge=0)]] = Field({}, examples=[{"ko_gsm8k": 5}])
    """Task → shots, the first ones of its file. Default 0: the board's shots are unpublished."""
    max_gen_toks: int | None = Field(None, ge=1)
    """Tokens an answer at most; None = the task file's. Lower it for models of few positions."""
    listed: tuple[str, ...] = LISTED
    """Tasks whose prompts list the choices, so that letters are scored. Unpublished; GPQA lists them upstream."""
    groups: tuple[tuple[int, ...], ...] = GROUPS
    """Choices of kornat_social, from 0, that A-SVA merges. Unpublished; by default the two that agree, or disagree."""
    resamples: int = Field(1000, ge=100)
    """Bootstrap samples of an interval. More make its ends steadier."""
    seed: int = 42
    """Seed of the bootstrap. Nothing else is drawn: answers are greedy, shots are the first ones."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type of the weights; auto = that of the checkpoint."""
    batch_size: int = runtime(8, ge=1)
    """Prompts a batch. Raise it until the device's memory is full."""
    device: str = runtime("auto")
    """Device: cpu, cuda, cuda:1 …; auto = a GPU where there is one."""
