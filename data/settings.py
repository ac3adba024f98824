"""Settings of the corpus stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, field_validator

from common.settings import Settings, runtime
from data.cleaning import CleanSettings
from data.decontaminate import DecontaminateSettings
from data.deduplicate import DeduplicateSettings
from data.executors import ExecutorName
from data.filters import FilterSettings
from data.mixture import MixtureSettings
from data.pii import PiiSettings
from data.readers import SourceSettings


class CorpusSettings(Settings):
    """Which texts become the corpus, and what happens to them."""

    RENAMED: ClassVar[Mapping[str, str]] = {"max_bad_files": "max_bad_file_share"}

    inputs: list[str | SourceSettings] = Field(min_length=1)
    """Paths, folders, globs or URLs; or sources with name, format, field names, licence and rules of their own."""
    clean: CleanSettings = CleanSettings()
    """Cleaning rules for all sources that bring none."""
    filters: list[FilterSettings] = Field(default_factory=list)
    """Which documents are dropped as a whole, filter by filter in this order; the first that refuses a document is the
    one that drops it. None by default: what is noise to one model is text to another."""
    keep_scores: bool = False
    """Write what the filters measured into the shards, a column a measure (`language_hangul`), to select by later."""
    pii: PiiSettings = PiiSettings()
    """Pseudonymisation of personal data."""
    decontaminate: DecontaminateSettings = DecontaminateSettings()
    """Removal of benchmark sentences."""
    deduplicate: DeduplicateSettings = DeduplicateSettings()
    """Removal of repeated documents and sentences."""
    mixture: MixtureSettings | None = None
    """How often the documents of each source come, and which are held out of training. None takes each once, and leaves
    it to pretraining to hold out samples."""
    shard_mb: float = Field(256, ge=0.001)
    """Most megabytes (10^6 bytes) of text in a shard; a shard takes a third to a quarter of it on the disk. All shards
    of a corpus are of about one size (before sentences go as duplicates)."""
    unit_mb: float = Field(8, ge=0.001)
    """Megabytes of input lines in a work unit: what a kill can lose for each worker."""
    executor: ExecutorName = runtime("local")
    """Where the work is done: local, a pool of processes here; ray, tasks of a Ray cluster. slurm-array: this process
    is an element of a Slurm array and does its units, and a later command ends the stage. It does not change the
    output."""
    ray_address: str = runtime("auto", min_length=1)
    """For ray: auto, the cluster this machine belongs to; local, one started here; or the cluster's HOST:PORT."""
    workers: int | None = runtime(None, ge=1)
    """Processes (tasks at once with ray); None takes the cores there are. It does not change the output."""
    max_reject_share: float = Field(0.05, ge=0, le=1)
    """The run fails when more than this share of the lines is unreadable: a wrong field name or format shows early."""
    max_bad_file_share: float = Field(0.05, ge=0, le=1)
    """Largest share of bad input files, 0 to 1: damaged ones (cut archives, binary data) and tables without the named
    column. The run fails beyond it; one bad file of several passes unless this is 0. A bad file is read up to the
    damage and listed in rejects/files.jsonl. An input without a single good file always ends the run."""
    keep_finished: bool = runtime(False)
    """A corpus that is finished stays, though the rules it was made by have changed since, with Hunmin or a library.
    Else it is built again."""

    @field_validator("filters")
    @classmethod
    def _named_apart(cls, value: list[FilterSettings]) -> list[FilterSettings]:
        titles = [one.title for one in value]
        if twice := sorted({title for title in titles if titles.count(title) > 1}):
            raise ValueError(f"two filters are named {', '.join(twice)}: give one of them a name of its own")
        return value
