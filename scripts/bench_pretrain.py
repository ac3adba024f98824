"""How fast pretraining is: the real training loop beside a plain transformers loop, and what each part gives.

    python scripts/bench_pretrain.py --tokens RUN/tokens --tokenizer RUN/tokenizer [--layers 4 --hidden 256] [--base]
        [--length 128] [--batch 32] [--steps 4] [--rounds 5] [--dtype fp32] [--no-parts] [--texts] [--json]

- ours: token shards, loader, whole-word masks, engine and optimizer step, as `hunmin pretrain` runs them.
- plain: transformers' model with the loss over its full head, torch's AdamW, and `DataCollatorForLanguageModeling`
  over texts: the sentences of a document up to the length, padded to the longest of the batch. Its collator masks
  tokens: masking whole words costs it more.
- parts: ours with one thing taken out or put in.

Same model, numeric type and rows a step. Only positions that hold text or [CLS] and [SEP] count as tokens. All loops
are built first; then each does some steps in turn, round after round, and the median of the rounds counts. Batches
that ours made ready while the others had their turn are not used.
`--base` measures RoBERTa-base beside it (without parts). Exit code 1 when a bar is not reached.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from timing import Row, finish, hardware, parser_of, print_rows
from torch.utils.data import DataLoader, IterableDataset

from pretrain.batches.loader import Loader
from pretrain.batches.plans import plan_samples
from pretrain.callbacks.guard import StepGuard
from pretrain.cost.peak import measured_rate
from pretrain.kernels.attention import NAME
from pretrain.kernels.compile import speed_up
from pretrain.kernels.precision import half_type, resolve_dtype
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.parallel import processes
from pretrain.parallel.start_engine import start_engine
from pretrain.settings import PretrainSettings
from pretrain.trainer import Trainer
from tokenizer.shards import TokenShards

BAR = 1.5
"""Least ratio of ours to the plain loop on a CPU, by the project's own aim."""
WAIT_STEPS = 20
"""Steps over which the loader, and waiting for it, are measured."""
Step = Callable[[], torch.Tensor]
"""One optimizer step; returns how many real tokens it took, as a tensor that nothing has waited for."""


@cache
def device() -> torch.device:
    return processes.join_processes(processes.place_process()).device


def wait() -> None:
    if device().type == "cuda":
        torch.cuda.synchronize()


class Ours:
    """Steps of the project's training loop.

    Args:
        unpadded: whether padded samples are computed text by text; None: as is faster here.
        world: processes that the model is compiled for.
        prepare: changes the model before its first step; None: nothing does.
    """

    def __init__(
        self,
        settings: PretrainSettings,
        tokens: Path,
        tokenizer: Path,
        unpadded: bool | None = None,
        world: int = 1,
        prepare: Callable[[MaskedRowsModel], None] | None = None,
    ) -> None:
        shards = TokenShards(tokens)
        hf_model = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids))
        model = MaskedRowsModel(hf_model, half_type(settings.dtype))
        speed_up(model, settings, device(), world=world)
        if unpadded is not None:
            model.unpadded = unpadded
            hf_model.set_attn_implementation(NAME if unpadded else "sdpa")
        if prepare:
            prepare(model)
        with tempfile.TemporaryDirectory() as plans:
            plan_samples(settings, tokens, Path(plans))
            self.loader = Loader(settings, tokens, tokenizer, Path(plans), 0, 1, form=model.input_form(device()))
        guard = StepGuard(settings, resolve_dtype(settings.dtype) == "fp16", device())
        self._trainer = Trainer(start_engine(model, settings, device()), self.loader, guard)
        self.flops = model.architecture.flops_per_token(
            settings.model, shards.vocab_size, self.loader.samples.attention_span, settings.masking.rate
        )
        """Floating point operations a token."""
        self._number, self.waited = 0, 0.0
        self._batches = self.loader.ahead(0)

    def __call__(self) -> torch.Tensor:
        """Take a step; seconds for which the data is waited for go into `waited`."""
        began = time.perf_counter()
        batches = next(self._batches)
        self.waited += time.perf_counter() - began
        lr = self._trainer.settings.optimizer.learning_rate
        self._number += 1
        return self._trainer.step(self._number - 1, lr, batches).totals[self._trainer.names.index("tokens")]

    def take_turn(self) -> None:
        """Forget the batches that were made while others had their turn, and take a step."""
        self._batches.close()
        self._batches = self.loader.ahead(self._number)
        self()

    def loader_figures(self, steps: int) -> tuple[float, float]:
        """Return the share of time for which the data is waited for, over so many steps in a row, and the tokens a
        second that the loader makes on one core when nothing waits for it."""
        self.take_turn()
        self.waited, began = 0.0, time.perf_counter()
        for _ in range(steps):
            float(self())
        waited = self.waited / (time.perf_counter() - began)
        began = time.perf_counter()
        made = [batch for step in range(steps) for batch in self.loader.micro_batches(step)]
        seconds = time.perf_counter() - began
        return waited, sum(float(batch.counts[0]) for batch in made) / seconds


class Texts(IterableDataset):  # type: ignore[type-arg]
    """What a plain script feeds its collator: the sentences of one document up to the length."""

    def __init__(self, tokens: Path, length: int) -> None:
        self._tokens, self._length = tokens, length

    def __iter__(self) -> Iterator[dict[str, list[int]]]:
        shards, most = TokenShards(self._tokens), self._length - 2
        cls, sep = shards.special_ids["cls"], shards.special_ids["sep"]
        for index in cycle(range(len(shards.shards))):
            tokens = shards.tokens(index)
            sentences = np.asarray(shards.sentences(index))
            documents = set(np.asarray(shards.documents(index)).tolist())
            start = 0
            for before, end in pairwise(sentences.tolist()):
                if before > start and (before in documents or end - start > most):
                    yield {"input_ids": [cls, *tokens[start : min(before, start + most)].tolist(), sep]}
                    start = before


