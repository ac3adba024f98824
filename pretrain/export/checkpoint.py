"""Export: a checkpoint's weights as a folder that transformers loads, byte for byte the same every time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

import torch
from safetensors.torch import load_file
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.utils import logging as hub_logging

from common.errors import HunminError, UserError
from common.files import atomic_write, disk_errors, follow_umask, publish_folder
from pretrain.callbacks.checkpoint import library_disk_errors, load_weights, put_weights
from pretrain.callbacks.checkpoint_metadata import (
    TOKENIZER_FILES,
    WEIGHTS,
    checkpoints_by_size,
    damaged_files,
    read_metadata,
)
from pretrain.export.check import check_folder
from pretrain.export.old_names import add_old_names
from pretrain.export.onnx import FILE as ONNX_FILE
from pretrain.export.onnx import check_onnx, refuse_onnx, write_onnx
from pretrain.export.sentence_embeddings import FILES as EMBEDDING_FILES
from pretrain.export.sentence_embeddings import check_sentence_embeddings, write_embedding_files
from pretrain.models.encoder import model_class
from pretrain.models.registry import ARCHITECTURES, usable_positions
from pretrain.phase import values_at
from pretrain.settings import PretrainSettings

hub_logging.disable_progress_bar()  # weights go from file to file in a moment
if not torch.cuda.is_available():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")  # transformers looks for DeepSpeed, which else warns of no GPU

Dtype = Literal["fp32", "bf16", "fp16"]
DTYPES: dict[Dtype, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
EXPORT_FILES = ("model.safetensors", "config.json")
"""Files of every export, beside its tokenizer's."""
LIBRARY_FILES = ("generation_config.json",)
"""Files that some versions of transformers add."""


def save_hf_model(
    model: PreTrainedModel, tokenizer: Path, out: Path, check: Callable[[Path], object] = lambda folder: None
) -> None:
    """Write weights (safetensors), configuration and tokenizer files into `out`, as a whole, after `check`.

    The tokenizer there states the model's own length (`model_max_length`), so that `truncation=True` cuts what is too
    long for its positions, and returns token types only where the model has two of them.
    """
    out = out.resolve() if out.is_symlink() else out.absolute()
    temporary = out.with_name(f".{out.name}.{token_hex(4)}.tmp")  # another process may write the same
    try:
        with disk_errors(out), library_disk_errors(out):
            temporary.mkdir(parents=True)
            model.save_pretrained(temporary)
            follow_umask(*temporary.iterdir())
            _copy_tokenizer(tokenizer, model, temporary)
            add_old_names(temporary)
        check(temporary)
        publish_folder(temporary, out, replace=True)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _copy_tokenizer(tokenizer: Path, model: PreTrainedModel, out: Path) -> None:
    for name in TOKENIZER_FILES:
        if (tokenizer / name).exists():
            shutil.copyfile(tokenizer / name, out / name)
    state_inputs(out, model.config, usable_positions(model.config))


def state_inputs(folder: Path, config: PreTrainedConfig, longest: int | None = None) -> None:
    """State in a folder's tokenizer_config.json, where there is one, what its model takes.

    Args:
        config: of the model.
        longest: input in tokens; None leaves what is stated.
    """
    configuration = folder / "tokenizer_config.json"
    if configuration.exists():
        settings = json.loads(configuration.read_bytes())
        if longest:
            settings["model_max_length"] = longest
        # without two of them, the second text of a pair has no type that the model knows
        if getattr(config, "type_vocab_size", 1) < 2:
            names = settings.get("model_input_names", ["input_ids", "attention_mask"])
            settings["model_input_names"] = [name for name in names if name != "token_type_ids"]
        with atomic_write(configuration) as stream:
            json.dump(settings, stream, ensure_ascii=False, indent=1, sort_keys=True)
            stream.write("\n")


def load_hf_model(
    settings: PretrainSettings, config: PreTrainedConfig, weights: dict[str, torch.Tensor]
) -> PreTrainedModel:
    """Return a run's model, as anyone loads it, with a copy of its configuration and these weights (`put_weights`)."""
    model = model_class(settings)(type(config).from_dict(config.to_dict()))
    put_weights(weights, model, "the run")
    return model


def load_checkpoint(checkpoint: Path, average: int | None = None) -> PreTrainedModel:
    """Return the model of a checkpoint, a step-* folder wherever it stands, as transformers has it, in fp32.

    With `average` its weights are the mean of so many checkpoints, this one the last (`checkpoints_to_average`).

    Raises:
        UserError: it is not a whole checkpoint.
        HunminError: its files are damaged.
    """
    saved = _whole(checkpoint)
    architecture = ARCHITECTURES[saved["config"]["model_type"]]
    (name,) = saved["config"]["architectures"]
    kind = architecture.model_class(next(head for head, known in architecture.classes.items() if known == name))
    model = kind(kind.config_class.from_dict(saved["config"]))
    if average:
        put_weights(mean_weights(checkpoints_to_average(checkpoint, average).values()), model, str(checkpoint))
    else:
        load_weights(checkpoint, model)
    return model.eval()


