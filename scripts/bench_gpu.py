"""How fast pretraining is on a GPU: RoBERTa-base by the recipe as shipped, each switch by itself, and the usual way.

    python scripts/bench_gpu.py --out FOLDER [--rows NAME ...] [--tokens T --tokenizer K] [--minutes 9]

Each row has a process of its own. Some rows compile together, beside each other and with one cache; then each is
measured alone, while the others wait. Every round goes into FOLDER/gpu.json and FOLDER/gpu.md at once, so that what was
measured stays whatever comes after. A row that was measured on this device, with these versions and in this shape, is
not measured again: the same command resumes. `--minutes` ends it; rows that are not done then are left for the next
call.

Tokens are drawn at random where none are given, in sentences and documents as long as Korean ones are: speed depends on
nothing else. Only positions that hold text, [CLS] or [SEP] count as tokens. A row is the median of its rounds.
The peer is transformers' model with torch's AdamW, fed by `DataCollatorForLanguageModeling` (`DataLoader`, 8 workers)
with texts up to the length, padded to the longest of a batch.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
import torch
from bench_pretrain import Ours, Plain, device, wait
from gpu_report import conditions_of, holds_row, put_row, read_report, write_report
from timing import parser_of

from pretrain.cost.peak import device_peak, measured_rate
from pretrain.kernels import attention
from pretrain.models.encoder import MaskedRowsModel
from pretrain.settings import PretrainSettings
from tokenizer.shards import token_dtype, write_meta, write_shard

SPECIAL = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
BATCH = 2048
"""Samples of 512 tokens a step, in every row: configs/klue-roberta-base.yaml's."""
NO_DROPOUT = {"dropout": 0.0}
ROWS: dict[str, dict[str, Any]] = {
    "as shipped": {"profile": True},
    "dropout 0": {"model": NO_DROPOUT, "profile": True},
    "contiguous, dropout 0": {"packing": "contiguous", "model": NO_DROPOUT},
    "fused norms": {"fused_norms": True, "profile": True},
    "fused norms, contiguous, dropout 0": {"packing": "contiguous", "model": NO_DROPOUT, "fused_norms": True},
    "micro-batch of 256": {"micro_batch": 256},
    "peer, compiled": {"peer": True, "compile": True},
    "ModernBERT-base, 1,024 tokens": {
        "model": {**NO_DROPOUT, "type": "modernbert", "layers": 22, "feed_forward": 1152},
        "packing": "packed",
        "max_seq_len": 1024,
        "global_batch": BATCH // 2,
        "profile": True,
    },
    "attention dropout 0": {"model": {"attention_dropout": 0.0}},
    "contiguous": {"packing": "contiguous"},
    "layers share code": {"once": True},
    "compiled layer by layer": {"world": 2},
    "packed": {"packing": "packed"},
    "dense mask": {"dense": True},
    "not compiled": {"compile": False},
    "DeepSpeed's ZeRO 1": {"zero_stage": 1},
    "peer": {"peer": True, "compile": False},
}
"""Row → what it has otherwise than configs/klue-roberta-base.yaml. The first rows matter most."""
NO_SETTINGS = ("profile", "dense", "once", "world", "peer", "model")
"""Keys of a row that are no settings of a run, or are merged with the others'."""
KINDS = {
    "attention": ("flash", "fmha", "sdpa", "cudnn_generated", "attention"),
    "matrix products": ("gemm", "nvjet", "cutlass", "sm90_xmma", "wgmma", "scaled_mm"),
    "optimizer": ("adam", "multi_tensor"),
    "copies": ("memcpy", "memset"),
}
"""Kind of kernel → what a name of that kind holds."""
PASSED_ON = ("tokens", "tokenizer", "layers", "hidden", "length", "micro", "batch", "steps", "rounds")


