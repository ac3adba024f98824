"""How fast pretraining is on a GPU: RoBERTa-base by the recipe as shipped, each switch by itself, and the usual way.

    python scripts/bench_gpu.py --out FOLDER [--rows NAME ...] [--tokens T --tokenizer K] [--minutes 9]
    python scripts/bench_gpu.py --list

Every row is measured in a process of its own (`--row`), one after the other, and compiled anew, with a cache of its
own; FOLDER/gpu.json and FOLDER/gpu.md are written after each one, so that what was measured stays whatever comes after.
A row that was measured on this device, with these versions and in this shape, is not measured again: the same command,
started again, goes on. `--minutes` ends it; a row that is being measured then is left for the next call.

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
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench_pretrain import WithMask, text_rows
from gpu_report import conditions_of, holds_row, put_row, read_report, write_report

from pretrain import attention, loss, processes
from pretrain.engines import start_engine
from pretrain.flops import flops_per_token
from pretrain.guard import StepGuard
from pretrain.loader import Loader
from pretrain.model import MaskedRowsModel, build_config, build_model, recompute_layers
from pretrain.peak import device_peak, measured_rate
from pretrain.plans import plan_samples
from pretrain.precision import half_type
from pretrain.settings import PretrainSettings
from pretrain.speed import speed_up
from pretrain.trainer import TOTALS, Trainer
from tokenizer.shards import TokenShards, token_dtype, write_meta, write_shard

SPECIAL = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
DEFAULTS: dict[str, Any] = {"samples": "full-sentences", "dropout": 0.1}
ROWS: dict[str, dict[str, Any]] = {
    "full-sentences": {"profile": True},
    "contiguous": {"samples": "contiguous", "profile": True},
    "packed": {"samples": "packed", "profile": True},
    "full-sentences, dropout 0": {"dropout": 0.0},
    "contiguous, dropout 0": {"samples": "contiguous", "dropout": 0.0},
    "packed, dropout 0": {"samples": "packed", "dropout": 0.0},
    "full-sentences, FP8": {"fp8": True},
    "contiguous, FP8": {"samples": "contiguous", "fp8": True},
    "full-sentences, dense mask": {"dense": True},
    "full-sentences, three products for q, k, v": {"fuse": False},
    "full-sentences, not compiled": {"compile": False},
    "full-sentences, compiled layer by layer": {"world": 2},
    "contiguous, FlashAttention instead of cuDNN": {"samples": "contiguous", "attention": "FLASH_ATTENTION"},
    "contiguous, kernels in torch's own order": {"samples": "contiguous", "attention": ""},
    "full-sentences, logits 64 MB at a time": {"chunk": 64 << 20},
    "full-sentences, layers computed again": {"recompute": True},
    "full-sentences, DeepSpeed's ZeRO 0": {"engine": "deepspeed"},
    "full-sentences, DeepSpeed's ZeRO 1": {"zero_stage": 1},
    "peer, compiled": {"peer": True, "compile": True},
    "peer": {"peer": True, "compile": False},
}
"""Row → what it has otherwise than the recipe. The first rows are those that matter most."""


def make_tokens(folder: Path, vocabulary: int, tokens: int) -> Path:
    """Write a token folder of random text: sentences of 10 to 70 tokens, documents of 1 to 40 sentences, Zipf's law."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    ids = (len(SPECIAL) + (vocabulary - len(SPECIAL)) ** rng.random(tokens) - 1).astype(token_dtype(vocabulary))
    sentences = np.concatenate(
        [[0], np.cumsum(np.clip(rng.lognormal(3.3, 0.5, tokens // 25), 10, 70).astype(np.int64))]
    )
    sentences = sentences[sentences < tokens]
    ends = np.cumsum(np.clip(rng.lognormal(1.8, 0.9, len(sentences)), 1, 40).astype(np.int64))
    documents = np.concatenate([[0], sentences[ends[ends < len(sentences)]]])
    ids[documents[1:] - 1] = SPECIAL["sep"]
    size = int(documents[-1])
    kept = sentences[sentences <= size]
    write_meta(folder, vocabulary, SPECIAL, [write_shard(folder, 0, ids[:size], documents, kept)], unk=0)
    return folder


def make_tokenizer(folder: Path, vocabulary: int) -> Path:
    """Write a vocabulary for those tokens, every third entry the continuation of a word."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    entries += [f"{'##' if i % 3 == 0 else ''}w{i}" for i in range(len(SPECIAL), vocabulary)]
    (folder / "vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    return folder


def settings_of(options: argparse.Namespace, row: dict[str, Any]) -> PretrainSettings:
    """Return the run of a row."""
    row = {**DEFAULTS, **row}
    shape = {"layers": options.layers, "hidden": options.hidden, "heads": max(1, options.hidden // 64)}
    return PretrainSettings(
        model={**shape, "dropout": row["dropout"]}, samples=row["samples"], length=options.length, steps=10**6,
        global_batch=options.batch, micro_batch=options.batch, optimizer={"warmup_steps": 1000},
        compile=row.get("compile"), zero_stage=row.get("zero_stage", 0), engine=row.get("engine", "auto"),
        fp8=row.get("fp8", False), gradient_checkpointing=row.get("recompute", False), validation_samples=0,
    )  # type: ignore[arg-type]  # fmt: skip


def our_step(
    options: argparse.Namespace, row: dict[str, Any], device: torch.device
) -> tuple[Callable[[], torch.Tensor], Loader, list[float]]:
    """Return the project's step, which returns the tokens it took as a tensor, its loader, and the seconds of waits."""
    settings, kind = settings_of(options, row), WithMask if row.get("dense") else MaskedRowsModel
    shards = TokenShards(options.tokens)
    hub = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids))
    if settings.gradient_checkpointing:
        recompute_layers(hub)
    model = kind(hub, half_type(settings.dtype))
    speed_up(model, settings, device, row.get("fuse"), row.get("world", 1))
    if row.get("dense"):
        model.takes_texts = False
        hub.set_attn_implementation("sdpa")
    plans = Path(tempfile.mkdtemp())
    plan_samples(settings, options.tokens, plans)
    loader = Loader(settings, options.tokens, options.tokenizer, plans, 0, 1, form=model.input_form(device))
    trainer = Trainer(start_engine(model, settings, device), loader, StepGuard(settings, False, device))
    batches, number, waits = loader.ahead(0, depth=8), iter(range(10**6)), [0.0]

    def step() -> torch.Tensor:
        began = time.perf_counter()
        batch = next(batches)
        waits[0] += time.perf_counter() - began
        return trainer.step(next(number), 1e-4, batch).totals[TOTALS.index("tokens")]

    return step, loader, waits


class Texts(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
    """What a plain script feeds its collator: texts of the corpus up to the length."""

    def __init__(self, tokens: Path, length: int) -> None:
        self._tokens, self._length = tokens, length

    def __iter__(self) -> Any:
        for row in text_rows(TokenShards(self._tokens), self._length):
            yield {"input_ids": row}


def peer_step(
    options: argparse.Namespace, row: dict[str, Any], device: torch.device
) -> tuple[Callable[[], torch.Tensor], None, list[float]]:
    """Return the step of a plain loop around transformers."""
    from transformers import BertTokenizerFast, DataCollatorForLanguageModeling

    text = BertTokenizerFast(str(options.tokenizer / "vocab.txt"), do_lower_case=False)
    collator = DataCollatorForLanguageModeling(text, mlm=True, mlm_probability=0.15, pad_to_multiple_of=64)
    settings, shards = settings_of(options, {}), TokenShards(options.tokens)
    model = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids)).to(device).train()
    if row["compile"]:
        model.compile()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    workers = 8 if device.type == "cuda" else 0
    source = iter(
        torch.utils.data.DataLoader(
            Texts(options.tokens, options.length), options.batch, num_workers=workers, collate_fn=collator,
            pin_memory=device.type == "cuda",
        )
    )  # fmt: skip
    waits, half = [0.0], half_type("auto")

    def step() -> torch.Tensor:
        began = time.perf_counter()
        batch = next(source)
        waits[0] += time.perf_counter() - began
        real = batch["attention_mask"].sum()
        with torch.autocast(device.type, half, enabled=half is not None):
            loss = model(**{name: value.to(device, non_blocking=True) for name, value in batch.items()}).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return real

    return step, None, waits


def measure(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """Return the figures of a row."""
    row = ROWS[name]
    device = processes.join_processes(processes.place_process()).device
    if row.get("attention"):
        attention.PRIORITY = (torch.nn.attention.SDPBackend[row["attention"]], *attention.PRIORITY)  # type: ignore[attr-defined]
    loss.CHUNK_BYTES = row.get("chunk", loss.CHUNK_BYTES)
    kernels = nullcontext() if row.get("attention") == "" else attention.fastest_kernels()
    wait = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
    product = measured_rate(device)
    with kernels:
        began = time.perf_counter()
        step, loader, waits = peer_step(options, row, device) if row.get("peer") else our_step(options, row, device)
        for _ in range(3):
            step()
        wait()
        ready = time.perf_counter() - began
        rates, data = [], []
        for _ in range(options.rounds):
            waits[0], began = 0.0, time.perf_counter()
            counts = [step() for _ in range(options.steps)]
            wait()
            seconds = time.perf_counter() - began
            rates.append(float(sum(counts)) / seconds)  # type: ignore[arg-type]
            data.append(waits[0] / seconds)
        shares, ran = profile(step, options.steps) if row.get("profile") and device.type == "cuda" else ({}, [])
    rate = statistics.median(rates)
    found: dict[str, Any] = {
        "name": name, "tokens_per_second": rate, "slowest": min(rates), "fastest": max(rates),
        "data_wait": statistics.median(data), "seconds_to_be_ready": ready, "kernels": shares, "attention_kernels": ran,
        "matrix_product_tflops": product / 1e12,
    }  # fmt: skip
    if loader:
        settings = loader.settings
        flops = flops_per_token(
            settings.model, TokenShards(options.tokens).vocab_size, loader.samples.attention_span, settings.masking.rate
        )
        found |= {"tflops": rate * flops / 1e12, "mfu": rate * flops / device_peak(device)}
        found |= {"padding": loader.samples.padding}
    if device.type == "cuda":
        found["memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return found


def profile(step: Callable[[], Any], steps: int) -> tuple[dict[str, float], list[str]]:
    """Return the share of the GPU's time by kind of kernel, and the names of those that computed attention."""
    kinds = {
        "attention": ("flash", "fmha", "sdpa", "cudnn_generated", "attention"),
        "matrix products": ("gemm", "nvjet", "cutlass", "sm90_xmma", "wgmma", "scaled_mm"),
        "optimizer": ("adam", "multi_tensor"),
        "copies": ("memcpy", "memset"),
    }
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    times: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for event in seen.key_averages():
        name = event.key.lower()
        kind = next((kind for kind, signs in kinds.items() if any(sign in name for sign in signs)), "other kernels")
        times[kind] += event.self_device_time_total
        if kind == "attention":
            ran[event.key.partition("<")[0][:80]] += event.self_device_time_total
    total = sum(times.values()) or 1
    return {kind: spent / total for kind, spent in times.most_common()}, [name for name, _ in ran.most_common(4)]


def left_out(row: dict[str, Any]) -> str:
    """Return why a row cannot be measured here; "" when it can."""
    if row.get("fp8") and importlib.util.find_spec("torchao") is None:
        return "torchao is not installed"
    return ""


def measured_apart(name: str, passed_on: list[str], seconds: float) -> dict[str, Any] | None:
    """Return the figures of a row, or its error, from a process of its own; None when it takes longer than that."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "TRITON_CACHE_DIR": f"{cache}/triton"}
        command = [sys.executable, __file__, "--row", name, *passed_on]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment)
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return {"name": name, "error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def shape_of(options: argparse.Namespace) -> str:
    """Return what the model and its batches are, in words."""
    text = f"{options.layers} layers × {options.hidden}, {options.length} tokens, {options.batch} samples a step"
    return f"{text}, medians of {options.rounds} rounds of {options.steps} steps"


def main() -> int:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for gpu.json and gpu.md")
    parser.add_argument("--rows", nargs="*", default=list(ROWS), help="rows to measure (default: all)")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
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
    if options.list:
        print("\n".join(ROWS))
        return 0
    if options.row:
        print(json.dumps(measure(options, options.row)))
        return 0
    if options.out is None:
        parser.error("--out is missing")
    options.out.mkdir(parents=True, exist_ok=True)
    if options.tokens is None:
        options.tokens = make_tokens(options.out / "tokens", 32_000, options.random_tokens)
        options.tokenizer = make_tokenizer(options.out / "tokenizer", 32_000)
    conditions, until = conditions_of(shape_of(options)), time.monotonic() + 60 * options.minutes
    path = options.out / "gpu.json"
    held = read_report(path)
    passed_on = [f"--{name}={getattr(options, name)}" for name in
                 ("tokens", "tokenizer", "layers", "hidden", "length", "batch", "steps", "rounds")]  # fmt: skip
    failed = False
    for name in options.rows:
        if holds_row(held, name, conditions):
            continue
        why = left_out(ROWS[name])
        row = {"name": name, "skipped": why} if why else measured_apart(name, passed_on, until - time.monotonic())
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
