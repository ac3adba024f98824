"""Exports: everything that people do with a folder of the hub is done before it has its name, and faults are found."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, pipeline

from common.errors import DiskFullError, HunminError, UserError
from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size
from pretrain.export import Dtype, export_checkpoint, is_export_of, load_checkpoint, save_hf_model, sentence_embeddings
from pretrain.export import check as export_check
from pretrain.export import checkpoint as checkpoint_module
from pretrain.export.check import check_folder
from pretrain.export.sentence_embeddings import check_sentence_embeddings
from pretrain.models.encoder import build_config, build_model
from pretrain.settings import PretrainSettings
from tokenizer.save import build_tokenizer, save_tokenizer
from tokenizer.settings import SPECIAL_TOKENS

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import train


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """The tokenizer with all its files."""
    folder = tmp_path_factory.mktemp("vocabulary")
    entries = (tokenizer / "vocab.txt").read_text(encoding="utf-8").split()
    save_tokenizer(build_tokenizer(entries, "roberta"), "roberta", 16, folder)
    return folder


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, tokens: Path, vocabulary: Path) -> Path:
    """A checkpoint that stands alone: its run is gone."""
    out, alone = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("alone")
    train(out, tokens, vocabulary, steps=10)
    return Path(shutil.move(checkpoints_by_size(out / "checkpoints")[-1][1], alone))


@pytest.mark.parametrize(("dtype", "width"), [("fp32", 4), ("bf16", 2), ("fp16", 2)])
def test_a_checkpoint_holds_all_that_an_export_needs(
    dtype: Dtype, width: int, checkpoint: Path, vocabulary: Path, tmp_path: Path
) -> None:
    export_checkpoint(checkpoint, tmp_path / "model", dtype)
    trained = load_file(checkpoint / "weights.safetensors")
    stored = load_file(tmp_path / "model" / "model.safetensors")
    assert stored.keys() == trained.keys() and {tensor.element_size() for tensor in stored.values()} == {width}
    for name, tensor in trained.items():
        torch.testing.assert_close(stored[name].float(), tensor, rtol=2 ** -(8 if dtype == "bf16" else 11), atol=1e-7)
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "model", local_files_only=True, dtype="auto")
    assert model.dtype == stored["lm_head.bias"].dtype
    text = AutoTokenizer.from_pretrained(tmp_path / "model", local_files_only=True)
    assert text.get_vocab() == AutoTokenizer.from_pretrained(vocabulary, local_files_only=True).get_vocab()
    assert text.model_max_length == 16
    fill = pipeline("fill-mask", model=model, tokenizer=text, device="cpu")
    assert len(fill("[MASK] w1")) == 5


@pytest.mark.parametrize(("mask", "mode"), [(0o027, 0o640), (0o002, 0o664)])
def test_whoever_may_read_the_folder_may_read_its_files(checkpoint: Path, tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    os.umask(before)
    of_checkpoint = {stat.S_IMODE(path.stat().st_mode) for path in checkpoint.iterdir()}
    assert of_checkpoint == {0o666 & ~before}
    os.umask(mask)
    try:
        export_checkpoint(checkpoint, tmp_path / "model", sentence_embeddings=True)
    finally:
        os.umask(before)
    paths = [tmp_path / "model", *(tmp_path / "model").rglob("*")]
    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in paths}
    assert modes == {path.name: oct(0o777 & ~mask if path.is_dir() else mode) for path in paths}


def test_two_exports_into_one_folder_leave_a_whole_one(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first is checked, a second begins and ends."""
    again = [lambda: export_checkpoint(checkpoint, tmp_path / "model")]
    check = checkpoint_module.check_folder

    def interrupted(folder: Path, model: PreTrainedModel) -> None:
        check(folder, model)
        if again:
            again.pop()()

    monkeypatch.setattr(checkpoint_module, "check_folder", interrupted)
    export_checkpoint(checkpoint, tmp_path / "model")
    export_checkpoint(checkpoint, tmp_path / "other")
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("model", "other")]
    assert files[0] == files[1] and {path.name for path in tmp_path.iterdir()} == {"model", "other"}


def test_an_export_that_fails_leaves_nothing(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(checkpoint_module, "add_old_names", full)
    with pytest.raises(DiskFullError):
        export_checkpoint(checkpoint, tmp_path / "model")
    assert not [*tmp_path.iterdir()]


def test_exports_are_the_same_bytes(checkpoint: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export_checkpoint(checkpoint, tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "two").iterdir()) and len(files) >= 5
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in files)


