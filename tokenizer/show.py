"""Tokenizers compared: a sentence as each cuts it (KLUE paper, Table 30), and a row of bars for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import normalizers

from common.destinations import OutputFile
from common.names import find
from common.plots import new_figure, save_figure
from tokenizer.morphemes import morpheme_spans
from tokenizer.pipeline import split_eojeols
from tokenizer.save import load_tokenizer

FIGURES = {
    "fertility": "subwords a word",
    "continued_word_ratio": "share of words of two or more subwords",
    "unk_ratio": "share of subwords that are unknown",
    "morpheme_boundary_f1": "F1 of morpheme boundaries",
    "josa_coverage": "share of josa that are one subword",
    "ending_coverage": "share of endings that are one subword",
    "tokens_per_byte": "subwords a byte",
    "unused_ratio": "share of entries that are not used",
}
"""Figures drawn, and what they say."""
COLOUR, GREY = "#3b6ea5", "#444444"
COLUMNS = 2


def draw_comparison(rows: list[dict[str, Any]], to: Path | OutputFile) -> None:
    """Draw the rows of `compare`; the same rows give the same bytes."""
    names = _short_names([row["tokenizer"] for row in rows])
    lines = -(-len(FIGURES) // COLUMNS)
    figure = new_figure(9, lines * (0.8 + 0.28 * len(rows)), dpi=130, layout="constrained")
    axes = figure.subplots(lines, COLUMNS).flatten()
    for axis, (name, meaning) in zip(axes, FIGURES.items(), strict=True):
        figures = [row[name] for row in rows]
        values = [value or 0.0 for value in figures]
        bars = axis.barh(range(len(rows)), values, color=COLOUR, height=0.65)
        texts = ["text too short" if value is None else f"{value:.4g}" for value in figures]
        axis.bar_label(bars, texts, padding=3, fontsize=8, color=GREY)
        axis.set_yticks(range(len(rows)), names, fontsize=8)
        axis.invert_yaxis()
        axis.set_title(meaning, fontsize=9, loc="left", color=GREY)
        axis.set_xlim(0, 1.18 * max(*values, 1e-9))
        axis.set_xticks([])
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    save_figure(figure, to)


def _short_names(folders: list[str]) -> list[str]:
    parts = [Path(folder).parts for folder in folders]
    longest = max(map(len, parts))
    for count in range(1, longest + 1):
        names = ["/".join(part[-count:]) for part in parts]
        if len(set(names)) == len(set(folders)):
            return names
    return folders


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
