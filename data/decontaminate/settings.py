"""Settings of decontamination: which benchmarks are searched for."""

from __future__ import annotations

from common.settings import Settings, place

NOT_DECONTAMINATED = (
    "nothing is decontaminated: the recipe names no benchmark; set corpus.decontaminate.benchmark, or klue.data"
)
"""Said where decontamination is on and has nothing to compare with."""


class DecontaminateSettings(Settings):
    """Which benchmarks are removed from the corpus (KLUE paper, section 2.3), by the rules of `criteria.Criteria`."""

    enabled: bool = True
    """Whether benchmark sentences are removed at all."""
    benchmark: str | list[str] | None = place(None)
    """Folders, files or globs of the benchmarks; None = what the recipe scores: klue.data, the folders of the tasks of
    other suites, and embed.sources with embed.score. The texts of klue.own are removed beside these. Without any,
    nothing is decontaminated, and a warning says so."""

    @property
    def benchmarks(self) -> list[str]:
        """Return the benchmarks' folders, files or globs."""
        return [self.benchmark] if isinstance(self.benchmark, str) else list(self.benchmark or [])

    @property
    def applies(self) -> bool:
        """Return whether there is anything to remove: a benchmark is named, and removal is not turned off."""
        return self.enabled and bool(self.benchmarks)
