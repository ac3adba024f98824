"""Figures by which tokenizers are told apart (KLUE paper, Table 35), on one text; words are eojeol with marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer, normalizers

from common.compressed import decompression_errors
from common.errors import UserError
from common.files import is_remote, open_bytes
from common.names import find
from tokenizer.counting import refuse_other_encodings
from tokenizer.coverage import unknown_id
from tokenizer.morphemes import morpheme_spans
from tokenizer.pipeline import pre_tokenizer, split_eojeols
from tokenizer.save import load_tokenizer
from tokenizer.words import decode_line, formatted_texts, is_formatted

BOUNDARY_CHARACTERS = 1_000_000
"""Characters of the text, evenly spread over it, on which morpheme boundaries are compared (mecab-ko in context)."""


LONGEST_EOJEOL = 1000
"""Characters; of longer ones (text that lost its blanks, data) no boundaries are looked for: the analyser takes time by
the square of them."""
CONTEXT_EOJEOL = 100
"""Eojeol that mecab-ko is given at once."""
ENOUGH = 10
"""Subwords for each entry of a vocabulary, below which its unused share is not given. By Zipf's law the rarest of V
entries is one of V · ln V subwords (ln V is 10 for 32,000 entries), so a shorter text leaves most of any vocabulary
unused."""
BEFORE = "가 "
"""Text before an encoded eojeol: byte-level and sentencepiece vocabularies hold words with the blank before them."""


class _Cut(NamedTuple):
    """An eojeol and its morphemes in context, as places between characters."""

    eojeol: str
    boundaries: tuple[int, ...]
    """Morpheme boundaries inside its words."""
    josa: tuple[tuple[int, int], ...]
    endings: tuple[tuple[int, int], ...]
    """Where its josa and its verb endings stand."""


def compare(dirs: Sequence[str | Path], text_path: str | Path) -> list[dict[str, Any]]:
    """Return one row of figures a tokenizer, all measured on the same text.

    - words, subwords: how many the text holds.
    - fertility: subwords a word.
    - continued_word_ratio: share of words of two or more subwords.
    - unk_ratio: unknown subwords a subword, by the unknown token that the model names.
    - morpheme_boundary_precision, _recall, _f1: of the subword boundaries inside words against those of mecab-ko's
      morphemes in context.
    - josa_coverage, ending_coverage: share of the josa (tags J…) and endings (tags E…) there that are one subword.
    - tokens_per_byte: subwords a byte of the text's words.
    - unused_ratio: share of the vocabulary that the text never uses; None of a text with fewer than `ENOUGH` subwords
      an entry.

    Args:
        text_path: UTF-8 text, maybe compressed, or a file in one of the corpus's formats; of a few broken lines the
            bytes are replaced. Read twice.

    Raises:
        UserError: the text or a tokenizer is missing, or the text is not UTF-8 or holds no word.
    """
    if (
        not is_remote(text_path)
        and Path(text_path).exists()
        and not (Path(text_path).is_file() or Path(text_path).is_dir())
    ):
        raise UserError(f"{text_path} is no file", "the text is read twice", "write it into a file first")
    tokenizers = [load_tokenizer(find(folder, "tokenizer")) for folder in dirs]
    eojeols: Counter[str] = Counter()
    for line in _lines(text_path):
        eojeols.update(line)
    if not eojeols:
        raise UserError(f"{text_path} holds no words", "tokenizers are compared on text", "name another file")
    characters = sum(len(eojeol) * count for eojeol, count in eojeols.items())
    gold = _gold_cuts(_lines(text_path), max(1, -(-characters // BOUNDARY_CHARACTERS)))
    rows = []
    for folder, tokenizer in zip(dirs, tokenizers, strict=True):
        figures = _figures(tokenizer, eojeols, gold)
        rows.append({"tokenizer": str(folder), "vocab_size": tokenizer.get_vocab_size(), **figures})
    return rows


def _lines(path: str | Path) -> Iterator[list[str]]:
    normalize = normalizers.NFC()
    if is_formatted(str(path)):
        for text in formatted_texts(str(path)):
            yield split_eojeols(normalize.normalize_str(text or ""))
        return
    lines = broken = 0
    with open_bytes(path) as stream, decompression_errors(path):
        for raw in stream:
            line, whole = decode_line(raw)
            lines, broken = lines + 1, broken + (not whole)
            yield split_eojeols(normalize.normalize_str(line))
    refuse_other_encodings(str(path), lines, broken)


def _spans(encoding: Any) -> tuple[list[int], list[tuple[int, int]]]:
    """Return ids and places in the eojeol of the subwords that stand after `BEFORE`'s word, a lone blank among them."""
    first = len(BEFORE)
    inner = [(index, span) for index, span in zip(encoding.ids, encoding.offsets, strict=True) if span[1] >= first]
    return [index for index, _ in inner], [(max(0, start - first), end - first) for _, (start, end) in inner]


