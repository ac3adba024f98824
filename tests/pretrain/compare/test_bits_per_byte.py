"""Bits per byte: by hand for a unigram model, against transformers one input at a time, and masks by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

from pretrain.compare.bits_per_byte import Pieces, masked_inputs, pieces_of, sentence_bits
from pretrain.models.encoder import MaskedRowsModel

SPECIAL = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")


def tokenizer_of(*entries: str, lower: bool = False) -> Any:
    """A WordPiece tokenizer of transformers with these entries behind the special ones."""
    vocabulary = {entry: number for number, entry in enumerate((*SPECIAL, *entries))}
    inner = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=lower)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 0))
    names = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=inner, **names)


class Unigram(torch.nn.Module):
    """Gives each entry its probability, whatever it reads."""

    def __init__(self, tokenizer: Any, shares: Mapping[str, float]) -> None:
        super().__init__()
        logits = torch.full((len(tokenizer),), -1e9)
        for entry, share in shares.items():
            logits[tokenizer.convert_tokens_to_ids(entry)] = math.log(share)
        self.logits = torch.nn.Parameter(logits)
        self.architecture = SimpleNamespace(features=lambda _, hidden: hidden)
        self.hf_model = SimpleNamespace(get_output_embeddings=lambda: lambda hidden: hidden + self.logits)

    def encode(self, ids_BS: torch.Tensor, lengths_B: torch.Tensor) -> Any:
        return SimpleNamespace(last_hidden_state=torch.zeros((*ids_BS.shape, len(self.logits))))


def bits(model: Any, tokenizer: Any, *texts: str) -> list[float]:
    pieces = [pieces_of(text, tokenizer) for text in texts]
    return sentence_bits(model, tokenizer, pieces).tolist()  # type: ignore[arg-type]


def test_a_unigram_model_takes_its_entropy() -> None:
    shares = {"나라": 0.5, "말": 0.25, "##이": 0.125, "[UNK]": 0.125}
    tokenizer = tokenizer_of("나라", "말", "##이")
    model = Unigram(tokenizer, shares)
    assert bits(model, tokenizer, "나라 말이", "나라", "말 말 말이") == pytest.approx([1 + 2 + 3, 1, 2 + 2 + 2 + 3])
    # a text drawn by these shares takes their entropy a word
    words = ["나라"] * 4 + ["말"] * 2
    entropy = -(4 * math.log2(0.5) + 2 * math.log2(0.25)) / 6
    assert bits(model, tokenizer, " ".join(words))[0] / 6 == pytest.approx(entropy)


def test_two_tokenizers_of_equal_probabilities_take_equal_bits() -> None:
    whole, cut = tokenizer_of("나라", "말"), tokenizer_of("나", "##라", "말")
    one_entry = Unigram(whole, {"나라": 0.1, "말": 0.3, "[UNK]": 0.6})
    two_entries = Unigram(cut, {"나": 0.2, "##라": 0.5, "말": 0.3})
    texts = ("나라 말", "말", "나라 나라 말 나라")
    assert bits(one_entry, whole, *texts) == pytest.approx(bits(two_entries, cut, *texts))


def test_what_the_vocabulary_lacks_is_spelled() -> None:
    tokenizer = tokenizer_of("나라")
    model = Unigram(tokenizer, {"나라": 0.5, "[UNK]": 0.5})
    assert bits(model, tokenizer, "나라 말🙂 x") == pytest.approx([3 + 8 * (len("말🙂".encode()) + 1)])


def test_masks_hide_the_token_and_what_follows_it_in_its_word() -> None:
    tokenizer = tokenizer_of("가", "##나", "##다", ".")
    pieces = pieces_of("가나다. 가", tokenizer)
    assert pieces == Pieces([0, 5, 6, 7, 8, 5, 2], [-1, 0, 0, 0, 0, 1, -1], 0)
    assert list(masked_inputs(pieces, 4)) == [
        ([0, 4, 4, 4, 4, 5, 2], 1),
        ([0, 5, 4, 4, 4, 5, 2], 2),
        ([0, 5, 6, 4, 4, 5, 2], 3),
        ([0, 5, 6, 7, 4, 5, 2], 4),  # the full stop is of the word
        ([0, 5, 6, 7, 8, 4, 2], 5),
    ]


def test_a_tokenizer_that_changes_letters_reads_another_text() -> None:
    assert pieces_of("가 A", tokenizer_of("가", "a", lower=True)) is None
    assert pieces_of("가", tokenizer_of("가", lower=False)) is not None


def test_sums_are_those_of_transformers_one_input_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    entries = [part + letter for part in ("", "##") for letter in "가나다라마바사"]
    tokenizer = tokenizer_of(*entries)
    config = RobertaConfig(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                           intermediate_size=32, max_position_embeddings=40, pad_token_id=1)  # fmt: skip
    model = RobertaForMaskedLM(config).eval()
    texts = ["가나 다", "라", "마바사가 나다라 마 바사", "가"]
    wanted = []
    for text in texts:
        pieces = pieces_of(text, tokenizer)
        assert pieces is not None
        total = 0.0
        for ids, place in masked_inputs(pieces, 4):
            with torch.no_grad():
                logits = model(torch.tensor([ids])).logits[0, place].double()
            total -= float(logits.log_softmax(-1)[pieces.ids[place]]) / math.log(2)
        wanted.append(total)
    monkeypatch.setattr("pretrain.compare.bits_per_byte.BATCH_TOKENS", {"cpu": 30})  # batches of several lengths
    assert np.allclose(bits(MaskedRowsModel(model), tokenizer, *texts), wanted, rtol=1e-5)