class Plain:
    """Steps of a plain loop around transformers' model and collator."""

    def __init__(self, settings: PretrainSettings, tokens: Path, collator: Any, compiled: bool) -> None:
        shards = TokenShards(tokens)
        self._settings = settings
        gpu = device().type == "cuda"
        config = build_config(settings, shards.vocab_size, shards.special_ids)
        self._model = build_model(settings, config).to(device()).train()
        if compiled:
            self._model.compile()
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(), lr=settings.optimizer.learning_rate, weight_decay=0.01
        )
        self._half = half_type(settings.dtype)
        self._pad = shards.special_ids["pad"]
        self.waited = 0.0
        texts = Texts(tokens, settings.max_seq_len)
        self._source = iter(
            DataLoader(texts, settings.micro_batch, num_workers=8 * gpu, collate_fn=collator, pin_memory=gpu)
        )

    def __call__(self) -> torch.Tensor:
        """Take a step; seconds for which the data is waited for go into `waited`."""
        began = time.perf_counter()
        batch = next(self._source)
        self.waited += time.perf_counter() - began
        batch.setdefault("attention_mask", (batch["input_ids"] != self._pad).long())
        real = batch["attention_mask"].sum()
        with torch.autocast(device().type, self._half, enabled=self._half is not None):
            loss = self._model(**{name: value.to(device(), non_blocking=True) for name, value in batch.items()}).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), self._settings.optimizer.max_grad_norm)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return real


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
            wait()
            began = time.perf_counter()
            counts = [step() for _ in range(steps)]
            wait()
            rates[name].append(sum(map(float, counts)) / (time.perf_counter() - began))
    return {name: statistics.median(per_round) for name, per_round in rates.items()}


def compare(options: argparse.Namespace, shape: dict[str, Any], dtype: str, steps: int, parts: bool) -> list[Row]:
    """Measure a shape, print its table and return the rows."""
    from transformers import AutoTokenizer, DataCollatorForLanguageModeling

    text = AutoTokenizer.from_pretrained(options.tokenizer, trust_remote_code=False)
    text.model_max_length = 10**9
    gpu, peak = device().type == "cuda", measured_rate(device())

    def run(**changes: Any) -> PretrainSettings:
        basic = {
            "model": {**shape, "dropout": 0.1},
            "packing": "contiguous",
            "max_seq_len": options.length,
            "dtype": dtype,
            "steps": 10**6,
            "optimizer": {"warmup_steps": 1000},
            "global_batch": options.batch,
            "micro_batch": options.batch,
        }
        return PretrainSettings(**{**basic, **changes})

    def ours(unpadded: bool | None = None, **changes: Any) -> Ours:
        return Ours(run(**changes), options.tokens, options.tokenizer, unpadded)

    collator = DataCollatorForLanguageModeling(text, mlm=True, mlm_probability=0.15)
    mine = ours()
    loops: dict[str, Step] = {
        "ours": mine,
        "plain": Plain(run(), options.tokens, collator, False),
    }
    padded = ("full-sentences", "packed", "doc-sentences")
    for kind in padded if options.texts else ():
        loops[f"ours, {kind}, with a mask"] = ours(unpadded=False, packing=kind)
        loops[f"ours, {kind}, text by text"] = ours(unpadded=True, packing=kind)
    if parts:
        loops |= {f"ours, {kind}": ours(packing=kind) for kind in padded}
        loops["ours, DeepSpeed's ZeRO 0"] = ours(engine="deepspeed")
        loops["ours, DeepSpeed's ZeRO 1"] = ours(zero_stage=1)
        loops["ours, not compiled" if gpu else "ours, compiled"] = ours(compile=not gpu)
    rates = measure(loops, steps, options.rounds)
    rate, work = rates["ours"], rates["ours"] * mine.flops
    note = f"{work / 1e12:.3g} TFLOP/s, {work / peak:.0%} of a matrix product's {peak / 1e12:.3g}"
    waited, loaded = mine.loader_figures(WAIT_STEPS)
    rows = [
        Row("ours", rate, "tokens/s", note=note),
        Row("  data wait", 100 * waited, "%", 1, most=True, note=f"{WAIT_STEPS} steps in a row"),
        Row("  its loader alone", loaded, "tokens/s", 2 * rate, note="on one core"),
        Row("  padding", 100 * mine.loader.samples.padding, "%", 1, most=True),
    ]
    for name, other_rate in rates.items():
        if name != "ours":
            rows.append(Row(name, other_rate, "tokens/s", note=f"ours is {rate / other_rate:.2f} times as fast"))
    bar = BAR if not gpu and shape["hidden"] == 256 else None
    rows.append(Row("ours beside plain", rate / rates["plain"], "x", bar))
    size = f"{shape['layers']} layers × {shape['hidden']}, {TokenShards(options.tokens).vocab_size:,} entries"
    return print_rows(f"{size}, {options.length} tokens, {options.batch} rows", rows)


def main() -> int:
    parser = parser_of(__doc__, json=True)
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
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    dtype = resolve_dtype(options.dtype)
    print(f"{hardware()}; torch {torch.__version__}, {torch.get_num_threads()} threads, {dtype}")
    shape = {"layers": options.layers, "hidden": options.hidden, "heads": max(1, options.hidden // 64)}
    rows = compare(options, shape, dtype, options.steps, not options.no_parts)
    if options.base:
        rows += compare(options, {"layers": 12, "hidden": 768, "heads": 12}, dtype, 2, False)
    return finish(rows, options.json)


if __name__ == "__main__":
    sys.exit(main())
