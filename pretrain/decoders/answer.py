"""Greedy answers of a decoder by transformers' `pipeline`, prompted as tuning and scoring prompt it.

To the pipeline are added: a base without a chat template is prompted by our layout; an answer ends at the tokenizer's
mark as well as at the configuration's; a prompt without room for its answer, a token without a row, missing weights and
code of a model's own are refused, where the pipeline would go on or run it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from transformers import pipeline

from common.names import find
from pretrain.decoders.load import load_model, open_decoder, refuse_longer
from pretrain.decoders.prompts import encode, prompt_of, read_tokenizer
from pretrain.kernels.precision import half_type
from pretrain.parallel.accelerator import named_device


def answer(
    model: str | Path,
    messages: Sequence[str],
    max_new_tokens: int = 256,
    batch_size: int = 8,
    device: str | None = None,
) -> Iterator[str]:
    """Yield the answer to each message, in order, of a model by folder or hub name; by default on a GPU if any.

    Raises:
        UserError: the model is none that can be tuned, or a prompt leaves no room for the answer.
    """
    folder = find(model, "model")
    config = open_decoder(folder).config
    tokenizer = read_tokenizer(folder)
    longest = max((len(encode(tokenizer, prompt_of(tokenizer, message))) for message in messages), default=0)
    refuse_longer(folder, config, longest + max_new_tokens, "the longest prompt with its answer")
    place = named_device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    decoder = load_model(folder, half_type("auto") if place.type == "cuda" else None)
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.pad_token or tokenizer.eos_token
    ends = decoder.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
    chats = ([{"role": "user", "content": message}] for message in messages)  # of a list all answers come at the end
    ask = pipeline(
        "text-generation", model=decoder, tokenizer=tokenizer, device=place, batch_size=batch_size,
        max_new_tokens=max_new_tokens, do_sample=False, num_beams=1, eos_token_id=sorted(ends), return_full_text=False,
    )  # fmt: skip
    yield from (replies[0]["generated_text"].strip() for replies in (ask(chats) if messages else ()))
