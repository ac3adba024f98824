"""Branches: a new run that begins from a checkpoint of another, with its optimizer state and its place in the data."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.settings import changed_keys
from pretrain.callbacks.checkpoint_metadata import damaged_files, read_metadata, tokens_fingerprint
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.phase import learned
from pretrain.settings import PretrainSettings
from tokenizer.shards import TokenShards

FREE = (
    *("optimizer", "steps", "global_batch", "batch_warmup", "branch_from", "init_from", "objective", "phases"),
    *("dtype", "grad_reduce_dtype"),
)
"""Settings in which a branch may differ from its parent; all others say what the weights and the data are. Likewise the
sections of objectives that the parent has not learned."""
CARRIED = ("optimizer.type",)
"""Settings within those in which it may not: its parent's optimizer state is of this kind."""
RESTARTED = ("skipped", "faults", "overflows")
"""Counters of a guard for skipped batches, which start at 0 in a branch."""


def may_differ(key: str, free: Collection[str] = FREE) -> bool:
    """Return whether a branch may differ from its parent in a setting of `pretrain`, by its dotted name."""
    return key.partition(".")[0] in free and key not in CARRIED


def read_parent(path: Path, tree: dict[str, Any], settings: PretrainSettings, tokens: Path) -> dict[str, Any]:
    """Return the metadata that a branch begins with: step, place in the data and running figures of its parent.

    A branch counts its steps on from the parent's, so the schedule of a learning rate continues where it stood.

    Raises:
        UserError: it is no whole checkpoint, of other data or another model, or it has no steps left to go.
    """
    saved = read_metadata(path)
    if saved is None or damaged_files(path, saved):
        raise UserError(
            f"{path} is not a whole checkpoint",
            "pretrain.branch_from names the folder of one checkpoint (…/checkpoints/step-00001000)",
            "choose another one",
        )
    before = saved["settings"]
    step = int(saved["step"])
    last = learned(before, step)[-1]
    free = _free(before, step, settings)
    changes = changed_keys(before, tree, model=PretrainSettings)
    changed = [change for change in changes if not may_differ(change.partition(":")[0], free)]
    if saved["tokens_fingerprint"] != tokens_fingerprint(tokens):
        changed.append("the corpus")
    if changed:
        raise UserError(
            f"{path.name} was made with other settings or another corpus: {', '.join(changed)}",
            f"a branch may differ from its parent in {', '.join(free)}, but keeps {', '.join(CARRIED)} with the state "
            "that it carries on; the rest says what weights and data are",
            "restore those settings, or begin from the parent's exported weights alone (pretrain.init_from)",
        )
    if step >= settings.steps:
        raise UserError(
            f"{path.name} has {step} steps, the run is to end after {settings.steps}",
            "a branch continues from its parent's step",
            f"set pretrain.steps to more than {step}",
        )
    first = ARCHITECTURES[settings.model.type].first_position(TokenShards(tokens).special_ids["pad"])
    if settings.longest > (positions := saved["positions"] - first):
        raise UserError(
            f"the run has samples of up to {settings.longest} tokens, and {path.name} has {positions} positions",
            "a branch keeps the positions of its parent",
            f"give no phase more than pretrain.max_seq_len={positions}, or begin from the parent's exported weights "
            "(pretrain.init_from)",
        )
    guard = {name: value for name, value in saved["guard"].items() if name not in RESTARTED}
    if settings.phase_at(step).settings.objective != last.name:  # as where a run goes from one phase to the next
        guard.pop("average", None)
    if saved["dtype"] != "fp16":
        guard.pop("scale")  # 1: it had none
    parent = {"checkpoint": str(path), "step": step, "fingerprint": saved["fingerprint"], "tokens": saved["tokens"]}
    return {
        "step": step,
        "parent": parent,
        "first_position": saved["positions_seen"] - settings.positions_before(step),
        "positions": saved["positions"],
        "guard": guard,
        "tokens": saved["tokens"],
        "tokens_logged": saved["tokens"],
    }


def _free(before: dict[str, Any], step: int, settings: PretrainSettings) -> list[str]:
    """Return the settings in which a branch may differ from a parent with these settings, after so many steps."""
    objectives = learned(before, step)
    used = {section for objective in objectives for section in objective.sections}
    free = [*FREE, *dict.fromkeys(name for each in OBJECTIVES.values() for name in each.sections if name not in used)]
    if OBJECTIVES[settings.objectives[0]].head != objectives[-1].head:
        free.remove("objective")
    return free