def make_tokens(folder: Path, vocabulary: int, tokens: int) -> Path:
    """Write a token folder of random text: sentences of 10 to 70 tokens, documents of 1 to 40 sentences, Zipf's law."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    ids = (len(SPECIAL) + (vocabulary - len(SPECIAL)) ** rng.random(tokens) - 1).astype(token_dtype(vocabulary))
    lengths = np.clip(rng.lognormal(3.3, 0.5, tokens // 25), 10, 70).astype(np.int64)
    sentences = np.concatenate([[0], np.cumsum(lengths)])
    sentences = sentences[sentences < tokens]
    ends = np.cumsum(np.clip(rng.lognormal(1.8, 0.9, len(sentences)), 1, 40).astype(np.int64))
    documents = np.concatenate([[0], sentences[ends[ends < len(sentences)]]])
    ids[documents[1:] - 1] = SPECIAL["sep"]
    size = int(documents[-1])
    shard = write_shard(folder, 0, ids[:size], documents, sentences[sentences <= size])
    write_meta(folder, vocabulary, SPECIAL, [shard], unk=0)
    return folder


def make_tokenizer(folder: Path, vocabulary: int) -> Path:
    """Write a vocabulary for those tokens, every third entry the continuation of a word."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [f"[{name.upper()}]" for name in SPECIAL]
    entries += [f"{'##' if i % 3 == 0 else ''}w{i}" for i in range(len(SPECIAL), vocabulary)]
    (folder / "vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    return folder


def settings_of(options: argparse.Namespace, row: dict[str, Any]) -> PretrainSettings:
    shape = {"layers": options.layers, "hidden": options.hidden, "heads": max(1, options.hidden // 64), "dropout": 0.1}
    basic = {
        "model": shape | row.get("model", {}),
        "packing": "full-sentences",
        "max_seq_len": options.length,
        "steps": 10**6,
        "global_batch": options.batch,
        "micro_batch": options.micro,
        "optimizer": {"warmup_steps": 1000},
        "validation_samples": 0,
    }
    return PretrainSettings(**{**basic, **{name: value for name, value in row.items() if name not in NO_SETTINGS}})


def loop_of(options: argparse.Namespace, row: dict[str, Any], settings: PretrainSettings) -> Ours | Plain:
    if row.get("peer"):
        from transformers import BertTokenizerFast, DataCollatorForLanguageModeling

        text = BertTokenizerFast(str(options.tokenizer / "vocab.txt"), do_lower_case=False)
        collator = DataCollatorForLanguageModeling(text, mlm=True, mlm_probability=0.15, pad_to_multiple_of=64)
        return Plain(settings, options.tokens, collator, row["compile"])
    unpadded = False if row.get("dense") else None
    prepare = compile_layers_once if row.get("once") else None
    return Ours(settings, options.tokens, options.tokenizer, unpadded, row.get("world", 1), prepare)


def compile_layers_once(model: MaskedRowsModel) -> None:
    """Have the layers of a model that is compiled as one graph share what is compiled of them."""
    layers = model.hf_model.base_model.encoder.layer
    shared = torch.compiler.nested_compile_region(type(layers[0]).forward)
    for layer in layers:
        layer.forward = MethodType(shared, layer)


def measure(options: argparse.Namespace, name: str) -> Iterator[dict[str, Any]]:
    """Yield nothing yet when a row is compiled, and then its figures after each round, and once more at its end."""
    row, gpu = ROWS[name], device().type == "cuda"
    settings = settings_of(options, row)
    tokens = options.steps * options.batch * options.length
    steps = max(1, tokens // (settings.global_batch * settings.max_seq_len))
    with attention.fastest_kernels(settings.model.dropped_attention):
        began = time.perf_counter()
        step = loop_of(options, row, settings)
        for _ in range(2):
            step()
        wait()
        ready = time.perf_counter() - began
        if gpu:
            torch.cuda.empty_cache()  # for those that compile beside it
        yield {}
        product = measured_rate(device())
        step()
        wait()
        rates: list[float] = []
        waits: list[float] = []
        for _ in range(options.rounds):
            step.waited, began = 0.0, time.perf_counter()
            counts = [step() for _ in range(steps)]
            wait()
            seconds = time.perf_counter() - began
            rates.append(sum(map(float, counts)) / seconds)
            waits.append(step.waited / seconds)
            measured = figures(step, rates, waits)
            yield {"name": name, **measured, "seconds_to_be_ready": ready, "matrix_product_tflops": product / 1e12}
        if row.get("profile") and gpu:
            yield {"name": name, **profile(step, min(3, steps))}


def figures(step: Ours | Plain, rates: list[float], waits: list[float]) -> dict[str, Any]:
    """Return the figures of the rounds so far: of their tokens a second, and their shares of waiting for data."""
    rate = statistics.median(rates)
    report: dict[str, Any] = {"tokens_per_second": rate, "rounds": rates, "data_wait": statistics.median(waits)}
    if isinstance(step, Ours):
        work = rate * step.flops
        report |= {"tflops": work / 1e12, "mfu": work / device_peak(device()), "padding": step.loader.samples.padding}
    if device().type == "cuda":
        report["memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return report


def profile(step: Callable[[], Any], steps: int) -> dict[str, Any]:
    """Return the share of the GPU's time by kind of kernel, those that computed attention, and the longest of all."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    times: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for event in seen.key_averages():
        name = event.key.lower()
        kind = next((kind for kind, signs in KINDS.items() if any(sign in name for sign in signs)), "other kernels")
        times[kind] += event.self_device_time_total
        if kind == "attention":
            ran[event.key.partition("<")[0][:80]] += event.self_device_time_total
    total = sum(times.values()) or 1
    longest = sorted(seen.key_averages(), key=lambda event: -event.self_device_time_total)[:25]
    return {
        "kernels": {kind: spent / total for kind, spent in times.most_common()},
        "attention_kernels": [name for name, _ in ran.most_common(4)],
        "milliseconds_a_step": total / steps / 1e3,
        "longest": [[event.key[:120], event.self_device_time_total / steps / 1e3, event.count] for event in longest],
    }


class Row:
    """Process that compiles a row, waits until it may run, and then prints its figures.

    Args:
        said: where each line it prints is put, after its name; None follows when it has ended.
    """

    def __init__(self, name: str, options: argparse.Namespace, said: queue.Queue[tuple[str, str | None]]) -> None:
        command = [sys.executable, __file__, "--row", name, *(f"--{key}={getattr(options, key)}" for key in PASSED_ON)]
        caches = options.out / "compiled"
        environment = {
            "TORCHINDUCTOR_CACHE_DIR": str(caches),
            "TRITON_CACHE_DIR": str(caches / "triton"),
            "TORCHINDUCTOR_COMPILE_THREADS": "4",
        }
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **environment},
        )
        threading.Thread(target=self._read, args=(name, said), daemon=True).start()

    def _read(self, name: str, said: queue.Queue[tuple[str, str | None]]) -> None:
        for line in self.process.stdout or ():
            said.put((name, line))
        self.process.wait()
        said.put((name, None))

    def go(self) -> None:
        """Let the process measure its row."""
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def error(self) -> str:
        """Return the last line of the process's errors; "" where it has ended well."""
        if not self.process.returncode:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines() or ["no message"]
        print("\n".join(lines[-30:]), file=sys.stderr)
        return lines[-1]


def measure_together(
    names: list[str], options: argparse.Namespace, until: float, note: Callable[[dict[str, Any]], None]
) -> bool:
    """Compile rows beside each other, measure each alone, and return whether all are done in time.

    Args:
        until: when it ends, by `time.monotonic`.
        note: is given what each row has found so far, by its `name`; `done` or `error` at its end.
    """
    said: queue.Queue[tuple[str, str | None]] = queue.Queue()
    rows = {name: Row(name, options, said) for name in names}
    compiling = set(names)
    ready = list[str]()
    measured = ""
    patience = time.monotonic() + options.patience
    try:
        while compiling or ready or measured:
            if not measured and ready and (not compiling or time.monotonic() > patience):
                measured = ready.pop(0)
                rows[measured].go()
            try:
                name, line = said.get(timeout=max(0.0, min(1.0, until - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= until:
                    return False
                continue
            if line is None:
                error = rows[name].error()
                note({"name": name, "error": error} if error else {"name": name, "done": True})
                compiling.discard(name)
                measured = "" if name == measured else measured
            elif part := json.loads(line):
                note(part)
            else:
                compiling.discard(name)
                ready = sorted([*ready, name], key=names.index)
        return True
    finally:
        for row in rows.values():
            row.process.kill()


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, help="folder for gpu.json and gpu.md")
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=ROWS, metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--tokens", type=Path, help="token folder (default: random text)")
    parser.add_argument("--tokenizer", type=Path, help="its tokenizer folder")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--micro", type=int, default=64, help="samples a micro-batch (default 64)")
    parser.add_argument("--batch", type=int, default=BATCH, help=f"samples a step (default {BATCH})")
    parser.add_argument("--steps", type=int, default=2, help="steps of so many samples a round (default 2)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--together", type=int, default=4, help="rows that compile beside each other (default 4)")
    parser.add_argument("--patience", type=float, default=150, help="seconds to wait for the slowest of them")
    parser.add_argument("--random-tokens", type=int, default=20_000_000)
    parser.add_argument("--minutes", type=float, default=600, help="end after so many (default 600)")
    options = parser.parse_args()
    if options.row:
        for part in measure(options, options.row):
            print(json.dumps(part), flush=True)
            if not part and not sys.stdin.readline():
                return 1
        return 0
    if options.out is None:
        parser.error("--out is missing")
    options.out.mkdir(parents=True, exist_ok=True)
    if options.tokens is None:
        options.tokens = make_tokens(options.out / "tokens", 32_000, options.random_tokens)
        options.tokenizer = make_tokenizer(options.out / "tokenizer", 32_000)
    shape = (
        f"{options.layers} layers × {options.hidden}, {options.length} tokens, {options.micro} samples a micro-batch"
    )
    conditions = conditions_of(f"{shape}, medians of {options.rounds} rounds")
    path = options.out / "gpu.json"
    until = time.monotonic() + 60 * options.minutes
    report, rows = read_report(path), dict[str, dict[str, Any]]()

    def note(part: dict[str, Any]) -> None:
        row = rows[part["name"]] = {"unfinished": True, **rows.get(part["name"], {}), **part}
        if row.pop("done", False) or "error" in row:
            del row["unfinished"]
        if "tokens_per_second" in part or "error" in part:
            print(f"{row['name']}: {part.get('tokens_per_second') or part.get('error')}", flush=True)
        put_row(report, row, conditions, list(ROWS))
        write_report(path, report)

    left = [name for name in options.rows if not holds_row(report, name, conditions)]
    while left:
        wave, left = left[: options.together], left[options.together :]
        if not measure_together(wave, options, until, note):
            unfinished = [name for name in wave if "unfinished" in rows.get(name, {"unfinished": True})]
            print(f"time is up: {', '.join([*unfinished, *left])} left for the next call", flush=True)
            break
    print(write_report(path, report))
    return int(any("error" in row for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
