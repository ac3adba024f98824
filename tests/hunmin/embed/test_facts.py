"""What a run's stage `embed` tells its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.results import encoded
from hunmin.embed.facts import EmbedFacts, read_embed


def test_a_folder_tells_as_much_as_it_holds(tmp_path: Path) -> None:
    assert read_embed(tmp_path / "embed") == EmbedFacts([], {}, {})
    tasks = {name: {"metric": "cosine_spearman", "differs": []} for name in ("KLUE-STS", "KorSTS")}
    table = {"heading": "2 of 20 tasks of MTEB(kor, v2)", "tasks": tasks, "rows": [
        {"model": "x", "scores": {"KLUE-STS": 70.0, "KorSTS": 71.0}, "trained_on": [], "truncate": None},
        {"model": "x, 64 entries", "scores": {"KLUE-STS": 68.0, "KorSTS": 69.5}, "trained_on": [], "truncate": 64},
        {"model": "x, untuned", "scores": {"KLUE-STS": 12.0, "KorSTS": 40.0}, "trained_on": [], "truncate": None},
    ]}  # fmt: skip
    graphs = {"onnx-int8": {"bytes": 3, "sha256": "0", "sentences_per_second": 900, "cosine": 0.9991}}
    files: dict[str, Any] = {
        "logs/metrics.jsonl": {"step": 10, "loss": 2.5}, "scores/table.json": table, "model/onnx/measured.json": graphs,
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        sealed = content is table or content is graphs
        (tmp_path / name).write_bytes(encoded(content) if sealed else json.dumps(content).encode() + b"\n")
    facts = read_embed(tmp_path)
    assert facts.losses == [(10, 2.5)] and facts.scores == table and facts.graphs == graphs
