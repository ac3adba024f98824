"""Kinds of broken model folders: what is done to a sound one, what every command says, and its exit code."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from common.current import make_current
from common.manifest import Manifest, describe_outputs, write_manifest
from common.results import encoded
from tests.damage import flip

MARK = "run-by-the-model"
"""File that a model's own code would leave in the current folder."""
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


@dataclass(frozen=True)
class Fault:
    """What is done to a folder, a pattern of the message, and the exit code: 1 where bytes differ from a manifest."""

    spoil: Callable[[Path], object]
    message: str
    code: int = 2
    parts: tuple[str, ...] = ("model",)
    """What it is done to: "model" is every folder with weights, "tokenizer" one without, else a kind of folder."""

    @property
    def kinds(self) -> set[str]:
        """Return the kinds of folders that it is done to."""
        of_models = ("encoder", "finetuned", "decoder", "embedder", "reranker")
        return {kind for part in self.parts for kind in (of_models if part == "model" else (part,))}


def edited(**changes: Any) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        written = json.loads((folder / "config.json").read_bytes())
        (folder / "config.json").write_text(json.dumps({**written, **changes}))

    return spoil


def file(name: str, content: str | bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def weights(change: Callable[[dict[str, torch.Tensor], str], object]) -> Callable[[Path], object]:
    """Change a folder's tensors; the name is of a weight of the last layer's feed-forward."""

    def spoil(folder: Path) -> None:
        state = load_file(folder / "model.safetensors")
        last = sorted(key for key in state if "mlp.down" in key or "output.dense.weight" in key or "4h_to_h" in key)
        change(state, last[-1])
        save_file(state, folder / "model.safetensors", {"format": "pt"})

    return spoil


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])


