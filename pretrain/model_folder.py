"""A model folder as transformers would load it: configuration, tokenizer, and every weight there, of its shape."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as hub_logging

from common.errors import UserError
from common.model_files import RULE, check_small_files, check_weight_files, read_config
from common.names import shown_name
from tokenizer.save import check_encoding

LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""Arguments of whatever loads a folder."""
MOST_LAYERS = 2_000
"""Layers that a model may have; each is built before its weights are looked for."""
SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")
"""Entries of a configuration that are whole numbers above 0, where it has them."""
LEAST, BELOW_1 = 5e-324, math.nextafter(1, 0)
NUMBERS: tuple[tuple[str, float, float, str], ...] = (
    (r"norm_eps(ilon)?", LEAST, BELOW_1, "the epsilon of a norm is above 0 and below 1"),
    (r"(dropout(_prob|_rate|_p)?|_pdrop|layerdrop|drop_path_rate)$", 0, BELOW_1, "a dropout is from 0 and below 1"),
    (r"^((global|local)_)?(rope_theta|rotary_emb_base|rope_local_base_freq)$", LEAST, 1e30, "their base is above 0"),
    (r"^((attention|low_freq|high_freq|short|long)_)?factor$|^beta_(fast|slow)$", LEAST, 1e30, "a factor is above 0"),
    (r"^(partial_rotary_factor|rotary_pct)$", LEAST, 1, "a part of a head is turned, or all of it"),
    (r"^((attn|final)_logit_softcapping|query_pre_attn_scalar|logits?_scal(e|ing)|(attention|embedding)_multiplier)$",
     LEAST, 1e30, "what scores are divided or multiplied by is above 0"),
    (r"^(initializer_range|init_std)$", 0, 10, "the spread of new weights is from 0 to 10"),
    (r"^original_max_position_embeddings$", 1, 2**62, "positions are scaled from 1 at least"),
    (r"^chunk_size_feed_forward$", 0, 1, "texts of any length pass in pieces of 1, or whole (0)"),
)  # fmt: skip
"""Names of a configuration's numbers, the lowest and the highest value, and the rule."""
LABELS = ("id2label", "label2id", "task_specific_params")
"""Entries whose own entries have names that a user chose, or say nothing of the model."""
RETURNS = {"return_dict": True, "output_hidden_states": False, "output_attentions": False}
"""Entries that change what a model returns, and the values with which every command reads it."""
IDS = re.compile(r"(_token_ids?|_words_ids|suppress_tokens)$")
"""Names of entries of the configuration, and of the one of generation, that hold ids, in lists of any depth."""
HEAD_SIZES = ("head_dim", "d_head", "attention_head_size")
"""Entries by which a head's size does not follow from the width."""
LAYER = re.compile(r"(?:^|\.)(?:layers?|h|blocks)\.(\d+)\.")


@dataclass(frozen=True)
class OpenedModel:
    """A model folder that can be loaded."""

    folder: Path
    config: Any
    """Configuration of transformers."""
    tokenizer: Any
    """Tokenizer, as AutoTokenizer loads it."""
    generation: Any
    """Generation settings of transformers; None of a model that writes no texts."""
    rows: int
    """Rows of its embeddings."""


def open_model(
    folder: Path, auto: Any = AutoModel, fits: Callable[[Any], object] = lambda _: None, changed: bool = False
) -> OpenedModel:
    """Return a model's configuration and tokenizer after every check of its folder; no weight is loaded.

    Args:
        folder: of the model.
        auto: class of transformers that the model is to be loaded by.
        fits: gets the configuration, and refuses a model that is not of the kind wanted.
        changed: its files may differ from its manifest (`hunmin verify --accept`).

    Raises:
        UserError: a file is absent, damaged, a pickle or names code, transformers does not take it, a size is one that
            no model has, a weight is absent, of another shape or not finite, or an id has no embedding.
        HunminError: files are not those of its manifest.
    """
    check_small_files(folder, changed)
    written = read_config(folder)
    with quiet(), refused(folder, "config.json does not load"):
        config = AutoConfig.from_pretrained(folder, **LOCAL)
    fits(config)
    _check_numbers(folder, written)
    _check_sizes(folder, config.get_text_config())
    check_weight_files(folder, changed)
    rows, generation = _check_shapes(folder, config, auto)
    pad = getattr(config.get_text_config(), "pad_token_id", None)
    text = written.get("text_config")
    for stated in ({"pad_token_id": pad}, written, text, generation and generation.to_dict()):
        _check_ids(folder, stated if isinstance(stated, dict) else {}, rows)
    with quiet(), refused(folder, "its tokenizer does not load"):
        tokenizer = AutoTokenizer.from_pretrained(folder, **LOCAL)
    if (largest := max(tokenizer.get_vocab().values(), default=0)) >= rows:
        raise UserError(
            f"the tokenizer of {shown_name(folder)} gives ids up to {largest:,}, the model has {rows:,} embeddings",
            "each entry of a tokenizer has a row of the model's embeddings",
            "put the tokenizer that the model was trained with into the folder",
        )
    if tokenizer.pad_token is None and auto is not AutoModelForCausalLM:
        raise UserError(
            f"the tokenizer in {folder} has no pad_token",
            "texts of a batch are padded to the longest",
            "name it in tokenizer_config.json",
        )
    check_encoding(lambda *texts: tokenizer(*texts)["input_ids"], folder, rows)
    return OpenedModel(folder, config, tokenizer, generation, rows)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from drawing bars, and from reporting weights that a class leaves out."""
    level = hub_logging.get_verbosity()
    bars = hub_logging.is_progress_bar_enabled()
    hub_logging.set_verbosity_error()
    hub_logging.disable_progress_bar()
    try:
        yield
    finally:
        hub_logging.set_verbosity(level)
        if bars:
            hub_logging.enable_progress_bar()


@contextmanager
def refused(folder: Path, failure: str) -> Iterator[None]:
    """Turn whatever a library raises over a model's folder into a UserError that says `failure` does not work."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # of many kinds, by model and library
        reason = " ".join(str(error).split()).split(". ")[0] or type(error).__name__
        if "trust_remote_code" in str(error):
            raise UserError(
                f"{folder} brings Python code of its own (auto_map), which is not run",
                "a model is loaded by the classes of transformers alone",
                "name a model of an architecture that transformers has",
            ) from None
        raise UserError(
            f"{folder}: {failure}: {reason[:300]}", RULE, "name another model, or fetch this one again"
        ) from None


