"""Tasks in which one of several texts goes with another: each is read beside it, the best one is the answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any

from klue.tasks.base import Classification, Example
from klue.tokens import encode


class Choice(Classification):
    """A task with as many labels as there are choices, in their order."""

    head = "choice"

    @abstractmethod
    def pairs(self, example: Example) -> list[tuple[str, str]]:
        """Return what is read, one pair of texts a choice: what is given, and the choice."""

    def features(
        self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool
    ) -> dict[str, list[Any]]:
        """Return the ids of an example's pairs one behind the other, how many each has, and the label's index."""
        pairs = [pair for example in examples for pair in self.pairs(example)]
        encoded = encode(list(zip(*pairs, strict=True)), tokenizer, max_length, token_types)
        cut = encoded.pop("cut")
        each = [slice(at, at + self.choices) for at in range(0, len(pairs), self.choices)]
        return {
            "labels": [self.target(example) for example in examples],
            "pair_lengths": [[len(row) for row in encoded["input_ids"][pair]] for pair in each],
            "cut": [any(cut[pair]) for pair in each],
            **{name: [list(chain.from_iterable(rows[pair])) for pair in each] for name, rows in encoded.items()},
        }
