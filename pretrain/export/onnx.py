"""A model as an ONNX graph, checked against the model's output."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from common.errors import HunminError, UserError
from common.extras import require
from pretrain.models.registry import usable_positions

FILE = "onnx/model.onnx"
TOLERANCE = 1e-4
"""Largest difference of an entry of the output, as a share of the largest entry where that is above 1."""


class _First(torch.nn.Module):
    """A model that gives its first output alone: logits, or the last hidden states of a bare encoder."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        return self.model(input_ids, attention_mask=attention_mask, return_dict=False, **types)[0]


NAMES = ("input_ids", "attention_mask", "token_type_ids")
"""Inputs that a graph may have; it has those that the tokenizer of its folder returns."""
TEXTS = ("오늘 날씨가 정말 좋네요!", "훈민정음은 세종대왕이 1443년에 창제한 문자이다. " * 2)
"""Texts by which a graph is checked: each alone, both in a batch, and as a pair."""


def refuse_onnx(dtype: str) -> None:
    """Raise a UserError for weights that are not fp32, or where the packages of the extra `onnx` are absent."""
    if dtype != "fp32":
        raise UserError(
            "an ONNX graph of 16-bit weights", "the graph is written in fp32", "leave out --dtype or --onnx"
        )
    for name in ("onnx", "onnxruntime", "onnxscript"):
        require(name, "--onnx", "onnx")


@torch.no_grad()
def write_onnx(
    folder: Path, model: PreTrainedModel, file: str = FILE, output: str = "logits", longest: int | None = None
) -> None:
    """Write a graph of a model in fp32 into its folder, with nothing of this machine in it: no path, no line of code.

    Inputs: those of `NAMES` that the folder's tokenizer returns, all int64 (batch, sequence); `output` names the only
    output. `longest` sample in tokens; None: that of a model that Hunmin pretrains.
    """
    path = folder / file
    names = _input_names(_tokenizer(folder))
    path.parent.mkdir(exist_ok=True)
    longest = longest or usable_positions(model.config)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=longest)}
    model.set_attn_implementation("eager")
    with _quiet():
        torch.onnx.export(
            _First(model).eval(), _batch(model, 2, min(8, longest))[: len(names)], str(path), input_names=names,
            output_names=[output], dynamic_shapes=dict.fromkeys(names, sizes), dynamo=True, external_data=False,
            verbose=False,
        )  # fmt: skip
    _strip(path)


def _tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _input_names(tokenizer: PreTrainedTokenizerBase) -> tuple[str, ...]:
    """Return the names of what a tokenizer returns, in the order of `NAMES`, or raise a HunminError for others."""
    returned = set(tokenizer(TEXTS[0]))
    if not set(NAMES[:2]) <= returned <= set(NAMES):
        raise HunminError(
            f"the export's tokenizer returns {', '.join(sorted(returned))}",
            f"an ONNX graph takes {NAMES[0]}, {NAMES[1]} and perhaps {NAMES[2]}",
            "fix model_input_names in its tokenizer_config.json, or export without --onnx",
        )
    return tuple(name for name in NAMES if name in returned)


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
def check_onnx(folder: Path, model: PreTrainedModel, file: str = FILE, longest: int | None = None) -> float:
    """Return the largest difference of a graph's output from the model's, on fixed ids and on the tokenizer's.

    Raises:
        HunminError: the graph gives another output, or takes other inputs than the tokenizer returns.
    """
    import onnxruntime

    tokenizer = _tokenizer(folder)
    names = _input_names(tokenizer)
    session = onnxruntime.InferenceSession(str(folder / file), providers=["CPUExecutionProvider"])
    if {graph_input.name for graph_input in session.get_inputs()} != set(names):
        raise HunminError(
            f"the ONNX graph asks for {', '.join(sorted(graph_input.name for graph_input in session.get_inputs()))}",
            f"its tokenizer returns {', '.join(names)}",
            "export again",
        )
    longest = longest or usable_positions(model.config)
    options = {"return_tensors": "pt", "padding": True, "truncation": True, "max_length": longest}
    sizes = ((1, min(5, longest)), (3, min(64, longest)))
    batches = [dict(zip(names, _batch(model, size, length), strict=False)) for size, length in sizes]
    batches += [dict(tokenizer(list(texts), **options)) for texts in (TEXTS[:1], TEXTS)]
    batches += [dict(tokenizer([TEXTS[0]], [TEXTS[1]], **options))]
    difference, largest, output = 0.0, 1.0, session.get_outputs()[0].name
    for batch in batches:
        graph_output = session.run([output], {name: each.numpy() for name, each in batch.items()})[0]
        model_output = _First(model).eval()(**batch).numpy()
        difference = max(difference, float(np.abs(graph_output - model_output).max()))
        largest = max(largest, float(np.abs(model_output).max()))
    if not difference <= TOLERANCE * largest:
        raise HunminError(
            f"the ONNX graph's {output} differ by up to {difference:.3g}",
            f"an export changes none by more than {TOLERANCE:g} of the largest",
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
