"""The objectives there are, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pretrain.objectives.clm import CausalLanguageModelling
from pretrain.objectives.mlm import MaskedLanguageModelling
from pretrain.objectives.nsp import NextSentence
from pretrain.objectives.objective import Objective

if TYPE_CHECKING:
    from pretrain.settings import PretrainSettings

OBJECTIVES: dict[str, Objective] = {
    one.name: one for one in (MaskedLanguageModelling(), NextSentence(), CausalLanguageModelling())
}


def fault_of(settings: PretrainSettings) -> str:
    """Return why a run cannot learn its objectives, with what to set instead; "" where it can."""
    last, phase = settings.objective, settings.first_phase
    if phase and phase.objective == last:
        return f"first_phase.objective is objective={last} itself; leave first_phase out"
    if phase and OBJECTIVES[phase.objective].head != OBJECTIVES[last].head:
        return (
            f"first_phase.objective={phase.objective} does not go with objective={last}, whose model has another head; "
            "leave first_phase out"
        )
    if phase and phase.steps >= settings.steps:
        return (
            f"first_phase.steps ({phase.steps}) must be less than steps ({settings.steps}); to end with it, leave "
            f"first_phase out and set objective={phase.objective}"
        )
    return next(filter(None, (OBJECTIVES[name].fault(settings) for name in settings.objectives)), "")


def last_learned(settings: Mapping[str, Any], step: int) -> Objective:
    """Return the objective that a run with these settings learned last, after at least one step."""
    phase = settings.get("first_phase")
    if phase and step <= phase["steps"]:
        return OBJECTIVES[phase["objective"]]
    return OBJECTIVES[settings.get("objective", MaskedLanguageModelling.name)]