def shown(figure: float | None) -> str:
    """Return a figure in four decimals, a small one in six: shares of unknown subwords differ in the fifth."""
    if figure is None:
        return "–"
    return f"{figure:.6f}" if 0 < figure < 0.01 else f"{figure:.4f}"


def without_unused_share(row: Mapping[str, Any]) -> str:
    """Return why a row of `compare` has no unused share; "" where it has one."""
    if row["unused_ratio"] is not None:
        return ""
    needed = ENOUGH * row["vocab_size"]
    return f"no unused ratio: the text has {row['subwords']:,} subwords; {needed:,} are needed, {ENOUGH} per entry"


def _figures(tokenizer: Tokenizer, eojeols: Counter[str], gold: Counter[_Cut]) -> dict[str, float | None]:
    unknown_token = unknown_id(tokenizer)
    subwords = continued = unknown = 0
    used: set[int] = set()
    spans: dict[str, set[tuple[int, int]]] = {}
    with_morphemes = {cut.eojeol for cut in gold}
    ordered = list(eojeols)
    for begin in range(0, len(ordered), 10_000):
        batch = ordered[begin : begin + 10_000]
        texts = [BEFORE + eojeol for eojeol in batch]
        for eojeol, encoding in zip(batch, tokenizer.encode_batch(texts, add_special_tokens=False), strict=True):
            count = eojeols[eojeol]
            ids, places = _spans(encoding)
            subwords += count * len(ids)
            continued += count * (len(ids) > 1)
            unknown += count * sum(index == unknown_token for index in ids)
            used.update(ids)
            if eojeol in with_morphemes:
                spans[eojeol] = set(places)
    total, size = sum(eojeols.values()), tokenizer.get_vocab_size()
    return {
        "words": total,
        "subwords": subwords,
        "fertility": subwords / total,
        "continued_word_ratio": continued / total,
        "unk_ratio": unknown / subwords if subwords else 0.0,
        **_boundary_scores({eojeol: {start for start, _ in places} for eojeol, places in spans.items()}, gold),
        "josa_coverage": _coverage(spans, gold, lambda cut: cut.josa),
        "ending_coverage": _coverage(spans, gold, lambda cut: cut.endings),
        "tokens_per_byte": subwords / sum(len(eojeol.encode()) * count for eojeol, count in eojeols.items()),
        "unused_ratio": 1 - len(used) / size if subwords >= ENOUGH * size else None,
    }


def _boundary_scores(starts: dict[str, set[int]], gold: Counter[_Cut]) -> dict[str, float]:
    right = predicted = true = 0
    for cut, count in gold.items():
        boundaries = starts[cut.eojeol] & _inner_places(cut.eojeol)
        right += count * len(boundaries.intersection(cut.boundaries))
        predicted += count * len(boundaries)
        true += count * len(cut.boundaries)
    return {
        "morpheme_boundary_precision": right / predicted if predicted else 0.0,
        "morpheme_boundary_recall": right / true if true else 0.0,
        "morpheme_boundary_f1": 2 * right / (predicted + true) if predicted + true else 0.0,
    }


def _coverage(
    spans: dict[str, set[tuple[int, int]]],
    gold: Counter[_Cut],
    morphemes: Callable[[_Cut], tuple[tuple[int, int], ...]],
) -> float:
    there = sum(count * len(morphemes(cut)) for cut, count in gold.items())
    whole = sum(count * sum(span in spans[cut.eojeol] for span in morphemes(cut)) for cut, count in gold.items())
    return whole / there if there else 0.0


@cache
def _inner_places(eojeol: str) -> set[int]:
    """Return the places inside the words of an eojeol where a boundary may be, i.e. not those that punctuation sets."""
    pieces = pre_tokenizer().pre_tokenize_str(eojeol)
    return {place for _, (start, end) in pieces for place in range(start + 1, end)}


def _gold_cuts(lines: Iterator[list[str]], step: int) -> Counter[_Cut]:
    """Return how often each eojeol has which morphemes, by mecab-ko in context, in every `step`-th passage of lines."""
    short = ([eojeol for eojeol in line if len(eojeol) <= LONGEST_EOJEOL] for line in lines)
    passages = (
        eojeols[start : start + CONTEXT_EOJEOL] for eojeols in short for start in range(0, len(eojeols), CONTEXT_EOJEOL)
    )
    cuts: Counter[_Cut] = Counter()
    for passage in islice(passages, 0, None, step):
        by_start = {span.start: span for span in morpheme_spans(" ".join(passage))}
        begin = 0
        for eojeol in passage:
            inside = _inner_places(eojeol)
            mine = [by_start[begin + place] for place in range(len(eojeol)) if begin + place in by_start]
            josa, endings = (
                tuple((span.start - begin, span.end - begin) for span in mine if span.tag.startswith(kind))
                for kind in ("J", "E")
            )
            boundaries = tuple(place for span in mine if (place := span.start - begin) in inside)
            cuts[_Cut(eojeol, boundaries, josa, endings)] += 1
            begin += len(eojeol) + 1
    _inner_places.cache_clear()
    return cuts