def _whole(checkpoint: Path) -> dict[str, Any]:
    """Return the metadata of a checkpoint all of whose bytes are those that were written."""
    saved = read_metadata(checkpoint)
    if saved is None:
        whole = sorted(path.name for path in checkpoint.parent.glob("step-*") if read_metadata(path) is not None)
        raise UserError(
            f"{checkpoint} is not a whole checkpoint",
            "a checkpoint folder holds complete.json and the files it lists",
            f"choose another step-* folder{': ' if whole else ''}{', '.join(whole)}",
        )
    if damaged := damaged_files(checkpoint, saved):
        raise HunminError(
            f"{checkpoint} is damaged: the bytes of {damaged[0]} are not those that were written",
            "the files of a checkpoint are those that its complete.json describes",
            "restore it from a copy, or choose another step-* folder",
        )
    return saved


def checkpoints_to_average(last: Path, count: int) -> dict[int, Path]:
    """Return step → folder of so many whole checkpoints of a run, in order, up to the last of them.

    Raises:
        UserError: there are fewer, or some are of another shape: another objective, length or RoPE base.
    """
    until = _whole(last)["step"]
    known = {step: path for step, path in checkpoints_by_size(last.parent) if step <= until}
    if len(known) < count:
        raise UserError(
            f"{last.parent} has {len(known)} checkpoints up to {last.name}, and {count} are to be averaged",
            "an average is of the last checkpoints that are there",
            f"average {len(known)} at most; in a new training raise pretrain.keep_last",
        )
    chosen = dict(list(known.items())[-count:])
    shapes = {step: _shape(_whole(path)) for step, path in chosen.items()}
    if other := max((step for step, shape in shapes.items() if shape != shapes[until]), default=0):
        names = sorted(name for name, value in shapes[other].items() if shapes[until].get(name) != value)
        alike = sum(step > other for step in chosen)
        raise UserError(
            f"step {other} has another {', '.join(names)} than {last.name}",
            "checkpoints that are averaged are of one shape: model, objective and length of the samples",
            f"average {alike} checkpoints" if alike > 1 else "export the checkpoint without an average",
        )
    return chosen


def _shape(saved: dict[str, Any]) -> dict[str, Any]:
    values = values_at(saved["settings"], saved["step"])
    values = {name: values[name] for name in ("objective", "max_seq_len")}
    return {**saved["config"], **values, "transformers_version": ""}


def mean_weights(checkpoints: Collection[Path]) -> dict[str, torch.Tensor]:
    """Return the mean of the weights of checkpoints, added up in float64; of equal ones it is their bytes."""
    sums: dict[str, torch.Tensor] = {}
    for path in checkpoints:
        for name, weight in load_file(path / WEIGHTS).items():
            sums[name] = sums[name] + weight.double() if name in sums else weight.double()
    return {name: (total / len(checkpoints)).float() for name, total in sums.items()}


def export_checkpoint(
    checkpoint: Path, out: Path, dtype: Dtype = "fp32", sentence_embeddings: bool = False, onnx: bool = False,
    average: int | None = None,
) -> PreTrainedModel:  # fmt: skip
    """Write a checkpoint as a folder that transformers loads, checked before it has its name; return the model in it.

    Raises:
        UserError: as `load_checkpoint`, `dtype` cannot hold its weights, or the graph cannot be made.
        HunminError: what was written is not what it should be.
    """
    if onnx:
        refuse_onnx(dtype)
    model = load_checkpoint(checkpoint, average).to(DTYPES[dtype])

    def finish(folder: Path) -> None:
        check_folder(folder, model)
        if sentence_embeddings:
            write_embedding_files(folder, model.config.hidden_size, usable_positions(model.config))
            check_sentence_embeddings(folder, model)
        if onnx:
            write_onnx(folder, model)
            check_onnx(folder, model)

    save_hf_model(model, checkpoint, out, finish)
    return model


def is_export_of(
    folder: Path, checkpoint: Path, dtype: Dtype = "fp32", sentence_embeddings: bool = False, onnx: bool = False,
    average: int | None = None,
) -> bool:  # fmt: skip
    """Return whether a folder is what `export_checkpoint` makes of a checkpoint; a card does not count.

    Raises:
        UserError: `checkpoint` is none.
    """
    extra = {*(EMBEDDING_FILES if sentence_embeddings else ()), *((ONNX_FILE,) if onnx else ())}
    expected = {*EXPORT_FILES, *(name for name in TOKENIZER_FILES if (checkpoint / name).exists()), *extra}
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if present - {"README.md", *LIBRARY_FILES} != expected:
        return False
    model = load_checkpoint(checkpoint, average).to(DTYPES[dtype])
    try:
        check_folder(folder, model)
        if sentence_embeddings:
            check_sentence_embeddings(folder, model)
        if onnx:
            check_onnx(folder, model)
    except (HunminError, OSError, ValueError, KeyError):
        return False
    return True
