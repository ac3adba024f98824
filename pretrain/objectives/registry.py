"""The objectives there are, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pretrain.objectives.clm import CausalLanguageModelling
from pretrain.objectives.mlm import MaskedLanguageModelling
from pretrain.objectives.nsp import NextSentence
from pretrain.objectives.objective import Objective

if TYPE_CHECKING:
    from pretrain.settings import PretrainSettings

OBJECTIVES: dict[str, Objective] = {
    kind.name: kind for kind in (MaskedLanguageModelling(), NextSentence(), CausalLanguageModelling())
}


def fault_of(settings: PretrainSettings) -> str:
    """Return why a run cannot learn its objectives, with what to set instead; "" where it can."""
    last, *others = settings.objectives
    for other in others:
        if OBJECTIVES[other].head != OBJECTIVES[last].head:
            return (
                f"pretrain.phases.objective={other} does not go with {last} in the last phase, whose model has another "
                "head; give all phases objectives of one head"
            )
    phases = [phase.settings for phase in settings.every_phase]
    return next(filter(None, (OBJECTIVES[each.objective].fault(each) for each in phases)), "")
