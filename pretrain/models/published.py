"""A published model, read whole and refused where a run would not compute what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedConfig, PreTrainedModel

from common.errors import UserError
from pretrain.model_folder import LOCAL, quiet
from pretrain.models.check_forms import differing_form
from pretrain.models.registry import ARCHITECTURES
from pretrain.settings import ModelSettings

SHAPE = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
}
"""Settings of the model → names in a transformers configuration."""
UNNAMED = {"_name_or_path", "architectures", "dtype", "tokenizer_class", "transformers_version", "vocab_size"}
"""Entries that differ between models which compute the same."""


def check_type(source: str, config: PreTrainedConfig, kind: str) -> None:
    """Raise UserError where a published model is of another `model_type` than the run's."""
    if config.model_type != kind:
        raise UserError(
            f"{source} is a {config.model_type}, the run trains a {kind}",
            "a run continues with a model of its own kind",
            "set pretrain.model.type, or name another model",
        )


def check_shape(source: str, config: PreTrainedConfig, settings: ModelSettings) -> None:
    """Raise UserError where a model has another shape than the settings state."""
    differing = {
        "feed_forward" if name == "intermediate" else name: getattr(config, theirs)
        for name, theirs in SHAPE.items()
        if getattr(config, theirs) != getattr(settings, name)
    }
    if differing:
        fix = " ".join(f"pretrain.model.{name}={value}" for name, value in differing.items())
        raise UserError(f"{source} has another shape than the recipe", "weights fit one shape", f"set {fix}")


def check_kind(source: str, config: PreTrainedConfig, ours: PreTrainedConfig) -> None:
    """Raise a UserError for a model with an entry that a run's model, `ours`, cannot have."""
    architecture = ARCHITECTURES[ours.model_type]
    rule = "the exported model must compute what was trained"
    decided = {name: getattr(ours, name) for name in ("pad_token_id", *architecture.set_by)}
    for name, value in {**decided, **architecture.needs}.items():
        theirs = getattr(config, name, value)
        if theirs != value:
            fix = "continue with another model"
            if name in architecture.set_by:
                fix = f"set {architecture.set_by[name]} as the model has it"
            elif name == "pad_token_id":
                fix = "use the model's own tokenizer"
            raise UserError(f"{source} has {name} = {theirs}, the run {value}", rule, fix)


def read_weights(source: str, config: PreTrainedConfig, kind: type[PreTrainedModel]) -> PreTrainedModel:
    """Return the model, all of whose weights are there: transformers would begin missing ones at random.

    Nor is any left over that its encoder would have used: transformers passes over those of options that it has dropped
    (relative positions of BERT, say), and the model would be another one than was published.

    Raises:
        UserError: weights are missing or left over, or those of the output are not those of the embeddings.
    """
    architecture = ARCHITECTURES[config.model_type]
    model, information = _load(source, config, kind, key_mapping=dict(architecture.renamed))
    unexpected = sorted(name for name in information["unexpected_keys"] if _of_encoder(name, model))
    if missing := sorted(information["missing_keys"]):
        raise UserError(
            f"{source} lacks {len(missing)} weights of a {kind.__name__}: {', '.join(missing[:3])}",
            "a run continues with all weights, those of the heads too",
            "name a checkpoint of pretraining, not one for another task, or another pretrain.objective",
        )
    if unexpected:
        raise UserError(
            f"{source} has {len(unexpected)} weights that a {kind.__name__} has no place for: "
            f"{', '.join(unexpected[:3])}",
            "a run continues with all weights of the encoder",
            "continue with a model that transformers computes as it was published",
        )
    with torch.device("meta"):
        fresh = {name for name, _ in kind(config).named_parameters()}
    if apart := sorted({name for name, _ in model.named_parameters()} ^ fresh):
        raise UserError(
            f"{source} holds its output layer apart from its embeddings: {', '.join(apart[:3])}",
            "a run trains one table of both (tie_word_embeddings)",
            "continue with another model",
        )
    # it would be saved under the names that it was read with
    return rebuilt(model, {}) if architecture.renamed else model


def _of_encoder(name: str, model: PreTrainedModel) -> bool:
    """Return whether a weight's name is one of the encoder's; a pooler is of a head that the objective may not have."""
    return name.startswith(f"{model.base_model_prefix}.") and ".pooler." not in name


def _load(source: str, config: PreTrainedConfig, kind: Any, **more: Any) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Return a model in fp32, and what transformers says of its weights."""
    with quiet():
        return kind.from_pretrained(  # type: ignore[no-any-return]
            source, config=config, dtype=torch.float32, output_loading_info=True, **LOCAL, **more
        )


def compare_logits(source: str, model: PreTrainedModel, ours: PreTrainedConfig) -> None:
    """Raise a UserError for a model of which training would compute other logits than transformers' own class."""
    config = AutoConfig.from_pretrained(source, **LOCAL)
    published, information = _load(source, config, AutoModelForMaskedLM)
    architecture = ARCHITECTURES[config.model_type]
    if (head_config := architecture.published_head(config, information["unexpected_keys"])) is not None:
        published, _ = _load(source, head_config, AutoModelForMaskedLM)
    if where := differing_form(model, published):
        theirs, own = config.to_dict(), ours.to_dict()
        entries = sorted(name for name in theirs.keys() & own.keys() - UNNAMED if theirs[name] != own[name])
        raise UserError(
            f"training would compute other logits than {type(published).__name__} does of {source}: {where}"
            + (f"; it differs from the run in {', '.join(entries)}" if entries else ""),
            "the exported model must compute what was trained",
            "continue with another model",
        )


def rebuilt(model: PreTrainedModel, tables: Mapping[Tensor, Tensor]) -> PreTrainedModel:
    """Return a model of the same weights but for `tables`, and of its changed configuration; tied weights stay tied."""
    state = model.state_dict()
    for name, weight in model.named_parameters(remove_duplicate=False):
        state[name] = tables.get(weight, weight)
    fresh = type(model)(model.config)
    fresh.load_state_dict(state)
    return fresh
