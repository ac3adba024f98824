"""The encoder that is tuned, and models of sentence embeddings made from one."""

from __future__ import annotations

import inspect
import logging
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from common.errors import UserError
from common.model_files import read_object
from common.names import shown_name
from embed.card import read_facts
from embed.settings import EmbedSettings
from klue.model_folder import ModelFacts, is_finetuned, read_model_folder
from pretrain.model_folder import LOCAL, open_model, quiet, refused
from tokenizer.save import PROBE

TOKEN_SIMILARITY = "meanmaxsim"
"""MaxSim over the query's tokens: the same ranking, between -1 and 1 as cosines are, whatever the query's length."""


def quiet_libraries() -> None:
    """Keep the libraries from drawing bars, and from reporting the head that a base has and embeddings do not."""
    from datasets.utils.logging import disable_progress_bar

    disable_progress_bar()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, module="mteb")


def read_base(folder: Path, settings: EmbedSettings, within: str = "") -> tuple[ModelFacts, Any]:
    """Return facts of a base, and its tokenizer; `within` is the section below `embed.` that has its length.

    Raises:
        UserError: as `read_model_folder`; or it has a fine-tuned head, or is too small for the settings.
    """
    facts, name = read_model_folder(folder), shown_name(folder)
    if is_finetuned(folder):
        raise UserError(f"{name} has the head of a fine-tuned model", fix="name the pretrained model (embed.base)")
    if settings.max_seq_len > (most := facts.max_positions):
        raise UserError(
            f"embed.{within}max_seq_len={settings.max_seq_len} is more than the {most} positions of {name}",
            fix=f"set embed.{within}max_seq_len={most} at most",
        )
    if wide := [width for width in settings.matryoshka if width >= facts.hidden_size]:
        raise UserError(
            f"embed.matryoshka has width {wide[0]}, the hidden size of {name} is {facts.hidden_size}",
            "a cut vector is narrower than the whole one",
            "take that width out",
        )
    return facts, AutoTokenizer.from_pretrained(folder, **LOCAL)


def _without_pooler(folder: Path) -> dict[str, Any]:
    """Return the argument that leaves out a pooler; {} for classes that have none."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    takes = inspect.signature(MODEL_MAPPING[type(config)].__init__).parameters
    return {"add_pooling_layer": False} if "add_pooling_layer" in takes else {}


def load_encoder(folder: Path, random: bool = False) -> Any:
    """Return a folder's encoder in fp32, or `random` weights of its shape, without the pooler, never trained."""
    without = _without_pooler(folder)
    with quiet():  # it would list the head of pretraining
        model = AutoModel.from_pretrained(folder, dtype=torch.float32, **LOCAL, **without)
    if random:
        torch.manual_seed(42)
        return type(model)(model.config, **without)
    return model


def is_multi_vector(model: Any) -> bool:
    """Return whether a model of sentence-transformers gives a vector per token."""
    from sentence_transformers import MultiVectorEncoder

    return isinstance(model, MultiVectorEncoder)


def refuse_multi_vector(model: Any, folder: Path, what: str) -> None:
    """Raise a UserError where a folder's model gives a vector per token; `what` is done with one per text."""
    if is_multi_vector(model):
        rule = f"{what} takes a model with one vector per text"
        raise UserError(f"{shown_name(folder)} is a multi-vector model", rule, "tune one with embed.kind=dense")


