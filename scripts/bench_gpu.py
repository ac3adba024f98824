"""How fast pretraining is on a GPU: RoBERTa-base by the recipe as shipped, each switch by itself, and the usual way.

    python scripts/bench_gpu.py --out FOLDER [--rows NAME ...] [--tokens T --tokenizer K] [--minutes 9]

Every row is measured in a process of its own, one after the other, and compiled anew, with a cache of its own;
FOLDER/gpu.json and FOLDER/gpu.md are written after each one, so that what was measured stays whatever comes after.
A row that was measured on this device, with these versions and in this shape, is not measured again: the same command
resumes. `--minutes` ends it; a row that is being measured then is left for the next call.

Tokens are drawn at random where none are given, in sentences and documents as long as Korean ones are: speed depends on
nothing else. Only positions that hold text, [CLS] or [SEP] count as tokens. A row is the median of its rounds.
The peer is transformers' model with torch's AdamW, fed by `DataCollatorForLanguageModeling` (`DataLoader`, 8 workers)
with texts up to the length, padded to the longest of a batch.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench_pretrain import Ours, Plain, device, wait
from gpu_report import conditions_of, holds_row, put_row, read_report, write_report
from timing import parser_of

from pretrain import attention
from pretrain.peak import device_peak, measured_rate
from pretrain.settings import PretrainSettings
from tokenizer.shards import token_dtype, write_meta, write_shard

SPECIAL = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
ROWS: dict[str, dict[str, Any]] = {
    "full-sentences": {"profile": True},
    "contiguous": {"packing": "contiguous", "profile": True},
    "packed": {"packing": "packed", "profile": True},
    "full-sentences, dropout 0": {"dropout": 0.0},
    "contiguous, dropout 0": {"packing": "contiguous", "dropout": 0.0},
    "packed, dropout 0": {"packing": "packed", "dropout": 0.0},
    "full-sentences, FP8": {"fp8": True},
    "contiguous, FP8": {"packing": "contiguous", "fp8": True},
    "full-sentences, dense mask": {"dense": True},
    "full-sentences, not compiled": {"compile": False},
    "full-sentences, compiled layer by layer": {"world": 2},
    "full-sentences, DeepSpeed's ZeRO 1": {"zero_stage": 1},
    "peer, compiled": {"peer": True, "compile": True},
    "peer": {"peer": True, "compile": False},
}
"""Row → what it has otherwise than the recipe. The first rows are those that matter most."""
NO_SETTINGS = ("profile", "dropout", "dense", "world", "peer")
"""Keys of a row that are no settings of a run."""
KINDS = {
    "attention": ("flash", "fmha", "sdpa", "cudnn_generated", "attention"),
    "matrix products": ("gemm", "nvjet", "cutlass", "sm90_xmma", "wgmma", "scaled_mm"),
    "optimizer": ("adam", "multi_tensor"),
    "copies": ("memcpy", "memset"),
}
"""Kind of kernel → what a name of that kind holds."""
PASSED_ON = ("tokens", "tokenizer", "layers", "hidden", "length", "batch", "steps", "rounds")


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
    """Return the run of a row."""
    shape = {"layers": options.layers, "hidden": options.hidden, "heads": max(1, options.hidden // 64)}
    basic = {"model": {**shape, "dropout": row.get("dropout", 0.1)}, "packing": "full-sentences",
             "max_seq_len": options.length, "steps": 10**6, "global_batch": options.batch, "micro_batch": options.batch,
             "optimizer": {"warmup_steps": 1000}, "validation_samples": 0}  # fmt: skip
    return PretrainSettings(**{**basic, **{name: value for name, value in row.items() if name not in NO_SETTINGS}})


def loop_of(options: argparse.Namespace, row: dict[str, Any]) -> Ours | Plain:
    """Return the loop of a row: the project's, or the peer's."""
    settings = settings_of(options, row)
    if row.get("peer"):
        from transformers import BertTokenizerFast, DataCollatorForLanguageModeling

        text = BertTokenizerFast(str(options.tokenizer / "vocab.txt"), do_lower_case=False)
        collator = DataCollatorForLanguageModeling(text, mlm=True, mlm_probability=0.15, pad_to_multiple_of=64)
        return Plain(settings, options.tokens, collator, row["compile"])
    unpadded = False if row.get("dense") else None
    return Ours(settings, options.tokens, options.tokenizer, unpadded=unpadded, world=row.get("world", 1))


def measure(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """Return the figures of a row."""
    row, gpu = ROWS[name], device().type == "cuda"
    product = measured_rate(device())
    with attention.fastest_kernels():
        began = time.perf_counter()
        step = loop_of(options, row)
        for _ in range(3):
            step()
        wait()
        ready = time.perf_counter() - began
        rates, data = [], []
        for _ in range(options.rounds):
            step.waited, began = 0.0, time.perf_counter()
            counts = [step() for _ in range(options.steps)]
            wait()
            seconds = time.perf_counter() - began
            rates.append(sum(map(float, counts)) / seconds)
            data.append(step.waited / seconds)
        shares, ran = profile(step, options.steps) if row.get("profile") and gpu else ({}, [])
    rate = statistics.median(rates)
    found: dict[str, Any] = {
        "name": name, "tokens_per_second": rate, "slowest": min(rates), "fastest": max(rates),
        "data_wait": statistics.median(data), "seconds_to_be_ready": ready, "kernels": shares, "attention_kernels": ran,
        "matrix_product_tflops": product / 1e12,
    }  # fmt: skip
    if isinstance(step, Ours):
        work = rate * step.flops
        found |= {"tflops": work / 1e12, "mfu": work / device_peak(device()), "padding": step.loader.samples.padding}
    if gpu:
        found["memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return found


def profile(step: Callable[[], Any], steps: int) -> tuple[dict[str, float], list[str]]:
    """Return the share of the GPU's time by kind of kernel, and the names of those that computed attention."""
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
    return {kind: spent / total for kind, spent in times.most_common()}, [name for name, _ in ran.most_common(4)]


