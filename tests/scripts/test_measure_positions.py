"""The measure of longer positions: its loss against one text at a time, its tables against the model's own."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from transformers import RobertaConfig, RobertaForMaskedLM

from common.errors import UserError
from tokenizer.shards import write_meta, write_shard

SCRIPTS = Path(__file__).parents[2] / "scripts"
ENTRIES, KNOWN = 40, 24
SPECIAL = {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("measure_positions", SCRIPTS / "measure_positions.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "measure_positions", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def model(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=ENTRIES, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=KNOWN + 2, initializer_range=0.5,
    )  # fmt: skip
    RobertaForMaskedLM(config).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """Two shards, the second held out."""
    folder = tmp_path / "tokens"
    folder.mkdir()
    streams = np.random.default_rng(0).integers(5, ENTRIES, (2, 400)).astype("<u2")
    shards = [write_shard(folder, index, stream, [0, 400], [0, 400]) for index, stream in enumerate(streams)]
    write_meta(folder, ENTRIES, SPECIAL, [shards[0], {**shards[1], "copies": 0}], 0)
    return folder


def test_losses_are_those_of_one_text_at_a_time(script: ModuleType, model: Path) -> None:
    encoder = RobertaForMaskedLM.from_pretrained(model).eval()
    stream = np.random.default_rng(1).integers(5, ENTRIES, 700)
    everywhere, at_first = script.losses(encoder, stream, 12, SPECIAL, 5)
    masks = torch.rand(70, 12, generator=torch.Generator().manual_seed(0)) < script.MASKED
    found = []
    for number in range(70):
        text = [0, *stream[number * 10 : number * 10 + 10].tolist(), 2]
        places = [place for place in range(1, 11) if masks[number, place]]
        read = [4 if place in places else token for place, token in enumerate(text)]
        with torch.inference_mode():
            (scores,) = encoder(torch.tensor([read])).logits.log_softmax(-1)
        found += [(place, -float(scores[place, text[place]])) for place in places]
    assert len(found) > 50
    assert everywhere == pytest.approx(np.mean([loss for _, loss in found]), rel=1e-5)
    assert at_first == pytest.approx(np.mean([loss for place, loss in found if place < 5]), rel=1e-5)


def test_longer_tables_leave_short_texts_as_they_were(script: ModuleType, model: Path) -> None:
    encoder = RobertaForMaskedLM.from_pretrained(model).eval()
    ids = torch.randint(5, ENTRIES, (2, KNOWN), generator=torch.Generator().manual_seed(0))
    table = encoder.roberta.embeddings.position_embeddings.weight[2:].detach().clone()
    with torch.inference_mode():
        before = encoder(ids).logits
        for way in script.WAYS.values():
            script.set_positions(encoder, way(table, 3 * KNOWN))
            assert torch.equal(encoder(ids).logits, before)
            assert encoder(ids.repeat(1, 3)).logits.shape == (2, 3 * KNOWN, ENTRIES)


def test_a_model_is_measured_on_text_held_out(
    script: ModuleType, model: Path, tokens: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["x", str(model), "--tokens", str(tokens), "--times", "2", "--json"])
    assert script.main() == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    assert [row["name"] for row in rows] == [
        "24 positions, all known",
        *(f"48 positions, {way}" for way in ("rotated", "repeated", "mean")),
        "components rotated",
    ]
    held_out = np.fromfile(tokens / "tokens-00001.bin", "<u2")
    encoder = RobertaForMaskedLM.from_pretrained(model).eval()
    assert rows[0]["value"] == pytest.approx(script.losses(encoder, held_out, KNOWN, SPECIAL, KNOWN)[0])
    # positions at random have no order to go on by
    assert rows[1]["value"] == rows[2]["value"] and rows[-1]["value"] == 0


def test_tokens_of_another_vocabulary_are_refused(script: ModuleType, model: Path, tokens: Path) -> None:
    meta = json.loads((tokens / "tokens.json").read_text())
    (tokens / "tokens.json").write_text(json.dumps(meta | {"vocab_size": 41}))
    with pytest.raises(UserError, match="41 entries"):
        script.measure(model, tokens, [2], 100)
