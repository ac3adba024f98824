"""The model: the head on masked rows gives the full head's loss, a packed text what it gives alone; pairs; refusals."""

from typing import Any

import pytest
import torch

from pretrain.batches.predictions import IGNORE
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.small_tokens import SPECIAL

SHAPE = ModelSettings(layers=2, hidden=16, heads=2, dropout=0.0)
BERT = SHAPE.model_copy(update={"type": "bert"})
PAIRS = {"objective": "mlm+nsp", "packing": "sentence-pairs"}


def make(seed: int = 0) -> MaskedRowsModel:
    return build(seed=seed)


def build(**settings: Any) -> MaskedRowsModel:
    run = PretrainSettings(**{"model": SHAPE, "max_seq_len": 20, **settings})
    return MaskedRowsModel(build_model(run, build_config(run, 50, SPECIAL))).eval()


def test_same_seed_same_weights_and_random_state_untouched() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first_model, second_model, other = make(1), make(1), make(2)
    assert torch.equal(before, torch.get_rng_state())
    first = list(first_model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(first, second_model.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other.parameters(), strict=True))


def test_positions_count_from_pad_plus_one_and_all_are_usable() -> None:
    model = make()
    assert model.hf_model.config.max_position_embeddings == 22
    ids = torch.full((1, 20), 7)
    seen: list[torch.Tensor] = []
    hook = model.hf_model.roberta.embeddings.position_embeddings.register_forward_pre_hook(
        lambda module, inputs: seen.append(inputs[0])
    )
    model(ids, torch.zeros(1, 1, dtype=torch.long), torch.full((1, 1), 7))
    hook.remove()
    assert seen[0].tolist() == [list(range(2, 22))]


def test_flops_and_parameters_of_the_models() -> None:
    base = ModelSettings()
    assert ARCHITECTURES["roberta"].flops_per_token(base, 32_000, 512, 1.0) == pytest.approx(717.2e6, rel=1e-3)
    bert, pairs = ARCHITECTURES["bert"].parameters(BERT, 50, 20), OBJECTIVES["mlm+nsp"].parameters(BERT)
    assert bert + pairs == build(model=BERT, **PAIRS).hf_model.num_parameters()


@pytest.mark.parametrize("layers", [1, 2, 5])
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_parameters_are_those_of_the_model(kind: str, layers: int) -> None:
    shape = {"type": kind, "layers": layers, "hidden": 16, "heads": 2, "feed_forward": 40}
    architecture, hf_model = ARCHITECTURES[kind], build(model=shape).hf_model
    model = ModelSettings.model_validate(shape)
    assert architecture.parameters(model, 50, 20) == hf_model.num_parameters()
    linear = [m for m in architecture.layers(hf_model)[-1].modules() if isinstance(m, torch.nn.Linear)]
    assert architecture.layer_products(model) == sum(m.weight.numel() for m in linear)


def test_pairs_give_the_losses_of_bert_for_pretraining() -> None:
    model = build(model=BERT, **PAIRS)
    ids = torch.randint(5, 50, (4, 20), generator=torch.Generator().manual_seed(1))
    texts = torch.where(torch.arange(20) < 8, 0, 1).repeat(4, 1)
    lengths, follows = torch.tensor([20, 15, 20, 11]), torch.tensor([True, False, False, True])
    for b, size in enumerate(lengths):
        texts[b, size:], ids[b, size:] = -1, SPECIAL["pad"]
    rows, labels = torch.tensor([[2, 9]] * 4), torch.tensor([[7, 8], [9, IGNORE], [10, 11], [12, IGNORE]])
    pairs = (~follows).long()
    sums = model(ids, rows, labels, lengths, segments_BS=texts.clamp(min=0), pairs_P=pairs)
    full = torch.full((4, 20), IGNORE).scatter(1, rows, labels)
    theirs = model.hf_model(
        input_ids=ids,
        attention_mask=(texts >= 0).long(),
        token_type_ids=texts.clamp(min=0),
        labels=full,
        next_sentence_label=(~follows).long(),
    )
    torch.testing.assert_close(sums["loss"] / 6 + sums["pair_loss"] / 4, theirs.loss)
    assert sums["predicted"] == 6 and sums["pairs"] == 4
    fewer = model(ids, rows, labels, lengths, segments_BS=texts.clamp(min=0), pairs_P=pairs.where(follows, IGNORE))
    assert fewer["pairs"] == 2 and fewer["pair_loss"] < sums["pair_loss"]  # samples that only fill a batch do not count
    assert sums["pairs_correct"] == (theirs.seq_relationship_logits.argmax(-1) == (~follows).long()).sum()


def test_pairs_belong_to_their_objective_and_to_bert() -> None:
    for change in ({"objective": "mlm+nsp"}, {"packing": "sentence-pairs"}):
        with pytest.raises(ValueError, match="does not go with"):
            PretrainSettings(**change)
    with pytest.raises(ValueError, match=r"needs pretrain\.model\.type=bert"):
        PretrainSettings(**PAIRS)


def test_a_start_of_its_own_and_given_weights_exclude_each_other() -> None:
    with pytest.raises(ValueError, match=r"set model\.initialisation=original"):
        PretrainSettings(init_from="some/model", model=ModelSettings(initialisation="local"))


def test_batches_that_do_not_divide_are_refused_with_the_values() -> None:
    with pytest.raises(
        ValueError, match=r"global_batch \(100\) must be divisible by micro_batch \(32\).*micro_batch=25"
    ):
        PretrainSettings(global_batch=100, micro_batch=32)


@pytest.mark.parametrize(
    "change",
    [{"threads": 0}, {"seed": -1}, {"seed": 2**64}, {"model": {"feed_forward": 0}}, {"model": {"feed_forward": -5}}],
)
def test_values_out_of_range_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="Input should be"):
        PretrainSettings.model_validate(change)


def test_off_is_a_word_though_yaml_takes_it_for_a_truth_value() -> None:
    assert PretrainSettings.model_validate({"wandb": False}).wandb == "off"
