"""How well a model reads texts longer than it was trained on, before it is trained on any, by how its positions go on.

    python scripts/measure_positions.py MODEL --tokens RUN/tokens [--times 2 4] [--tokens-read 30000] [--json]

MODEL is a transformers folder, RUN/tokens what `hunmin encode` made with its tokenizer. Printed is the mean −log
probability of masked tokens (15% of them, all as [MASK]), over stretches of the same text: as long as the model's
positions, and some times longer, with positions that go on by a rotation (`pretrain.positions`: so does a run with
`pretrain.init_from` begin), that are repeated, or that are all the mean of the known ones. Beside each, the same of the
places that the model had known positions for. Of a run's own tokens the model has seen the text; it has not seen it at
these places.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from timing import Row, as_dicts, hardware, print_rows
from torch import Tensor
from torch.nn import functional
from transformers import AutoModelForMaskedLM, PreTrainedModel

from common.errors import UserError
from pretrain.model import first_position
from pretrain.positions import lengthen
from tokenizer.shards import TokenShards

MASKED = 0.15
BATCH = 16


def repeated(table_PH: Tensor, length: int) -> Tensor:
    """Return the rows one after the other, again and again."""
    return table_PH.repeat(-(-length // len(table_PH)), 1)[:length]


def mean(table_PH: Tensor, length: int) -> Tensor:
    """Return the rows, and their mean for all others."""
    return torch.cat([table_PH, table_PH.mean(0).expand(length - len(table_PH), -1)])


WAYS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "rotated": lambda table_PH, length: lengthen(table_PH, length).table_LH,
    "repeated": repeated,
    "mean": mean,
}


def set_positions(model: PreTrainedModel, table_LH: Tensor) -> None:
    """Give a model another position table, for as many tokens as it has rows."""
    embeddings = model.base_model.embeddings
    first = first_position(model.config)
    table = torch.cat([embeddings.position_embeddings.weight[:first].detach(), table_LH])
    embeddings.position_embeddings = torch.nn.Embedding.from_pretrained(
        table, padding_idx=embeddings.position_embeddings.padding_idx
    )
    model.config.max_position_embeddings = len(table)
    embeddings.register_buffer("position_ids", torch.arange(len(table))[None], persistent=False)
    embeddings.register_buffer("token_type_ids", torch.zeros(1, len(table), dtype=torch.long), persistent=False)


def losses(model: PreTrainedModel, stream: np.ndarray, length: int, special: dict[str, int], known: int) -> list[float]:
    """Return the mean loss of masked tokens, over all places and over the first `known`.

    Args:
        model: with at least `length` positions.
        stream: token ids of running text.
        length: of a stretch, [CLS] and [SEP] included.
        special: ids of cls, sep, mask.
        known: places of each stretch to count apart.
    """
    count = len(stream) // (length - 2)
    body = torch.from_numpy(stream[: count * (length - 2)].astype(np.int64)).view(count, length - 2)
    cls, sep = (torch.full((count, 1), special[name]) for name in ("cls", "sep"))
    true_BL = torch.cat([cls, body, sep], 1)
    hidden_BL = torch.rand(true_BL.shape, generator=torch.Generator().manual_seed(0)) < MASKED
    hidden_BL[:, [0, -1]] = False
    ids_BL = true_BL.masked_fill(hidden_BL, special["mask"])
    found, places = [], []
    with torch.inference_mode():
        for begin in range(0, count, BATCH):
            rows = slice(begin, begin + BATCH)
            chosen = hidden_BL[rows]
            logits = model(ids_BL[rows]).logits[chosen]
            found.append(functional.cross_entropy(logits.float(), true_BL[rows][chosen], reduction="none"))
            places.append(chosen.nonzero()[:, 1])
    loss, place = torch.cat(found), torch.cat(places)
    return [float(loss.mean()), float(loss[place < known].mean())]


def measure(source: Path, tokens: Path, times: list[int], read: int) -> list[Row]:
    """Return the losses of a model at its own length and at some times that.

    Raises:
        UserError: the tokens are of another vocabulary.
    """
    shards = TokenShards(tokens)
    model = AutoModelForMaskedLM.from_pretrained(source, attn_implementation="sdpa", trust_remote_code=False).eval()
    if model.config.vocab_size != shards.vocab_size:
        raise UserError(
            f"{tokens} has {shards.vocab_size:,} entries, {source} {model.config.vocab_size:,}",
            "the text must be encoded with the model's tokenizer",
            "name the run that the model is from",
        )
    held_out = [index for index in range(len(shards.shards)) if not shards.copies(index)]
    stream = np.asarray(shards.tokens(held_out[0] if held_out else len(shards.shards) - 1)[:read])
    first = first_position(model.config)
    table_PH = model.base_model.embeddings.position_embeddings.weight[first:].detach().clone()
    known = len(table_PH)
    rows = [Row(f"{known} positions, all known", losses(model, stream, known, shards.special_ids, known)[0], "nats")]
    for factor in times:
        for name, way in WAYS.items():
            set_positions(model, way(table_PH, factor * known))
            everywhere, at_known = losses(model, stream, factor * known, shards.special_ids, known)
            note = f"{at_known:.3g} at the first {known}"
            rows.append(Row(f"{factor * known} positions, {name}", everywhere, "nats", note=note))
    longer = lengthen(table_PH, known)
    rows.append(Row("components rotated", longer.components, "", note=f"{longer.predicted:.0%} of a step"))
    return rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a transformers folder with its language-model head")
    parser.add_argument("--tokens", type=Path, required=True, help="token folder of the same vocabulary")
    parser.add_argument("--times", type=int, nargs="+", default=[2, 4], help="lengths to try (default 2 4)")
    parser.add_argument("--tokens-read", type=int, default=30_000, help="how much text (default 30,000 tokens)")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args()
    print(hardware())
    try:
        rows = measure(options.model, options.tokens, options.times, options.tokens_read)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print_rows("loss of masked tokens", rows)
    if options.json:
        print(json.dumps({"hardware": hardware(), "rows": as_dicts(rows)}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
