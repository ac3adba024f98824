"""An exported model as an ONNX graph, checked against its logits."""

from __future__ import annotations

import warnings
from pathlib import Path

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


@torch.no_grad()
def write_onnx(folder: Path, model: PreTrainedModel) -> float:
    """Write `FILE` into an export, and return how far its logits are from the model's at most.

    Inputs: input_ids, attention_mask, token_type_ids, all int64 (batch, sequence); output: logits.

    Args:
        folder: of the export.
        model: that is there, in fp32.

    Raises:
        UserError: the packages of the extra `onnx` are not installed, or the weights are not fp32.
        HunminError: the graph gives other logits.
    """
    try:
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"--onnx needs {error.name}, which is not installed", remedy="pip install -c constraints.txt -e '.[onnx]'"
        ) from None
    if model.dtype != torch.float32:
        raise UserError(
            "an ONNX graph of 16-bit weights", "the graph is written in fp32", "leave out --dtype or --onnx"
        )
    path = folder / FILE
    path.parent.mkdir(exist_ok=True)
    longest = model.config.max_position_embeddings - first_position(model.config)
    names = ("input_ids", "attention_mask", "token_type_ids")
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=longest)}
    model.set_attn_implementation("eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Logits(model).eval(), _batch(model, 2, min(8, longest)), str(path), input_names=names,
            output_names=["logits"], dynamic_shapes=dict.fromkeys(names, sizes), dynamo=True, external_data=False,
            verbose=False,
        )  # fmt: skip
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    difference = 0.0
    for size, length in ((1, 5), (3, min(64, longest))):
        batch = _batch(model, size, length)
        found = session.run(["logits"], {name: each.numpy() for name, each in zip(names, batch, strict=True)})[0]
        wanted = _Logits(model)(*batch).numpy()
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
