"""Bases that are refused, each by one clear error; settings that do not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from tiny_decoders import RUN
from transformers import BertConfig, BertForMaskedLM, GPTNeoXModel

from common.errors import UserError
from common.settings import parse_settings
from pretrain.decoders.load import read_base
from pretrain.tuning.settings import TuneSettings


def fault(folder: Path, length: int = 64) -> str:
    with pytest.raises(UserError) as caught:
        read_base(folder, length)
    return str(caught.value)


def test_an_encoder(tmp_path: Path) -> None:
    config = BertConfig(vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    BertForMaskedLM(config).save_pretrained(tmp_path / "bert")
    assert "bert is no causal decoder: BertForMaskedLM" in fault(tmp_path / "bert")
    written = json.loads((tmp_path / "bert" / "config.json").read_text())
    (tmp_path / "bert" / "config.json").write_text(json.dumps({**written, "architectures": ["BertLMHeadModel"]}))
    assert "no causal decoder" in fault(tmp_path / "bert")


def test_a_decoder_without_its_head(tmp_path: Path, bases: dict[str, Path]) -> None:
    GPTNeoXModel.from_pretrained(bases["gpt_neox"]).save_pretrained(tmp_path / "body")
    assert "no causal decoder: GPTNeoXModel" in fault(tmp_path / "body")


def test_a_model_of_code_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "modeling.py").write_text("raise SystemExit('this code was run')")
    names = {"AutoConfig": "modeling.Config", "AutoModelForCausalLM": "modeling.Model"}
    written = {"model_type": "exaone", "architectures": ["ExaoneForCausalLM"], "auto_map": names}
    (tmp_path / "config.json").write_text(json.dumps(written))
    assert "brings Python code of its own (auto_map), which is not run" in fault(tmp_path)


def test_positions_and_a_folder_without_configuration(tmp_path: Path, bases: dict[str, Path]) -> None:
    assert "tune.max_seq_len (129) is more than the 128 positions" in fault(bases["llama"], 129)
    assert read_base(bases["llama"], 128).model_type == "llama"
    assert "has no config.json" in fault(tmp_path)


def test_a_folder_without_tokenizer(tmp_path: Path, bases: dict[str, Path]) -> None:
    folder = shutil.copytree(bases["llama"], tmp_path / "absent", ignore=shutil.ignore_patterns("token*"))
    assert "absent has no tokenizer" in fault(folder)


def test_missing_weights(tmp_path: Path, bases: dict[str, Path]) -> None:
    folder = shutil.copytree(bases["llama"], tmp_path / "part")
    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert "part: lacks 1 weights: lm_head.weight" in fault(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"global_batch": 6, "micro_batch": 4}, "micro_batch × processes (4), e.g. 8"),
        ({"global_batch": 8, "micro_batch": 4, "processes": 3}, "micro_batch × processes (12), e.g. 12"),
        ({"lora": {"rang": 3}}, "did you mean 'rank'"),
    ],
)
def test_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_settings(TuneSettings, {**RUN, "base": "x", **changes}, "recipe")
    assert message in str(caught.value)


def test_a_tokenizer_with_more_entries_than_the_base_has_rows(tmp_path: Path, bases: dict[str, Path]) -> None:
    """Before an example is read, and before a prompt is answered."""
    from transformers import AutoTokenizer

    from pretrain.decoders.answer import answer
    from pretrain.tuning.inputs import Inputs

    folder = shutil.copytree(bases["gpt_neox"], tmp_path / "base")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([f"<{number}>" for number in range(9)])  # of which the base has rows for four
    tokenizer.save_pretrained(folder)
    settings = parse_settings(TuneSettings, {**RUN, "base": str(folder)}, "test")
    for work in (lambda: Inputs(settings, tmp_path / "absent"), lambda: list(answer(folder, ["가"], 8))):
        with pytest.raises(UserError, match=r"the tokenizer of base gives ids up to [\d,]+, the model has [\d,]+ emb"):
            work()
