"""Where `klue` looks for the element of a Slurm array."""

from common.slurm_array import ArrayElement, ShareDone

__all__ = ["ArrayElement", "ShareDone"]
