"""How fast pretraining is: the real training loop beside a plain transformers loop, and what each part gives.

    python scripts/bench_pretrain.py --tokens RUN/tokens --tokenizer RUN/tokenizer [--layers 4 --hidden 256] [--base]
        [--length 128] [--batch 32] [--steps 4] [--rounds 5] [--dtype fp32] [--no-parts] [--no-compile] [--texts]
        [--json]

- ours: token shards, loader, whole-word masks, DeepSpeed engine and optimizer step, as `hunmin pretrain` runs them.
- plain: transformers' model with the loss over its full head, torch's AdamW, and `DataCollatorForLanguageModeling`
  over (a) texts a row: the sentences of a document up to the length, padded to the longest of the batch, and (b) the
  very rows that ours takes, without padding. Its collator masks tokens: masking whole words costs it more.
- parts: ours with one thing taken out or put in.

Same model, numeric type and rows a step. Only positions that hold text or [CLS] and [SEP] count as tokens. All loops
are built first; then each does some steps in turn, round after round, and the median of the rounds counts. Batches
that ours made ready while the others had their turn are not used.
`--base` measures RoBERTa-base beside it (without parts). Exit code 1 when a bar is not reached.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from timing import Row, as_dicts, hardware, print_rows
from torch.nn import functional

from pretrain import processes
from pretrain.attention import NAME
from pretrain.engines import interface, start_engine
from pretrain.flops import flops_per_token
from pretrain.guard import StepGuard
from pretrain.loader import Loader
from pretrain.masking import IGNORE
from pretrain.model import MaskedRowsModel, Sums, build_config, build_model
from pretrain.peak import measured_rate
from pretrain.plans import plan_samples
from pretrain.precision import half_type, resolve_dtype
from pretrain.settings import PretrainSettings
from pretrain.speed import speed_up
from pretrain.trainer import TOTALS, Trainer
from tokenizer.shards import TokenShards

BAR = 1.5
"""Least ratio of ours to the plain loop (a) on a CPU, by the project's own aim."""
BAR_H200 = 830_000
"""Least tokens a second of RoBERTa-base, 512 tokens, on one H200 (twice what is usual there)."""
DEVICE = torch.device("cpu")
WAIT_STEPS = 20
"""Steps over which waiting for data is measured, and batches over which the loader is."""
Step = Callable[[], float]
"""One optimizer step; returns how many real tokens it took."""


class FullHead(MaskedRowsModel):
    """The head over all positions, as transformers' own loss has it."""

    def forward(self, ids_BS: Any, rows_BM: Any, labels_BM: Any, lengths_B: Any = None, **_: Any) -> Sums:
        """Return the sums of the batch."""
        mask = None if lengths_B is None else torch.arange(ids_BS.shape[1], device=ids_BS.device) < lengths_B[:, None]
        with torch.autocast(ids_BS.device.type, self.half) if self.half else nullcontext():
            logits = self.hub(input_ids=ids_BS, attention_mask=mask).logits.float()
        labels = torch.full_like(ids_BS, IGNORE).scatter(1, rows_BM, labels_BM)
        labels[:, 0] = IGNORE  # unused rows point there
        loss = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE, reduction="sum")
        zero = loss.detach().new_zeros(())
        return Sums(loss, zero, (labels != IGNORE).sum(), zero, zero, zero)


class WithMask(MaskedRowsModel):
    """An attention mask also where nothing is padded."""

    def forward(self, ids_BS: Any, rows_BM: Any, labels_BM: Any, lengths_B: Any = None, **more: Any) -> Sums:
        """Return the sums of the batch."""
        if lengths_B is None:
            lengths_B = torch.full((len(ids_BS),), ids_BS.shape[1], device=ids_BS.device)
        return super().forward(ids_BS, rows_BM, labels_BM, lengths_B, **more)


