"""Further pretraining: a run that begins with the weights of a published model, its vocabulary extended or as it is."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, PreTrainedConfig, PreTrainedModel

from common.errors import UserError
from common.names import find, with_prefix
from pretrain.models.check_forms import differing_form
from pretrain.models.encoder import build_config, model_class
from pretrain.models.positions import Longer, lengthen
from pretrain.models.registry import ARCHITECTURES, first_position, usable_positions
from pretrain.settings import ModelSettings, PretrainSettings
from tokenizer.pipeline import CONTINUATION

SHAPE = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
}
"""Settings of the model → names in a transformers configuration."""


def load_model(
    source: str,
    config: PreTrainedConfig,
    settings: PretrainSettings,
    vocabulary: list[str],
    tell: Callable[[str], None] = lambda _: None,
    compare: bool = True,
) -> PreTrainedModel:
    """Return a model with the weights of `source` that takes the run's vocabulary and length.

    Its configuration is that of `source`, all of it: what the settings decide must be as they say. Whether training
    then computes what transformers does is told by logits (`differing_form`).

    Entries that the vocabulary has beyond the published one begin as the mean of the pieces that they were cut into so
    far (their embeddings and their output biases). A run longer than the model has positions continues from these
    as they continue from each other (`lengthen`); where they show no such order, they are repeated (Beltagy et
    al. 2020, section 5), and the run learns to tell them apart.

    Args:
        source: a transformers folder, a run's folder, or a name on the hub.
        config: the run's; dropout and special ids are taken from it, and its length is the least there will be.
        settings: the run, with the shape that the recipe states.
        vocabulary: the run's entries in the order of their ids.
        tell: gets each difference from the published model.
        compare: whether logits are compared; of several processes one does.

    Raises:
        UserError: there is no model of the run's kind there with all of its weights and its tokenizer, its shape is not
            the recipe's, its vocabulary does not begin the run's, or training would compute something else than it.
    """
    named, source = source, str(find(with_prefix(source), "model"))
    theirs = _config(source, config.model_type)
    _check_shape(source, theirs, settings.model)
    _check_kind(source, theirs, config)
    known = _vocabulary(source)
    if len(known) != theirs.vocab_size or known != vocabulary[: len(known)]:
        raise UserError(
            f"the vocabulary of {source} ({len(known):,} entries) is not the beginning of the run's "
            f"({len(vocabulary):,})",
            "an embedding belongs to one entry, so ids must stay as they are",
            "use the model's own tokenizer, or one extended from it: hunmin tokenizer extend",
        )
    architecture = ARCHITECTURES[settings.model.type]
    architecture.set_dropout(theirs, settings.model)
    for name, value in architecture.fixed.items():
        setattr(theirs, name, value)
    theirs.tokenizer_class, theirs.architectures = config.tokenizer_class, config.architectures
    model = _weights(source, theirs, model_class(settings))
    if compare:
        _compare(source, model, config)
    if len(vocabulary) > len(known):
        model = _extend(model, known, vocabulary)
        tell(f"{len(vocabulary) - len(known):,} new entries begin as the mean of their pieces in {named}")
    if theirs.max_position_embeddings < config.max_position_embeddings:
        there = usable_positions(theirs)
        model, longer = _lengthen(model, config.max_position_embeddings)
        how = "the others are computed, as those are"
        if longer:
            how = (
                f"the others follow a rotation of {longer.components} components ({longer.predicted:.0%} of a step)"
                if longer.components
                else "they are repeated, as no rotation continues them"
            )
        tell(f"{named} has {there} positions, the run {settings.max_seq_len}: {how}")
    return model


def check_model(source: str, settings: PretrainSettings) -> None:
    """Refuse a model that a run cannot continue from, as far as its configuration shows it; see `load_model`.

    Raises:
        UserError: there is none, or it has another kind or shape.
    """
    source = str(find(with_prefix(source), "model"))
    theirs = _config(source, settings.model.type)
    _check_shape(source, theirs, settings.model)
    special_ids = dict.fromkeys(("cls", "sep", "unk", "mask"), 0) | {"pad": theirs.pad_token_id}
    _check_kind(source, theirs, build_config(settings, theirs.vocab_size, special_ids))


def _config(source: str, kind: str) -> Any:
    try:
        config = AutoConfig.from_pretrained(source, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        _refuse_own_code(source, error)
        raise UserError(
            f"{source} is no model that transformers can load: {_first_line(error)}",
            "pretrain.init_from names a transformers folder, a run's folder, or a model on the hub (OWNER/NAME)",
            "check the name; a gated model needs a login (hf auth login)",
        ) from None
    if config.model_type != kind:
        raise UserError(
            f"{source} is a {config.model_type}, the run trains a {kind}",
            "a run continues with a model of its own kind",
            "set pretrain.model.type, or name another model",
        )
    return config


def _check_shape(source: str, config: PreTrainedConfig, settings: ModelSettings) -> None:
    differing = {
        "feed_forward" if name == "intermediate" else name: getattr(config, theirs)
        for name, theirs in SHAPE.items()
        if getattr(config, theirs) != getattr(settings, name)
    }
    if differing:
        remedy = " ".join(f"pretrain.model.{name}={value}" for name, value in differing.items())
        raise UserError(f"{source} has another shape than the recipe", "weights fit one shape", f"set {remedy}")


def _check_kind(source: str, config: PreTrainedConfig, ours: PreTrainedConfig) -> None:
    """Refuse a model that computes something else than the run's would with the same weights."""
    architecture, rule = ARCHITECTURES[ours.model_type], "the exported model must compute what was trained"
    decided = {name: getattr(ours, name) for name in ("pad_token_id", *architecture.set_by)}
    for name, value in {**decided, **architecture.needs}.items():
        theirs = getattr(config, name, value)
        if theirs != value:
            remedy = "continue with another model"
            if name in architecture.set_by:
                remedy = f"set {architecture.set_by[name]} as the model has it"
            elif name == "pad_token_id":
                remedy = "use the model's own tokenizer"
            raise UserError(f"{source} has {name} = {theirs}, the run {value}", rule, remedy)


