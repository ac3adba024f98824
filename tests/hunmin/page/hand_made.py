"""Run folders made by hand, a stage at a time: what a page must show of them is known beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from common.manifest import Manifest, describe_outputs, read_manifest, write_manifest
from common.message import Message, as_tree
from common.results import encoded
from hunmin.pipeline.stages import stage_named
from klue.examples import SPLIT_TO_SCORE
from klue.results import metrics_of
from klue.tasks import TASKS
from pretrain.callbacks.checkpoint_metadata import write_metadata
from tokenizer.save import build_tokenizer, save_tokenizer

ENTRIES = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", "인공", "##지능", "연구", "##자", "A", "##b", "7", "漢", "!"]
"""Five special ones; of Hangul two that begin a word and two that go on; of Latin letters one each; three others."""
SENTENCES = ["첫째 문장이다.", "둘째 문장도 있다."]


class HandMade:
    """A run folder; what is finished is finished in the order of the calls.

    Args:
        path: of the folder.
        name: of the run.
        klue: of its recipe's section `klue`.
    """

    def __init__(self, path: Path, name: str = "by-hand", **klue: Any) -> None:
        self.path = path
        path.mkdir(parents=True)
        model = {"type": "roberta", "layers": 2, "hidden": 64, "heads": 4}
        pretrain = {
            "steps": 100,
            "model": model,
            "init_from": "/home/someone/models/first",
            "optimizer": {"learning_rate": 0.5},
        }
        recipe = {"name": name, "out": str(path), "pretrain": pretrain, "klue": {"data": "/data/klue", **klue}}
        (path / "recipe.yaml").write_text(yaml.safe_dump(recipe, allow_unicode=True), encoding="utf-8")

    def write(self, name: str, content: Any) -> None:
        """Write a file as its stage would have: a list as JSON Lines, a dictionary as JSON, text as it is."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
        target.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")
        self._describe(self.path / Path(name).parts[0])

    def leave_out(self, name: str) -> None:
        """Remove a file as if its stage had not written it."""
        (self.path / name).unlink()
        self._describe(self.path / Path(name).parts[0])

    def _describe(self, folder: Path) -> None:
        if before := read_manifest(folder):
            again = {name: facts for name, facts in before.outputs.items() if name == "result"}
            now = before.model_copy(update={"outputs": again | describe_outputs(folder)})
            write_manifest(folder, now)
            for path in self.path.glob("*/manifest.json"):
                path.write_text(path.read_text("utf-8").replace(before.fingerprint, now.fingerprint), "utf-8")

    def finish(self, stage: str, counts: dict[str, Any], seconds: float, again: bool = False) -> None:
        """Give a stage its manifest and its time; `again`: with other settings than before."""
        described = stage_named(stage)
        inputs = {}
        for name in described.after:
            upstream = read_manifest(self.path / stage_named(name).folder)
            assert upstream
            inputs[name] = upstream.fingerprint
        folder = self.path / described.folder
        folder.mkdir(exist_ok=True)
        versions = {"hunmin": "0.1.0", f"package-of-{stage}": "1.2.3"}
        settings, mark = {"of": stage}, {"result": {"bytes": 1, "sha256": f"{stage} {again}", "xxh3": ""}}
        outputs = mark | describe_outputs(folder)
        write_manifest(
            folder,
            Manifest(stage=stage, settings=settings, inputs=inputs, outputs=outputs, counts=counts, versions=versions),
        )
        (self.path / "logs").mkdir(exist_ok=True)
        with (self.path / "logs" / "timing.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"stage": stage, "seconds": seconds}) + "\n")

    def corpus(self, first: str = "books", second: str = "web") -> None:
        """Finish the corpus, of two sources."""
        kept = {
            first: {"documents": 30, "sentences": 300, "words": 3000, "characters": 9000, "bytes": 3_000_000},
            second: {"documents": 10, "sentences": 100, "words": 1000, "characters": 3000, "bytes": 1_000_000},
        }
        read = {
            first: {"documents": 40, "words": 4000, "characters": 12000, "bytes": 4_000_000},
            second: {"documents": 10, "words": 1000, "characters": 3000, "bytes": 1_000_000},
        }

        def total(counts: dict[str, dict[str, int]], source: str) -> dict[str, int]:
            return {field: counts[first][field] + counts[second][field] for field in counts[source]}

        bins = [{"from": 0, "to": 50, "count": 0}, {"from": 50, "to": 100, "count": 30},
                {"from": 100, "to": 200, "count": 10}, {"from": 200, "to": None, "count": 0}]  # fmt: skip
        statistics = {
            "total": {"read": total(read, first), "kept": total(kept, first)},
            "sources": {name: {"read": read[name], "kept": kept[name]} for name in (first, second)},
            "lengths": {"documents": bins, "sentences": [{"from": 0, "to": None, "count": 400}]},
            "split": 450,
            "cleaning": {"html": {"hits": 7, "characters": 150}, "blanks": {"hits": 9, "characters": 300}},
            "dropped": {"too short": 4},
            "pii": {"TEL": 12, "EMAIL": 3},
            "decontamination": {"ynat": {"exact": 5, "words": 1}, "klue-sts": {"exact": 11}},
            "duplicates": {"documents": 6, "near": 0},
            "mixture": {
                first: _mixed(0.75, (34, 3_400_000), (2, 200_000), (8, 800_000), (24, 2_400_000)),
                second: _mixed(2.0, (10, 1_000_000), (1, 100_000), (0, 0), (18, 1_600_000)),
            },
            "rejects": {"no text": 2},
            "skipped": {"redirect": 8},
            "damaged": {"is damaged or cut short: no end mark": 1},
        }
        self.write("corpus/statistics.json", statistics)
        cut = {"source": "web", "file": "web.jsonl.gz", "reason": "is damaged or cut short: no end mark"}
        self.write("corpus/rejects/files.jsonl", [cut])
        self.write("corpus/hits.jsonl", [{"task": "ynat"}] * 6 + [{"task": "klue-sts"}] * 11)
        counts = {"sentences": 400, "documents": 40, "bytes": 4_000_000, "words": 4000, "benchmark_sentences": 17,
                  "pii": 15, "duplicates": {"documents": 6, "near": 0}, "rejects": 2,
                  "quarantined_files": 1}  # fmt: skip
        self.finish("corpus", counts, 65.0)

    def vocabulary(self) -> None:
        """Finish tokenizer and tokens."""
        folder = self.path / "tokenizer"
        folder.mkdir()
        save_tokenizer(build_tokenizer(ENTRIES, "roberta"), "roberta", 64, folder)
        figures = {"fertility": 1.23446, "unk_ratio": 0.0067}
        held_out = {"bytes": 1000, "words": 100, "subwords": 123, "figures": figures}
        self.finish(
            "tokenizer",
            {
                "vocab_size": 14,
                "corpus": "feedfeedfeedfeed",
                "pre_tokens": 987,
                "distinct_pre_tokens": 321,
                "held_out": held_out,
            },
            5.0,
        )
        self.finish(
            "encode", {"tokens": 10_000, "unk": 25, "documents": 40, "sentences": 400, "empty_documents": 0}, 1.0
        )

    def train(self, rows: list[dict[str, Any]], folder: str = "pretrain") -> None:
        """Write a log of training, with two checkpoints, the first of which is not whole."""
        self.write(f"{folder}/logs/metrics.jsonl", rows)
        for step, size in ((40, 999), (60, 10)):
            path = f"{folder}/checkpoints/step-{step:08d}"
            self.write(f"{path}/weights.safetensors", "0123456789")
            guard = {"faults": 2, "overflows": 0, "skipped": [17, 33]}
            write_metadata(
                self.path / path,
                {"step": step, "tokens": 60_000, "dtype": "bf16", "guard": guard, "world": 8,
                 "device": "NVIDIA H100 80GB HBM3",
                 "files": {"weights.safetensors": [size, "0"]}},
            )  # fmt: skip

    def fine_tune(self, folder: str = "klue") -> None:
        """Write results: YNAT of two seeds, pretrained and random, and KLUE-STS of one."""
        rows = [
            result("ynat", "pretrained", 42, 80.0), result("ynat", "pretrained", 43, 82.0),
            result("ynat", "random", 42, 20.0), result("ynat", "random", 43, 40.0),
            result("klue-sts", "pretrained", 42, 55.25, data_note=Message(SPLIT_TO_SCORE, train=7, dev=3)),
        ]  # fmt: skip
        if folder == "klue":
            self.write("klue/results.jsonl", rows)
            return
        planned = [
            {"job": f"{task}-{init}-{seed}-0123456789"}
            for task in ("ynat", "klue-sts") for init in ("pretrained", "random") for seed in (42, 43)
        ]  # fmt: skip
        self.write(f"{folder}/logs/jobs.jsonl", planned)
        for row in rows[:3]:
            name = f"{row['task']}-{row['init']}-{row['seed']}-0123456789"
            self.write(f"made/jobs/{name}/result.json", encoded(row).decode())
        other = encoded(rows[0] | {"seed": 7}).decode()  # other settings'
        self.write("made/jobs/ynat-pretrained-42-9876543210/result.json", other)

    def whole(self) -> None:
        """Finish all stages."""
        self.corpus()
        self.vocabulary()
        self.train(LINES)
        self.finish("pretrain", {"steps": 100, "tokens": 100_000}, 3720.0)
        self.finish("export", {"parameters": 1_400_000}, 2.0)
        self.fine_tune()
        self.finish("klue", {"jobs": 5, "examples": {"ynat": {}, "klue-sts": {}}, "scores": []}, 130.0)
        losses = {"first": None, "last": None}
        counts = {"tokenizer": {"vocab_size": 14}}
        report = {"name": "by-hand", "counts": counts, "validation": losses, "published": None}
        rows = [result("ynat", "pretrained", 42, 80.0)]
        self.write("report/report.json", {**report, "klue": rows, "contamination": {}})
        self.finish("report", {}, 1.0)

    def embeddings(self) -> None:
        """Write what the stage `embed` leaves: a log of two lines, scores of two models, a graph in 8 bits."""
        self.write("embed/logs/metrics.jsonl", [{"step": 10, "loss": 3.5}, {"step": 20, "loss": 1.25}])
        rows: list[dict[str, Any]] = [
            {"model": model, "scores": {"KLUE-STS": score}, "trained_on": [], "truncate": None}
            for model, score in (("tuned", 70.125), ("untuned", 12.5))
        ]
        figures = {"documents": 200, "bytes": 1_500_000, "encode_seconds": 0.5, "queries": 40, "search_seconds": 0.1}
        rows[0]["index"] = {"AutoRAGRetrieval": figures}
        heading = Message("{count} of {all} tasks of {name}", count=1, all=20, name="MTEB(kor, v2)")
        tasks = {"KLUE-STS": {"metric": "cosine_spearman", "differs": []}}
        table = {"heading": heading, "messages": {heading: as_tree(heading)}, "rows": rows, "tasks": tasks}
        self.write("embed/scores/table.json", encoded(table).decode())
        graph = {"bytes": 1_670_000, "sha256": "0", "sentences_per_second": 2345, "cosine": 0.99934}
        self.write("embed/model/onnx/measured.json", encoded({"onnx-int8": graph}).decode())


def run_with_all(path: Path, name: str = "by-hand", **klue: Any) -> HandMade:
    """Return a finished run with all that a page may show: published rows, watched scores, starts."""
    run = HandMade(path, name=name, published=True, **klue)
    run.whole()
    rows = [watched("ynat", 50, 61.5), watched("ynat", 100, 72.25)]
    run.write("watch/scores.jsonl", "".join(encoded(row, None).decode() + "\n" for row in rows))
    starts = [("2026-11-22T10:00:00+00:00", 0, 2), ("2026-11-23T11:00:00+00:00", 40, 4)]
    rows = [dict(zip(("time", "step", "processes"), start, strict=True)) for start in starts]
    run.write("pretrain/logs/starts.jsonl", rows)
    run.embeddings()
    return run


def run_that_failed(path: Path, first: str = "books", failure: str = "rank 1 on x failed: OSError: x") -> HandMade:
    """Return a run whose training has failed and waited for a process."""
    run = HandMade(path, name="going")
    run.corpus(first=first)
    run.vocabulary()
    late = [{"host": first, "processes": 3, "ranks": [1, 2, 3], "step": 4, "silent_seconds": 99.5}]
    beat = {"state": "failed", "failure": failure, "processes": 8, "late_processes": 3, "step": 5, "late": late}
    run.write("pretrain.partial/logs/heartbeat.json", beat)
    run.train([line(step, 5.0) for step in range(10, 61, 10)], "pretrain.partial")
    return run


def line(step: int, loss: float, **more: Any) -> dict[str, Any]:
    """Return a line of the log: 1,000 tokens a step, 500 tokens a second."""
    figures = {"tokens": 1000 * step, "loss": loss, "accuracy": 0.125, "tokens_per_second": 500.0, "mfu": 0.31}
    return {
        "step": step,
        **figures,
        "lr": 0.5 / step,
        "gradient_norm": 1.5,
        "data_wait_share": 0.01,
        "skipped": 2,
        **more,
    }


def _mixed(rate: float, *sizes: tuple[int, int]) -> dict[str, Any]:
    """Return a source's part of a mixture: documents and bytes before, held out, left out, and in a pass."""
    kinds = ("before", "held_out", "left_out", "pass")
    return {"rate": rate} | {
        kind: {"documents": n, "bytes": size} for kind, (n, size) in zip(kinds, sizes, strict=True)
    }


LINES = [
    {"step": 0, "validation_loss": 9.5, "validation_accuracy": 0.0},
    *(line(step, 10.0 - step / 20) for step in range(10, 101, 10)),
    {"step": 100, "validation_loss": 4.75, "validation_accuracy": 0.375},
]
"""Training loss 9.5 at step 10 to 5.0 at step 100."""


def result(task: str, init: str, seed: int, score: float, data_note: str = "") -> dict[str, Any]:
    """Return a job's result, all its metrics alike; the last evaluation is 1 lower."""
    settings = {"learning_rate": 5e-5, "warmup_share": 0.1, "weight_decay": 0.0, "global_batch": 32, "epochs": 4}
    metrics = metrics_of(task)
    return {
        "model": "by-hand", "task": task, "init": init, "seed": seed, "metric": TASKS[task].selection,
        "best": dict.fromkeys(metrics, score), "last": dict.fromkeys(metrics, score - 1),
        "data_note": data_note, "data_message": as_tree(data_note),
        "examples": {"train": TASKS[task].sizes.train, "dev": TASKS[task].sizes.dev},
        "settings": settings, "model_hash": "m",
        "data_hash": "d", "fingerprint": f"{task}{init}{seed}",
    }  # fmt: skip


def watched(task: str, step: int, mean: float) -> dict[str, Any]:
    """Return a row of `hunmin klue watch`."""
    best = {metric: {"mean": mean, "sd": 0.5, "n": 2} for metric in metrics_of(task)}
    return {"step": step, "tokens": 1000 * step, "task": task, "init": "pretrained", "best": best}
