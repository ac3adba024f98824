"""A small decoder of random weights, whose tokenizer is trained on texts: the instruction sample's base."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

END = "<|endoftext|>"


def write_decoder(
    out: Path,
    texts: Iterable[str],
    seed: int,
    vocabulary: int = 3000,
    positions: int = 512,
    layers: int = 2,
    hidden: int = 128,
) -> int:
    """Write a GPT-NeoX of random weights whose end mark is its padding, as Polyglot-Ko's, and return its parameters.

    Args:
        vocabulary: entries, at most.
        positions: tokens that the model takes.
        hidden: its width, of four heads.
    """
    os.environ.setdefault("DS_ACCELERATOR", "cpu")  # DeepSpeed, which transformers imports, warns without a GPU
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    end = tokenizer.token_to_id(END)
    config = GPTNeoXConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=positions, bos_token_id=end, eos_token_id=end,
        initializer_range=0.05, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=4,
        intermediate_size=4 * hidden,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GPTNeoXForCausalLM(config)
    model.save_pretrained(out)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=END, model_max_length=positions
    ).save_pretrained(out)
    return sum(weights.numel() for weights in model.parameters())
