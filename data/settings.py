"""Settings of the corpus stage."""

from __future__ import annotations

from pydantic import Field, field_validator

from common.settings import Settings, place, runtime
from data.cleaning.settings import CleanSettings
from data.decontaminate.settings import DecontaminateSettings
from data.deduplicate.settings import DeduplicateSettings
from data.executors.choice import ExecutorName
from data.filters.settings import FilterSettings
from data.mixture.settings import MixtureSettings
from data.pii.settings import PiiSettings
from data.readers.settings import SourceSettings


class CorpusSettings(Settings):
    """Which texts become the corpus, and what happens to them."""

    inputs: list[str | SourceSettings] = place(min_length=1)
    """Paths, folders, globs or URLs; or sources with their own name, format, field names, licence and rules."""
    clean: CleanSettings = CleanSettings()
    """Cleaning rules for all sources without their own."""
    filters: list[FilterSettings] = Field(default_factory=list)
    """Filters that drop whole documents, applied in this order; a dropped document counts under the first filter that
    rejects it. None by default, since what is noise depends on the model's purpose."""
    keep_scores: bool = False
    """Write what the filters measured into the shards, one column per measure (`language_hangul`), for selecting
    documents later."""
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
    """Maximum megabytes (10^6 bytes) of text in a shard; on the disk a shard takes a third to a quarter of that. All
    shards of a corpus have about the same size (before repeated sentences are dropped)."""
    unit_mb: float = Field(8, ge=0.001)
    """Megabytes of input lines in a work unit; a kill loses at most one unit per worker."""
    executor: ExecutorName = runtime("local")
    """Where the work is done. local: processes on this machine. ray: tasks of a Ray cluster. slurm-array: this process
    is an element of a Slurm array and does its units, and a later command ends the stage. It does not change the
    output."""
    ray_address: str = runtime("auto", min_length=1)
    """Address for the executor ray. auto: the cluster that this machine belongs to. local: a cluster started here. Or
    the HOST:PORT of a cluster."""
    workers: int | None = runtime(None, ge=1)
    """Number of processes (with ray, of concurrent tasks); None uses all cores. It does not change the output."""
    max_reject_share: float = Field(0.05, ge=0, le=1)
    """The run fails when more than this share of the lines is unreadable: a wrong field name or format shows early."""
    max_bad_file_share: float = Field(0.05, ge=0, le=1)
    """Maximum share of bad input files, 0 to 1: damaged ones (truncated archives, binary data), pointers of git-lfs,
    and tables or JSON without the named column or field. Beyond it the run fails; among several files a single bad one
    is always tolerated unless this is 0. A damaged file is read up to the damage and listed in rejects/files.jsonl. If
    no file of an input matches its settings, the run always fails."""

    @field_validator("filters")
    @classmethod
    def _named_apart(cls, value: list[FilterSettings]) -> list[FilterSettings]:
        titles = [settings.title for settings in value]
        if twice := sorted({title for title in titles if titles.count(title) > 1}):
            raise ValueError(f"two filters are named {', '.join(twice)}: give one of them a name of its own")
        return value