def load_model(folder: Path, device: str | None = None, truncate: int | None = None) -> Any:
    """Return a folder's model of sentence-transformers, a dense one's vectors cut to `truncate` entries.

    Raises:
        UserError: it is none, cuts texts behind its positions, or as `open_model`.
    """
    from sentence_transformers import MultiVectorEncoder, SentenceTransformer

    open_model(folder)
    if not (folder / "modules.json").is_file():
        raise UserError(
            f"{folder} is no model of sentence embeddings",
            "such a folder has a modules.json",
            "tune one (hunmin embed train), or export with --sentence-embeddings",
        )
    read_facts(folder)
    config = folder / "config_sentence_transformers.json"
    multi = config.is_file() and read_object(config).get("model_type") == "MultiVectorEncoder"
    with refused(folder, "sentence-transformers does not compute with it"):
        loader: Any = MultiVectorEncoder if multi else partial(SentenceTransformer, truncate_dim=truncate)
        model = loader(str(folder), device=device, model_kwargs=_without_pooler(folder), **LOCAL)
        encoder = model[0].auto_model
        width = model.get_embedding_dimension()
        for vector in (model.encode_query(PROBE), model.encode_document(PROBE)):
            vectors_TH = np.atleast_2d(torch.as_tensor(vector).cpu())
            if vector.ndim != 1 + multi or vectors_TH.shape[1] != width or not np.isfinite(vectors_TH).all():
                raise ValueError(f"vectors have the shape {[*vector.shape]} for a width of {width}, or hold NaN")
    learned = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    if learned is not None:
        most = learned.num_embeddings - (0 if learned.padding_idx is None else learned.padding_idx + 1)
        if (length := model.max_seq_length) is not None and not 0 < length <= most:
            raise UserError(
                f"{shown_name(folder)} cuts texts at {length:,} tokens and has {most:,} positions",
                "a text has no more tokens than the model has positions",
                f"set max_seq_length in its sentence_bert_config.json to {most} at most",
            )
    return model


def begin_model(base: Path, s: EmbedSettings, device: str | None = None) -> Any:
    """Return an untuned encoder with the settings' vectors, length and prompts, as `load_model` does."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    width = AutoConfig.from_pretrained(base, trust_remote_code=False).hidden_size
    dense = s.kind == "dense"
    modules = [Pooling(width, s.pooling)] if dense else begin_token_modules(width, s.token_width, s.seed)
    return _assembled(base, s.max_seq_len, modules, not dense, device=device, prompts=s.prompts.model_dump())


def begin_token_modules(width: int, token_width: int, seed: int) -> list[Any]:
    """Return what makes a multi-vector model of an encoder: a projection drawn by the seed, and vectors of length 1."""
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    torch.manual_seed(seed)
    tokens: dict[str, Any] = {"module_input_name": "token_embeddings"}
    projection = Dense(width, token_width, bias=False, activation_function=torch.nn.Identity(), **tokens)
    return [projection, MultiVectorMask(), Normalize(**tokens)]


def model_like(tuned: Any, base: Path, random: bool = False) -> Any:
    """Return a tuned model with the weights of a base instead, or `random` ones of its shape.

    The projection of a multi-vector model is a random one then.
    """
    options = {"prompts": tuned.prompts, "device": str(tuned.device), "random": random}
    if is_multi_vector(tuned):
        modules = begin_token_modules(tuned[0].get_embedding_dimension(), tuned.get_embedding_dimension(), seed=42)
        return _assembled(base, tuned.max_seq_length, modules, True, **options)
    return _assembled(base, tuned.max_seq_length, list(tuned)[1:], False, truncate_dim=tuned.truncate_dim, **options)


def _assembled(
    base: Path, length: int, modules: list[Any], multi_vector: bool, random: bool = False, **options: Any
) -> Any:
    from sentence_transformers import MultiVectorEncoder, SentenceTransformer
    from sentence_transformers.base.modules import Transformer

    with quiet():  # its weights are replaced
        first = Transformer(
            str(base), max_seq_length=length, model_kwargs=LOCAL, processor_kwargs=dict(LOCAL), config_kwargs=LOCAL
        )
    first.model = load_encoder(base, random)
    if multi_vector:
        return MultiVectorEncoder(modules=[first, *modules], similarity_fn_name=TOKEN_SIMILARITY, **options)
    return SentenceTransformer(modules=[first, *modules], similarity_fn_name="cosine", **options)
