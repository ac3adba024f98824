"""Export: a checkpoint's weights as a folder that transformers loads, byte for byte the same every time."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.utils import logging as hub_logging

from common.errors import HunminError, UserError
from common.files import atomic_write, disk_errors
from common.settings import dump_settings
from pretrain.checkpoint import WEIGHTS, check_format, fingerprint, library_disk_errors, put_weights, read_metadata
from pretrain.model import build_config, first_position, model_class
from pretrain.settings import PretrainSettings
from tokenizer.shards import TokenShards

hub_logging.disable_progress_bar()  # weights go from file to file in a moment
if not torch.cuda.is_available():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")  # transformers looks for DeepSpeed, which else warns of no GPU

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")


def save_hub_model(model: PreTrainedModel, tokenizer: Path, out: Path) -> None:
    """Write weights (safetensors, fp32), configuration and tokenizer files into `out`, replacing it as a whole.

    The tokenizer there states the model's own length (`model_max_length`), so that `truncation=True` cuts what is too
    long for its positions.
    """
    temporary = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    with disk_errors(out), library_disk_errors(out):
        temporary.mkdir(parents=True)
        model.save_pretrained(temporary)
        for name in TOKENIZER_FILES:
            if (tokenizer / name).exists():
                shutil.copyfile(tokenizer / name, temporary / name)
        configuration = temporary / "tokenizer_config.json"
        if configuration.exists():
            stated = json.loads(configuration.read_bytes())
            stated["model_max_length"] = model.config.max_position_embeddings - first_position(model.config)
            with atomic_write(configuration) as stream:
                json.dump(stated, stream, ensure_ascii=False, indent=1, sort_keys=True)
                stream.write("\n")
    shutil.rmtree(out, ignore_errors=True)
    temporary.rename(out)


def load_hub_model(
    settings: PretrainSettings, config: PreTrainedConfig, weights: dict[str, torch.Tensor], source: str = "the run"
) -> PreTrainedModel:
    """Return a model of transformers, as anyone loads it, with these weights.

    Args:
        settings: the run's.
        config: its configuration, which is copied.
        weights: by the names of transformers, each once.
        source: where they come from, for the message.

    Raises:
        HunminError: they are not those of this configuration.
    """
    model = model_class(settings)(type(config).from_dict(config.to_dict()))
    put_weights(weights, model, source)
    return model


def export_checkpoint(checkpoint: Path, settings: PretrainSettings, tokens: Path, tokenizer: Path, out: Path) -> None:
    """Write the weights of a checkpoint as a transformers folder.

    Args:
        checkpoint: a step-* folder.
        settings: the run's settings.
        tokens: the run's token folder (vocabulary size and special ids).
        tokenizer: the run's tokenizer folder; its files go with the weights.
        out: folder to write.

    Raises:
        UserError: it was trained with other settings or on other tokens than those given.
        HunminError: the checkpoint's weights are not those of this configuration.
    """
    saved = read_metadata(checkpoint)
    if saved is None:
        raise UserError(
            f"{checkpoint} is not a whole checkpoint",
            "a checkpoint folder holds complete.json and the files it lists",
            "choose another step-* folder",
        )
    check_format(checkpoint, saved)
    # the ids of another vocabulary of the same size would fit its weights, and mean nothing to them
    if saved["fingerprint"] != fingerprint(dump_settings(settings), tokens):
        raise UserError(
            f"{checkpoint} was trained with other settings or on other tokens than those in {tokens.parent}",
            "weights are exported with the settings and the vocabulary that they were trained with",
            "take the recipe, tokenizer/ and tokens/ back to what they were; if pretraining is to be done anew, export "
            "when that has a checkpoint",
        )
    shards = TokenShards(tokens)
    config = build_config(settings, shards.vocab_size, shards.special_ids)
    config.max_position_embeddings = saved["positions"]  # a published model may have more than the run needs
    model = load_hub_model(settings, config, load_file(checkpoint / WEIGHTS), str(checkpoint))
    save_hub_model(model, tokenizer, out)


@torch.no_grad()
def check_export(folder: Path, reference: PreTrainedModel) -> float:
    """Return the largest difference between the exported folder's logits and the reference model's, on fixed ids.

    Raises:
        HunminError: they are not equal bit for bit.
    """
    loaded = type(reference).from_pretrained(folder, local_files_only=True).eval()
    reference = reference.eval()
    generator = torch.Generator().manual_seed(0)
    length = min(64, loaded.config.max_position_embeddings - first_position(loaded.config))
    ids = torch.randint(5, loaded.config.vocab_size, (2, length), generator=generator)
    outputs = zip(loaded(input_ids=ids).values(), reference(input_ids=ids).values(), strict=True)
    difference = max((one - two).abs().max().item() for one, two in outputs)
    if difference != 0:
        raise HunminError(
            f"exported logits differ from the training model's by up to {difference:.3g}",
            "an export changes nothing",
            "report this with the recipe",
        )
    return difference
