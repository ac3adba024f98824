"""Each entry of a published model's configuration that changes what is computed is carried along or refused.

Both are told before the first step: what is carried gives transformers' logits, then, after a resume and in the export.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM

from common.errors import UserError
from pretrain.models.continuation import check_model, load_model
from pretrain.models.encoder import build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.settings import PretrainSettings
from tests.pretrain.small_tokens import SPECIAL
from tokenizer.save import build_tokenizer, save_tokenizer

ENTRIES = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", "가", "나", "##가", "##나", "나가"]
LENGTH = 32


def run_of(kind: str, source: Path | None = None) -> PretrainSettings:
    model = {"type": kind, "layers": 2, "hidden": 32, "heads": 2, "initializer_range": 0.3}
    init = {"init_from": str(source)} if source else {}
    return PretrainSettings.model_validate({"model": model, "max_seq_len": LENGTH, **init})


def publish(folder: Path, kind: str, **changes: Any) -> Path:
    """Write a model whose configuration differs in some entries, with the weights that such a model has."""
    config = build_config(run_of(kind), len(ENTRIES), SPECIAL)
    for name, value in changes.items():
        setattr(config, name, value)
    build_model(run_of(kind), config).save_pretrained(folder)
    save_tokenizer(build_tokenizer(ENTRIES, "roberta"), "roberta", LENGTH, folder)
    return folder


def go_on(source: Path, kind: str) -> Any:
    run = run_of(kind, source)
    check_model(str(source), run)
    return load_model(str(source), build_config(run, len(ENTRIES), SPECIAL), run, ENTRIES)


CARRIED: list[tuple[str, dict[str, Any]]] = [
    ("roberta", {"hidden_act": "relu"}),
    ("bert", {"hidden_act": "gelu_new"}),
    ("bert", {"layer_norm_eps": 0.1}),
    ("roberta", {"type_vocab_size": 2}),
    ("bert", {"classifier_dropout": 0.5}),
    ("deberta-v2", {"hidden_act": "relu"}),
    ("deberta-v2", {"position_buckets": 8}),
    ("deberta-v2", {"position_buckets": -1}),
    ("deberta-v2", {"max_relative_positions": 16, "position_buckets": 4}),
    ("deberta-v2", {"pos_att_type": ["c2p"]}),
    ("deberta-v2", {"share_att_key": False}),
    ("deberta-v2", {"norm_rel_ebd": "none"}),
    ("deberta-v2", {"position_biased_input": True}),
    ("deberta-v2", {"relative_attention": False, "position_biased_input": True}),
    ("deberta-v2", {"type_vocab_size": 2}),
    ("deberta-v2", {"embedding_size": 16}),
    ("modernbert", {"hidden_activation": "silu"}),
    ("modernbert", {"norm_eps": 0.1}),
    ("modernbert", {"classifier_activation": "relu"}),
    ("modernbert", {"sparse_prediction": True}),
]
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("roberta", {"tie_word_embeddings": False}, "tie_word_embeddings = False, the run True"),
    ("bert", {"tie_word_embeddings": False}, "tie_word_embeddings = False, the run True"),
    ("modernbert", {"tie_word_embeddings": False}, "tie_word_embeddings = False, the run True"),
    ("deberta-v2", {"tie_word_embeddings": False}, "tie_word_embeddings = False, the run True"),
    ("bert", {"is_decoder": True}, "is_decoder = True, the run False"),
    ("roberta", {"is_decoder": True}, "is_decoder = True, the run False"),
    ("roberta", {"is_decoder": True, "add_cross_attention": True}, "is_decoder = True"),
    ("roberta", {"chunk_size_feed_forward": 1}, "chunk_size_feed_forward = 1, the run 0"),
    ("deberta-v2", {"conv_kernel_size": 3, "conv_act": "gelu"}, "conv_kernel_size = 3, the run 0"),
    ("modernbert", {"decoder_bias": False}, "decoder_bias = False, the run True"),
    ("roberta", {"pad_token_id": 0}, "pad_token_id = 0, the run 1"),
    ("bert", {"pad_token_id": None}, "pad_token_id = None, the run"),
]


@pytest.mark.parametrize(("kind", "changes"), CARRIED)
def test_an_entry_is_carried_along(kind: str, changes: dict[str, Any], tmp_path: Path) -> None:
    source = publish(tmp_path / "m", kind, **changes)
    theirs, loaded = AutoModelForMaskedLM.from_pretrained(source).eval(), go_on(source, kind).eval()
    for name, value in changes.items():
        assert getattr(loaded.config, name) == value
    ids = torch.randint(5, 10, (2, LENGTH), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, theirs(ids).logits)


@pytest.mark.parametrize(("kind", "changes", "message"), REFUSED)
def test_an_entry_is_refused_by_name(kind: str, changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        go_on(publish(tmp_path / "m", kind, **changes), kind)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_an_entry_that_nobody_has_thought_of_shows_as_another_logit(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = publish(tmp_path / "m", kind, is_decoder=True)
    monkeypatch.setattr(ARCHITECTURES[kind], "needs", {}, raising=False)
    with pytest.raises(
        UserError, match=r"(?s)would compute other logits.*by up to .*differs from the run in.*is_decoder"
    ):
        go_on(source, kind)


def change_weights(source: Path, add: dict[str, torch.Tensor]) -> None:
    file = source / "model.safetensors"
    save_file(load_file(file) | add, file, {"format": "pt"})


def test_weights_that_transformers_passes_over_are_refused(tmp_path: Path) -> None:
    """BERT's relative positions, which transformers 5 has dropped: it loads the rest, and says so in a log alone."""
    source = publish(tmp_path / "m", "bert", position_embedding_type="relative_key")
    name = "bert.encoder.layer.0.attention.self.distance_embedding.weight"
    change_weights(source, {name: torch.randn(2 * LENGTH - 1, 16)})
    with pytest.raises(UserError, match=f"1 weights that a BertForMaskedLM has no place for: {name}"):
        go_on(source, "bert")


def test_a_pooler_and_the_head_of_pairs_are_of_another_objective(tmp_path: Path) -> None:
    source = publish(tmp_path / "m", "bert")
    change_weights(source, {"bert.pooler.dense.weight": torch.ones(32, 32), "cls.seq_relationship.bias": torch.ones(2)})
    assert go_on(source, "bert").config.model_type == "bert"


def test_an_output_layer_of_its_own_is_refused_though_the_configuration_denies_it(tmp_path: Path) -> None:
    source = publish(tmp_path / "m", "roberta")
    change_weights(source, {"lm_head.decoder.weight": torch.randn(len(ENTRIES), 32)})
    with pytest.raises(UserError, match=r"holds its output layer apart.*lm_head\.decoder\.weight"):
        go_on(source, "roberta")
