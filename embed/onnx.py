"""An encoder as ONNX graphs, fp32 and int8, that give `last_hidden_state`; sentence-transformers computes with them."""

from __future__ import annotations

import time
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import DamagedError, UserError
from common.extras import require
from common.files import sha256_file
from common.model_files import MEASURED
from embed.base import begin_model, load_encoder, load_model, refuse_multi_vector
from embed.settings import GRAPHS, EmbedSettings
from embed.tables import read_graphs
from klue.model_folder import read_model_folder
from pretrain.export import check, onnx
from pretrain.export.graphs import Graphs, open_graph

LEAST_COSINE = 0.99
"""Smallest cosine of a sentence's int8 vector to its fp32 vector."""
TEXTS = [*check.TEXTS, *onnx.TEXTS]
TEXTS += [" ".join(pair) for pair in permutations(TEXTS, 2)]
"""Sentences that the graphs are compared and timed on."""


def export_encoder(folder: Path, int8: bool = False, overwrite: bool = False) -> dict[str, Any]:
    """Write the graphs into a model's folder and return {graph: {"bytes", "sentences_per_second", "cosine": smallest to
    the model's own vectors}}.

    Raises:
        UserError: the folder holds no encoder, or other files of these names; or the packages of the extra `onnx` are
            absent.
        HunminError: a graph gives other vectors than the model; no graph is left then.
    """
    require("sentence_transformers", "hunmin export MODEL --onnx", "embed")
    graphs = Graphs(folder, GRAPHS, int8, overwrite)
    longest = read_model_folder(folder).max_positions
    encoder = load_encoder(folder).eval()
    if (folder / "modules.json").is_file():
        model = load_model(folder, "cpu").float()
        refuse_multi_vector(model, folder, "hunmin export MODEL --onnx")
    else:
        bare = {"data": [{"path": folder.name}], "max_seq_len": min(128, longest)}
        model = begin_model(folder, EmbedSettings.model_validate(bare), "cpu")
    expected = model.encode(TEXTS, normalize_embeddings=True)
    measure = partial(_measured, model, expected)
    return graphs.write(encoder, "last_hidden_state", longest, measure, "cosine", LEAST_COSINE)


def _measured(model: Any, expected: np.ndarray, graph: Path) -> dict[str, Any]:
    use_graph(model, graph)
    cosines = (model.encode(TEXTS, normalize_embeddings=True) * expected).sum(1)
    begun = time.perf_counter()
    model.encode(TEXTS * 8)
    speed = len(TEXTS) * 8 / (time.perf_counter() - begun)
    return {"sentences_per_second": round(speed), "cosine": round(float(cosines.min()), 6)}


def graph_of(folder: Path, backend: str) -> Path:
    """Return a model's graph for a back end, one of `GRAPHS`.

    Raises:
        UserError: the folder has none.
        DamagedError: it is another than the one that was measured.
    """
    path = folder / GRAPHS[backend]
    again = f"hunmin export {folder} --onnx --int8"
    if not path.is_file():
        raise UserError(f"{path} is missing", fix=again)
    measured = read_graphs(folder).get(backend)
    if measured and measured["sha256"] != sha256_file(path):
        rule = f"a graph is used as {folder / MEASURED} describes it"
        raise DamagedError(f"{path} is damaged or was changed", rule, f"make it again: {again} --overwrite")
    return path


def use_graph(model: Any, graph: Path) -> Any:
    """Return a model of sentence-transformers on the CPU, whose encoder is now a graph."""
    from transformers.modeling_outputs import BaseModelOutput

    last_hidden_state = open_graph(graph)
    model[0].model.forward = lambda **inputs: BaseModelOutput(last_hidden_state=last_hidden_state(**inputs))
    return model
