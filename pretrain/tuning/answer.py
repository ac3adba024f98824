"""Greedy answers of a decoder, in batches, prompted by its chat template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from common.names import find
from pretrain.precision import half_type
from pretrain.tuning.base import load_model, read_base
from pretrain.tuning.encode import encode, prompt_of, read_tokenizer


def answer(
    model: str | Path,
    messages: Sequence[str],
    max_new_tokens: int = 256,
    batch_size: int = 8,
    device: str | None = None,
) -> Iterator[str]:
    """Yield the answer to each message, in order; a base without a chat template is prompted by our layout.

    Args:
        model: a folder or a name on the hub.
        messages: users' turns.
        max_new_tokens: tokens after which an answer is cut.
        batch_size: messages answered at once.
        device: as torch names it; None takes a GPU where there is one.

    Raises:
        UserError: the model is none that can be tuned, or a prompt leaves no room for the answer.
    """
    folder, place = find(model, "model"), torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    tokenizer = read_tokenizer(folder)
    prompts = [encode(tokenizer, prompt_of(tokenizer, message)) for message in messages]
    read_base(folder, max(map(len, prompts), default=0) + max_new_tokens, "the longest prompt with its answer")
    decoder = load_model(folder, half_type("auto") if place.type == "cuda" else None).to(place).eval()
    ends = decoder.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
    for start in range(0, len(prompts), batch_size):
        batch = prompts[start : start + batch_size]
        width = max(map(len, batch))
        written_BL = decoder.generate(
            input_ids=torch.tensor([[0] * (width - len(ids)) + ids for ids in batch], device=place),
            attention_mask=torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in batch], device=place),
            max_new_tokens=max_new_tokens, do_sample=False, num_beams=1, eos_token_id=sorted(ends),
            pad_token_id=tokenizer.eos_token_id,
        )  # fmt: skip
        for row in written_BL[:, width:].tolist():
            yield tokenizer.decode(row, skip_special_tokens=True).strip()
