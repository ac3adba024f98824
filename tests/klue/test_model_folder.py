import json
import shutil

import pytest
from safetensors.torch import load_file, save_file

from common.errors import HunminError, UserError
from common.manifest import Manifest, describe_outputs, write_manifest
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
    weights = load_file(folder / "model.safetensors")
    save_file({name: one + 1 for name, one in weights.items()}, folder / "model.safetensors")
    after = read_model_folder(folder)
    assert after.architecture_hash == before.architecture_hash and after.weights_hash != before.weights_hash


def edit(folder, **changes):
    config = {**json.loads((folder / "config.json").read_text()), **changes}
    (folder / "config.json").write_text(json.dumps(config))


def test_folders_that_are_no_encoder(folder):
    with pytest.raises(UserError, match=r"has no config.json"):
        read_model_folder(folder / "nowhere")
    edit(folder, architectures=["GPT2LMHeadModel"])
    with pytest.raises(UserError, match=r"holds a decoder \(GPT2LMHeadModel\)"):
        read_model_folder(folder)
    edit(folder, architectures=["LlamaModel"], model_type="llama")
    with pytest.raises(UserError, match=r"holds a decoder \(LlamaModel\)"):
        read_model_folder(folder)


def test_a_changed_export_is_not_scored(folder):
    manifest = Manifest(stage="export", settings={}, inputs={}, outputs=describe_outputs(folder))
    write_manifest(folder, manifest)
    (folder / "README.md").write_text("a note of the user's")  # beside what the export wrote
    read_model_folder(folder)
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-5] ^= 0x20
    (folder / "model.safetensors").write_bytes(bytes(content))
    with pytest.raises(HunminError, match=r"model\.safetensors is damaged or was changed"):
        read_model_folder(folder)


@pytest.mark.parametrize(("name", "message"), [("tokenizer.json", "no tokenizer"), ("model.safetensors", "no weights")])
def test_missing_parts(folder, name, message):
    (folder / name).unlink()
    with pytest.raises(UserError, match=message):
        read_model_folder(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": None}, r"config\.json does not load: .*hidden_size"),
        ({"hidden_size": 33}, r"hidden_size 33 with 2 heads"),
        ({"max_position_embeddings": 0}, r"max_position_embeddings is 0"),
        ({"pad_token_id": "x"}, r"config\.json does not load: .*pad_token_id"),
        ({"pad_token_id": [1]}, r"config\.json does not load: .*pad_token_id"),
        ({"pad_token_id": -1}, r"pad_token_id is -1, there are [\d,]+ embeddings"),
        ({"type_vocab_size": "two"}, r"config\.json does not load: .*type_vocab_size"),
        ({"model_type": "my-encoder"}, r"config\.json does not load: .*model type `my-encoder`"),
        ({"model_type": "bart", "architectures": 5, "d_model": 32}, r"holds an encoder with a decoder \(bart\)"),
    ],
)
def test_configurations_that_do_not_fit(folder, changes, message):
    edit(folder, **changes)
    with pytest.raises(UserError, match=message) as raised:
        read_model_folder(folder)
    assert len(str(raised.value).splitlines()) == 2 + bool(raised.value.fix)


def test_a_model_that_reads_no_text(folder):
    (folder / "config.json").write_text('{"model_type": "vit"}')
    with pytest.raises(
        UserError, match=r"family vit, which is not served: its configuration has no max_position_embeddings"
    ):
        read_model_folder(folder)


@pytest.mark.parametrize("content", ["[]", "null", "{", "5"])
def test_a_configuration_that_is_no_object(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(UserError, match=r"config\.json (cannot be read|holds no JSON object)"):
        read_model_folder(folder)


def test_names(folder, tmp_path):
    assert read_model_folder(folder).name == "model"
    cached = tmp_path / "models--klue--roberta-base" / "snapshots" / "0a1b"
    shutil.copytree(folder, cached)
    assert read_model_folder(cached).name == "klue/roberta-base"
    (folder / "hunmin-recipe.yaml").write_text("name: mine\n")
    assert read_model_folder(folder).name == "mine"


def test_a_tokenizer_of_another_kind_is_seen(folder):
    """What byte-level RoBERTa comes with, without tokenizer.json."""
    for path in (*folder.glob("tokenizer*"), *folder.glob("vocab.txt")):
        path.unlink()
    with pytest.raises(UserError, match="has no tokenizer"):
        read_model_folder(folder)

    def write(merges):
        entries = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b", "ab"]
        (folder / "vocab.json").write_text(json.dumps({entry: number for number, entry in enumerate(entries)}))
        (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}")
        return read_model_folder(folder).architecture_hash

    before = write("")
    assert write("a b\n") != before == write("")
    (folder / "added_tokens.json").write_text("{}")
    assert read_model_folder(folder).architecture_hash != before
