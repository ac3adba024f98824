"""The local start: sizes as configured, near positions alike, heads that look near; nothing else changes."""

import pytest
import torch
from transformers import PreTrainedModel

from pretrain.models.encoder import build_config, build_model
from pretrain.models.initialisation import orthogonal_rows, sinusoids
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.small_tokens import SPECIAL

SHAPE = ModelSettings(layers=2, hidden=192, heads=3, dropout=0.0, initializer_range=0.05)
CONFIG = build_config(PretrainSettings(model=SHAPE, max_seq_len=64), 50, SPECIAL)


def make(seed: int, initialisation: str) -> PreTrainedModel:
    model = SHAPE.model_copy(update={"initialisation": initialisation})
    return build_model(PretrainSettings(model=model, max_seq_len=64, seed=seed), CONFIG)


def test_positions_near_each_other_are_alike_and_far_ones_are_not() -> None:
    table_PH = sinusoids(64, 96)
    likeness_PP = table_PH @ table_PH.T / 96
    assert torch.allclose(likeness_PP.diagonal(), torch.ones(64), atol=1e-5)
    for distance, (least, most) in {1: (0.8, 1.0), 3: (0.4, 0.8), 20: (-0.3, 0.3), 50: (-0.3, 0.3)}.items():
        likeness = likeness_PP.diagonal(distance)
        assert torch.allclose(likeness, likeness[:1].expand_as(likeness), atol=1e-5)  # a function of the distance alone
        assert least <= float(likeness[0]) <= most


def test_rows_are_orthogonal_and_of_length_1() -> None:
    rows = orthogonal_rows(5, 12, torch.Generator().manual_seed(0))
    torch.testing.assert_close(rows @ rows.T, torch.eye(5), atol=1e-6, rtol=0)


def test_only_positions_queries_and_keys_change_and_their_size_is_the_configured_one() -> None:
    original, local = make(3, "original"), make(3, "local")
    changed = set()
    for (name, weight), local_weight in zip(original.named_parameters(), local.parameters(), strict=True):
        if not torch.equal(weight, local_weight):
            changed.add(name.split(".", 3)[-1].split(".", 1)[-1])
            assert float(local_weight.detach().square().mean().sqrt()) == pytest.approx(0.05, rel=0.03)
    assert changed == {"weight", "attention.self.query.weight", "attention.self.key.weight"}
    embeddings = local.roberta.embeddings.position_embeddings.weight
    assert torch.equal(embeddings[:2], original.roberta.embeddings.position_embeddings.weight[:2])


def test_attention_begins_near_where_the_original_is_everywhere_alike() -> None:
    ids = torch.randint(5, 50, (8, 64), generator=torch.Generator().manual_seed(1))
    distance = (torch.arange(64)[:, None] - torch.arange(64)).abs()
    near = {}
    for kind in ("original", "local"):
        model = make(3, kind).eval()
        model.set_attn_implementation("eager")
        with torch.no_grad():
            attention = model(input_ids=ids, output_attentions=True).attentions[0].mean((0, 1))
        near[kind] = float(attention[(distance > 0) & (distance <= 3)].mean() / attention[distance > 10].mean())
    assert 0.8 < near["original"] < 1.2
    assert near["local"] > 1.5


def test_same_seed_same_weights() -> None:
    first, second, other = (make(seed, "local") for seed in (1, 1, 2))
    name = "roberta.encoder.layer.1.attention.self.key.weight"
    assert torch.equal(first.get_parameter(name), second.get_parameter(name))
    assert not torch.equal(first.get_parameter(name), other.get_parameter(name))
