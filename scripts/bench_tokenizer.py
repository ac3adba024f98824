"""Compare the encode stage's speed with the HF tokenizer's own on the same text, on one core each.

    python scripts/bench_tokenizer.py --tokenizer DIR --text FILE [--limit-mb 200] [--hf-share 0.1]

Prints MB/s and tokens/s of both and their ratio, in CPU seconds of this process (so a busy machine does not distort
them). Both get lines, the text as it is read. HF encodes an even share of the blocks, ours all of them, starting with
an empty table. Every id of the blocks that both encoded is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core: the library would take all

import numpy as np
import pyarrow as pa

from common.files import open_bytes
from tokenizer.encoder import Encoder
from tokenizer.save import load_tokenizer

BLOCK_BYTES = 1 << 22


def blocks_of_lines(path: Path, limit: int) -> list[list[str]]:
    """Return the text's lines in blocks of about 4 MB, up to `limit` bytes in all."""
    blocks: list[list[str]] = [[]]
    size = total = 0
    with open_bytes(path) as stream:
        for line in stream:
            blocks[-1].append(line.decode("utf-8", errors="replace").rstrip("\n"))
            size, total = size + len(line), total + len(line)
            if total >= limit:
                break
            if size >= BLOCK_BYTES:
                blocks.append([])
                size = 0
    return [block for block in blocks if block]


def as_documents(documents: list[list[str]]) -> pa.ListArray:
    """Return documents in the form in which they come from a corpus shard."""
    return pa.array(documents, pa.list_(pa.string()))


def main() -> None:
    """Run the comparison and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True, help="text, a document a line, maybe compressed")
    parser.add_argument("--limit-mb", type=float, default=200.0)
    parser.add_argument("--hf-share", type=float, default=0.1, help="share of the blocks that HF encodes, too")
    options = parser.parse_args()
    blocks = blocks_of_lines(options.text, int(options.limit_mb * 1e6))
    sizes = [sum(len(line.encode()) for line in block) for block in blocks]
    loaded = load_tokenizer(options.tokenizer)
    encoder = Encoder(loaded, options.tokenizer)
    separator = encoder.special_ids["sep"]
    every = max(1, round(1 / options.hf_share))
    ours = theirs = 0.0
    tokens = hf_bytes = hf_tokens = 0
    encoder.encode(as_documents([["첫 문장"]]))  # what is made ready once is not the rate
    for number, block in enumerate(blocks):
        documents = as_documents([[line] for line in block])
        begin = time.process_time()
        batch = encoder.encode(documents)
        ours += time.process_time() - begin
        tokens += len(batch.tokens_T)
        if number % every:
            continue
        begin = time.process_time()
        encodings = loaded.encode_batch(block, add_special_tokens=False)
        ids = [encoding.ids for encoding in encodings]
        theirs += time.process_time() - begin
        expected = np.array([token for line in ids if line for token in (*line, separator)])
        if not np.array_equal(expected, batch.tokens_T):
            raise SystemExit(f"block {number}: ids differ from HF's")
        hf_bytes, hf_tokens = hf_bytes + sizes[number], hf_tokens + sum(map(len, ids))
    report = {
        "text_mb": sum(sizes) / 1e6,
        "tokens": tokens,
        "ours_mb_s": sum(sizes) / 1e6 / ours,
        "ours_tokens_s": tokens / ours,
        "hf_mb_s": hf_bytes / 1e6 / theirs,
        "hf_tokens_s": hf_tokens / theirs,
        "ratio_mb_s": (sum(sizes) / ours) / (hf_bytes / theirs),
        "ids_equal_on_mb": hf_bytes / 1e6,
        "measured": f"CPU seconds, 1 core, {platform.machine()}, cold table",
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
