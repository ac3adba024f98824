"""Every architecture there is: a text has the loss and logits that it has alone, whatever stands beside it in a batch.

Truth is transformers' own model, called on one text at a time.
"""

from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional

from common.errors import HunminError
from pretrain.batches.inputs import RECTANGLES, InputForm, MicroBatch, prepare
from pretrain.kernels.attention import NAME
from pretrain.kernels.compile import speed_up
from pretrain.kernels.precision import half_type
from pretrain.models.architecture import Architecture
from pretrain.models.check_forms import differing_form
from pretrain.models.default_encoder import DefaultEncoder
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.small_batches import LENGTH, batch_of, each_alone
from tests.pretrain.small_tokens import SPECIAL, objective_of

CPU = torch.device("cpu")
SIZES = ([[9]], [[9, 12]], [[9, 15]], [[9, 6, 3]])
"""Tokens of the texts of one sample: text a alone, beside b, beside c, beside two."""


def build(kind: str, length: int = LENGTH) -> MaskedRowsModel:
    """A model whose weights are large enough for attention to choose."""
    model = {"type": kind, "layers": 3, "hidden": 32, "heads": 2, "dropout": 0.0, "initializer_range": 0.3}
    settings = PretrainSettings.model_validate({"model": model, "max_seq_len": length})
    return MaskedRowsModel(build_model(settings, build_config(settings, 50, SPECIAL))).eval()


def forms(model: MaskedRowsModel) -> Iterator[InputForm]:
    """The forms that an architecture says it can take."""
    yield RECTANGLES
    if model.architecture.unpadded:
        yield InputForm(texts=True)


def attend_as(model: MaskedRowsModel, form: InputForm) -> None:
    model.hf_model.set_attn_implementation(NAME if form.texts else "sdpa") if model.architecture.unpadded else None


@pytest.mark.parametrize("packing", ["packed", "doc-sentences", "full-sentences"])
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_batch_has_the_loss_and_gradient_of_each_text_alone(kind: str, packing: str) -> None:
    model = build(kind)
    sizes = [[7, 10], [3, 4, 13], [24]] if packing == "packed" else [[24], [11], [3]]
    batch, masked = batch_of(packing, sizes)
    truth = each_alone(model, batch, masked, packing)
    truth.backward()
    expected = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    for form in forms(model):
        model.zero_grad()
        attend_as(model, form)
        loss = model(**prepare(batch, masked, packing, form, objective_of(packing)).inputs)["loss"]
        loss.backward()
        torch.testing.assert_close(loss, truth, atol=1e-3, rtol=1e-5)
        for name, weight in model.named_parameters():
            if name in expected:
                torch.testing.assert_close(weight.grad, expected[name], atol=2e-3, rtol=1e-3, msg=name)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_text_alone_is_the_text_beside_others(kind: str) -> None:
    """Issue 51: DeBERTa 3.6949 beside b and 3.0784 beside c. Its loss and each logit, in the form of the run."""
    model = build(kind)
    ids = torch.randint(5, 50, (9,), generator=torch.Generator().manual_seed(3))
    expected = model.hf_model(input_ids=ids[None])[0][0]
    truth = functional.cross_entropy(expected[[2, 5]], torch.tensor([8, 9]), reduction="sum")
    for form in forms(model):
        attend_as(model, form)
        for number, sizes in enumerate(SIZES):
            batch, masked = batch_of("packed", sizes, seed=number)
            masked.ids_BS[0, :9], masked.rows_BM[:], masked.labels_BM[:] = ids, 0, -100
            masked.rows_BM[0, :2], masked.labels_BM[0, :2] = [2, 5], [8, 9]
            made = prepare(batch, masked, "packed", form, objective_of("packed"))
            torch.testing.assert_close(model(**made.inputs)["loss"], truth, atol=1e-4, rtol=1e-5)
            torch.testing.assert_close(logits_of(model, made)[:9], expected, atol=1e-3, rtol=1e-4)


def logits_of(model: MaskedRowsModel, batch: MicroBatch) -> torch.Tensor:
    """Logits of the first sample as training computes them."""
    arguments = {name: value for name, value in batch.inputs.items() if name not in ("rows_BM", "labels_BM")}
    features = model.architecture.features(model.hf_model, model.encode(**arguments).last_hidden_state[0])
    decoder = model.hf_model.get_output_embeddings()
    return functional.linear(features, decoder.weight, decoder.bias)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_device_with_a_kernel_for_unpadded_sequences_is_not_enough(kind: str) -> None:
    """512 tokens on a CPU, and 16 bits on a GPU, have one; the architecture decides whether it is used."""
    for device, length, dtype in ((CPU, 512, "fp32"), (torch.device("meta"), LENGTH, "bf16")):
        model = build(kind, length)
        model.half = half_type(dtype)
        settings = PretrainSettings(model=ModelSettings(type=kind, dropout=0.0), max_seq_len=length, dtype=dtype)
        speed_up(model, settings, device)
        assert model.unpadded == model.input_form(device).texts == ARCHITECTURES[kind].unpadded
        assert (model.hf_model.config._attn_implementation == NAME) == ARCHITECTURES[kind].unpadded


@pytest.mark.parametrize("kind", [kind for kind in ARCHITECTURES if kind != "modernbert"])  # of one mask
def test_the_check_before_training_sees_texts_that_see_each_other(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(kind, 96)
    before = model.hf_model.config._attn_implementation
    assert differing_form(model.hf_model) == "" and model.hf_model.config._attn_implementation == before
    architecture = type(model.architecture)
    monkeypatch.setattr(architecture, "masks", lambda self, hf_model, seen_BSS: torch.ones_like(seen_BSS)[:, None])
    assert "in packed texts by up to" in differing_form(model.hf_model)


def test_an_architecture_that_says_more_than_it_can_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers only warns of an attention that it cannot replace."""
    model = build("deberta-v2", 512)
    settings = PretrainSettings.model_validate({"model": {"type": "deberta-v2", "dropout": 0.0}})
    monkeypatch.setattr(type(model.architecture), "unpadded", True)
    assert "in unpadded sequences by up to" in differing_form(model.hf_model)
    with pytest.raises(HunminError, match="set unpadded = False"):
        speed_up(model, settings, CPU)


def test_an_architecture_takes_no_unpadded_sequences_unless_it_says_so() -> None:
    assert not Architecture.unpadded and not DefaultEncoder.unpadded
    batch, masked = batch_of("packed", [[9, 12]])
    inputs = prepare(batch, masked, "packed", InputForm(texts=True), objective_of("packed")).inputs
    with pytest.raises(AssertionError):
        build("deberta-v2")(**inputs)
