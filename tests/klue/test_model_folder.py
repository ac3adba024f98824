import json
import shutil

import pytest

from common.errors import UserError
from klue.model_folder import read_model_folder


def test_facts(tiny_roberta, tiny_bert):
    roberta, bert = read_model_folder(tiny_roberta), read_model_folder(tiny_bert)
    # RoBERTa's positions count from pad id + 1
    assert (roberta.max_positions, bert.max_positions) == (64, 66)
    assert (roberta.token_types, bert.token_types) == (False, True)
    assert (roberta.hidden_size, roberta.pad_id) == (32, 1)
    assert roberta.weights_hash != bert.weights_hash


@pytest.fixture
def folder(tiny_roberta, tmp_path):
    return shutil.copytree(tiny_roberta, tmp_path / "model")


def test_hashes_tell_weights_from_architecture(folder):
    before = read_model_folder(folder)
    (folder / "model.safetensors").write_bytes(b"other")
    after = read_model_folder(folder)
    assert after.architecture_hash == before.architecture_hash and after.weights_hash != before.weights_hash


def edit(folder, **changes):
    config = {**json.loads((folder / "config.json").read_text()), **changes}
    (folder / "config.json").write_text(json.dumps(config))


def test_folders_that_are_no_encoder(folder):
    with pytest.raises(UserError, match=r"no readable config.json"):
        read_model_folder(folder / "nowhere")
    edit(folder, architectures=["GPT2LMHeadModel"])
    with pytest.raises(UserError, match=r"holds a decoder \(GPT2LMHeadModel\)"):
        read_model_folder(folder)
    edit(folder, architectures=["LlamaModel"], model_type="llama")
    with pytest.raises(UserError, match=r"holds a decoder \(LlamaModel\)"):
        read_model_folder(folder)
    edit(folder, architectures=["RobertaForMaskedLM"], model_type="roberta", hidden_size=None)
    with pytest.raises(UserError, match=r"config\.json"):
        read_model_folder(folder)


@pytest.mark.parametrize(("name", "message"), [("tokenizer.json", "no tokenizer"), ("model.safetensors", "no weights")])
def test_missing_parts(folder, name, message):
    (folder / name).unlink()
    with pytest.raises(UserError, match=message):
        read_model_folder(folder)
