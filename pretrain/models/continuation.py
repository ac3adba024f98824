"""Further pretraining: a run that begins with the weights of a published model, its vocabulary extended or as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from common.errors import UserError
from common.names import find, with_prefix
from pretrain.model_folder import open_model
from pretrain.models.encoder import build_config, model_class
from pretrain.models.published import (
    check_kind,
    check_shape,
    check_type,
    compare_logits,
    read_weights,
    rebuilt,
)
from pretrain.models.registry import ARCHITECTURES, first_position, usable_positions
from pretrain.settings import PretrainSettings
from tokenizer.pipeline import CONTINUATION


def load_model(
    source: str,
    config: PreTrainedConfig,
    settings: PretrainSettings,
    vocabulary: list[str],
    tell: Callable[[str], None] = lambda _: None,
    compare: bool = True,
) -> PreTrainedModel:
    """Return a model with the weights of `source`, a folder or hub name, that takes the run's vocabulary and length.

    Its configuration is that of `source`, all of it: what the settings decide must be as they say. Whether training
    then computes what transformers does is told by logits (`differing_form`), which one of several processes compares.

    Entries that the vocabulary has beyond the published one begin as the mean of the pieces that they were cut into so
    far (their embeddings and their output biases). Where a run is longer than the model has learned positions, these
    are repeated (Beltagy et al. 2020, section 5), and the run learns to tell them apart.

    Raises:
        UserError: there is no model of the run's kind there with all of its weights and its tokenizer, its shape is not
            the recipe's, its vocabulary does not begin the run's, or training would compute something else than it.
    """
    named, source = source, str(find(with_prefix(source), "model"))
    opened = open_model(Path(source), fits=lambda theirs: check_type(source, theirs, config.model_type))
    theirs, ids = opened.config, opened.tokenizer.get_vocab()
    check_shape(source, theirs, settings.model)
    check_kind(source, theirs, config)
    known = sorted(ids, key=ids.__getitem__)
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
    theirs.tokenizer_class = config.tokenizer_class
    theirs.architectures = config.architectures
    model = read_weights(source, theirs, model_class(settings))
    if compare:
        compare_logits(source, model, config)
    if len(vocabulary) > len(known):
        model = _extend(model, known, vocabulary)
        tell(f"{len(vocabulary) - len(known):,} new entries begin as the mean of their pieces in {named}")
    if theirs.max_position_embeddings < config.max_position_embeddings:
        positions = usable_positions(theirs)
        learned = architecture.position_table(model) is not None
        model = _lengthen(model, config.max_position_embeddings)
        how = "they are repeated" if learned else "the others are computed, as those are"
        tell(f"{named} has {positions} positions, the run {settings.longest}: {how}")
    return model


def check_model(source: str, settings: PretrainSettings) -> None:
    """Raise a UserError for a model that a run cannot continue from, as far as its configuration shows it."""
    source = str(find(with_prefix(source), "model"))
    theirs = open_model(Path(source), fits=lambda theirs: check_type(source, theirs, settings.model.type)).config
    check_shape(source, theirs, settings.model)
    special_ids = dict.fromkeys(("cls", "sep", "unk", "mask"), 0) | {"pad": theirs.pad_token_id or 0}
    check_kind(source, theirs, build_config(settings, theirs.vocab_size, special_ids))


@torch.no_grad()
def _extend(model: PreTrainedModel, known: list[str], vocabulary: list[str]) -> PreTrainedModel:
    ids = {entry: index for index, entry in enumerate(known)}
    tables = {}
    for table in (model.get_input_embeddings().weight, model.get_output_embeddings().bias):
        tables[table] = torch.cat([table, table.new_empty(len(vocabulary) - len(known), *table.shape[1:])])
        for row in range(len(known), len(vocabulary)):
            pieces = cut(vocabulary[row], ids)
            tables[table][row] = table[pieces].mean(0) if pieces else table.mean(0)
    model.config.vocab_size = len(vocabulary)
    return rebuilt(model, tables)


@torch.no_grad()
def _lengthen(model: PreTrainedModel, rows: int) -> PreTrainedModel:
    """Return the model with so many positions; those of a table come again and again."""
    architecture = ARCHITECTURES[model.config.model_type]
    tables = {}
    table_PH = architecture.position_table(model)
    if table_PH is not None:
        first = first_position(model.config)
        copies = -(-(rows - first) // (len(table_PH) - first))
        tables[table_PH] = torch.cat([table_PH[:first], *[table_PH[first:]] * copies])[:rows]
    architecture.lengthen(model.config, rows)
    return rebuilt(model, tables)


def cut(entry: str, ids: dict[str, int]) -> list[int]:
    """Return the ids of the pieces that WordPiece cuts an entry into, the longest first; none where one is missing.

    >>> cut("##에서는", {"##에서": 7, "##는": 8, "에": 9})
    [7, 8]
    """
    text, start = entry.removeprefix(CONTINUATION), 0
    pieces: list[int] = []
    while start < len(text):
        prefix = CONTINUATION if start or entry.startswith(CONTINUATION) else ""
        end = next((end for end in range(len(text), start, -1) if prefix + text[start:end] in ids), None)
        if end is None:
            return []
        pieces.append(ids[prefix + text[start:end]])
        start = end
    return pieces