class Ours:
    """Steps of the project's training loop."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, self.loader = trainer, trainer.loader
        self._number = 0
        self._batches = self.loader.ahead(0)
        self.waited = 0.0
        """Seconds for which the data was waited for."""

    def __call__(self) -> float:
        """Take a step."""
        began = time.perf_counter()
        batches = next(self._batches)
        self.waited += time.perf_counter() - began
        lr = self._trainer.settings.optimizer.lr
        tokens = float(self._trainer.step(self._number, lr, batches).totals[TOTALS.index("tokens")])
        self._number += 1
        return tokens

    def take_turn(self) -> None:
        """Forget the batches that were made while others had their turn, and take a step."""
        self._batches.close()
        self._batches = self.loader.ahead(self._number)
        self()

    def loader_rate(self, steps: int) -> float:
        """Return the tokens a second that the loader makes on one core when nothing waits for it."""
        began = time.perf_counter()
        made = [batch for step in range(steps) for batch in self.loader.micro_batches(step)]
        seconds = time.perf_counter() - began
        return sum(float(batch.counts[0]) for batch in made) / seconds

    def data_wait(self, steps: int) -> float:
        """Return the share of time for which the data is waited for, over so many steps in a row."""
        self.take_turn()
        self.waited, began = 0.0, time.perf_counter()
        for _ in range(steps):
            self()
        return self.waited / (time.perf_counter() - began)


def ours(
    settings: PretrainSettings,
    tokens: Path,
    tokenizer: Path,
    kind: type[MaskedRowsModel] = MaskedRowsModel,
    fuse: bool | None = None,
    texts: bool | None = None,
) -> Ours:
    """Return the project's training loop; `texts` has it take texts side by side, or not, whatever is faster here."""
    shards, device = TokenShards(tokens), DEVICE
    hub = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids))
    model = kind(hub, half_type(settings.dtype))
    speed_up(model, settings, device, fuse)
    if texts is not None:
        model.takes_texts = texts
        hub.set_attn_implementation(NAME if texts else "sdpa")
    with tempfile.TemporaryDirectory() as plans:
        plan_samples(settings, tokens, Path(plans))
        loader = Loader(settings, tokens, tokenizer, Path(plans), 0, 1, form=model.input_form(device))
    engine = start_engine(model, settings, device)
    return Ours(Trainer(engine, loader, StepGuard(settings, resolve_dtype(settings.dtype) == "fp16", device)))


def text_rows(shards: TokenShards, length: int) -> Iterator[list[int]]:
    """Yield rows as a plain script makes them: the sentences of one document up to the length."""
    cls, sep = shards.special_ids["cls"], shards.special_ids["sep"]
    while True:
        for index in range(len(shards.shards)):
            tokens, sentences = shards.tokens(index), np.asarray(shards.sentences(index))
            documents = set(np.asarray(shards.documents(index)).tolist())
            start = 0
            for before, end in pairwise(sentences.tolist()):
                if before > start and (before in documents or end - start > length - 2):
                    yield [cls, *tokens[start : min(before, start + length - 2)].tolist(), sep]
                    start = before


def running_rows(shards: TokenShards, length: int) -> Iterator[list[int]]:
    """Yield rows without padding: the running text, cut."""
    cls, sep = shards.special_ids["cls"], shards.special_ids["sep"]
    while True:
        for index in range(len(shards.shards)):
            tokens = shards.tokens(index)
            for start in range(0, len(tokens) - length + 2, length - 2):
                yield [cls, *tokens[start : start + length - 2].tolist(), sep]


def plain(settings: PretrainSettings, tokens: Path, tokenizer: Path, rows: Any, dtype: str, collator: Any) -> Step:
    """Return a step of a plain loop around transformers' model and collator."""
    shards = TokenShards(tokens)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids)).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.optimizer.lr, weight_decay=0.01)
    source = rows(shards, settings.length)

    def step() -> float:
        batch = collator([{"input_ids": next(source)} for _ in range(settings.micro_batch)])
        if "attention_mask" not in batch:
            batch["attention_mask"] = (batch["input_ids"] != shards.special_ids["pad"]).long()
        real = float(batch["attention_mask"].sum())
        with torch.autocast(device.type, torch.bfloat16, enabled=dtype == "bf16"):
            loss = model(**{name: value.to(device) for name, value in batch.items()}).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.optimizer.clip)
        optimizer.step()
        optimizer.zero_grad()
        return real

    return step


