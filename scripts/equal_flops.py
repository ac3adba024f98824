"""What a model, an objective or an optimizer is worth: held-out loss of variants that are given the same FLOPs.

    hunmin run RECIPE --until encode
    python scripts/equal_flops.py runs/x --flops 6e12 --out runs/equal-flops

Each variant is a small change of one encoder; its steps are as many as its FLOPs a token allow. The learning rate of
each is the best of --rates by the first seed; the other seeds run at that rate. The loss is that of masked tokens of
held-out samples, with the same masks for all, after the last step; a rate at the edge of what was tried is marked.
Results are kept in --out, so an interrupted run resumes.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from timing import hardware, parser_of

from pretrain.batches.loader import Loader, plan_samples
from pretrain.callbacks.guard import StepGuard
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.optim.schedules import learning_rate
from pretrain.parallel.start_engine import start_engine
from pretrain.settings import PretrainSettings
from pretrain.trainer import Trainer
from tokenizer.shards import TokenShards

SHAPE = {"layers": 3, "hidden": 128, "heads": 2, "dropout": 0.0, "initializer_range": 0.05}
VARIANTS: dict[str, dict[str, Any]] = {
    "RoBERTa, AdamW": {},
    "RoBERTa, Muon": {"optimizer": {"type": "muon"}},
    "ModernBERT, AdamW": {"model": {"type": "modernbert"}},
    "ModernBERT, Muon": {"model": {"type": "modernbert"}, "optimizer": {"type": "muon"}},
    "RoBERTa, AdamW, first quarter causal": {"phases": [{"objective": "clm"}, {}]},
}
CAUSAL = 0.25
"""Share of the steps of a causal first phase."""


def settings_of(variant: str, rate: float, seed: int, flops: float, vocab_size: int) -> PretrainSettings:
    change = VARIANTS[variant]
    tree: dict[str, Any] = {
        "masking": {"rate": 0.3}, "packing": "packed", "max_seq_len": 64, "global_batch": 8, "micro_batch": 8,
        "validation_samples": 512, "seed": seed, "threads": 1, "steps": 10**6,
        "model": {**SHAPE, **change.get("model", {})},
        "optimizer": {"learning_rate": rate, "warmup_steps": 50, **change.get("optimizer", {})},
    }  # fmt: skip
    plain = PretrainSettings.model_validate(tree)
    share = CAUSAL if "phases" in change else 0.0

    def of_token(name: str) -> float:
        objective = OBJECTIVES[name]
        span = objective.span(plain.max_seq_len)
        predicted = objective.predicted_share(plain)
        return ARCHITECTURES[plain.model.type].flops_per_token(plain.model, vocab_size, span, predicted)

    a_step = share * of_token("clm") + (1 - share) * of_token("mlm")
    tree["steps"] = round(flops / (a_step * plain.global_batch * plain.max_seq_len))
    tree["optimizer"]["warmup_steps"] = max(1, tree["steps"] // 20)
    if share:
        first = round(share * tree["steps"])
        steps = (first, tree["steps"] - first)
        tree["phases"] = [{**phase, "steps": count} for phase, count in zip(change["phases"], steps, strict=True)]
    return PretrainSettings.model_validate(tree)


def train(run: Path, settings: PretrainSettings) -> dict[str, Any]:
    torch.set_num_threads(1)
    shards, cpu = TokenShards(run / "tokens"), torch.device("cpu")
    model = MaskedRowsModel(build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids)))
    with tempfile.TemporaryDirectory() as plans:
        plan_samples(settings, run / "tokens", Path(plans))
        loader = Loader(settings, run / "tokens", run / "tokenizer", Path(plans), 0, 1)
    trainer = Trainer(start_engine(model, settings, cpu), loader, StepGuard(settings, False, cpu))
    for step, batches in enumerate(loader.ahead(0)):
        trainer.step(step, learning_rate(step, settings), batches)
    totals = dict(zip(trainer.names, trainer.validate(settings.steps - 1).tolist(), strict=True))
    figures = loader.objective(settings.steps - 1).figures(totals)
    return {"loss": figures["loss"], "steps": settings.steps, "parameters": model.hf_model.num_parameters()}


def results(options: Any, jobs: list[tuple[str, float, int]]) -> Iterator[dict[str, Any]]:
    """Yield the result of each job, from what is kept or by a process of its own."""

    def result_of(job: tuple[str, float, int]) -> dict[str, Any]:
        file = options.out / f"{'-'.join(map(str, job)).replace(' ', '').replace(',', '-')}-{options.flops:g}.json"
        if not file.exists():
            command = [sys.executable, __file__, str(options.run), "--flops", str(options.flops), "--job"]
            command += map(str, job)
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            file.write_text(done.stdout)
        return {"variant": job[0], "rate": job[1], "seed": job[2], **json.loads(file.read_text())}

    with ThreadPoolExecutor(options.jobs) as pool:
        yield from pool.map(result_of, jobs)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("run", type=Path, help="a run's folder with tokens and tokenizer")
    parser.add_argument("--flops", type=float, default=6e12, help="of each training run")
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-3, 2e-3, 4e-3])
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43])
    parser.add_argument("--jobs", type=int, default=2, help="runs at once")
    parser.add_argument("--out", type=Path, default=Path("runs/equal-flops"))
    parser.add_argument("--job", nargs=3, help="one run: variant, rate, seed")
    options = parser.parse_args()
    vocab_size = TokenShards(options.run / "tokens").vocab_size
    if options.job:
        variant, rate, seed = options.job
        print(json.dumps(train(options.run, settings_of(variant, float(rate), int(seed), options.flops, vocab_size))))
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    tried = list(results(options, [(v, rate, options.seeds[0]) for v in VARIANTS for rate in options.rates]))
    best = {v: min((row for row in tried if row["variant"] == v), key=lambda row: row["loss"]) for v in VARIANTS}
    others = list(results(options, [(v, best[v]["rate"], seed) for v in VARIANTS for seed in options.seeds[1:]]))
    print(f"{hardware()}; {options.flops:g} FLOPs a run; seeds {options.seeds}; rates {options.rates}\n")
    print("| variant | parameters | steps | learning rate | held-out loss | by seed |\n|---|---|---|---|---|---|")
    for variant, row in best.items():
        losses = [row["loss"], *(other["loss"] for other in others if other["variant"] == variant)]
        edge = " (edge)" if row["rate"] in (min(options.rates), max(options.rates)) else ""
        print(
            f"| {variant} | {row['parameters'] / 1e6:.2f}M | {row['steps']:,} | {row['rate']:g}{edge} | "
            f"{statistics.mean(losses):.4f} | {', '.join(f'{loss:.4f}' for loss in losses)} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
