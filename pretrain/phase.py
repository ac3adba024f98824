"""Phases: stretches of a run, each with the settings that hold in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from common.errors import UserError
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.objective import Objective
from pretrain.objectives.registry import OBJECTIVES

if TYPE_CHECKING:
    from pretrain.settings import PhaseSettings, PretrainSettings


class Phase(NamedTuple):
    """A phase of a run; one without phases is one phase."""

    settings: PretrainSettings
    """Those of the run as they hold in the phase, without `phases`; schedules still go by the steps of the run."""
    first: int
    end: int

    def samples_before(self, step: int) -> int:
        """Return the samples of the phase's global batches before that of a step of the run."""
        return self.settings.samples_before(min(max(step, self.first), self.end) - self.first)


def phases_of(run: PretrainSettings) -> tuple[Phase, ...]:
    """Return the phases of a run, in order."""
    if not run.phases:
        return (Phase(run, 0, run.steps),)
    phases, first = [], 0
    for stated in run.phases:
        phases.append(Phase(_settings_in(run, stated, first == 0), first, first + stated.steps))
        first += stated.steps
    return tuple(phases)


def _settings_in(run: PretrainSettings, stated: PhaseSettings, begins: bool) -> PretrainSettings:
    """Return the settings of a run as a phase has them; a micro-batch has about as many tokens in each."""
    changes: dict[str, Any] = {name: value for name in OWN if (value := getattr(stated, name))}
    if stated.masking_rate:
        changes["masking"] = run.masking.model_copy(update={"rate": stated.masking_rate, "rate_end": None})
    if stated.learning_rate:
        changes["optimizer"] = run.optimizer.model_copy(update={"learning_rate": stated.learning_rate})
    if stated.global_theta:
        changes["model"] = ARCHITECTURES[run.model.type].with_rope_base(run.model, stated.global_theta) or run.model
    phase = run.model_copy(update={"phases": [], "batch_warmup": run.batch_warmup if begins else None, **changes})
    size = max(1, run.micro_batch * run.max_seq_len // phase.max_seq_len)
    return phase.model_copy(update={"micro_batch": size}).shared_by(run.processes)


OWN = ("objective", "max_seq_len", "global_batch")
"""Settings of a phase that stand in `pretrain` by the same name."""


def values_at(settings: Mapping[str, Any], step: int) -> dict[str, Any]:
    """Return the settings, as a tree, with which a run took a step, counted from 1: `OWN` are those of its phase."""
    end = 0
    for phase in settings.get("phases", ()):
        end += phase["steps"]
        if step <= end:
            return {**settings, **{name: phase[name] for name in OWN if phase.get(name) is not None}}
    return dict(settings)


def learned(settings: Mapping[str, Any], step: int) -> list[Objective]:
    """Return the objectives that a run with these settings, a tree, has learned after at least one step, in order."""
    firsts = [0, *accumulate(phase["steps"] for phase in settings.get("phases", ()))]
    default = next(iter(OBJECTIVES))
    return [OBJECTIVES[values_at(settings, at + 1).get("objective", default)] for at in firsts if at < step]


def refuse_held_out(run: PretrainSettings, by_document: bool) -> None:
    """Raise a UserError for samples held out in phases of several lengths, unless whole documents are held out."""
    lengths = sorted({phase.settings.max_seq_len for phase in run.every_phase})
    if len(lengths) > 1 and run.validation_samples and not by_document:
        raise UserError(
            f"pretrain.validation_samples={run.validation_samples} of a corpus that holds out no documents, with "
            f"pretrain.phases of {' and '.join(map(str, lengths))} tokens",
            "samples of another length are cut elsewhere: what one phase holds out would be trained on in another",
            "set corpus.mixture.held_out (0.005, say), or pretrain.validation_samples=0",
        )


def phase_faults(run: PretrainSettings) -> Iterator[str]:
    """Yield why the phases of a run, which has some, do not make it, with what to set instead."""
    steps, warmup = [phase.steps for phase in run.phases], run.batch_warmup
    if sum(steps) != run.steps:
        yield (
            f"the steps of pretrain.phases add up to {sum(steps)} ({' + '.join(map(str, steps))}), and pretrain.steps "
            f"is {run.steps}; set pretrain.steps={sum(steps)}, or change the steps of a phase"
        )
    if warmup and warmup.steps > steps[0]:
        yield (
            f"pretrain.batch_warmup.steps ({warmup.steps}) must not be more than the steps of the first phase "
            f"({steps[0]}), to whose batch it grows; lower it"
        )
    for number, (stated, phase) in enumerate(zip(run.phases, phases_of(run), strict=True), 1):
        objective, kind = OBJECTIVES[phase.settings.objective], run.masking.kind
        if stated.masking_rate and ("masking" not in objective.sections or kind == "static"):
            yield (
                f"pretrain.phases.masking_rate={stated.masking_rate} in phase {number} is not read: masks are drawn "
                f"anew with pretrain.masking.kind=dynamic ({kind}) and by objectives with masks ({objective.name}); "
                "leave it out"
            )
        if stated.global_theta and not ARCHITECTURES[run.model.type].with_rope_base(run.model, 1.0):
            yield (
                f"pretrain.phases.global_theta={stated.global_theta:g} in phase {number} is a RoPE base, and "
                f"pretrain.model.type={run.model.type} has others; leave it out"
            )
