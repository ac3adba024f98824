"""Files beside an exported model by which sentence-transformers makes vectors of texts: means over tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from common.files import atomic_write
from pretrain.model import first_position

POOLING = "1_Pooling/config.json"
FILES = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", POOLING)


def write_sentence_embeddings(folder: Path, model: PreTrainedModel) -> None:
    """Write the files into an export.

    Args:
        folder: with the model and its tokenizer.
        model: that is there.
    """
    config = model.config
    contents: dict[str, Any] = {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
        "sentence_bert_config.json": {
            "max_seq_length": config.max_position_embeddings - first_position(config), "do_lower_case": False,
        },
        "config_sentence_transformers.json": {"similarity_fn_name": "cosine"},
        POOLING: {
            "word_embedding_dimension": config.hidden_size,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_max_tokens": False,
            "pooling_mode_mean_sqrt_len_tokens": False,
        },
    }  # fmt: skip
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        with atomic_write(path) as stream:
            json.dump(content, stream, indent=1)
            stream.write("\n")
