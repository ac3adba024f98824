"""Callbacks of transformers' Trainer: metrics, progress, stops that all processes agree on, exact resuming."""

from __future__ import annotations

import json
import math
import shutil
import socket
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from common.code import code_changes
from common.errors import HunminError, UserError
from common.files import atomic_write, disk_errors, follow_umask, publish_folder, read_bytes, write_text
from common.progress import ProgressBar
from common.settings import dump_settings, settings_hash
from pretrain.callbacks.metrics import MetricsLog, note_start
from pretrain.callbacks.tuning_checkpoints import PREFIX, finish_checkpoint, finished_checkpoints, newest_checkpoint
from pretrain.parallel.versions import TRAINER, difference, refuse, versions_of
from pretrain.train import STOPPED_MARK, StopFlag

CODE = "code.json"
"""File in a checkpoint: the versions of what wrote it."""


class Follow(TrainerCallback):
    """Metrics and progress on the first process; a stop at the end of a step in which any process was asked."""

    def __init__(
        self, name: str, s: Any, out: Path, stop: StopFlag, resumed: int, steps: int, first: bool, cure: str
    ) -> None:
        self.stop = stop
        self.stopped = False
        self.log = None
        self.cure = cure
        if first:
            self.bar = ProgressBar(name, steps, "steps", resumed).__enter__()
            self.log = MetricsLog(out / "logs", resumed, s, dump_settings(s, drop="secret"))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Agree on a stop. A checkpoint ends a window of the log, so that a resumed run has the same lines."""
        stop_votes = torch.tensor(float(self.stop.asked), device=args.device)
        if args.world_size > 1:
            torch.distributed.all_reduce(stop_votes)
        if stop_votes and state.global_step < state.max_steps:
            self.stopped = control.should_save = control.should_training_stop = True
        control.should_log |= control.should_save

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Write a line: the loss of a window of steps, or the held-out losses; raise HunminError where it diverges."""
        if not math.isfinite(logs.get("loss", 0)):
            cure = f"{self.cure}; an earlier checkpoint is kept"
            raise HunminError(f"the loss is {logs['loss']} at step {state.global_step}", "a loss is finite", cure)
        if self.log and ("loss" in logs or "eval_loss" in logs):
            self.log.log({"step": state.global_step, **logs})
            note = ", ".join(f"{name} {logs[name]:.3f}" for name in logs if name.endswith("loss"))
            self.bar.advance(state.global_step - self.bar.done, note)

    def on_train_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        if self.log:
            self.bar.advance(state.global_step - self.bar.done)
            self.bar.__exit__(None, None, None)
            self.log.close()


class WholeCheckpoints(Trainer):
    """The Trainer, whose checkpoints end when all processes have written; older ones are told by their step.

    The Trainer tells them by their time: after a clock that was set back it would remove the one just written.
    """

    control: Any

    def _save_checkpoint(self, *arguments: Any, **options: Any) -> None:
        keep = self.args.save_total_limit
        self.args.save_total_limit = None
        try:
            super()._save_checkpoint(*arguments, **options)
        finally:
            self.args.save_total_limit = keep
        if self.args.should_save:
            folder = Path(self.args.output_dir)
            finish_checkpoint(folder / f"{PREFIX}{self.state.global_step}")
            for _, path in finished_checkpoints(folder)[: -keep if keep else 0]:
                shutil.rmtree(path, ignore_errors=True)

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        if self.args.should_save:
            write_text(Path(output_dir) / CODE, json.dumps(versions_of(TRAINER)))
        self.accelerator.wait_for_everyone()  # the manifest, written after this, says that every file is there


def begin_or_resume(arguments: TrainingArguments, identity: object, fixed: str) -> tuple[int, Path | None]:
    """Return steps and folder of the checkpoint to resume from, (0, None) at a start, which is marked.

    Raises:
        UserError: the checkpoint is of a run with another `identity` (in words `fixed`), or processes' code differs.
    """
    folder = Path(arguments.output_dir)
    own = settings_hash(identity)
    code = versions_of(TRAINER)
    versions: list[Any] = [(socket.gethostname(), code)] * arguments.world_size
    if arguments.world_size > 1:
        torch.distributed.all_gather_object(versions, versions[0])
    refuse(difference(versions))
    with arguments.distributed_state.main_process_first():
        done, checkpoint = newest_checkpoint(folder)
    if checkpoint and read_bytes(folder / "run").decode() != own:
        rule = f"a run resumes with the {fixed} that it began with"
        raise UserError(f"{checkpoint} is of another run", rule, "restore them, or remove the folder to begin anew")
    if arguments.process_index == 0 and checkpoint:
        before = json.loads((checkpoint / CODE).read_bytes()) if (checkpoint / CODE).is_file() else code
        note_start(folder.parent / "logs", done, arguments.world_size, code_changes(before, code))
    if arguments.process_index == 0 and not checkpoint:
        with disk_errors(folder.parent):
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / "run", own)
    return done, checkpoint


def train_or_stop(trainer: Trainer, follow: Follow, checkpoint: Path | None, out: Path) -> bool:
    """Train from a checkpoint to the end; return False where a stop was asked for, whose state is saved."""
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if follow.stopped and follow.log:
        (out / "logs" / STOPPED_MARK).touch()
    return not follow.stopped


def publish_tuned(partial: Path, out: Path, counts: dict[str, Any]) -> None:
    """Give a tuned model's folder its name `out/model`, and write `out/counts.json`."""
    follow_umask(*partial.glob("*.safetensors"))
    publish_folder(partial, out / "model", replace=True)
    with atomic_write(out / "counts.json") as stream:
        json.dump(counts, stream, ensure_ascii=False, indent=1, sort_keys=True)
