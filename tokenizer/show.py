"""A sentence as several tokenizers cut it (KLUE paper, Table 30)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import normalizers

from common.names import find
from tokenizer.morphemes import morpheme_spans
from tokenizer.pipeline import split_eojeols
from tokenizer.save import load_tokenizer

EXAMPLE = "조경현은 인공지능 분야의 저명한 연구자이다."
"""The sentence of the paper's Table 30."""
MORPHEMES = "morphemes (mecab-ko)"


def show(dirs: Sequence[str | Path], sentence: str = EXAMPLE) -> list[dict[str, Any]]:
    """Return {"tokenizer", "words", "line"} for the sentence's morphemes and for each tokenizer.

    "words" is a list of the pieces of each eojeol; "line" joins pieces with blanks and eojeol with " / ", as the
    paper prints them.

    Raises:
        UserError: a folder holds no tokenizer.
    """
    eojeols = split_eojeols(normalizers.NFC().normalize_str(sentence))
    rows = [_row(MORPHEMES, _morphemes(eojeols))]
    for folder in dirs:
        encodings = load_tokenizer(find(folder, "tokenizer")).encode_batch(eojeols, add_special_tokens=False)
        rows.append(_row(str(folder), [encoding.tokens for encoding in encodings]))
    return rows


def _row(name: str, words: list[list[str]]) -> dict[str, Any]:
    return {"tokenizer": name, "words": words, "line": " / ".join(" ".join(pieces) for pieces in words)}


def _morphemes(eojeols: list[str]) -> list[list[str]]:
    text = " ".join(eojeols)
    spans = morpheme_spans(text)
    words, begin = [], 0
    for eojeol in eojeols:
        end = begin + len(eojeol)
        words.append([text[start:stop] for start, stop, _ in spans if begin <= start and stop <= end])
        begin = end + 1
    return words
