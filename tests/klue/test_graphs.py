"""Graphs of fine-tuned models: their logits are transformers' own, and the agreement of int8 is counted by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer

from common.errors import HunminError
from hunmin.main import run_command
from klue import graphs
from klue.job import run_job
from klue.model_index import hub_task
from klue.runner import run_klue
from klue.settings import KlueSettings
from klue.tasks import TASKS
from klue.tasks.own import OwnTask, build_own
from tests.klue.heads.test_heads import make_job

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
import onnxruntime

TEXTS = ["책 있다.", "사과 없다", "책 사과 책 사과 있다 없다."]
FAST = {"epochs": 2, "max_seq_len": 32, "learning_rate": 1e-2, "evaluations_per_epoch": 1}


def saved(name: str, data: Path, model: Path, out: Path) -> Path:
    """Return the folder of a model fine-tuned on a benchmark's task."""
    job, _, _ = make_job(name, data, model, out, train=12, dev=8, learning_rate=1e-2)
    run_job(job.model_copy(update={"save_model": True}))
    return Path(job.folder) / "model"


def saved_own(model: Path, out: Path, **row: Any) -> Path:
    """Return the folder of a model fine-tuned on own examples: two labels a text, or the number of its words."""
    rows = [{"body": text, "kinds": f"{text[0]}|{text[-1]}", "size": len(text)} for text in TEXTS * 12]
    with (out / "t.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    own = {"name": "mine", "train": str(out / "t.csv"), "text": "body", **row}
    settings = {"suites": ["own"], "own": [own], "training": FAST, "save_model": "best", "workers": 0}
    run_klue(KlueSettings.model_validate(settings), model, out / "scores")
    (folder,) = (out / "scores" / "jobs").glob("*/model")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pairs", "tagger", "labels", "number"])
def test_graphs_give_the_folder_s_logits(
    kind: str, benchmark: Path, tiny_bert: Path, sample_benchmark: Path, sample_bert: Path,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Of one with token types (bert) and one without; labels are counted text by text, or token by token."""
    monkeypatch.setattr(graphs, "LEAST_AGREEMENT", -1.0)  # trained for a moment, they decide little
    if kind == "pairs":
        folder = saved("klue-nli", benchmark, tiny_bert, tmp_path)
        records: list[dict[str, str]] = [{"premise": a, "hypothesis": b} for a in TEXTS for b in TEXTS]
    elif kind == "tagger":
        folder = saved("klue-ner", sample_benchmark, sample_bert, tmp_path)
        records = [{"text": text} for text in TEXTS]
    else:
        row = {"kind": "multi-label", "label": "kinds"} if kind == "labels" else {"kind": "regression", "label": "size"}
        folder = saved_own(sample_bert, tmp_path, **row)
        records = [{"body": text} for text in TEXTS]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    capsys.readouterr()
    words = ["export", str(folder), "--onnx", "--int8", "--texts", str(tmp_path / "t.jsonl"), "--json"]
    assert run_command(words) == 0
    told = json.loads(capsys.readouterr().out)

    auto = AutoModelForTokenClassification if kind == "tagger" else AutoModelForSequenceClassification
    model = auto.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    agreed: dict[str, list[bool]] = {"onnx": [], "onnx-int8": []}
    outputs: dict[str, list[tuple[float, float]]] = {"onnx": [], "onnx-int8": []}
    files = {"onnx": "onnx/model.onnx", "onnx-int8": "onnx/model_int8.onnx"}
    for name, file in files.items():
        session = onnxruntime.InferenceSession(str(folder / file), providers=["CPUExecutionProvider"])
        assert [one.name for one in session.get_outputs()] == ["logits"]
        for record in records:
            inputs = tokenizer(*record.values(), return_tensors="pt")
            (logits,) = session.run(["logits"], {key: value.numpy() for key, value in inputs.items()})
            with torch.no_grad():
                expected = model(**inputs).logits.numpy()
            if name == "onnx":
                np.testing.assert_allclose(logits, expected, atol=1e-4)
            if kind == "number":
                outputs[name].append((float(logits[0, 0]), float(expected[0, 0])))
            elif kind == "labels":
                agreed[name] += [*((logits > 0) == (expected > 0)).ravel()]
            else:
                agreed[name] += [*(logits.argmax(-1) == expected.argmax(-1)).ravel()]
    assert told["onnx"]["agreement"] == pytest.approx(1, abs=1e-4)
    # a batch is scaled as one where activations become 8 bits: a few labels may turn
    counted = np.corrcoef(np.array(outputs["onnx-int8"]).T)[0, 1] if kind == "number" else np.mean(agreed["onnx-int8"])
    assert told["onnx-int8"]["agreement"] == pytest.approx(
        counted, abs=0.5 if kind == "number" else 0.2
    )  # of a few texts
    assert told["onnx-int8"]["bytes"] == (folder / files["onnx-int8"]).stat().st_size < told["onnx"]["bytes"]


@pytest.mark.slow
def test_a_graph_that_decides_otherwise_is_refused(
    benchmark: Path, tiny_roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved("ynat", benchmark, tiny_roberta, tmp_path)
    before = sorted(folder.rglob("*"))
    monkeypatch.setattr(graphs, "LEAST_AGREEMENT", 1.01)
    with pytest.raises(HunminError, match=r"(?s)agreement 1\.0000.*smallest agreement is 1\.01"):
        graphs.export_finetuned(folder)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["klue-re", "klue-mrc", "klue-dp"])
def test_heads_without_a_graph_are_refused(
    name: str, sample_benchmark: Path, sample_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved(name, sample_benchmark, sample_bert, tmp_path)
    assert run_command(["export", str(folder), "--onnx"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"is of {TASKS[name].title}, which has no ONNX graph" in said and "hunmin klue predict" in said
    assert run_command(["export", str(tmp_path), "--onnx", "--texts", "t.jsonl"]) == 2
    assert not (folder / "onnx").exists()


def test_the_hub_s_kind_is_that_of_the_head() -> None:
    own = {"name": "mine", "train": "t.csv"}
    kinds = {
        "ynat": "text-classification", "klue-sts": "sentence-similarity", "korsts": "sentence-similarity",
        "klue-ner": "token-classification", "klue-dp": "token-classification", "klue-mrc": "question-answering",
        "korquad": "question-answering", "wos": "text-generation", "kobest-copa": "multiple-choice",
    }  # fmt: skip
    assert {name: hub_task(TASKS[name]) for name in kinds} == kinds
    rows: dict[str, dict[str, Any]] = {
        "text-classification": {"kind": "regression"},
        "sentence-similarity": {"kind": "regression", "text": ["a", "b"]},
        "multiple-choice": {"kind": "choice", "choices": ["a", "b"]},
        "question-answering": {"kind": "reading", "train": "t.json"},
    }  # fmt: skip
    assert {kind: hub_task(build_own(OwnTask.model_validate({**own, **row}))) for kind, row in rows.items()} == {
        kind: kind for kind in rows
    }
