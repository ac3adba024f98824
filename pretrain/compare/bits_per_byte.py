"""Bits per byte of masked language models: one axis for any tokenizer, masking and shape.

Word-level pseudo-log-likelihood (Kauf and Ivanova 2023, PLL-word-l2r): a token is predicted where it and the tokens
behind it in its word are masked. The surprisals of a sentence's tokens add up, and its UTF-8 bytes divide them. What
the vocabulary lacks costs [UNK]'s surprisal and 8 bits a byte, as if it were spelled.

Shapes: B inputs, S tokens an input, H hidden width, V vocabulary.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import numpy as np
import torch

from pretrain.models.encoder import MaskedRowsModel

BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}
"""Tokens of a batch, by kind of device."""
BYTE = 8.0
"""Bits of a byte that no entry of the vocabulary holds."""


@dataclass(frozen=True)
class Pieces:
    """A sentence as a tokenizer cuts it."""

    ids: list[int]
    """With the tokenizer's special tokens."""
    words: list[int]
    """Number of the word that each token is of, ascending; −1 of a special token."""
    unknown_bytes: int
    """UTF-8 bytes of what became [UNK]."""


def pieces_of(text: str, tokenizer: Any) -> Pieces | None:
    """Return a text's pieces; None where the tokenizer changes a letter (lower case, say): what it reads is easier.

    Args:
        tokenizer: fast one of transformers.
    """
    normalizer = tokenizer.backend_tokenizer.normalizer
    if normalizer and _bare(normalizer.normalize_str(text)) != _bare(text):
        return None
    encoded = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
    ids, spans = encoded["input_ids"], encoded["offset_mapping"]
    words = words_of(text, spans, encoded["special_tokens_mask"])
    unknown = {span for token, span, word in zip(ids, spans, words, strict=True)
               if token == tokenizer.unk_token_id and word >= 0}  # fmt: skip
    return Pieces(ids, words, sum(len(text[start:end].encode()) for start, end in unknown))


def words_of(text: str, spans: Sequence[tuple[int, int]], special: Sequence[int]) -> list[int]:
    """Return the number of the word, between blanks, that each token is of; −1 of a special token.

    Args:
        spans: characters of each token; a blank before a word counts to the word.
        special: 1 for each special token, else 0.
    """
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return [
        -1 if is_special else min(bisect_right(ends, max(start, end - 1)), len(ends) - 1)
        for (start, end), is_special in zip(spans, special, strict=True)
    ]


def masked_inputs(pieces: Pieces, mask_id: int) -> Iterator[tuple[list[int], int]]:
    """Yield the input that each token is predicted from, and the token's place in it."""
    for place, word in enumerate(pieces.words):
        if word >= 0:
            last = place
            while last + 1 < len(pieces.words) and pieces.words[last + 1] == word:
                last += 1
            yield [*pieces.ids[:place], *[mask_id] * (last + 1 - place), *pieces.ids[last + 1 :]], place


@torch.inference_mode()
def sentence_bits(model: MaskedRowsModel, tokenizer: Any, sentences: Sequence[Pieces]) -> np.ndarray:
    """Return the bits that each sentence takes, (N,).

    Args:
        model: on its device; it has learned to predict masked tokens.
        tokenizer: of the `sentences`; it has a mask and a padding token.
    """
    device = next(model.parameters()).device
    model.eval()
    work = [
        (number, ids, place, pieces.ids[place])
        for number, pieces in enumerate(sentences)
        for ids, place in masked_inputs(pieces, tokenizer.mask_token_id)
    ]
    work.sort(key=lambda entry: len(entry[1]))
    bits = np.array([BYTE * pieces.unknown_bytes for pieces in sentences])
    while work:
        longest = len(work[-1][1])
        count = max(1, BATCH_TOKENS[device.type] // longest)
        batch, work = work[-count:], work[:-count]
        ids_BS = torch.full((len(batch), longest), tokenizer.pad_token_id)
        for row, (_, ids, _, _) in enumerate(batch):
            ids_BS[row, : len(ids)] = torch.tensor(ids)
        lengths_B = torch.tensor([len(ids) for _, ids, _, _ in batch])
        places_B, labels_B = (torch.tensor([entry[part] for entry in batch]) for part in (2, 3))
        hidden_BSH = model.encode(ids_BS.to(device), lengths_B.to(device)).last_hidden_state
        hidden_BH = hidden_BSH[torch.arange(len(batch), device=device), places_B.to(device)]
        logits_BV = model.hf_model.get_output_embeddings()(model.architecture.features(model.hf_model, hidden_BH))
        losses_B = torch.nn.functional.cross_entropy(logits_BV.float(), labels_B.to(device), reduction="none")
        np.add.at(bits, [entry[0] for entry in batch], losses_B.double().cpu().numpy() / np.log(2))
    return bits


def _bare(text: str) -> str:
    return "".join(normalize("NFC", text).split())
