"""Train: the loop of one process. Started as `python -m pretrain.train JOB.json`, alone or under torchrun.

python -m pretrain.train runs/x/pretrain/job.json
python -m pretrain.launch 2 runs/x/pretrain/job.json
python -m torch.distributed.run --standalone --nproc-per-node 2 -m pretrain.train runs/x/pretrain/job.json
"""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write
from common.manifest import read_manifest
from common.process import die_with_parent
from common.progress import ProgressBar, say, short_number
from common.settings import dump_settings, settings_hash
from pretrain.launch import STOP_SIGNALS
from pretrain.settings import PretrainSettings

STOPPED_MARK = "stopped"
"""File in the logs of a run that was asked to stop and saved its state."""


class StopFlag:
    """Set by SIGTERM or SIGINT; read between two steps, by all processes together."""

    def __init__(self) -> None:
        self.asked = False
        for number in STOP_SIGNALS:
            signal.signal(number, self._ask)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)  # the launcher blocked them until here

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def agreed(self) -> bool:
        """Return whether any process was asked to stop, the same answer on all of them."""
        import torch
        import torch.distributed as dist

        if dist.get_world_size() == 1:
            return self.asked
        flag = torch.tensor([int(self.asked)], device="cuda" if torch.cuda.is_available() else "cpu")
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return bool(flag.item())