class PlainAdamW(torch.optim.AdamW):
    """AdamW as torch has it by default, a kernel a list of weights instead of one for all that is done to them."""

    def __init__(self, groups: Any, **options: Any) -> None:
        super().__init__(groups, **{**options, "fused": False})

    def step(self, closure: Any = None) -> Any:
        """Do what a fused kernel does by itself: divide the gradient, and leave a step out (the host waits for it)."""
        weights = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        torch._foreach_div_([p.grad for p in weights], self.grad_scale)  # type: ignore[attr-defined]
        skip, self.grad_scale, self.found_inf = self.found_inf, None, None  # type: ignore[attr-defined,has-type]
        return None if skip else super().step(closure)


def measure(loops: dict[str, Step], steps: int, rounds: int) -> dict[str, float]:
    """Return the real tokens a second of each loop: the median of the rounds, in which they take turns."""
    rates: dict[str, list[float]] = {name: [] for name in loops}
    for name, step in loops.items():
        print(f"warming up: {name}", file=sys.stderr, flush=True)
        for _ in range(2):
            step()
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for name, step in loops.items():
            if isinstance(step, Ours):
                step.take_turn()
            _wait()
            began = time.perf_counter()
            count = sum(step() for _ in range(steps))
            _wait()
            rates[name].append(count / (time.perf_counter() - began))
    return {name: statistics.median(found) for name, found in rates.items()}


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=Path, required=True, help="finished token folder")
    parser.add_argument("--tokenizer", type=Path, required=True, help="its tokenizer folder")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32, help="rows a step (default 32)")
    parser.add_argument("--steps", type=int, default=4, help="steps a round (default 4)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median counts (default 5)")
    parser.add_argument("--dtype", choices=["auto", "fp32", "bf16"], default="auto")
    parser.add_argument("--base", action="store_true", help="RoBERTa-base beside it (2 steps a round)")
    parser.add_argument("--no-parts", action="store_true", help="without the runs with a part taken out or put in")
    parser.add_argument("--texts", action="store_true", help="padded samples with a mask and text by text beside it")
    parser.add_argument(
        "--no-compile", action="store_true", help="without the run that is compiled, or on a GPU is not"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    global DEVICE
    DEVICE = processes.join_processes(processes.place_process()).device
    dtype = resolve_dtype(options.dtype)
    print(f"{hardware()}; torch {torch.__version__}, {torch.get_num_threads()} threads, {dtype}")
    peak = measured_rate(DEVICE)
    print(f"matrix product: {peak / 1e12:.3g} TFLOP/s")
    shape = {"layers": options.layers, "hidden": options.hidden, "heads": max(1, options.hidden // 64)}
    rows = compare(options, shape, dtype, peak, parts=not options.no_parts)
    if options.base:
        options.steps = 2
        rows += compare(options, {"layers": 12, "hidden": 768, "heads": 12}, dtype, peak, parts=False)
    if options.json:
        print(json.dumps({"hardware": hardware(), "rows": as_dicts(rows)}, ensure_ascii=False))
    return 1 if any(row.reached is False for row in rows) else 0


def compare(options: argparse.Namespace, shape: dict[str, Any], dtype: str, peak: float, parts: bool) -> list[Row]:
    """Measure a shape, print its table and return the rows."""
    from transformers import AutoTokenizer, DataCollatorForLanguageModeling

    tokens, tokenizer, gpu = options.tokens, options.tokenizer, torch.cuda.is_available()
    text = AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False)
    text.model_max_length = 10**9

    def run(**changes: Any) -> PretrainSettings:
        basic = {"model": {**shape, "dropout": 0.1}, "samples": "contiguous", "length": options.length, "dtype": dtype,
                 "steps": 10**6, "optimizer": {"warmup_steps": 1000},
                 "global_batch": options.batch, "micro_batch": options.batch}  # fmt: skip
        return PretrainSettings(**{**basic, **changes})

    collator = DataCollatorForLanguageModeling(text, mlm=True, mlm_probability=0.15)
    mine = ours(run(), tokens, tokenizer)
    samples = mine.loader.samples
    plain_run = run()
    loops: dict[str, Step] = {
        "ours": mine,
        "plain (a), texts padded": plain(plain_run, tokens, tokenizer, text_rows, dtype, collator),
        "plain (b), running text": plain(plain_run, tokens, tokenizer, running_rows, dtype, collator),
    }
    if options.texts:
        for kind in ("full-sentences", "doc-sentences", "packed"):
            loops[f"ours, {kind}, with a mask"] = ours(run(samples=kind), tokens, tokenizer, texts=False)
            loops[f"ours, {kind}, text by text"] = ours(run(samples=kind), tokens, tokenizer, texts=True)
    if parts:
        loops["ours, head over all positions"] = ours(run(), tokens, tokenizer, FullHead)
        loops["ours, with an attention mask"] = ours(run(), tokens, tokenizer, WithMask)
        for kind in ("full-sentences", "packed", "doc-sentences"):
            loops[f"ours, {kind}"] = ours(run(samples=kind), tokens, tokenizer)
        with mock.patch.object(interface.torch.optim, "AdamW", PlainAdamW):
            loops["ours, optimizer not fused"] = ours(run(), tokens, tokenizer)
        loops["ours, one product for q, k, v" if not gpu else "ours, three products for q, k, v"] = ours(
            run(), tokens, tokenizer, fuse=not gpu
        )
        loops["ours, DeepSpeed's ZeRO 0"] = ours(run(engine="deepspeed"), tokens, tokenizer)
        loops["ours, DeepSpeed's ZeRO 1"] = ours(run(zero_stage=1), tokens, tokenizer)
        if not options.no_compile:
            name = "ours, not compiled" if gpu else "ours, compiled"
            loops[name] = ours(run(compile=not gpu), tokens, tokenizer)
    rates = measure(loops, options.steps, options.rounds)
    vocabulary = TokenShards(tokens).vocab_size
    flops = flops_per_token(run().model, vocabulary, samples.attention_span, run().masking.rate)
    rate = rates["ours"]
    bar = BAR if not gpu and shape["hidden"] == 256 else None
    on_h200 = gpu and "H200" in torch.cuda.get_device_name() and shape["hidden"] == 768 and options.length == 512
    rows = [
        Row(
            "ours",
            rate,
            "tokens/s",
            BAR_H200 if on_h200 else None,
            note=f"{rate * flops / 1e12:.3g} TFLOP/s, {rate * flops / peak:.0%} of the product",
        ),
        Row("  data wait", 100 * mine.data_wait(WAIT_STEPS), "%", 1, most=True, note=f"{WAIT_STEPS} steps in a row"),
        Row("  its loader alone", mine.loader_rate(WAIT_STEPS), "tokens/s", 2 * rate, note="on one core"),
        Row("  padding", 100 * samples.padding, "%", 1, most=True),
    ]
    for name, other in rates.items():
        if name != "ours":
            rows.append(Row(name, other, "tokens/s", note=f"ours is {rate / other:.2f} times as fast"))
    rows.append(Row("ours beside plain (a)", rate / rates["plain (a), texts padded"], "x", bar))
    rows.append(Row("ours beside plain (b)", rate / rates["plain (b), running text"], "x"))
    size = f"{shape['layers']} layers × {shape['hidden']}, {vocabulary:,} entries"
    print_rows(f"{size}, {options.length} tokens, {options.batch} rows", rows)
    return rows


if __name__ == "__main__":
    sys.exit(main())
