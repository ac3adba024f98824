"""An exported model as an ONNX graph, checked against its logits."""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from common.errors import HunminError, UserError
from pretrain.model import first_position

FILE = "onnx/model.onnx"
TOLERANCE = 1e-4
"""Largest difference of a logit."""


class _Logits(torch.nn.Module):
    """A masked language model that gives its logits alone."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the logits."""
        arguments = {"attention_mask": attention_mask, "token_type_ids": token_type_ids}
        logits: Tensor = self.model(input_ids, **arguments, return_dict=False)[0]
        return logits


NAMES = ("input_ids", "attention_mask", "token_type_ids")
"""Of the inputs."""


def refuse_onnx(dtype: str) -> None:
    """Refuse a graph that cannot be made, before any work.

    Args:
        dtype: of the weights: fp32, bf16 or fp16.

    Raises:
        UserError: the packages of the extra `onnx` are not installed, or the weights are not fp32.
    """
    if dtype != "fp32":
        raise UserError(
            "an ONNX graph of 16-bit weights", "the graph is written in fp32", "leave out --dtype or --onnx"
        )
    for name in ("onnx", "onnxruntime", "onnxscript"):
        if importlib.util.find_spec(name) is None:
            raise UserError(
                f"--onnx needs {name}, which is not installed", remedy="pip install -c constraints.txt -e '.[onnx]'"
            )


@torch.no_grad()
def write_onnx(folder: Path, model: PreTrainedModel) -> None:
    """Write `FILE` into an export; it holds nothing of this machine: no path, no line of code.

    Inputs: input_ids, attention_mask, token_type_ids, all int64 (batch, sequence); output: logits.

    Args:
        folder: of the export.
        model: that is there, in fp32.
    """
    path = folder / FILE
    path.parent.mkdir(exist_ok=True)
    longest = model.config.max_position_embeddings - first_position(model.config)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=longest)}
    model.set_attn_implementation("eager")
    with _quiet():
        torch.onnx.export(
            _Logits(model).eval(), _batch(model, 2, min(8, longest)), str(path), input_names=NAMES,
            output_names=["logits"], dynamic_shapes=dict.fromkeys(NAMES, sizes), dynamo=True, external_data=False,
            verbose=False,
        )  # fmt: skip
    _strip(path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter from telling of packages that these models do not use (torchvision)."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _strip(path: Path) -> None:
    """Take out of a graph what torch notes in it of the code it was made by: traces with this machine's paths."""
    import onnx

    graph = onnx.load(str(path))
    del graph.metadata_props[:]
    graph.doc_string = ""
    for part in _parts(graph):
        for name in ("metadata_props", "doc_string"):
            if name in part.DESCRIPTOR.fields_by_name:
                part.ClearField(name)
    onnx.save(graph, str(path))


def _parts(message: Any) -> Iterator[Any]:
    """Yield a message of a graph and all within it, its tensors' numbers aside."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for each in value if field.is_repeated else [value]:
                yield from _parts(each)


@torch.no_grad()
def check_onnx(folder: Path, model: PreTrainedModel) -> float:
    """Return how far the logits of `FILE` are from the model's at most.

    Args:
        folder: of the export.
        model: that is there, in fp32.

    Raises:
        HunminError: the graph gives other logits.
    """
    import onnxruntime

    longest = model.config.max_position_embeddings - first_position(model.config)
    session = onnxruntime.InferenceSession(str(folder / FILE), providers=["CPUExecutionProvider"])
    difference = 0.0
    for size, length in ((1, 5), (3, min(64, longest))):
        batch = _batch(model, size, length)
        found = session.run(["logits"], {name: each.numpy() for name, each in zip(NAMES, batch, strict=True)})[0]
        wanted = _Logits(model).eval()(*batch).numpy()
        difference = max(difference, float(np.abs(found - wanted).max()))
    if not difference <= TOLERANCE:
        raise HunminError(
            f"the ONNX graph's logits differ by up to {difference:.3g}",
            f"an export changes no logit by more than {TOLERANCE:g}",
            "report this with the versions of torch and onnxruntime; export without --onnx meanwhile",
        )
    return difference


def _batch(model: PreTrainedModel, size: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return fixed ids, of which the last sample is padded, with their mask and segments."""
    generator = torch.Generator().manual_seed(size)
    ids = torch.randint(5, model.config.vocab_size, (size, length), generator=generator)
    mask = torch.ones_like(ids)
    mask[-1, length - length // 3 :] = 0
    return ids.masked_fill(mask == 0, model.config.pad_token_id), mask, torch.zeros_like(ids)
