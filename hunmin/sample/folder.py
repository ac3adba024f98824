"""`hunmin sample`: the archives beside this module as a finished folder, written once; of the instruction sample with a
small decoder of random weights, whose tokenizer is trained on its texts.
"""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.destinations import new_folder
from common.files import atomic_write
from common.manifest import (
    Manifest,
    damaged_outputs,
    describe_outputs,
    made_by,
    package_versions,
    read_manifest,
    write_manifest,
)
from common.progress import say

SEED = 42
"""Seed of the generator that wrote the archives; the decoder's weights are drawn by it, too."""
COUNTS = "counts.json"
"""Member of an archive that holds its counts and is not written out."""


def sample_files(name: str = "sample") -> dict[str, bytes]:
    """Return path → bytes of an archive's files, in the order in which they were generated.

    Args:
        name: "sample" (corpora, truth, KLUE-like tasks) or "instruct" (instruction data sets, leaderboard tasks).
    """
    with tarfile.open(Path(__file__).with_name(f"{name}.tar.xz")) as archive:
        streams = ((member.name, archive.extractfile(member)) for member in archive)
        return {path: stream.read() for path, stream in streams if stream}


def write_sample(out: Path, instruct: bool = False) -> dict[str, int]:
    """Write the sample into the folder `out` and return its counts.

    Args:
        out: folder; created if missing, files of an earlier sample in it are replaced.
        instruct: the instruction sample, with a tiny decoder beside it; its weights and tokenizer are the same bytes
            for the same versions of torch, transformers and tokenizers.
    """
    files = sample_files("instruct" if instruct else "sample")
    counts: dict[str, int] = json.loads(files.pop(COUNTS))
    for path, content in files.items():
        with atomic_write(out / path, "wb") as stream:
            stream.write(content)
    if instruct:
        counts["parameters"] = write_decoder(out / "base", [content.decode() for content in files.values()], SEED)
    return counts


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
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
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


STAGE = "sample"


def make_sample(out: Path, instruct: bool = False) -> dict[str, Any]:
    """Write the sample, or the one of `instruct`, into `out` unless the same one is there, and return its counts.

    Raises:
        UserError: `out` holds something else, or a sample in which something was changed or added.
    """
    settings = {"seed": SEED} | ({"instruct": True} if instruct else {})
    current = package_versions("hunmin", *(("torch", "transformers", "tokenizers") if instruct else ()))
    manifest = read_manifest(out) if made_by(out, STAGE) else None
    same = manifest and manifest.settings == settings and manifest.versions == current
    if manifest and same and not damaged_outputs(out, manifest):
        say(f"sample     done ({out})", style="green")
        return manifest.counts
    with new_folder(out, STAGE) as folder:
        counts = write_sample(folder, instruct)
        outputs = describe_outputs(folder)
        write_manifest(
            folder,
            Manifest(stage=STAGE, settings=settings, inputs={}, outputs=outputs, counts=counts, versions=current),
        )
    return counts
