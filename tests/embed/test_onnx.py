"""Graphs: the vectors of sentence-transformers, of transformers and of onnxruntime are the same; int8 is near."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_encoders import write_encoder, write_sts
from transformers import AutoModel, AutoTokenizer

from common.errors import DamagedError, HunminError, UserError
from common.model_files import MEASURED
from common.process import own_package
from common.settings import settings_hash
from embed.settings import GRAPHS

pytest.importorskip("sentence_transformers")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
import onnxruntime

from embed import onnx
from embed.base import load_model

pytestmark = pytest.mark.slow
TEXTS = ["서울 사과 어디", "포도는 부산에서 판다 " * 9, "전주 감자"]


def means(hidden: Any, mask: Any) -> Any:
    return (hidden * mask[..., None]).sum(1) / mask.sum(1)[:, None]


def test_three_ways_give_the_same_vectors(run: Any, rows: dict[str, Any], tmp_path: Path) -> None:
    """Of a tuned folder. At this width, embeddings of one byte a weight outweigh scales and fp32 rest."""
    base = write_encoder(tmp_path / "base", hidden_size=128, intermediate_size=512)
    folder = run(base, [rows["triplets"]], tmp_path / "run", steps=2) / "model"
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"of the export")
    found = onnx.export_encoder(folder, int8=True)
    sizes = [(folder / GRAPHS[name]).stat().st_size for name in ("onnx", "onnx-int8")]
    assert sizes[1] <= 0.3 * sizes[0] and [one["bytes"] for one in found.values()] == sizes
    assert {**found, "digest": settings_hash(found)} == json.loads((folder / MEASURED).read_bytes())
    assert found["onnx"]["cosine"] == pytest.approx(1, abs=1e-5) and found["onnx-int8"]["cosine"] >= 0.99
    assert (folder / "onnx" / "model.onnx").read_bytes() == b"of the export" and not list(folder.glob(".onnx-*"))
    with pytest.raises(UserError, match=r"encoder.onnx: it already exists"):
        onnx.export_encoder(folder)
    assert onnx.export_encoder(folder, int8=True, overwrite=True).keys() == found.keys()

    vectors = load_model(folder, "cpu").encode(TEXTS)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    batch = tokenizer(TEXTS, padding=True, truncation=True, max_length=16, return_tensors="pt")
    encoder = AutoModel.from_pretrained(folder, add_pooling_layer=False, trust_remote_code=False).eval()
    with torch.no_grad():
        plain = means(encoder(**batch).last_hidden_state, batch["attention_mask"]).numpy()
    session = onnxruntime.InferenceSession(str(folder / "onnx" / "encoder.onnx"), providers=["CPUExecutionProvider"])
    feeds = {name: value.numpy() for name, value in batch.items()}
    assert [one.name for one in session.get_inputs()] == ["input_ids", "attention_mask"]
    assert [one.name for one in session.get_outputs()] == ["last_hidden_state"]
    graph = means(session.run(None, feeds)[0], feeds["attention_mask"])

    def with_graph(backend: str, **given: Any) -> Any:
        return onnx.use_graph(load_model(folder, "cpu", **given), onnx.graph_of(folder, backend))

    for other in (plain, graph, with_graph("onnx").encode(TEXTS)):
        np.testing.assert_allclose(vectors, other, atol=1e-5)
    cut = with_graph("onnx-int8", truncate=8).encode(TEXTS)
    assert cut.shape == (3, 8) and not np.allclose(cut, vectors[:, :8], atol=1e-7)

    pytest.importorskip("mteb")
    from embed.score import score_models

    data = [write_sts(tmp_path / "klue")]
    table = score_models(folder, data, tmp_path / "scores", ["KLUE-STS"], backend="onnx-int8", widths=[8])
    scores = {row["model"]: row["scores"]["KLUE-STS"] for row in table["rows"]}
    assert list(scores)[:3] == ["model", "model, onnx-int8", "model, 8 entries"]
    assert abs(scores["model"] - scores["model, onnx-int8"]) <= 1
    assert [row["truncate"] for row in table["rows"]] == [None, None, 8, None, None]


def test_the_command_prints_its_table_and_no_reports_of_libraries(tmp_path: Path) -> None:
    """Of a bare encoder that was saved with its head."""
    folder = write_encoder(tmp_path / "bare")
    command = [sys.executable, "-c", "from hunmin.main import main; main()", "export", str(folder), "--onnx", "--int8"]
    done = subprocess.run([*command, "--json"], env={**os.environ, **own_package()}, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert list(json.loads(done.stdout)) == list(GRAPHS)
    graph = folder / GRAPHS["onnx"]
    assert onnx.graph_of(folder, "onnx") == graph
    graph.write_bytes(graph.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedError, match=r"encoder\.onnx is damaged or was changed"):
        onnx.graph_of(folder, "onnx")
    graph.write_bytes(b"no graph")
    (folder / MEASURED).unlink()
    with pytest.raises(UserError, match=r"encoder\.onnx is no graph that onnxruntime loads"):
        onnx.use_graph(None, onnx.graph_of(folder, "onnx"))


def test_a_graph_far_from_its_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a bare encoder; both numbers are told, and nothing is left."""
    folder = write_encoder(tmp_path / "bare")
    monkeypatch.setattr(onnx, "LEAST_COSINE", 1.01)
    with pytest.raises(HunminError, match=r"(?s)has cosine (1\.0000|0\.9\d+).*smallest cosine is 1\.01"):
        onnx.export_encoder(folder, int8=True)
    assert not (folder / "onnx").exists()
    with pytest.raises(UserError, match=r"encoder_qint8.onnx is missing"):
        onnx.graph_of(folder, "onnx-int8")
