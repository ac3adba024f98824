"""Disk that a run takes: token shards, checkpoints, the exported model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pretrain.optim.registry import OPTIMIZERS
from pretrain.settings import PretrainSettings

BYTES = 4
"""Bytes of a weight and of a number of the optimizer's state, fp32."""
UINT16_VOCABULARY = 1 << 16
"""Largest vocabulary whose token ids take 2 bytes (`tokenizer.shards`)."""


@dataclass(frozen=True)
class Disk:
    """Bytes on disk."""

    checkpoint: int
    """Bytes of one checkpoint."""
    checkpoints: int
    """Bytes of all when they are most, just before the last one of those not kept is removed."""
    export: int
    tokens: int | None
    """Token shards; None while it is not known how many tokens there are."""

    @property
    def total(self) -> int:
        """Bytes of all that is known."""
        return self.checkpoints + self.export + (self.tokens or 0)


def disk(settings: PretrainSettings, vocab_size: int, parameters: int, corpus_tokens: int | None) -> Disk:
    """Return the disk that a run takes at its fullest."""
    checkpoint = BYTES * (parameters + OPTIMIZERS[settings.optimizer.type].state_numbers(settings, parameters))
    return Disk(
        checkpoint=checkpoint,
        checkpoints=most_checkpoints(settings) * checkpoint,
        export=BYTES * parameters,
        tokens=None if corpus_tokens is None else corpus_tokens * token_bytes(vocab_size),
    )


def token_bytes(vocab_size: int) -> int:
    """Return the bytes of a token in the shards, 2 or 4."""
    return 2 if vocab_size <= UINT16_VOCABULARY else 4


def most_checkpoints(settings: PretrainSettings) -> int:
    """Return how many checkpoints there are at once at most: a new one is whole before an old one goes."""
    steps, every, for_good = settings.steps, settings.checkpoint_every, settings.keep_every
    stay = steps // math.lcm(every, for_good) if for_good else 0
    return min(-(-steps // every), stay + settings.keep_last + 1)