def train(settings: PretrainSettings, tokens: Path, tokenizer: Path, out: Path) -> dict[str, Any] | None:
    """Train to the last step, resuming from the newest whole checkpoint, and return the run's counts.

    Writes `out/checkpoints/step-*`, `out/logs/metrics.jsonl` and, at the end, `out/model/` (a transformers folder
    with the final weights). Returns None when the run was asked to stop: its state is saved.

    Args:
        settings: the run.
        tokens: finished token folder.
        tokenizer: finished tokenizer folder.
        out: the run's folder.
    """
    stop = StopFlag()
    from pretrain import processes

    processes.prepare_environment(settings.threads)
    import torch
    import torch.distributed as dist
    from transformers.utils import logging as hub_logging

    from pretrain.checkpoint import (
        STATE,
        latest_checkpoint,
        must_reshard,
        remove_unfinished,
        reshard,
        save_checkpoint,
        universal_folder,
    )
    from pretrain.continuation import load_model
    from pretrain.engine import rehearse, restore, speed_up, start_engine, whole_weights
    from pretrain.export import check_export, save_hub_model
    from pretrain.flops import flops_per_token
    from pretrain.loader import Loader, plan_samples, read_vocabulary
    from pretrain.metrics import MetricsLog
    from pretrain.model import MaskedRowsModel, build_config, build_model, model_class
    from pretrain.peak import device_peak
    from pretrain.schedule import masking_rate, rate_factor
    from pretrain.trainer import TOTALS, Trainer, to_device
    from tokenizer.shards import TokenShards

    hub_logging.disable_progress_bar()
    processes.join_processes()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if fault := settings.batch_fault(world):  # a launcher may have started more than `processes`
        raise UserError(fault, "every process computes as many micro-batches of a global batch as the others")
    shards = TokenShards(tokens)
    run_fingerprint = fingerprint(settings, tokens)
    plans = out / f"samples-{run_fingerprint[:12]}"
    if rank == 0:
        plan_samples(settings, tokens, plans)
    dist.barrier()
    loader = Loader(settings, tokens, tokenizer, plans, rank, world)
    config = build_config(settings, shards.vocab_size, shards.special_ids)
    if settings.init_from:
        tell = say if rank == 0 else lambda _: None
        hub = load_model(settings.init_from, config, settings, read_vocabulary(tokenizer), tell)
    else:
        hub = build_model(settings, config)
    if settings.gradient_checkpointing:
        hub.gradient_checkpointing_enable({"use_reentrant": False})
    model = MaskedRowsModel(hub)
    speed_up(model, settings)
    example = loader.micro_batches(0)[0]
    device = processes.device()
    rehearse(model, to_device(*example, settings.samples, device), settings, world)
    checkpoints = out / "checkpoints"
    if rank == 0:
        checkpoints.mkdir(parents=True, exist_ok=True)
        remove_unfinished(checkpoints)
    dist.barrier()
    facts = {"fingerprint": run_fingerprint, "world": world, "zero_stage": settings.zero_stage}
    source, mark = latest_checkpoint(checkpoints, facts)
    universal = must_reshard(mark, world)
    engine = start_engine(model, settings, universal)
    if source:
        if universal and rank == 0:
            reshard(source)
        dist.barrier()
        restore(engine, str(universal_folder(source) if universal else source), STATE)
        dist.barrier()
        if rank == 0:
            remove_unfinished(checkpoints)
    done = int(mark.get("step", 0))

    peak = device_peak(device)
    log = bar = None
    if rank == 0:
        if done:
            say(f"resuming at step {done} of {settings.steps}")
        wandb_config = dump_settings(settings, drop="secret")
        log = MetricsLog(out / "logs", done, settings.wandb, settings.wandb_project, wandb_config)
        bar = ProgressBar("pretrain", settings.steps, "steps", done)

    def positions(first: int, end: int) -> int:
        return (settings.samples_before(end) - settings.samples_before(first)) * settings.length

    def reduce(totals: torch.Tensor) -> list[float]:
        if world > 1:
            moved = totals.clone().to(engine.device)
            dist.all_reduce(moved)
            totals = moved.cpu()
        return [float(x) for x in totals]

    def nothing() -> torch.Tensor:
        return torch.zeros(len(TOTALS), dtype=torch.float64, device=device)

    trainer = Trainer(engine, loader, mark.get("average"), mark.get("scaling"))
    skipped: list[int] = mark.get("skipped", [])
    overflows = int(mark.get("overflows", 0))
    window = torch.tensor(mark.get("window", nothing().tolist()), dtype=torch.float64, device=device)
    if rank:
        window = nothing()  # the saved sums over all processes live on in process 0
    logged = int(mark.get("logged", 0))
    tokens_logged = mark.get("tokens_logged", 0)

    def validate(step: int) -> None:
        if not len(loader.validation_ids):
            return
        figures = means(reduce(trainer.validate()))
        if log:
            log.log({"step": step, **{f"validation_{name}": value for name, value in figures.items()}})

    def note_skipped(step: int) -> None:
        skipped.append(step)
        if rank == 0:
            say(f"warning: batch {step} is skipped: its loss is not finite, or leaps up", style="yellow")
        if len(skipped) > settings.max_skipped:
            raise HunminError(
                f"{len(skipped)} batches had no finite loss, or one more than {settings.spike} times the mean: "
                f"{', '.join(map(str, skipped))}",
                f"a run passes over at most {settings.max_skipped} (pretrain.max_skipped)",
                f"lower pretrain.optimizer.lr, or lengthen the warm-up; the checkpoint of step {saved} is kept",
            )

    def save(step: int) -> None:
        sums = reduce(window)
        more = {"tokens": tokens_logged + round(sums[-1]), "tokens_logged": tokens_logged, "window": sums}
        more |= {"logged": logged, "average": trainer.average, "skipped": skipped, "overflows": overflows}
        more |= {"scaling": trainer.scale.state if trainer.scale else None}
        save_checkpoint(engine, checkpoints, step, {**facts, **more}, settings.keep_last, settings.keep_every)

    # collections in the hot loop cost a few percent and free nothing: tensors go by reference count
    gc.collect()
    gc.disable()
    waited = 0.0
    saved = done
    batches = loader.ahead(done)
    stopped = due = False
    if done == 0:
        validate(0)
    began, since = time.perf_counter(), done
    while done < settings.steps:
        wait = time.perf_counter()
        micro_batches = next(batches)
        waited += time.perf_counter() - wait
        lr = settings.optimizer.lr * rate_factor(done, settings.steps, settings.optimizer)
        logs = (done + 1) % settings.log_every == 0 or done + 1 == settings.steps
        window += trainer.step(done, lr, micro_batches, measure_norm=logs)
        if trainer.overflowed:
            overflows += 1
        elif trainer.skipped:
            note_skipped(done)
        done += 1
        if bar:
            bar.advance()
        if logs:
            sums = reduce(window)
            seconds = time.perf_counter() - began
            real_share = sums[-1] / positions(logged, done)
            tokens_logged += round(sums[-1])
            rate = positions(since, done) * real_share / seconds
            if log and bar:
                masked = masking_rate(done - 1, settings.steps, settings.masking)
                flops = flops_per_token(settings.model, shards.vocab_size, loader.samples.attention_span, masked)
                row = {
                    "step": done,
                    "tokens": tokens_logged,
                    **means(sums),
                    "lr": lr,
                    "batch": positions(done - 1, done) // settings.length,
                    "masking_rate": round(masked, 5),
                    "gradient_norm": trainer.gradient_norm,
                    "tokens_per_second": round(rate, 1),
                    "tflops": round(rate * flops / 1e12, 4),
                    "mfu": round(rate * flops / (peak * world), 4),
                    "padding": round(1 - real_share, 5),
                    "data_wait_share": round(waited / seconds, 5),
                    "skipped": len(skipped) + overflows,
                }
                if trainer.scale:
                    row["loss_scale"] = trainer.scale.factor
                log.log(row)
                bar.advance(0, f"loss {row.get('loss', math.nan):.3f}, {short_number(rate)} tokens/s")
            window, waited, logged = nothing(), 0.0, done
            began, since = time.perf_counter(), done
        if done % settings.validate_every == 0 or done == settings.steps:
            validate(done)
        stopped = stop.agreed()
        due = due or stopped or done % settings.checkpoint_every == 0
        # weights that a batch has just failed on must not replace good ones: the next good step saves
        if (due and not trainer.skipped) or done == settings.steps:
            save(done)
            saved, due = done, False
        if stopped and saved == done:
            break
        if done == since or done % settings.validate_every == 0:
            began, since, waited = time.perf_counter(), done, 0.0
    batches.close()  # type: ignore[attr-defined]
    gc.enable()
    if log:
        log.close()
        if stopped and done < settings.steps:
            (out / "logs" / STOPPED_MARK).touch()
            say(f"stopped as asked after step {done} of {settings.steps}; the checkpoint of step {saved} is complete")
    counts: dict[str, Any] = {
        "steps": settings.steps,
        "tokens": tokens_logged,
        "samples": len(loader.samples),
        "validation_samples": len(loader.validation_ids),
        "epochs": round(loader.epochs, 4),
        "padding": round(loader.samples.padding, 6),
        "skipped": len(skipped) + overflows,
    }
    weights = whole_weights(engine) if done == settings.steps else None
    if weights is not None and rank == 0:
        shutil.rmtree(plans, ignore_errors=True)
        hub = model_class(settings)(engine.module.hub.config)
        hub.load_state_dict(weights)
        save_hub_model(hub, tokenizer, out / "model")
        check_export(out / "model", hub)
        with atomic_write(out / "counts.json") as stream:
            json.dump(counts, stream, indent=1, sort_keys=True)
    dist.barrier()
    dist.destroy_process_group()
    return counts if done == settings.steps else None