def test_a_checkpoint_with_changed_bytes_is_not_exported(checkpoint: Path, tmp_path: Path) -> None:
    damaged = tmp_path / checkpoint.name
    shutil.copytree(checkpoint, damaged)
    content = bytearray((damaged / "weights.safetensors").read_bytes())
    content[-100] ^= 0x20  # one bit of a weight: the file is still a readable one
    (damaged / "weights.safetensors").write_bytes(bytes(content))
    with pytest.raises(HunminError, match="is damaged"):
        export_checkpoint(damaged, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def change_weight(folder: Path, value: float) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    name = next(name for name in tensors if name.endswith("layer.1.output.dense.bias"))
    tensors[name][3] = value
    save_file(tensors, file, {"format": "pt"})


def drop_weight(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    tensors.pop(next(iter(tensors)))
    save_file(tensors, file, {"format": "pt"})


def change_json(name: str, **changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / name
        file.write_text(json.dumps({**json.loads(file.read_bytes()), **changes}))

    return change


def swap_entries(folder: Path) -> None:
    file = folder / "tokenizer.json"
    tree = json.loads(file.read_bytes())
    vocabulary = tree["model"]["vocab"]
    first, second = [name for name in vocabulary if name.startswith("w")][:2]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    file.write_text(json.dumps(tree))


def lose_entry(folder: Path) -> None:
    file = folder / "tokenizer.json"
    tree = json.loads(file.read_bytes())
    vocabulary = tree["model"]["vocab"]
    del vocabulary[max(vocabulary, key=vocabulary.get)]
    file.write_text(json.dumps(tree))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: change_weight(folder, 1.5), "stored with other values"),
        (drop_weight, "too many or too few"),
        (change_json("config.json", layer_norm_eps=0.1), "AutoModel differs by up to"),
        (change_json("config.json", tie_word_embeddings=False), "decoder|misses"),
        (change_json("config.json", hidden_act="relu"), "AutoModel differs by up to"),
        (lose_entry, "entries of the tokenizer"),
    ],
    ids=["weight", "missing", "config", "untied", "activation", "entry"],
)  # fmt: skip
def test_what_is_wrong_is_found(damage: Callable[[Path], None], message: str, checkpoint: Path, tmp_path: Path) -> None:
    model = export_checkpoint(checkpoint, tmp_path / "model")
    check_folder(tmp_path / "model", model)
    damage(tmp_path / "model")
    with pytest.raises(HunminError, match=message):
        check_folder(tmp_path / "model", model)