def measured_apart(name: str, options: argparse.Namespace, seconds: float) -> dict[str, Any] | None:
    """Return the figures of a row, or why there are none, from a process of its own; None when it takes longer."""
    if ROWS[name].get("fp8") and importlib.util.find_spec("torchao") is None:
        return {"name": name, "skipped": "torchao is not installed"}
    command = [sys.executable, __file__, "--row", name, *(f"--{key}={getattr(options, key)}" for key in PASSED_ON)]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "TRITON_CACHE_DIR": f"{cache}/triton"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment)
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return {"name": name, "error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    """Measure what is not measured yet."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, help="folder for gpu.json and gpu.md")
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=ROWS, metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--tokens", type=Path, help="token folder (default: random text)")
    parser.add_argument("--tokenizer", type=Path, help="its tokenizer folder")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--batch", type=int, default=128, help="samples a step (default 128)")
    parser.add_argument("--steps", type=int, default=20, help="steps a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--random-tokens", type=int, default=20_000_000)
    parser.add_argument("--minutes", type=float, default=600, help="end after so many (default 600)")
    options = parser.parse_args()
    if options.row:
        print(json.dumps(measure(options, options.row)))
        return 0
    if options.out is None:
        parser.error("--out is missing")
    options.out.mkdir(parents=True, exist_ok=True)
    if options.tokens is None:
        options.tokens = make_tokens(options.out / "tokens", 32_000, options.random_tokens)
        options.tokenizer = make_tokenizer(options.out / "tokenizer", 32_000)
    shape = f"{options.layers} layers × {options.hidden}, {options.length} tokens, {options.batch} samples a step"
    conditions = conditions_of(f"{shape}, medians of {options.rounds} rounds of {options.steps} steps")
    path, until = options.out / "gpu.json", time.monotonic() + 60 * options.minutes
    held, failed = read_report(path), False
    for name in options.rows:
        if holds_row(held, name, conditions):
            continue
        row = measured_apart(name, options, until - time.monotonic())
        if row is None:
            print(f"time is up: {name} and what follows is left for the next call", flush=True)
            break
        failed |= "error" in row
        print(f"{name}: {row.get('tokens_per_second') or row.get('error') or row['skipped']}", flush=True)
        put_row(held, row, conditions, list(ROWS))
        write_report(path, held)
    print(write_report(path, held))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
