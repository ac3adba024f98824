"""Checks that an exported folder must pass before it has its name: all uses of a model of the hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import torch
from safetensors import safe_open
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoTokenizer,
    BertForPreTraining,
    PreTrainedModel,
    pipeline,
)

from common.errors import HunminError, UserError
from pretrain.model_folder import quiet
from pretrain.models.registry import usable_positions
from tokenizer.encoder import Encoder
from tokenizer.save import load_tokenizer

TEXTS = (
    "훈민정음은 세종대왕이 1443년에 창제한 문자이다.",
    "오늘 날씨가 정말 좋네요! 공원에서 산책할까요?",
    "KLUE-BERT, 3.14%와 ㅋㅋㅋ 그리고 漢字 😀.",
)
"""Text of several scripts, with what splits tokenizers: digits, punctuation, jamo, Hanja, a sign of no script."""


def check_folder(folder: Path, model: PreTrainedModel) -> None:
    """Refuse an exported folder that is not the model.

    It is loaded by `AutoModel`, `AutoModelForMaskedLM` and, of a model with sentence pairs, `AutoModelForPreTraining`;
    all weights and logits are finite and equal to the model's bit for bit, the decoder is tied to the embeddings and
    stored once, nothing is missing or left over; where there is a tokenizer, its ids are those of the encode stage, and
    the pipeline fill-mask gives the words that the logits give.

    Raises:
        UserError: its weights are too large for their type.
        HunminError: anything else is wrong.
    """
    _check_weights(folder, model)
    with torch.no_grad(), quiet():
        _check_models(folder, model)
        if (folder / "tokenizer.json").exists():
            _check_tokenizer(folder, model)


def _fail(problem: str) -> HunminError:
    return HunminError(
        f"the export is not sound: {problem}",
        "what is exported is what was trained, and everyone can load it",
        "report this with the recipe",
    )


def _check_weights(folder: Path, model: PreTrainedModel) -> None:
    weights = dict(model.named_parameters())
    for name, weight in weights.items():
        if not weight.isfinite().all():
            if weight.dtype == torch.float16:
                raise UserError(
                    f"{name} has values beyond 65,504, the largest of fp16",
                    "an export holds finite weights",
                    "export with --dtype bf16 or fp32",
                )
            raise _fail(f"{name} holds values that are not finite")
    with safe_open(folder / "model.safetensors", "pt") as stored:
        names = set(stored.keys())
        if names != weights.keys():
            raise _fail(f"the file has {sorted(names ^ weights.keys())[:3]} too many or too few")
        for name in names:
            stored_weight = stored.get_tensor(name)
            if stored_weight.dtype != weights[name].dtype or not torch.equal(stored_weight, weights[name]):
                raise _fail(f"{name} is stored with other values")


def fixed_inputs(model: PreTrainedModel) -> Iterator[dict[str, torch.Tensor]]:
    """Yield two batches of fixed ids, the second one padded."""
    generator = torch.Generator().manual_seed(0)
    length = min(64, usable_positions(model.config))
    ids = torch.randint(5, model.config.vocab_size, (2, length), generator=generator)
    yield {"input_ids": ids}
    mask = torch.ones_like(ids)
    mask[1, length // 2 :] = 0
    yield {"input_ids": ids.masked_fill(mask == 0, model.config.pad_token_id), "attention_mask": mask}


def _check_models(folder: Path, model: PreTrainedModel) -> None:
    pairs = isinstance(model, BertForPreTraining)
    for auto in (AutoModel, AutoModelForMaskedLM, *([AutoModelForPreTraining] if pairs else [])):
        loaded, information = auto.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, dtype="auto", output_loading_info=True
        )
        loaded.eval()
        # a bare encoder begins with a pooler of its own, which masked language modelling has not
        missing = [name for name in information["missing_keys"] if not name.startswith("pooler.")]
        if missing:
            raise _fail(f"{auto.__name__} misses {sorted(missing)[:3]}")
        for inputs in fixed_inputs(model):
            if auto is AutoModel:
                output = loaded(**inputs).last_hidden_state
                expected = model.base_model(**inputs).last_hidden_state
            else:
                output, expected = loaded(**inputs)[0], model(**inputs)[0]
            if not output.isfinite().all():
                raise _fail(f"{auto.__name__} gives values that are not finite")
            if not torch.equal(output, expected):
                raise _fail(f"{auto.__name__} differs by up to {(output - expected).abs().max():.3g}")
        if auto is not AutoModel and (
            loaded.get_output_embeddings().weight.data_ptr() != loaded.get_input_embeddings().weight.data_ptr()
        ):
            raise _fail(f"the decoder of {auto.__name__} is not tied to its embeddings")


def _check_tokenizer(folder: Path, model: PreTrainedModel) -> None:
    theirs = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    encoder = Encoder(load_tokenizer(folder), folder)
    if encoder.vocab_size != model.config.vocab_size or len(theirs) != model.config.vocab_size:
        raise _fail(f"{len(theirs)} entries of the tokenizer, {model.config.vocab_size} of the model")
    for text in TEXTS:
        trained = encoder.encode(pa.array([[text]])).tokens_T.tolist()
        ids = theirs(text, add_special_tokens=False)["input_ids"]
        if trained != [*ids, encoder.special_ids["sep"]]:
            raise _fail(f"{text!r} has other ids than in training")
    words = f"{theirs.mask_token} {TEXTS[0]}"
    encoded = theirs(words, return_tensors="pt", truncation=True)
    logits = model(encoded["input_ids"], attention_mask=encoded["attention_mask"])[0]
    place = int((encoded["input_ids"][0] == theirs.mask_token_id).nonzero()[0])
    odds = logits[0, place].softmax(-1)
    masked = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True, trust_remote_code=False, dtype="auto")
    fill = pipeline("fill-mask", model=masked, tokenizer=theirs, device="cpu")
    filled = fill(words, top_k=5, tokenizer_kwargs={"truncation": True})
    # in 16 bits some are alike, and any of those may come first
    if not torch.equal(odds[[entry["token"] for entry in filled]], odds.topk(5).values):
        raise _fail("fill-mask gives other words than the logits")