def _weights(source: str, config: PreTrainedConfig, kind: type[PreTrainedModel]) -> PreTrainedModel:
    """Return the model, all of whose weights are there: transformers would begin missing ones at random.

    Nor is any left over that its encoder would have used: transformers passes over those of options that it has dropped
    (relative positions of BERT, say), and the model would be another one than was published.
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
    return model


def _of_encoder(name: str, model: PreTrainedModel) -> bool:
    """Return whether a weight's name is one of the encoder's; a pooler is of a head that the objective may not have."""
    return name.startswith(f"{model.base_model_prefix}.") and ".pooler." not in name


def _load(source: str, config: PreTrainedConfig, kind: Any, **more: Any) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Return a model in fp32, and what transformers says of its weights."""
    try:
        return kind.from_pretrained(  # type: ignore[no-any-return]
            source, config=config, dtype=torch.float32, output_loading_info=True, local_files_only=True,
            trust_remote_code=False, **more,
        )  # fmt: skip
    except (OSError, ValueError, RuntimeError, EOFError, pickle.UnpicklingError, SafetensorError) as error:
        raise _not_whole(source, "weights", error) from None


def _compare(source: str, model: PreTrainedModel, ours: PreTrainedConfig) -> None:
    """Refuse a model of which training would compute other logits than transformers does."""
    config = _config(source, model.config.model_type)
    published, information = _load(source, config, AutoModelForMaskedLM)
    architecture = ARCHITECTURES[config.model_type]
    if (other := architecture.published_head(config, information["unexpected_keys"])) is not None:
        published, _ = _load(source, other, AutoModelForMaskedLM)
    if where := differing_form(model, published):
        theirs, own = config.to_dict(), ours.to_dict()
        entries = sorted(name for name in theirs.keys() & own.keys() if theirs[name] != own[name])
        raise UserError(
            f"training would compute other logits than {type(published).__name__} does of {source}: {where}"
            + (f"; it differs from the run in {', '.join(entries)}" if entries else ""),
            "the exported model must compute what was trained",
            "continue with another model",
        )