def lying_length(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes((1 << 60).to_bytes(8, "little") + path.read_bytes()[8:])


def broken_header(folder: Path) -> None:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[8] = ord("[")
    (folder / "model.safetensors").write_bytes(content)


def indexed(place: str, name: str, there: bool = True) -> Callable[[Path], object]:
    """Move the weights to a file below `place`, which an index names."""

    def spoil(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        if there:
            (folder / "model.safetensors").rename(folder / place)
        else:
            (folder / "model.safetensors").unlink()
        tree = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(tensors, name.format(folder=folder.parent))}
        (folder / "model.safetensors.index.json").write_text(json.dumps(tree))

    return spoil


def less_than_indexed(folder: Path) -> None:
    weights(lambda tensors, name: tensors.pop(name))(folder)
    indexed("model-00001-of-00001.safetensors", "model-00001-of-00001.safetensors")(folder)


def pickled(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def own_code(folder: Path) -> None:
    classes = ("AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoModelForSequenceClassification", "AutoTokenizer")
    edited(model_type="mine", auto_map=dict.fromkeys(classes, "code.Model"))(folder)
    (folder / "code.py").write_text(f"open({MARK!r}, 'w').close()\nclass Model: pass\n")


def more_entries(folder: Path) -> None:
    path = folder / "tokenizer.json"
    tree = json.loads(path.read_bytes())
    added = {**tree["added_tokens"][0], "special": False}
    tree["added_tokens"] += [{**added, "id": 100_000 + n, "content": f"<{n}>"} for n in range(12)]
    path.write_text(json.dumps(tree))


def without_tokenizer(folder: Path) -> None:
    for name in TOKENIZER:
        (folder / name).unlink(missing_ok=True)


def pickle_behind_a_decoy(folder: Path) -> None:
    module(path="2_Dense")(folder)
    (folder / "2_Dense").mkdir()
    for name in ("pytorch_model.bin", "x.safetensors"):
        (folder / "2_Dense" / name).write_bytes(b"")


def module(**changes: Any) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        tree = json.loads((folder / "modules.json").read_bytes())
        tree[-1] |= changes
        (folder / "modules.json").write_text(json.dumps(tree))
        (folder / "code.py").write_text(f"open({MARK!r}, 'w').close()\nclass Model: pass\n")

    return spoil


def listed(name: str, **changes: Any) -> Callable[[Path], object]:
    """Change entries of a JSON file; None takes one out."""

    def spoil(folder: Path) -> None:
        written = json.loads((folder / name).read_bytes()) if (folder / name).is_file() else {}
        tree = {key: value for key, value in {**written, **changes}.items() if value is not None}
        (folder / name).write_text(json.dumps(tree))

    return spoil


def rotated(**changes: Any) -> Callable[[Path], object]:
    parameters = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5, **changes}
    return edited(rope_parameters=parameters)


def another_id(folder: Path) -> None:
    """Put an id that no entry has before each text."""
    first, text, second = (
        {"SpecialToken": {"id": "<x>", "type_id": 0}},
        *({"Sequence": {"id": name, "type_id": 0}} for name in "AB"),
    )
    special = {"<x>": {"id": "<x>", "ids": [88_888], "tokens": ["<x>"]}}
    frame = {"type": "TemplateProcessing", "single": [first, text], "pair": [first, text, second]}
    listed("tokenizer.json", post_processor={**frame, "special_tokens": special})(folder)


def replacing(count: int, times: int = 1) -> Callable[[Path], object]:
    """Let the tokenizer put letters in the place of one, and others in the place of each of them."""
    step = {"type": "Replace", "pattern": {"Regex": "."}, "content": "나" * count}
    return listed("tokenizer.json", normalizer={"type": "Sequence", "normalizers": [step] * times})


def without_unknown(folder: Path) -> None:
    model = json.loads((folder / "tokenizer.json").read_bytes())["model"]
    listed("tokenizer.json", model={**model, "unk_token": "<none>"})(folder)


def large(name: str) -> Callable[[Path], object]:
    return lambda folder: os.truncate(folder / name, 100_000_001)


def other_kind(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    """Put something that is no file in the place of one."""
    return lambda folder: ((folder / name).unlink(missing_ok=True), make(folder / name))


def to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def described(folder: Path) -> Path:
    """Write a manifest into the folder."""
    write_manifest(folder, Manifest(stage="export", settings={}, inputs={}, outputs=describe_outputs(folder)))
    return folder


def in_manifest(spoil: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: spoil(described(folder))


def in_manifest_above(spoil: Callable[[Path], object]) -> Callable[[Path], object]:
    """Make the folder what a run has tuned: FOLDER is a link to RUN/made/embed-0123456789/model."""

    def done(folder: Path) -> None:
        run = folder.parent / "run-of-it"
        home = run / "made" / "embed-0123456789"
        home.mkdir(parents=True)
        folder.rename(home / "model")
        folder.symlink_to(home / "model")
        described(home)
        make_current(run, "embed", home)
        spoil(home / "model")

    return done


def flipped(name: str) -> Callable[[Path], object]:
    return lambda folder: flip(folder / name)


def more_positions(folder: Path) -> None:
    """Give a RoBERTa twice its positions, as one does on purpose."""
    tensors = load_file(folder / "model.safetensors")
    [name] = [name for name in tensors if name.endswith("position_embeddings.weight")]
    tensors[name] = torch.cat([tensors[name]] * 2)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    edited(max_position_embeddings=len(tensors[name]))(folder)


def rewritten(folder: Path) -> None:
    """Change a weight, and the manifest with it."""
    weights(lambda tensors, name: tensors[name].zero_())(folder)
    described(folder.parent)


DEEP = '{"model_type": "roberta", "a": ' + '{"a":' * 100_000 + "1" + "}" * 100_001
NO_CONFIG, NO_TOKENIZER = r"config\.json is no file|no model's folder", r"tokenizer\.json is no file|is not a run, "
LEARNED, SENTENCES = "hunmin-embed.json", "config_sentence_transformers.json"
GENERATION = "generation_config.json"
DAMAGED = r"is damaged or was changed"
BOTH, DECODER, EMBEDDER = ("model", "tokenizer"), ("decoder",), ("embedder",)
READS = ("encoder", "finetuned", "embedder", "reranker")
FAULTS: dict[str, Fault] = {
    "no configuration": Fault(lambda folder: (folder / "config.json").unlink(), r"no config\.json|no model's folder"),
    "a configuration that is no JSON": Fault(file("config.json", "{"), r"config\.json cannot be read"),
    "a configuration that is a list": Fault(file("config.json", "[]"), r"config\.json holds no JSON object"),
    "a configuration in UTF-16": Fault(file("config.json", "{}".encode("utf-16")), r"config\.json cannot be read"),
    "a configuration nested past the stack": Fault(file("config.json", DEEP), r"config\.json .*nested too deep"),
    "a configuration nested deep": Fault(edited(a=json.loads("[" * 300 + "]" * 300)), r"is nested too deep"),
    "a lone surrogate": Fault(edited(model_type="\ud800"), r"config\.json cannot be read"),
    "another file of weights": Fault(edited(transformers_weights="x.safetensors"), r"names a file of weights"),
    "an unknown type": Fault(edited(model_type="mine"), r"config\.json does not load"),
    "code of its own": Fault(own_code, r"brings Python code of its own \(auto_map\), which is not run"),
    "an adapter": Fault(file("adapter_config.json", '{"base_model_name_or_path": "x"}'), r"is an adapter"),
    "weights cut short": Fault(cut, r"model\.safetensors is damaged or cut short"),
    "a header of a length that lies": Fault(lying_length, r"model\.safetensors is damaged or cut short"),
    "a header that is no JSON": Fault(broken_header, r"model\.safetensors is damaged or cut short"),
    "no weights": Fault(lambda folder: (folder / "model.safetensors").unlink(), r"has no weights"),
    "a pickle alone": Fault(pickled, r"as a pickle alone \(pytorch_model\.bin\)"),
    "no feed-forward": Fault(weights(lambda held, name: held.pop(name)), r"lacks 1 weights: "),
    "weights of another shape": Fault(
        weights(lambda held, name: held.update({name: held[name][:-1].clone()})), r"has the shape .*json asks for"
    ),
    "NaN": Fault(weights(lambda held, name: held[name].view(-1)[-1:].fill_(float("nan"))), r"holds NaN or infinity"),
    "infinity": Fault(weights(lambda held, name: held[name].view(-1)[:1].fill_(-torch.inf)), r"holds NaN or infinity"),
    "an index out of the folder": Fault(indexed("../away.safetensors", "../away.safetensors"), r"names '\.\./away"),
    "an index to a path": Fault(indexed("../away.safetensors", "{folder}/away.safetensors"), r"index\.json names '/"),
    "a part that is missing": Fault(indexed("", "model-1.safetensors", there=False), r"model-1\S+ is missing"),
    "a part that lacks a weight": Fault(less_than_indexed, r"lacks 1 weights: "),
    "an index without names": Fault(
        lambda folder: ((folder / "model.safetensors").unlink(), file("model.safetensors.index.json", "{}")(folder)),
        r"has no weight_map",
    ),
    "a vocabulary without embeddings": Fault(edited(vocab_size=5000), r"config\.json asks for \[5000"),
    "padding without an embedding": Fault(edited(pad_token_id=9999), r"pad_token_id|Padding_idx"),
    "an end without an embedding": Fault(edited(eos_token_id=9999), r"eos_token_id is 9999"),
    "a negative id": Fault(edited(bos_token_id=-2), r"bos_token_id is -2"),
    "heads that do not divide the width": Fault(
        edited(num_attention_heads=3), r"hidden_size \d+ with 3 heads|hidden size is not divisible"
    ),
    "no heads": Fault(edited(num_attention_heads=0), r"num_attention_heads is 0|does not load"),
    "no layers": Fault(edited(num_hidden_layers=0), r"num_hidden_layers is 0"),
    "layers left over": Fault(edited(num_hidden_layers=1), r"layer 1 is there, config\.json has 1 layers"),
    "no positions": Fault(edited(max_position_embeddings=0), r"max_position_embeddings is 0"),
    "no tokenizer": Fault(without_tokenizer, r"has no tokenizer"),
    "a tokenizer that is no JSON": Fault(file("tokenizer.json", "{"), r"tokenizer\.json cannot be read", parts=BOTH),
    "a tokenizer nested past the stack": Fault(
        file("tokenizer.json", "[" * 100_000), r"tokenizer\.json cannot be read.*too deep", parts=BOTH
    ),
    "a tokenizer that does not load": Fault(
        file("tokenizer.json", '{"version": "1.0", "model": 5}'), r"tokenizer does not load|is damaged", parts=BOTH
    ),
    "a tokenizer with more entries": Fault(more_entries, r"tokenizer of .* gives ids up to [\d,]+"),
    "a module of its own code": Fault(module(type="code.Model"), r"the module 'code\.Model'", parts=EMBEDDER),
    "a pickle behind a decoy": Fault(pickle_behind_a_decoy, r"pytorch_model\.bin is a pickle", parts=EMBEDDER),
    "an encoder in a folder of its own": Fault(
        module(type="sentence_transformers.models.Transformer"), r"has the encoder in", parts=EMBEDDER
    ),
    "a norm with NaN": Fault(edited(layer_norm_eps=float("nan")), r"config\.json cannot be read: Out of range"),
    "a norm with infinity": Fault(edited(layer_norm_eps=float("inf")), r"config\.json cannot be read: Out of range"),
    "a million layers": Fault(edited(num_hidden_layers=1_000_000), r"num_hidden_layers is 1,000,000"),
    "a module out of the folder": Fault(module(path="../1_Pooling"), r"names '\.\./1_Pooling'", parts=EMBEDDER),
    "an epsilon of 0": Fault(edited(layer_norm_eps=0.0), r"layer_norm_eps is 0\.0"),
    "a dropout of 1": Fault(edited(hidden_dropout_prob=1.0), r"hidden_dropout_prob is 1\.0"),
    "a spread below 0": Fault(edited(initializer_range=-0.02), r"initializer_range is -0\.02"),
    "feed-forward in pieces": Fault(edited(chunk_size_feed_forward=7), r"chunk_size_feed_forward is 7"),
    "tuples": Fault(edited(return_dict=False), r"return_dict is False"),
    "states of all layers": Fault(edited(output_hidden_states=True), r"output_hidden_states is True"),
    "attentions": Fault(edited(output_attentions=True), r"output_attentions is True|does not load"),
    "a class that is no name": Fault(
        edited(architectures=5), r"is no (causal decoder|cross-encoder)", parts=("decoder", "reranker")
    ),
    "angles of base 0": Fault(rotated(rope_theta=0), r"rope_theta is 0", parts=DECODER),
    "angles of base -1": Fault(edited(rope_theta=-1.0), r"rope_theta is -1\.0"),
    "a factor of 0": Fault(rotated(rope_type="linear", factor=0.0), r"factor is 0\.0", parts=DECODER),
    "a factor of 0, by its old name": Fault(edited(rope_scaling={"type": "linear", "factor": 0}), r"factor is 0"),
    "five times a head": Fault(rotated(partial_rotary_factor=5), r"partial_rotary_factor is 5", parts=DECODER),
    "a decoder with an encoder": Fault(edited(is_encoder_decoder=True), r"no causal decoder", parts=DECODER),
    "a penalty below 0": Fault(
        listed(GENERATION, repetition_penalty=-1), r"generation_config\.json .*penalty", parts=DECODER
    ),
    "words of another shape": Fault(
        listed(GENERATION, bad_words_ids=[1, 2]), r"generation_config\.json .*bad_words", parts=DECODER
    ),
    "an end that is no id": Fault(listed(GENERATION, eos_token_id="x"), r"eos_token_id", parts=DECODER),
    "an end of generation without an embedding": Fault(
        listed(GENERATION, eos_token_id=[0, 99_999]), r"eos_token_id is 99999", parts=DECODER
    ),
    "words without an embedding": Fault(
        listed(GENERATION, bad_words_ids=[[99_999]]), r"bad_words_ids is 99999", parts=DECODER
    ),
    "three answers": Fault(
        listed(GENERATION, num_return_sequences=3), r"num_return_sequences", parts=DECODER
    ),
    "a mark without an entry": Fault(another_id, r"tokenizer of .* gives the id 88,888", parts=BOTH),
    "an unknown token without an entry": Fault(
        without_unknown, r"cannot encode", parts=(*READS, "tokenizer")
    ),
    "no padding": Fault(
        listed("tokenizer_config.json", pad_token=None), r"has no pad_token", parts=READS
    ),
    "a million letters in the place of one": Fault(replacing(1_000_000), r"up to 1,000,000 characters", parts=BOTH),
    "letters in the place of letters": Fault(replacing(10, 9), r"makes up to 1,000,000,000 characters", parts=BOTH),
    "padding to a billion": Fault(
        listed("tokenizer.json", padding={"strategy": {"Fixed": 1_000_000_000}, "direction": "Right", "pad_id": 0,
                                          "pad_to_multiple_of": None, "pad_type_id": 0, "pad_token": "[PAD]"}),
        r"makes up to 1,000,000,000 tokens of a text", parts=BOTH,
    ),
    "a large tokenizer": Fault(large("tokenizer.json"), r"tokenizer\.json has 100,000,001 bytes", parts=BOTH),
    "a large configuration": Fault(large("config.json"), r"config\.json has 100,000,001 bytes"),
    "a pipe for a tokenizer": Fault(other_kind("tokenizer.json", os.mkfifo), NO_TOKENIZER, parts=BOTH),
    "a pipe for a configuration": Fault(other_kind("config.json", os.mkfifo), NO_CONFIG),
    "a pipe for weights": Fault(other_kind("model.safetensors", os.mkfifo), r"model\.safetensors is no file"),
    "a pipe beside them": Fault(other_kind("README.md", os.mkfifo), r"README\.md is no file"),
    "a folder for a tokenizer": Fault(other_kind("tokenizer.json", Path.mkdir), NO_TOKENIZER, parts=BOTH),
    "a folder for weights": Fault(other_kind("model.safetensors", Path.mkdir), r"model\.safetensors is no file"),
    "a device for a configuration": Fault(other_kind("config.json", to_zeros), NO_CONFIG),
    "a device for a tokenizer": Fault(other_kind("tokenizer.json", to_zeros), NO_TOKENIZER, parts=BOTH),
    "a pipe for what it learned": Fault(
        other_kind(LEARNED, os.mkfifo), r"hunmin-embed\.json is no file|holds no hunmin-embed", parts=EMBEDDER
    ),
    "a pipe in a module": Fault(
        other_kind("1_Pooling/config.json", os.mkfifo), r"1_Pooling/config\.json is no file", parts=EMBEDDER
    ),
    "what it learned as a list": Fault(
        file(LEARNED, "[]"), r"hunmin-embed\.json holds no JSON object", parts=EMBEDDER
    ),
    "what it learned without keys": Fault(
        file(LEARNED, encoded({}).decode()), r"hunmin-embed\.json is damaged.*lacks 'trained_on'", 1, EMBEDDER
    ),
    "what it learned in another shape": Fault(
        listed(LEARNED, trained_on={"a": 1}), r"hunmin-embed\.json is damaged", 1, EMBEDDER
    ),
    "a pooling of another width": Fault(
        listed("1_Pooling/config.json", word_embedding_dimension=9999), r"\[32\] for a width of 9999", parts=EMBEDDER
    ),
    "a pooling of no kind": Fault(
        file("1_Pooling/config.json", '{"word_embedding_dimension": 32, "pooling_mode": "most"}'), r"does not compute",
        parts=EMBEDDER,
    ),
    "a pooling without a width": Fault(file("1_Pooling/config.json", "{}"), r"does not compute", parts=EMBEDDER),
    "no modules": Fault(file("modules.json", "[]"), r"does not compute", parts=EMBEDDER),
    "a prompt that is no text": Fault(
        listed(SENTENCES, prompts={"query": 5}), r"does not compute", parts=EMBEDDER
    ),
    "texts of no tokens": Fault(
        listed("sentence_bert_config.json", max_seq_length=0), r"cuts texts at 0 tokens", parts=EMBEDDER
    ),
    "a flipped bit in the weights": Fault(in_manifest(flipped("model.safetensors")), DAMAGED, 1),
    "a flipped bit, manifest above": Fault(in_manifest_above(flipped("model.safetensors")), DAMAGED, 1),
    "an edited configuration": Fault(in_manifest(edited(note="")), DAMAGED, 1),
    "an edited configuration, manifest above": Fault(in_manifest_above(edited(note="")), DAMAGED, 1),
    "an edited tokenizer": Fault(in_manifest(more_entries), DAMAGED, 1, parts=BOTH),
    "an edited tokenizer, manifest above": Fault(in_manifest_above(more_entries), DAMAGED, 1, parts=BOTH),
    "a file added": Fault(in_manifest(file("added_tokens.json", "{}")), DAMAGED, 1, parts=BOTH),
    "a file gone": Fault(
        in_manifest(lambda folder: (folder / "tokenizer_config.json").unlink()), DAMAGED, 1, parts=BOTH
    ),
    "a manifest changed with its weights": Fault(
        in_manifest_above(rewritten), r"manifest\.json is damaged or was changed", 1
    ),
    "no manifest, which the run wrote": Fault(
        in_manifest_above(lambda folder: (folder.parent / "manifest.json").unlink()),
        r"manifest\.json is damaged or was changed", 1,
    ),
}  # fmt: skip


def spoiled(sound: Path, place: Path, fault: Fault) -> Path:
    """Return a copy of a sound folder with a fault."""
    folder = shutil.copytree(sound, place / "broken")
    fault.spoil(folder)
    return folder
