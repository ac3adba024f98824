"""An encoder as ONNX graphs, fp32 and int8, that give `last_hidden_state`; sentence-transformers computes with them."""

from __future__ import annotations

import time
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from common.destinations import OutputFile
from common.errors import DamagedError, HunminError, UserError
from common.extras import require
from common.files import sha256_file
from common.results import encoded
from embed.base import begin_model, load_encoder, load_model, refuse_multi_vector
from embed.settings import GRAPHS, MEASURED, EmbedSettings
from embed.tables import read_graphs
from klue.model_folder import read_model_folder
from pretrain.export import check, onnx

LEAST_COSINE = 0.99
"""Smallest cosine of a sentence's int8 vector to its fp32 vector."""
KINDS = {"onnx": b"pytorch", "onnx-int8": b"onnx.quantize"}
"""Graph → its producer, which stands in its file."""
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
    onnx.refuse_onnx("fp32")
    require("sentence_transformers", "hunmin export MODEL --onnx", "embed")
    places = {
        name: OutputFile(folder / file, KINDS[name], overwrite)
        for name, file in GRAPHS.items()
        if int8 or name == "onnx"
    }
    # sizes and speeds stay in step with the graphs
    measured_file = OutputFile(folder / MEASURED, b'"sentences_per_second":', overwrite)
    longest = read_model_folder(folder).max_positions
    encoder = load_encoder(folder).eval()
    if (folder / "modules.json").is_file():
        model = load_model(folder, "cpu").float()
        refuse_multi_vector(model, folder, "hunmin export MODEL --onnx")
    else:
        bare = {"data": [{"path": folder.name}], "max_seq_len": min(128, longest)}
        model = begin_model(folder, EmbedSettings.model_validate(bare), "cpu")
    expected = model.encode(TEXTS, normalize_embeddings=True)
    figures = {}
    with TemporaryDirectory(dir=folder, prefix=".onnx-") as temporary:
        paths = {name: Path(temporary, place.path.name) for name, place in places.items()}
        graph = str(paths["onnx"].relative_to(folder))
        onnx.write_onnx(folder, encoder, graph, "last_hidden_state", longest)
        onnx.check_onnx(folder, encoder, graph, longest)
        if int8:
            from onnxruntime.quantization import QuantType, quant_pre_process, quantize_dynamic

            ready = Path(temporary, "ready.onnx")
            quant_pre_process(str(paths["onnx"]), str(ready), skip_symbolic_shape=True)
            quantize_dynamic(ready, paths["onnx-int8"], per_channel=True, weight_type=QuantType.QInt8)
        for name, path in paths.items():
            figures[name] = measured = _measured(use_graph(model, path), path, expected)
            if not measured["cosine"] >= LEAST_COSINE:
                raise HunminError(
                    f"a vector of {GRAPHS[name]} has cosine {measured['cosine']:.4f} to the model's own",
                    f"the smallest cosine is {LEAST_COSINE}",
                    "serve onnx/encoder.onnx (leave out --int8)",
                )
        for name, path in paths.items():
            places[name].place(path)
        with measured_file.open("wb") as stream:
            stream.write(encoded(figures))
    return figures


def _measured(model: Any, graph: Path, expected: np.ndarray) -> dict[str, Any]:
    cosines = (model.encode(TEXTS, normalize_embeddings=True) * expected).sum(1)
    begun = time.perf_counter()
    model.encode(TEXTS * 8)
    speed = len(TEXTS) * 8 / (time.perf_counter() - begun)
    facts = {"bytes": graph.stat().st_size, "sha256": sha256_file(graph), "sentences_per_second": round(speed)}
    return facts | {"cosine": round(float(cosines.min()), 6)}


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
    import onnxruntime
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    try:
        session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    except Exception as error:  # of a class for each fault
        reason = str(error).splitlines()[0]
        raise UserError(f"{graph} is no graph that onnxruntime loads: {reason}", fix="export it again") from None
    names = [one.name for one in session.get_inputs()]

    def forward(**inputs: Any) -> BaseModelOutput:
        (hidden,) = session.run(None, {name: inputs[name].numpy() for name in names})
        return BaseModelOutput(last_hidden_state=torch.from_numpy(hidden))

    model[0].model.forward = forward
    return model
