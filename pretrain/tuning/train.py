"""Tune: one process of a run. Started as `python -m pretrain.tuning.train JOB.json`, alone, by torchrun or by srun.

`python -m pretrain.tuning.train PROCESSES JOB.json` starts so many processes on this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write, disk_errors, sha256_file
from common.process import available_cores, die_with_parent
from common.progress import say
from common.settings import changed_keys, dump_settings, parse_settings
from pretrain.launch import ignore_stops, launch
from pretrain.train import STOPPED_MARK, StopFlag
from pretrain.tuning.settings import TuneSettings
from pretrain.world import world_info


def newest_checkpoint(folder: Path) -> tuple[int, Path | None]:
    """Return steps and folder of the newest whole checkpoint, (0, None) without one; unfinished ones are removed."""
    whole: list[tuple[int, Path]] = []
    for path in folder.glob("checkpoint-*"):
        try:  # the Trainer writes this file last, and not atomically
            whole.append((int(json.loads((path / "trainer_state.json").read_bytes())["global_step"]), path))
        except (OSError, ValueError, KeyError, TypeError):
            shutil.rmtree(path, ignore_errors=True)
    return max(whole, default=(0, None))


def tune(settings: TuneSettings, instructions: Path, out: Path) -> dict[str, Any] | None:
    """Tune to the last step, resuming from the newest whole checkpoint, and return the run's counts.

    Writes `out/model`, `out/adapter` (LoRA), `out/counts.json`, `out/rejects`, `out/logs`. Returns None when a stop was
    asked for and the state is saved.

    Args:
        settings: the run.
        instructions: a build of data/instruct.
        out: the run's folder.

    Raises:
        UserError: the base, its tokenizer or the processes do not fit, or a checkpoint is of another run.
    """
    stop, info = StopFlag(), world_info(os.environ)
    if fault := settings.batch_fault(info.world):
        raise UserError(fault, "every process computes as many micro-batches of a global batch as the others")
    if info.world > 1 or settings.zero_stage:
        os.environ.update(info.environment())
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"  # a pickle of a checkpoint gives values, and runs nothing
    import torch

    if not torch.cuda.is_available():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")  # transformers asks DeepSpeed, which would warn
    from transformers.integrations.deepspeed import unset_hf_deepspeed_config
    from transformers.utils.logging import disable_progress_bar

    from pretrain.checkpoint import library_disk_errors
    from pretrain.model import recompute_layers
    from pretrain.precision import half_type
    from pretrain.tuning.base import beginning, load_model, with_lora
    from pretrain.tuning.plan import Inputs
    from pretrain.tuning.save import save_model
    from pretrain.tuning.trainer import Follow, Tuner, training_arguments

    torch.set_num_threads(settings.threads or max(1, available_cores() // info.local_world))
    disable_progress_bar()
    inputs, first, folder = Inputs(settings, instructions), info.rank == 0, out / "checkpoints"
    arguments = training_arguments(settings, folder, info.world, inputs)
    with arguments.distributed_state.main_process_first():
        done, checkpoint = newest_checkpoint(folder)
    own = {**dump_settings(settings), "processes": info.world, "zero_stage": settings.zero_stage}
    own["examples"] = sha256_file(instructions / "train.jsonl")
    if checkpoint and (changed := changed_keys(json.loads((folder / "run.json").read_bytes()), own)):
        raise UserError(
            f"{checkpoint} was made by another run: {', '.join(changed)}",
            "a run resumes with the settings, examples and processes that it began with",
            "restore them, or remove its folder to begin anew",
        )
    with disk_errors(out), library_disk_errors(out):
        if first and not checkpoint:
            with atomic_write(folder / "run.json") as stream:
                json.dump(own, stream)
        if done < inputs.counts["steps"]:
            model = load_model(
                beginning(inputs.base, checkpoint, settings), half_type(settings.dtype) if settings.lora else None
            )
            if settings.gradient_checkpointing:
                recompute_layers(model)
            follow = Follow(settings, out, stop, done, inputs.counts["steps"], first)
            trainer = Tuner(inputs, model=with_lora(model, settings), args=arguments, callbacks=[follow])
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
            if follow.stopped:
                if first:
                    (out / "logs" / STOPPED_MARK).touch()
                return None
            del model, trainer
        unset_hf_deepspeed_config()  # it would part the weights that are loaded now
        if first:
            save_model(settings, inputs, newest_checkpoint(folder)[1], out)
    return inputs.counts


def main(job: str, processes: int = 1) -> int:
    """Run the job described in a JSON file and return the exit code: 0 done, or stopped and saved, else failed."""
    die_with_parent()
    if processes > 1:
        return launch([sys.executable, "-m", "pretrain.tuning.train", job], processes, Path(job).parent / "ranks")
    warnings.simplefilter("ignore", FutureWarning)
    try:
        read = json.loads(Path(job).read_bytes())
        tune(parse_settings(TuneSettings, read["settings"], job), Path(read["instructions"]), Path(read["out"]))
        ignore_stops()
        return 0
    except HunminError as error:
        say(str(error), style="red")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1], int(sys.argv[1]) if len(sys.argv) > 2 else 1))
