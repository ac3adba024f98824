"""Near copies found with everything in memory, and no files: what the tasks have to give."""

import numpy as np

from data.deduplicate.cluster import COPY, clusters, copies, least_equal, like_pairs
from data.deduplicate.near import band_keys


class Corpus:
    """Signatures in memory, with a count of the comparisons."""

    def __init__(self, found: np.ndarray) -> None:
        self.found, self.compared = found, 0

    def compare(self, ones: np.ndarray, others: np.ndarray) -> np.ndarray:
        self.compared += len(ones)
        return (self.found[ones] == self.found[others]).sum(axis=1)

    def near(self, threshold: float = 0.8, candidates: np.ndarray | None = None, cut: int = 1) -> np.ndarray:
        """Return the near copies as `COPY`, with the keys and the clusters looked at in so many shares."""
        least = least_equal(threshold)
        places = np.arange(len(self.found)) if candidates is None else np.flatnonzero(candidates)
        pairs = [
            like_pairs(keys[keys % cut == share], places[keys % cut == share], self.compare, least)
            for keys in band_keys(self.found[places], threshold)
            for share in range(cut)
        ]
        clustered = clusters(lambda: pairs, len(self.found))
        shares = [clustered[clustered["root"] % cut == share] for share in range(cut)]
        together = np.concatenate([np.empty(0, COPY), *(copies(share, self.compare, least) for share in shares)])
        return together[np.argsort(together["dropped"])]
