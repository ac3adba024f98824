"""A check before training: a text has the logits of transformers' own model, in every form that a batch can have.

Forms are rectangles, padded ones, packed texts kept apart by a mask, and unpadded sequences. A configuration with an
entry that training would pass over shows as another logit, and so does attention that lets texts see each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import PreTrainedModel

from pretrain.kernels.attention import NAME
from pretrain.models.encoder import MaskedRowsModel
from pretrain.models.registry import usable_positions

LENGTHS = (48, 31, 20)
"""Tokens of the texts; fewer where the model has few positions."""
TOLERANCE = 1e-3
"""Largest difference of a logit, as a share of the largest one: in fp32 forms differ by some 1e-6."""


@torch.no_grad()
def differing_form(model: PreTrainedModel, published: PreTrainedModel | None = None) -> str:
    """Return in which form of a batch a text has other logits than alone, and by how much; "" where in none.

    The model is as it is trained, in fp32 on a CPU, before its attention or layers are replaced; it is left as it was.
    """
    published = model if published is None else published
    training = model.training
    published_training = published.training
    model.eval(), published.eval()
    texts = list(_texts(model))
    expected = [published(input_ids=text[None])[0][0] for text in texts]
    largest = max(float(logits.abs().max()) for logits in expected)
    differences: dict[str, float] = {}
    for form, number, logits in _forms(model, texts):
        difference = float((logits - expected[number]).abs().max())
        differences[form] = max(differences.get(form, 0.0), difference if difference == difference else torch.inf)
    model.train(training), published.train(published_training)
    form = max(differences, key=differences.__getitem__)
    if differences[form] <= TOLERANCE * largest:
        return ""
    return f"in {form} by up to {differences[form]:.3g}, where the largest is {largest:.3g}"


def _texts(model: PreTrainedModel) -> Iterator[Tensor]:
    """Yield texts of fixed ids, none of which is padding."""
    config = model.config
    generator = torch.Generator().manual_seed(0)
    for length in LENGTHS:
        length = min(length, usable_positions(config) // 2)
        ids = torch.randint(0, config.vocab_size - 1, (length,), generator=generator)
        yield ids + (ids >= config.pad_token_id)


def _forms(model: PreTrainedModel, texts: list[Tensor]) -> Iterator[tuple[str, int, Tensor]]:
    """Yield (form, number of a text, its logits) of every form in which the trained model takes texts."""
    run, pad = MaskedRowsModel(model), model.config.pad_token_id
    sizes = [len(text) for text in texts]
    longest = max(map(len, texts))

    def logits(hidden_SH: Tensor) -> Tensor:
        decoder = model.get_output_embeddings()
        return torch.nn.functional.linear(run.architecture.features(model, hidden_SH), decoder.weight, decoder.bias)

    for number, text in enumerate(texts):
        yield "a batch of one text", number, logits(run.encode(text[None]).last_hidden_state[0])
    ids_BS = torch.stack([torch.nn.functional.pad(text, (0, longest - len(text)), value=pad) for text in texts])
    hidden_BSH = run.encode(ids_BS, torch.tensor(sizes)).last_hidden_state
    for number, size in enumerate(sizes):
        yield "a padded batch", number, logits(hidden_BSH[number, :size])
    for pair in ((0, 1), (2, 1), (1, 2)):
        ids_S = torch.cat([texts[number] for number in pair])
        ends = (sizes[pair[0]], len(ids_S))
        segment_ids_S = (torch.arange(len(ids_S)) >= ends[0]).long()
        places_S = torch.cat([torch.arange(sizes[number]) for number in pair])
        packed_SH = run.encode(ids_S[None], segment_ids_BS=segment_ids_S[None]).last_hidden_state[0]
        forms = {"packed texts": packed_SH}
        if run.architecture.unpadded:
            borders = torch.tensor([0, *ends], dtype=torch.int32)
            before = model.config._attn_implementation
            model.set_attn_implementation(NAME)
            encoded = run.encode(ids_S[None], position_ids_BS=places_S[None], cu_seqlens_K=borders)
            model.set_attn_implementation(before)
            forms["unpadded sequences"] = encoded.last_hidden_state[0]
        for form, hidden_SH in forms.items():
            yield form, pair[0], logits(hidden_SH[: ends[0]])
            yield form, pair[1], logits(hidden_SH[ends[0] :])