def _check_numbers(folder: Path, tree: dict[str, Any]) -> None:
    """Raise a UserError for numbers and switches with which no model computes, or not as the commands read it."""
    for name, value in tree.items():
        if isinstance(value, dict) and name not in LABELS:
            _check_numbers(folder, value)
        for pattern, low, high, rule in NUMBERS:
            for number in _leaves(value) if re.search(pattern, name) else ():
                other = isinstance(number, bool | dict | None)
                if not other and not (isinstance(number, int | float) and low <= number <= high):
                    raise _wrong(folder, f"{name} is {number!r}", rule)
        if value is not None and value != RETURNS.get(name, value):
            raise _wrong(folder, f"{name} is {value!r}", f"models are read with {name} {RETURNS[name]}")


def _leaves(value: Any) -> Iterator[Any]:
    for each in value if isinstance(value, list) else ():
        yield from _leaves(each)
    if not isinstance(value, list):
        yield value


def _check_sizes(folder: Path, config: Any) -> None:
    """Raise a UserError for sizes that no model has."""
    sizes = {name: getattr(config, name) for name in SIZES if getattr(config, name, None) is not None}
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _wrong(folder, f"{name} is {value!r}", f"{name} is a whole number above 0")
    if (layers := sizes.get("num_hidden_layers", 0)) > MOST_LAYERS:
        raise _wrong(folder, f"num_hidden_layers is {layers:,}", f"a model has at most {MOST_LAYERS:,} layers")
    width, heads, groups = (
        getattr(config, name, None) for name in ("hidden_size", "num_attention_heads", "num_key_value_heads")
    )
    if width and heads and width % heads and not any(getattr(config, name, None) for name in HEAD_SIZES):
        raise _wrong(folder, f"hidden_size {width} with {heads} heads", "each head has the same share of the width")
    if groups is not None and (not isinstance(groups, int) or groups < 1 or (heads or 0) % groups):
        raise _wrong(folder, f"num_key_value_heads is {groups} with {heads} heads", "it divides the heads")


def _check_shapes(folder: Path, config: Any, auto: Any) -> tuple[int, Any]:
    """Return the rows of a model's embeddings, and how it generates; raise a UserError where weights are absent, left
    over or of another shape. transformers would fill the first at random, with a warning."""
    with quiet(), refused(folder, f"{auto.__name__} does not load it"), torch.random.fork_rng(devices=[]):
        model, info = auto.from_pretrained(
            folder, config=config, device_map="meta", output_loading_info=True, ignore_mismatched_sizes=True, **LOCAL
        )
        try:
            rows = int(model.get_input_embeddings().weight.shape[0])
        except NotImplementedError:  # CANINE hashes characters: any id has an embedding
            rows = sys.maxsize
    if other := sorted((str(name), [*theirs], [*ours]) for name, theirs, ours in info["mismatched_keys"]):
        name, theirs, ours = other[0]
        raise _wrong(folder, f"{name} has the shape {theirs}, config.json asks for {ours}", "weights fit config.json")
    if lacking := sorted(name for name in info["missing_keys"] if auto is not AutoModel or "pooler." not in name):
        raise _wrong(folder, f"lacks {len(lacking)} weights: {', '.join(lacking[:3])}", "none begins at random")
    layers = getattr(config.get_text_config(), "num_hidden_layers", None)
    numbers = [int(match[1]) for name in info["unexpected_keys"] if (match := LAYER.search(name))]
    if layers and max(numbers, default=0) >= layers:
        raise _wrong(folder, f"layer {max(numbers)} is there, config.json has {layers} layers", "each layer is used")
    return rows, getattr(model, "generation_config", None)


def _check_ids(folder: Path, written: dict[str, Any], rows: int) -> None:
    """Raise a UserError where an id that a configuration states has no row of the embeddings."""
    for name, value in written.items():
        for index in _leaves(value) if IDS.search(name) else ():
            if index is not None and (isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < rows):
                raise _wrong(folder, f"{name} is {index!r}, there are {rows:,} embeddings", "an id has an embedding")


def _wrong(folder: Path, problem: str, rule: str) -> UserError:
    return UserError(f"{folder}: {problem}", rule, "fetch or export the model again, or name another one")