def test_other_ids_than_in_training_are_found(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = export_checkpoint(checkpoint, tmp_path / "model")
    monkeypatch.setattr(export_check, "TEXTS", ("w1 w2",))
    check_folder(tmp_path / "model", model)
    inner = AutoTokenizer.from_pretrained

    def other(folder: Path, **options: Any) -> Any:
        swap_entries(folder)
        return inner(folder, **options)

    monkeypatch.setattr(export_check.load_tokenizer, "__module__", "x")  # the project's reads the file first
    reader = export_check.load_tokenizer
    tokenizer = reader(tmp_path / "model")
    monkeypatch.setattr(export_check, "load_tokenizer", lambda folder: tokenizer)
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", other)
    with pytest.raises(HunminError, match="other ids than in training"):
        check_folder(tmp_path / "model", model)


def test_weights_that_are_not_finite_or_too_large(checkpoint: Path, tmp_path: Path) -> None:
    model = load_checkpoint(checkpoint)
    weight = model.get_parameter("lm_head.bias")
    with torch.no_grad():
        weight[0] = 1e5
    with pytest.raises(UserError, match=r"beyond 65,504.*\n.*\n.*bf16"):
        half = model.to(torch.float16)
        save_hf_model(half, checkpoint, tmp_path / "half", lambda folder: check_folder(folder, half))
    model = load_checkpoint(checkpoint)
    with torch.no_grad():
        model.get_parameter("lm_head.bias")[0] = torch.nan
    with pytest.raises(HunminError, match="not finite"):
        save_hf_model(model, checkpoint, tmp_path / "nan", lambda folder: check_folder(folder, model))
    assert not list(tmp_path.iterdir())  # nothing of it has a name


def test_checkpoints_that_cannot_be_exported(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a whole checkpoint"):
        export_checkpoint(tmp_path, tmp_path / "model")
    cut = Path(shutil.copytree(checkpoint, tmp_path / "cut"))
    (cut / "tokenizer.json").unlink()
    with pytest.raises(UserError, match="not a whole checkpoint"):
        export_checkpoint(cut, tmp_path / "model")


def test_sentence_vectors_are_means_over_tokens(checkpoint: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("sentence_transformers")
    export_checkpoint(checkpoint, tmp_path / "model", sentence_embeddings=True)
    vectors = transformers.SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(["w1 w2 w3", "w4"])
    text = AutoTokenizer.from_pretrained(tmp_path / "model", local_files_only=True)
    model = load_checkpoint(checkpoint).base_model
    for vector, sentence in zip(vectors, ["w1 w2 w3", "w4"], strict=True):
        hidden = model(**text(sentence, return_tensors="pt")).last_hidden_state
        torch.testing.assert_close(torch.from_numpy(vector), hidden[0].mean(0), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize(
    ("key", "value"),
    [("pooling_mode_cls_token", True), ("pooling_mode_mean_tokens", False), ("word_embedding_dimension", 7)],
)
def test_files_of_other_vectors_are_refused(
    key: str, value: object, installed: bool, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not installed:
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    model = export_checkpoint(checkpoint, tmp_path / "model", sentence_embeddings=True)
    file = tmp_path / "model" / sentence_embeddings.POOLING
    file.write_text(json.dumps({**json.loads(file.read_bytes()), key: value}))
    with pytest.raises(HunminError, match="files for sentence-transformers are not sound"):
        check_sentence_embeddings(tmp_path / "model", model)
    # an export that goes wrong there has no name
    monkeypatch.setattr("pretrain.export.checkpoint.write_embedding_files", lambda *_: None)
    with pytest.raises(HunminError, match="not sound: FileNotFoundError"):
        export_checkpoint(checkpoint, tmp_path / "other", sentence_embeddings=True)
    assert not (tmp_path / "other").exists() and not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_an_onnx_graph_has_the_same_logits(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from pretrain.export import onnx

    model = export_checkpoint(checkpoint, tmp_path / "model", onnx=True)
    session = runtime.InferenceSession(str(tmp_path / "model" / onnx.FILE))
    ids = torch.tensor([[0, 7, 8, 4, 2, 1, 1]])
    mask = (ids != 1).long()
    feeds = {"input_ids": ids, "attention_mask": mask}
    logits = session.run(None, {name: tensor.numpy() for name, tensor in feeds.items()})[0]
    expected = load_checkpoint(checkpoint)(ids, attention_mask=mask).logits
    torch.testing.assert_close(torch.from_numpy(logits)[:, :5], expected[:, :5], atol=1e-4, rtol=0)
    assert onnx.check_onnx(tmp_path / "model", model) <= 1e-4
    monkeypatch.setattr(onnx, "TOLERANCE", -1.0)
    with pytest.raises(HunminError, match="logits differ"):
        export_checkpoint(checkpoint, tmp_path / "wrong", onnx=True)
    assert not (tmp_path / "wrong").exists() and not list(tmp_path.glob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "objective", "special", "returned"),
    [
        ("roberta", "mlm", "roberta", ["attention_mask", "input_ids"]),
        ("roberta", "mlm", "bert", ["attention_mask", "input_ids"]),  # the model knows one token type
        ("bert", "mlm+nsp", "bert", ["attention_mask", "input_ids", "token_type_ids"]),
        ("bert", "mlm", "roberta", ["attention_mask", "input_ids"]),
    ],
)
def test_an_onnx_graph_takes_what_its_tokenizer_returns(
    kind: str, objective: str, special: str, returned: list[str], tmp_path: Path
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from pretrain.export import onnx

    built = build_tokenizer([*SPECIAL_TOKENS[special], *"오늘날씨가정말좋네요훈민음은"], special)
    save_tokenizer(built, special, 32, tmp_path / "tokenizer")
    ids = {token.strip("[]").lower(): number for number, token in enumerate(SPECIAL_TOKENS[special])}
    settings = PretrainSettings.model_validate(
        {"model": {"type": kind, "layers": 1, "hidden": 32, "heads": 2}, "max_seq_len": 32, "objective": objective}
        | ({"packing": "sentence-pairs"} if objective == "mlm+nsp" else {})
    )
    model = build_model(settings, build_config(settings, built.get_vocab_size(), ids)).eval()

    def finish(folder: Path) -> None:
        onnx.write_onnx(folder, model)
        onnx.check_onnx(folder, model)

    folder = tmp_path / "model"
    save_hf_model(model, tmp_path / "tokenizer", folder, finish)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    session = runtime.InferenceSession(str(folder / onnx.FILE))
    assert sorted(entry.name for entry in session.get_inputs()) == returned
    for texts in ((["오늘 날씨"],), (["오늘", "훈민정음은 날씨가 좋네요"],), (["오늘"], ["날씨가 좋네요"])):
        inputs = dict(tokenizer(*texts, padding=True, return_tensors="pt"))
        assert sorted(inputs) == returned
        logits = session.run(["logits"], {name: entry.numpy() for name, entry in inputs.items()})[0]
        with torch.no_grad():
            torch.testing.assert_close(torch.from_numpy(logits), model(**inputs)[0], atol=1e-4, rtol=0)
    other = json.loads((folder / "tokenizer_config.json").read_bytes())
    other["model_input_names"] = ["input_ids", "attention_mask"] + ["token_type_ids"] * (len(returned) == 2)
    (folder / "tokenizer_config.json").write_text(json.dumps(other))
    with pytest.raises(HunminError, match="the ONNX graph asks for"):
        onnx.check_onnx(folder, model)


@pytest.mark.slow
def test_sentence_embeddings_stand_beside_an_onnx_graph(checkpoint: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    export_checkpoint(checkpoint, tmp_path / "model", sentence_embeddings=True, onnx=True)
    assert is_export_of(tmp_path / "model", checkpoint, sentence_embeddings=True, onnx=True)
    inputs = AutoTokenizer.from_pretrained(tmp_path / "model", local_files_only=True)(["w1 w2"], return_tensors="np")
    runtime.InferenceSession(str(tmp_path / "model" / "onnx" / "model.onnx")).run(None, dict(inputs))


@pytest.mark.slow
def test_an_onnx_graph_tells_nothing_of_the_machine(
    checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxscript")
    from pretrain.export import onnx

    export_checkpoint(checkpoint, tmp_path / "model", onnx=True)
    graph = (tmp_path / "model" / onnx.FILE).read_bytes()
    for word in (b"site-packages", b".py", b'File "', b"/usr/", b"forward", str(Path.home()).encode() + b"/"):
        assert word not in graph, word
    said = capfd.readouterr()
    assert "torchvision" not in said.out + said.err


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime", "onnxscript"])
def test_a_graph_that_cannot_be_made_is_refused_before_any_work(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def work(checkpoint: Path) -> None:
        raise AssertionError("it has begun")

    monkeypatch.setattr("pretrain.export.checkpoint.load_checkpoint", work)
    with pytest.raises(UserError, match="16-bit"):
        export_checkpoint(tmp_path, tmp_path / "model", "bf16", onnx=True)
    monkeypatch.setattr("common.extras.find_spec", lambda name: None if name == missing else find_spec(name))
    with pytest.raises(UserError, match=f"needs {missing}, which is not installed"):
        export_checkpoint(tmp_path, tmp_path / "model", onnx=True)


def test_an_export_is_known_by_what_it_holds(checkpoint: Path, tmp_path: Path) -> None:
    made = tmp_path / "model"
    export_checkpoint(checkpoint, made, sentence_embeddings=True)
    (made / "README.md").write_text("a card")
    assert is_export_of(made, checkpoint, sentence_embeddings=True)
    assert not is_export_of(made, checkpoint) and not is_export_of(made, checkpoint, "bf16", True)
    assert not is_export_of(made, checkpoint, sentence_embeddings=True, onnx=True)
    (made / "notes.txt").write_text("mine")
    assert not is_export_of(made, checkpoint, sentence_embeddings=True)
    (made / "notes.txt").unlink()
    weights = load_file(made / "model.safetensors")
    weights["lm_head.bias"][0] += 1e-3
    save_file(weights, made / "model.safetensors", {"format": "pt"})
    assert not is_export_of(made, checkpoint, sentence_embeddings=True)
