"""Files beside an exported model by which sentence-transformers makes vectors of texts: means over tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, PreTrainedModel

from common.errors import HunminError
from common.files import atomic_write
from pretrain.models.registry import usable_positions

POOLING = "1_Pooling/config.json"
TEXTS = ("오늘 날씨가 정말 좋네요!", "훈민정음은 세종대왕이 1443년에 창제한 문자이다.")
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""Largest difference of a vector's entry, as a share of the largest entry."""
FILES = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", POOLING)


def write_embedding_files(
    folder: Path, width: int, length: int, pooling: str = "mean", prompts: dict[str, str] | None = None
) -> None:
    """Write the files beside a model, as sentence-transformers has read them since 5.1; pooling is "mean" or "cls"."""
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    on = {"mean": "mean_tokens", "cls": "cls_token"}[pooling]
    named = {"prompts": prompts, "default_prompt_name": None} if prompts else {}
    contents: dict[str, Any] = {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
        "sentence_bert_config.json": {"max_seq_length": length, "do_lower_case": False},
        "config_sentence_transformers.json": {**named, "similarity_fn_name": "cosine"},
        POOLING: {"word_embedding_dimension": width, **{f"pooling_mode_{mode}": mode == on for mode in modes}},
    }
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        with atomic_write(path) as stream:
            json.dump(content, stream, ensure_ascii=False, indent=1)
            stream.write("\n")


@torch.no_grad()
def check_sentence_embeddings(folder: Path, model: PreTrainedModel) -> None:
    """Raise a HunminError for files by which sentence-transformers does not give the mean over tokens."""
    _check_files(folder, model)
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return
    embedder = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)
    vectors_BH = embedder.encode(list(TEXTS), convert_to_tensor=True, show_progress_bar=False).float()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    batch = tokenizer(list(TEXTS), padding=True, truncation=True, return_tensors="pt")
    loaded = type(model).from_pretrained(folder, local_files_only=True, trust_remote_code=False).eval()
    hidden_BTH = loaded.base_model(**batch).last_hidden_state.float()
    mask_BT1 = batch["attention_mask"].unsqueeze(-1)
    means_BH = (hidden_BTH * mask_BT1).sum(1) / mask_BT1.sum(1)
    difference = ((vectors_BH - means_BH).abs().max() / means_BH.abs().max()).item()
    if vectors_BH.shape != means_BH.shape or not difference <= TOLERANCE[model.dtype]:
        raise _fail(f"its vectors differ from the mean over tokens by {difference:.3g} of the largest entry")


def _check_files(folder: Path, model: PreTrainedModel) -> None:
    try:
        modules, bounds, _, pooling = (json.loads((folder / name).read_bytes()) for name in FILES)
        kinds = [module["type"].rpartition(".")[2] for module in modules]
        means = [name for name, value in pooling.items() if name.startswith("pooling_mode") and value]
        width = pooling["word_embedding_dimension"]
        longest = bounds["max_seq_length"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _fail(f"{type(error).__name__}: {error}") from None
    positions = usable_positions(model.config)
    stated = (kinds, means, width, longest)
    if stated != (["Transformer", "Pooling"], ["pooling_mode_mean_tokens"], model.config.hidden_size, positions):
        raise _fail(f"they say {kinds}, {means}, width {width}, length {longest}")


def _fail(problem: str) -> HunminError:
    return HunminError(
        f"the files for sentence-transformers are not sound: {problem}",
        "they make the mean over a text's tokens",
        "report this with the version of sentence-transformers; export without --sentence-embeddings meanwhile",
    )