def _not_whole(source: str, part: str, error: Exception) -> UserError:
    return UserError(
        f"{source} has no {part} that transformers can load: {_first_line(error)}",
        "pretrain.init_from holds configuration, weights and tokenizer",
        "fetch the whole model again",
    )


def _vocabulary(source: str) -> list[str]:
    """Return the entries of a model's tokenizer in the order of their ids, those added to it too."""
    try:
        ids: dict[str, int] = AutoTokenizer.from_pretrained(
            source, local_files_only=True, trust_remote_code=False
        ).get_vocab()
    except (OSError, ValueError) as error:
        _refuse_own_code(source, error)
        raise _not_whole(source, "tokenizer", error) from None
    return sorted(ids, key=ids.__getitem__)


def _refuse_own_code(source: str, error: Exception) -> None:
    """Refuse a folder whose classes stand in Python files of its own (`auto_map`)."""
    if "trust_remote_code" in str(error):
        raise UserError(
            f"{source} brings Python code of its own (auto_map), which is not run",
            "a model is loaded by the classes of transformers alone",
            "name a model of an architecture that transformers has",
        ) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@torch.no_grad()
def _extend(model: PreTrainedModel, known: list[str], vocabulary: list[str]) -> PreTrainedModel:
    """Return the model with rows for the entries beyond the known ones."""
    ids, tables = {entry: index for index, entry in enumerate(known)}, {}
    for table in (model.get_input_embeddings().weight, model.get_output_embeddings().bias):
        tables[table] = torch.cat([table, table.new_empty(len(vocabulary) - len(known), *table.shape[1:])])
        for row in range(len(known), len(vocabulary)):
            pieces = cut(vocabulary[row], ids)
            tables[table][row] = table[pieces].mean(0) if pieces else table.mean(0)
    model.config.vocab_size = len(vocabulary)
    return _rebuilt(model, tables)


@torch.no_grad()
def _lengthen(model: PreTrainedModel, rows: int) -> tuple[PreTrainedModel, Longer | None]:
    """Return the model with so many positions, and how the rows of a table of them came about, if it has one."""
    architecture, tables, longer = ARCHITECTURES[model.config.model_type], {}, None
    table_PH = architecture.position_table(model)
    if table_PH is not None:
        first = first_position(model.config)
        longer = lengthen(table_PH[first:], rows - first)
        tables[table_PH] = torch.cat([table_PH[:first], longer.table_LH])
    architecture.lengthen(model.config, rows)
    return _rebuilt(model, tables), longer


def _rebuilt(model: PreTrainedModel, tables: Mapping[Tensor, Tensor]) -> PreTrainedModel:
    """Return a model of the same weights, and of its configuration, which has changed.

    Args:
        model: the model; tied weights stay tied.
        tables: its weights of another length than before → what they become.
    """
    state = model.state_dict()
    for name, weight in model.named_parameters(remove_duplicate=False):
        state[name] = tables.get(weight, weight)
    rebuilt = type(model)(model.config)
    rebuilt.load_state_dict(state)
    return rebuilt


def cut(entry: str, ids: dict[str, int]) -> list[int]:
    """Return the ids of the pieces that WordPiece cuts an entry into, the longest first; none where one is missing.

    >>> cut("##에서는", {"##에서": 7, "##는": 8, "에": 9})
    [7, 8]
    """
    text, start = entry.removeprefix(CONTINUATION), 0
    found: list[int] = []
    while start < len(text):
        prefix = CONTINUATION if start or entry.startswith(CONTINUATION) else ""
        end = next((end for end in range(len(text), start, -1) if prefix + text[start:end] in ids), None)
        if end is None:
            return []
        found.append(ids[prefix + text[start:end]])
        start = end
    return found
