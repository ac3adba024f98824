"""Settings, and bases that cannot be tuned: one clear error each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tiny_encoders import write_encoder

from common.errors import UserError
from common.extras import require
from common.settings import parse_settings
from embed.settings import EmbedSettings

DATA = [{"use": "korsts"}]
BAD = [
    ({"data": []}, "at least 1 item"), ({"data": [{}]}, "give path or use"),
    ({"data": [{"use": "korsts", "path": "x"}]}, "give path or use, and not both"),
    ({"data": [{"path": "x", "range": [5, 0]}]}, "is empty"), ({"data": [{"use": "kor-sts"}]}, "kornli"),
    ({"score": ["KLUE-STSS"]}, "did you mean 'KLUE-STS'"), ({"matryoshka": [8, 8]}, "different whole numbers"),
    ({"mini_batch": 4, "dtype": "fp16"}, "NaN in fp16"), ({"guide": "x", "dtype": "fp16"}, "NaN in fp16"),
    ({"batch": 9, "processes": 2}, "multiple of processes"),
    ({"steps": 5, "epochs": 2}, "steps or epochs"), ({"bacth": 3}, "did you mean 'batch'"),
    *(({"kind": "multi-vector", **changes}, f"{name} needs one vector per text") for changes, name in (
        ({"pooling": "cls"}, "pooling=cls"), ({"matryoshka": [8]}, r"matryoshka=\[8\]"), ({"guide": "x"}, "guide=x"),
        ({}, r"data\[\]\.use=korsts"), ({"data": [{"path": "x"}], "score": ["KLUE-STS"]}, "score=KLUE-STS"))),
    ({"data": [{"path": "x", "prompts": {"query": "질문: "}}], "score": ["KLUE-STS"]}, "trained but not scored"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[message for _, message in BAD])
def test_wrong_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_settings(EmbedSettings, {"data": DATA, **changes}, "recipe")


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(UserError, match=r"the stage embed needs no-such-package.*\n.*pip install -c .*\[embed\]"):
        require("no_such_package", "the stage embed", "embed")


def test_bases_that_cannot_be_tuned(base: Path, tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    from embed.base import read_base

    settings = EmbedSettings(data=DATA, max_seq_len=64, matryoshka=[16])
    facts, _ = read_base(base, settings)
    assert facts.max_positions == 64  # of 66: RoBERTa's first is after the padding's
    for changes, message in (
        ({"max_seq_len": 65}, "more than the 64 positions"),
        ({"matryoshka": [32]}, "hidden size .* 32"),
    ):
        with pytest.raises(UserError, match=message):
            read_base(base, EmbedSettings(data=DATA, **{"max_seq_len": 16, **changes}))
    shutil.copytree(base, tmp_path / "cross")
    written = json.loads((base / "config.json").read_bytes())
    (tmp_path / "cross" / "config.json").write_text(
        json.dumps({**written, "architectures": ["RobertaForSequenceClassification"]})
    )
    shutil.copytree(base, tmp_path / "decoder")
    GPT2LMHeadModel(GPT2Config(vocab_size=90, n_embd=8, n_layer=1, n_head=1)).save_pretrained(tmp_path / "decoder")
    write_encoder(tmp_path / "causal", is_decoder=True)
    cases = {"cross": "head of a fine-tuned", "decoder": "holds a decoder", "causal": "holds a decoder",
             "none": "has no config.json"}  # fmt: skip
    for name, message in cases.items():
        with pytest.raises(UserError, match=message):
            read_base(tmp_path / name, settings)
