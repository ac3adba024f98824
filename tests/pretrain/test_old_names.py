"""Saved models have the names of transformers 4 for what transformers 5 keeps elsewhere, and load as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import (
    AutoConfig,
    GPTNeoXConfig,
    LlamaConfig,
    ModernBertConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from pretrain.export.old_names import add_old_names, save_tokenizer
from tests.embed.tiny_encoders import write_encoder

SIZE = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 16}
WIDE, NEAR = "full_attention", "sliding_attention"


def modernbert(kinds: list[str]) -> PreTrainedConfig:
    thetas = {WIDE: 5000.0, NEAR: 777.0}
    rope: Any = {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()}
    return ModernBertConfig(**SIZE, layer_types=kinds, rope_parameters=rope)  # type: ignore[arg-type]


SCALED = {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.0}
THETAS = {"global_rope_theta": 5000.0, "local_rope_theta": 777.0}
CASES: list[tuple[PreTrainedConfig, dict[str, Any]]] = [
    (modernbert([WIDE, NEAR, WIDE, NEAR]), {**THETAS, "global_attn_every_n_layers": 2}),
    (modernbert([WIDE, NEAR, NEAR, WIDE]), {**THETAS, "global_attn_every_n_layers": 3}),
    (modernbert([WIDE, NEAR, NEAR, NEAR]), {**THETAS, "global_attn_every_n_layers": 4}),
    (modernbert([NEAR, WIDE, NEAR, WIDE]), THETAS),  # transformers 4 has no name for it
    (LlamaConfig(**SIZE, rope_theta=5e5), {"rope_theta": 5e5}),
    (LlamaConfig(**SIZE, rope_parameters=SCALED), {"rope_theta": 500.0, "rope_scaling": SCALED}),  # type: ignore[arg-type]
    (GPTNeoXConfig(**SIZE, rotary_pct=0.5, rotary_emb_base=900), {"rotary_pct": 0.5, "rotary_emb_base": 900}),
    (RobertaConfig(**SIZE, id2label={0: "부정", 1: "긍정"}), {}),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("config", "old"), CASES)
def test_old_names_stand_beside_the_new_ones(config: PreTrainedConfig, old: dict[str, Any], tmp_path: Path) -> None:
    config.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    bytes_before, before = path.read_bytes(), json.loads(path.read_bytes())
    add_old_names(tmp_path)
    assert json.loads(path.read_bytes()) == before | old
    assert old or path.read_bytes() == bytes_before
    again = AutoConfig.from_pretrained(tmp_path, trust_remote_code=False)
    for name in ("rope_parameters", "layer_types"):
        assert getattr(again, name, None) == getattr(config, name, None)
    again.save_pretrained(tmp_path / "twice")  # as a model that is tuned further
    add_old_names(tmp_path / "twice")
    assert old.items() <= json.loads((tmp_path / "twice" / "config.json").read_bytes()).items()


def test_a_tokenizer_has_the_class_that_transformers_4_knows(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "base")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(
        folder, additional_special_tokens=["[문단]"], local_files_only=True, trust_remote_code=False
    )
    (tmp_path / "out").mkdir()
    save_tokenizer(tokenizer, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_bytes())
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast" and "local_files_only" not in config
    assert config["additional_special_tokens"] == ["[문단]"] and "extra_special_tokens" not in config
    again = PreTrainedTokenizerFast.from_pretrained(tmp_path / "out", local_files_only=True, trust_remote_code=False)
    assert again("서울 [문단] 사과").input_ids == tokenizer("서울 [문단] 사과").input_ids
    assert len(again("[문단]", add_special_tokens=False).input_ids) == 1
