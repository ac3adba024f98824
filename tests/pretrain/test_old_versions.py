"""Exports and tuned decoders give the same logits in transformers 4, whose names for rotary positions are others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

from pretrain.export.checkpoint import save_hf_model
from pretrain.export.old_names import add_old_names
from pretrain.models.registry import ARCHITECTURES
from pretrain.settings import PretrainSettings
from tests.old_packages import fetch_old, with_old

pytestmark = pytest.mark.drill
READ = """
import json, sys, torch, transformers
assert transformers.__version__.startswith("4.")
folder, kind = json.load(sys.stdin)
model = getattr(transformers, kind).from_pretrained(folder, local_files_only=True, attn_implementation="eager").eval()
with torch.no_grad():
    print(json.dumps(model(input_ids=torch.arange(5, 69).reshape(2, 32)).logits.tolist()))
"""
IDS = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
OWN = {"global_theta": 5000.0, "local_theta": 777.0, "global_every": 2, "window": 16}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetch_old(tmp_path_factory.mktemp("old"))


def logits_of(model: Any) -> Any:
    with torch.no_grad():
        logits = model.eval()(input_ids=torch.arange(5, 69).reshape(2, 32)).logits.numpy()
    assert logits.std() > 0.1  # else other positions would show nothing
    return logits


@pytest.mark.parametrize(
    ("kind", "own"),
    [("bert", {}), ("roberta", {}), ("modernbert", {}), ("modernbert", {"modernbert": OWN}), ("deberta-v2", {})],
)
def test_an_export(kind: str, own: dict[str, Any], old: Path, tokenizer: Path, tmp_path: Path) -> None:
    shape = {"type": kind, "layers": 4, "hidden": 32, "heads": 2, "initializer_range": 0.3, **own}
    settings = PretrainSettings.model_validate({"model": shape, "max_seq_len": 64})
    torch.manual_seed(0)
    config = ARCHITECTURES[kind].config(settings.model, settings.max_seq_len, "mlm", 80, IDS)
    model = getattr(transformers, ARCHITECTURES[kind].classes["mlm"])(config)
    save_hf_model(model, tokenizer, tmp_path / "export")
    logits = with_old(old, READ, [str(tmp_path / "export"), "AutoModelForMaskedLM"])
    assert np.allclose(logits, logits_of(model), atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "rope"),
    [("llama", {"rope_theta": 5e5}), ("gpt_neox", {"rotary_pct": 0.5, "rotary_emb_base": 900})],
)
def test_a_decoder(kind: str, rope: dict[str, Any], old: Path, tmp_path: Path) -> None:
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, vocab_size=80, initializer_range=0.3, **sizes, **rope)
    model = AutoModelForCausalLM.from_config(config)
    model.save_pretrained(tmp_path)
    add_old_names(tmp_path)
    logits = with_old(old, READ, [str(tmp_path), "AutoModelForCausalLM"])
    assert np.allclose(logits, logits_of(model), atol=1e-4)
