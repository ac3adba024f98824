"""The ONNX graphs of a model's folder, fp32 and int8: written, measured beside the model, computed with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from common.destinations import OutputFile
from common.errors import HunminError, UserError
from common.files import sha256_file
from common.model_files import MEASURED
from common.results import encoded
from pretrain.export.onnx import check_onnx, refuse_onnx, write_onnx

KINDS = {"onnx": b"pytorch", "onnx-int8": b"onnx.quantize"}
"""Graph → its producer, which stands in its file."""


class Graphs:
    """The graphs of a model's folder and the file of their figures; refused at once where one may not be written.

    Args:
        folder: of the model.
        files: each of `KINDS` → its file in the folder.
        int8: the graph of 8-bit weights as well.
        overwrite: replace earlier graphs.

    Raises:
        UserError: another file has such a name, or the packages of the extra `onnx` are absent.
    """

    def __init__(self, folder: Path, files: Mapping[str, str], int8: bool, overwrite: bool) -> None:
        refuse_onnx("fp32")
        self.folder = folder
        self.places = {
            name: OutputFile(folder / file, KINDS[name], overwrite)
            for name, file in files.items()
            if int8 or name == "onnx"
        }
        # sizes and speeds stay in step with the graphs
        self.measured = OutputFile(folder / MEASURED, b'"sentences_per_second":', overwrite)

    def write(
        self, model: PreTrainedModel, output: str, longest: int, measure: Callable[[Path], dict[str, Any]],
        figure: str, least: float,
    ) -> dict[str, dict[str, Any]]:  # fmt: skip
        """Write the graphs, once all of them are near enough to the model, and return graph → figures.

        Args:
            output: name of the only output.
            longest: input in tokens.
            measure: returns the figures of a graph, `figure` among them.
            figure: that tells how near a graph's output is to the model's.
            least: its smallest value.

        Raises:
            HunminError: a graph's output is too far from the model's; none is left then.
        """
        figures = {}
        with TemporaryDirectory(dir=self.folder, prefix=".onnx-") as temporary:
            paths = {name: Path(temporary, place.path.name) for name, place in self.places.items()}
            graph = str(paths["onnx"].relative_to(self.folder))
            write_onnx(self.folder, model, graph, output, longest)
            check_onnx(self.folder, model, graph, longest)
            if "onnx-int8" in paths:
                _quantize(paths["onnx"], paths["onnx-int8"])
            for name, path in paths.items():
                figures[name] = measured = {"bytes": path.stat().st_size, "sha256": sha256_file(path), **measure(path)}
                if not measured[figure] >= least:
                    raise HunminError(
                        f"{self.places[name].path} has {figure} {measured[figure]:.4f} to the model's own output",
                        f"the smallest {figure} is {least}",
                        f"serve {self.places['onnx'].path} (leave out --int8)",
                    )
            for name, path in paths.items():
                self.places[name].place(path)
            with self.measured.open("wb") as stream:
                stream.write(encoded(figures))
        return figures


def _quantize(graph: Path, out: Path) -> None:
    from onnxruntime.quantization import QuantType, quant_pre_process, quantize_dynamic

    ready = graph.with_name("ready.onnx")
    quant_pre_process(str(graph), str(ready), skip_symbolic_shape=True)
    quantize_dynamic(ready, out, per_channel=True, weight_type=QuantType.QInt8)


def open_graph(graph: Path, threads: int = 0) -> Callable[..., Tensor]:
    """Return a function from a graph's inputs, by name, to its only output; token types that are not given are 0.

    Args:
        threads: of the CPU; 0: one for each core.

    Raises:
        UserError: onnxruntime does not load the graph.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of a class for each fault
        reason = str(error).splitlines()[0]
        raise UserError(f"{graph} is no graph that onnxruntime loads: {reason}", fix="export it again") from None
    names = [entry.name for entry in session.get_inputs()]

    def forward(**inputs: Tensor) -> Tensor:
        filled = {"token_type_ids": torch.zeros_like(inputs["input_ids"]), **inputs}
        (output,) = session.run(None, {name: filled[name].numpy() for name in names})
        return torch.from_numpy(output)

    return forward
