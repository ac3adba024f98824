"""Whether transformers gives the ids that the encode stage gives, on every sentence of a corpus.

    python scripts/check_tokenizer.py --tokenizer RUN/tokenizer --corpus RUN/corpus [--megabytes 100]

The folder is loaded by `AutoTokenizer`, as a user would, and each sentence encoded by it alone; text that spells a
special token is text for both (`split_special_tokens`). Exit code 1 when a sentence differs; its place among those
compared is printed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from timing import hardware
from transformers import AutoTokenizer

from data.shards import read_shards
from tokenizer.encoder import Encoder
from tokenizer.save import load_tokenizer

BATCH = 1000
"""Sentences compared at a time."""


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True, help="finished corpus folder")
    parser.add_argument("--megabytes", type=float, default=100, help="text of documents spread evenly (default 100)")
    options = parser.parse_args()
    encoder = Encoder(load_tokenizer(options.tokenizer), options.tokenizer)
    auto = AutoTokenizer.from_pretrained(options.tokenizer, local_files_only=True, trust_remote_code=False)
    total = sum(batch.nbytes for batch in read_shards(options.corpus, ["sentences"])) / 1e6
    step = max(1, round(total / options.megabytes))
    sentences = size = tokens = different = number = 0
    for batch in read_shards(options.corpus, ["sentences"]):
        documents = batch.column("sentences").take(pa.array(np.arange(0, batch.num_rows, step)))
        texts = documents.flatten().to_pylist()
        for start in range(0, len(texts), BATCH):
            some = texts[start : start + BATCH]
            mine = encoder.encode(pa.array([[text] for text in some], pa.list_(pa.string())))
            ids = [part[:-1].tolist() for part in np.split(mine.tokens_T, mine.documents[1:-1])]
            theirs = auto(some, add_special_tokens=False, split_special_tokens=True)["input_ids"]
            found = [(place, them) for place, them in enumerate(theirs, number) if them]  # ours leaves empty ones out
            wrong = [place for (place, them), us in zip(found, ids, strict=True) if them != us]
            if wrong:
                print(f"sentences {wrong[:10]} differ")
            different, number = different + len(wrong), number + len(some)
            sentences, tokens = sentences + len(some), tokens + sum(map(len, ids))
            size += sum(len(text.encode()) for text in some)
    print(hardware())
    print(f"{sentences:,} sentences, {size / 1e6:.1f} MB, {tokens:,} tokens: {different:,} sentences differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
