"""Seconds that the checks of a model folder take, at first and later use, beside those of loading the model.

    python -m scripts.bench_model_checks [--folder DIR]

It makes an encoder of 110 million parameters (fp32) and a decoder of 1.3 billion (bf16), of random weights, in a
temporary folder of 4 GB, with manifests. Files that were just written are in the page cache, as those that are loaded
next to the checks are.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

from common.file_facts import SETTLED
from common.manifest import Manifest, describe_outputs, write_manifest
from klue.model_folder import read_model_folder
from pretrain.decoders.load import open_decoder
from pretrain.model_folder import quiet

ENTRIES = 32_000


def write_models(home: Path) -> None:
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *(f"낱말{number}" for number in range(ENTRIES - 5))]
    core = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, sep_token="</s>", mask_token="<mask>", **marks)
    ids = {"vocab_size": ENTRIES, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    encoder = RobertaForMaskedLM(RobertaConfig(**ids, max_position_embeddings=514, type_vocab_size=1))
    torch.set_default_dtype(torch.bfloat16)
    shape = {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 8192}
    decoder = GPTNeoXForCausalLM(GPTNeoXConfig(**ids, **shape))
    torch.set_default_dtype(torch.float32)
    for name, model in (("encoder", encoder), ("decoder", decoder)):
        model.save_pretrained(home / name)
        tokenizer.save_pretrained(home / name)
        described = describe_outputs(home / name)
        write_manifest(home / name, Manifest(stage="export", settings={}, inputs={}, outputs=described))


def seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def loaded(folder: Path, auto: Any) -> None:
    """Load a model, and read each weight, which transformers leaves on the disk until it is used."""
    for weight in auto.from_pretrained(folder, dtype="auto").parameters():
        weight.detach().clone()


def measured(folder: Path, check: Callable[[Path], Any], auto: Any) -> dict[str, Any]:
    """Return the seconds of the checks and of loading, and what share of loading the later checks take."""
    first = seconds(lambda: check(folder))
    later = min(seconds(lambda: check(folder)) for _ in range(3))
    with quiet():
        load = min(seconds(lambda: loaded(folder, auto)) for _ in range(2))
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    figures = {"GB": size / 1e9, "first": first, "later": later, "load": load}
    figures |= {"first / load": first / load, "later / load": later / load}
    return {"model": folder.name} | {name: round(value, 2) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="where the temporary folder is made")
    with TemporaryDirectory(dir=parser.parse_args().folder) as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        write_models(Path(folder))
        time.sleep(SETTLED / 1e9)
        for name, check, auto in (
            ("encoder", read_model_folder, AutoModel),
            ("decoder", open_decoder, AutoModelForCausalLM),
        ):
            print(json.dumps(measured(Path(folder, name), check, auto)), flush=True)


if __name__ == "__main__":
    main()