def means(sums: list[float]) -> dict[str, float]:
    """Return loss and accuracy a predicted token, and a pair where there are pairs, from a window's `TOTALS`."""
    loss, right, predicted, pair_loss, pairs_right, pairs, _ = sums
    if not predicted:  # every batch of the window was skipped
        return {}
    figures = {"loss": loss / predicted, "accuracy": right / predicted}
    if pairs:
        figures |= {"pair_loss": pair_loss / pairs, "pair_accuracy": pairs_right / pairs}
    return figures


def fingerprint(settings: PretrainSettings, tokens: Path) -> str:
    """Return what identifies a run's course: every setting that matters, and the corpus."""
    manifest = read_manifest(tokens)
    data = manifest.fingerprint if manifest else settings_hash(json.loads((tokens / "tokens.json").read_bytes()))
    return settings_hash({"settings": dump_settings(settings), "tokens": data})


def main(job: str) -> int:
    """Run the job described in a JSON file and return the exit code: 0 done, or stopped and saved, else failed."""
    die_with_parent()
    described = json.loads(Path(job).read_bytes())
    try:
        settings = PretrainSettings.model_validate(described["settings"])
        paths = (Path(described[name]) for name in ("tokens", "tokenizer", "out"))
        train(settings, *paths)
        return 0
    except HunminError as error:
        say(str(error), style="red")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
