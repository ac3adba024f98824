"""Tasks in which one of several texts goes with another: each is read beside it, the best one is the answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from klue.tasks.base import Classification, Example
from klue.tokens import cut_rows


class Choice(Classification):
    """A task with as many labels as there are choices, in their order."""

    head = "choice"
    labels: ClassVar[tuple[str, ...]]

    @abstractmethod
    def pairs(self, example: Example) -> list[tuple[str, str]]:
        """Return what is read, one pair of texts a choice: what is given, and the choice."""

    def features(
        self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool
    ) -> dict[str, list[Any]]:
        """Return the ids of an example's pairs one behind the other, how many each has, and the label's index.

        A pair is cut from its longer text until it fits into `max_length` tokens.
        """
        pairs = [pair for example in examples for pair in self.pairs(example)]
        encoded = tokenizer(
            [given for given, _ in pairs],
            [choice for _, choice in pairs],
            truncation=True,
            max_length=max_length,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=token_types,
        )
        columns: dict[str, list[Any]] = {
            "labels": [self.target(example) for example in examples],
            "pair_lengths": [],
            "cut": [],
        }
        names = [name for name in ("input_ids", "token_type_ids") if name in encoded]
        for name in names:
            columns[name] = []
        cut, at = cut_rows(encoded["input_ids"], list(zip(*pairs, strict=True)), tokenizer, max_length), 0
        for example in examples:
            end = at + len(self.pairs(example))
            columns["pair_lengths"].append([len(row) for row in encoded["input_ids"][at:end]])
            for name in names:
                columns[name].append([token for row in encoded[name][at:end] for token in row])
            columns["cut"].append(any(cut[at:end]))
            at = end
        return columns
