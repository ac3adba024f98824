"""The objectives there are, by name."""

from __future__ import annotations

from pretrain.objectives.clm import CausalLanguageModelling
from pretrain.objectives.mlm import MaskedLanguageModelling
from pretrain.objectives.nsp import NextSentence
from pretrain.objectives.objective import Objective

OBJECTIVES: dict[str, Objective] = {
    one.name: one for one in (MaskedLanguageModelling(), NextSentence(), CausalLanguageModelling())
}
