"""Whether morphemes are worth cutting in the context of their sentence: two vocabularies of the same text, compared.

    python scripts/measure_context.py --corpus RUN/corpus [--megabytes 20] [--vocab-size 32000] [--json]

Word by word is what `hunmin tokenizer train` does: each distinct word is cut once, alone. In context, every sentence is
analysed whole, and a word counts each time with the cuts it has there. Everything else is the same: documents,
characters to cover, trainer, size. Both are measured as `hunmin tokenizer compare` does on every 50th document, which
neither has seen; its morpheme boundaries are those in context. Processor seconds are those of cutting alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from timing import Row, as_dicts, hardware, print_rows

from data.shards import read_shards
from tokenizer.compare import compare
from tokenizer.morphemes import count_pieces, mark, morpheme_spans, morphemes
from tokenizer.pipeline import normalizer, pre_tokenizer, split_eojeols, split_words
from tokenizer.save import build_tokenizer, save_tokenizer
from tokenizer.settings import SPECIAL_TOKENS, TokenizerSettings
from tokenizer.wordpiece import train_vocabulary
from tokenizer.words import count_characters

HELD_OUT_EVERY = 50
FIGURES = {
    "morpheme_boundary_precision": "boundary precision",
    "morpheme_boundary_recall": "boundary recall",
    "morpheme_boundary_f1": "boundary F1",
    "fertility": "fertility",
    "continued_word_ratio": "continued words",
    "unk_ratio": "UNK a subword",
    "josa_coverage": "josa that are one subword",
    "ending_coverage": "endings that are one subword",
}


def sentences(corpus: Path, megabytes: float) -> tuple[list[str], list[str]]:
    """Return the sentences of documents spread evenly over the corpus, those to train on and those held out."""
    total = json.loads((corpus / "statistics.json").read_bytes())["total"]["kept"]["bytes"] / 1e6
    step = max(1, round(total / megabytes))
    trained: list[str] = []
    held_out: list[str] = []
    number = 0
    for batch in read_shards(corpus, ["sentences"]):
        for document in batch.column("sentences").to_pylist():
            number += 1
            if number % step == 0:
                (held_out if number // step % HELD_OUT_EVERY == 0 else trained).extend(document)
    return trained, held_out


def pieces_in_context(texts: list[str]) -> Iterator[str]:
    """Yield the marked pieces of every word, cut where the morphemes of its sentence begin."""
    normalize, pre_tokenize = normalizer(), pre_tokenizer()
    for text in texts:
        normal = normalize.normalize_str(text)
        begins = {span.start for span in morpheme_spans(normal)}
        for word, (start, end) in pre_tokenize.pre_tokenize_str(normal):
            cuts = [0, *(place - start for place in range(start + 1, end) if place in begins), len(word)]
            yield from mark([word[a:b] for a, b in pairwise(cuts)])


def train(pieces: dict[str, int], alphabet: list[str], settings: TokenizerSettings, out: Path) -> None:
    """Train a vocabulary on counts of pieces and save it as a tokenizer folder."""
    special = SPECIAL_TOKENS[settings.special]
    entries = train_vocabulary([pieces], alphabet, settings.vocab_size, settings.min_pair_count, settings.seed, special)
    out.mkdir()
    save_tokenizer(build_tokenizer([*special, *entries], settings.special, []), settings.special, 512, out)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="finished corpus folder")
    parser.add_argument("--megabytes", type=float, default=20, help="text to train on, about (default 20)")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args()
    print(hardware())
    trained, held_out = sentences(options.corpus, options.megabytes)
    size, unseen = (sum(len(text.encode()) for text in texts) / 1e6 for texts in (trained, held_out))
    print(f"{size:.1f} MB to train on, {unseen:.2f} MB held out, {options.vocab_size:,} entries")
    settings = TokenizerSettings(vocab_size=options.vocab_size)
    words: Counter[str] = Counter()
    for eojeol, count in Counter(eojeol for text in trained for eojeol in split_eojeols(text)).items():
        for word in split_words(eojeol):
            words[word] += count
    alphabet = sorted(c for c, count in count_characters(words).items() if count >= settings.min_character_count)
    begin = time.process_time()
    alone = count_pieces(words, morphemes)
    middle = time.process_time()
    together = dict(Counter(pieces_in_context(trained)))
    seconds = (middle - begin, time.process_time() - middle)
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder) / name for name in ("alone", "together")]
        for pieces, out in zip((alone, together), names, strict=True):
            train(pieces, alphabet, settings, out)
        text = Path(folder) / "held_out.txt"
        text.write_text("\n".join(held_out), encoding="utf-8")
        one, other = compare(names, text)
    rows = [
        Row(f"{label}, {name}", figures[key], "")
        for key, label in FIGURES.items()
        for name, figures in (("word by word", one), ("in context", other))
    ]
    rows += [Row("cutting, word by word", seconds[0], "s"), Row("cutting, in context", seconds[1], "s")]
    print_rows("morphemes word by word and in context", rows)
    if options.json:
        print(json.dumps({"hardware": hardware(), "rows": as_dicts(rows)}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
