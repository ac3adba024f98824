"""Make a small GPT-NeoX of random weights, its vocabulary learned from instructions: a base to try tuning with.

python scripts/make_decoder.py runs/kit19-local/instruct/train.jsonl --out runs/kit19-local-base
"""

from __future__ import annotations

from pathlib import Path

from timing import parser_of

from data.instruct.rows import read_rows
from hunmin.sample.folder import write_decoder

if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("rows", type=Path, help="JSON Lines with instruction, input and output")
    parser.add_argument("--out", type=Path, required=True, help="the model's folder")
    parser.add_argument("--vocabulary", type=int, default=8000, help="entries")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=128, help="width, of four heads")
    options = parser.parse_args()
    texts = (text for row in read_rows(options.rows) for text in (row.instruction, row.input, row.output))
    count = write_decoder(options.out, texts, 42, options.vocabulary, 1024, options.layers, options.hidden)
    print(f"{options.out}: {count:,} parameters")
