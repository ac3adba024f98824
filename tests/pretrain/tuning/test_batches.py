"""Micro-batches: each example in one, whole steps, padding by position; loss is transformers' on single examples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from pretrain.decoders.prompts import read_tokenizer
from pretrain.tuning.inputs import Example, Examples, MicroBatches


def examples_of(lengths: list[int]) -> list[Example]:
    return [Example(np.arange(length, dtype=np.int32) % 7, 1, "use") for length in lengths]


@given(st.lists(st.integers(2, 40), min_size=1, max_size=80), st.integers(1, 8), st.integers(1, 8), st.integers(0, 9))
@settings(max_examples=200)
def test_every_example_is_in_one_of_whole_steps(lengths: list[int], size: int, per_step: int, seed: int) -> None:
    batches = MicroBatches(examples_of(lengths), size, per_step, seed)
    everyone = np.concatenate(batches.drawn)
    assert sorted(everyone.tolist()) == list(range(len(lengths)))
    assert len(batches) == per_step * -(-len(lengths) // (size * per_step))
    sizes = [len(micro_batch) for micro_batch in batches.drawn]
    assert max(sizes) <= size and max(sizes) - min(sizes) <= 1
    assert sizes.count(0) < per_step  # so that no step is without an answer
    ordered = [lengths[i] for i in everyone]
    assert ordered == sorted(ordered)


def test_the_seed_decides_among_equal_lengths() -> None:
    drawn = [np.concatenate(MicroBatches(examples_of([9] * 50), 5, 2, seed).drawn).tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_an_empty_micro_batch_learns_nothing() -> None:
    batches = MicroBatches(examples_of([5, 3, 4]), 1, 2, 0)
    empty = next(i for i, own in enumerate(batches.drawn) if not len(own))
    assert (batches[empty]["labels"] == -100).all()


@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
def test_the_loss_is_that_of_single_examples(kind: str, bases: dict[str, Path], build: Path) -> None:
    """gpt_neox pads with its end mark, whose label must stay."""
    tokenizer = read_tokenizer(bases[kind])
    examples = Examples(build / "train.jsonl", tokenizer, 96).accepted[:7]
    batch = MicroBatches(examples, 7, 1, 0)[0]
    assert batch["labels"].shape[1] > min(len(example.ids) for example in examples)
    model = AutoModelForCausalLM.from_pretrained(bases[kind]).eval()
    total, tokens = torch.zeros((), dtype=torch.float64), 0
    with torch.no_grad():
        together = model(**batch).loss
        for example in examples:
            ids = torch.from_numpy(example.ids)[None].long()
            labels = ids.clone()
            labels[0, : example.prompt] = -100
            assert labels[0, -1] == tokenizer.eos_token_id
            count = len(example.ids) - example.prompt
            total += model(input_ids=ids, labels=labels).loss.double() * count
            tokens += count
    assert int((batch["labels"] != -100).sum()) == tokens
    assert together.item() == pytest.approx((total / tokens).item(), abs=1e-6)
