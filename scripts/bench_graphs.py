"""Size, speed and labels of fine-tuned models' ONNX graphs, fp32 and int8, beside the folder's own in torch.

    python scripts/bench_graphs.py MODEL [MODEL …] --data KLUE [--rounds 5] [--json]

MODEL: folder with graphs (`hunmin export MODEL --onnx --int8`); KLUE: files of its task, of which 1,000 dev examples
are read, always the same ones.
One thread computes, and its processor seconds count: the median of the rounds, which take the three in turn. Agreement
is that of `hunmin export`, and the score that of the task's dev labels. Exit code 1 where a bar is not reached.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from timing import Row, finish, hardware, parser_of, print_rows

from klue.examples import find_file, read_examples, sample_by_hash
from klue.features import load_tokenizer, make_features
from klue.finetune import predict
from klue.graphs import FILES, LEAST_AGREEMENT, agreement, batches_of, logits_of
from klue.model_folder import read_model_folder
from klue.saved import load_model, read_facts
from klue.tasks import get_task
from pretrain.export.graphs import open_graph

EXAMPLES = 1000


def rows_of(folder: Path, data: Path, rounds: int) -> list[Row]:
    """Return the figures of a model's folder and its graphs."""
    task = get_task(read_facts(folder)["job"]["task"])
    dev = find_file(task, data, "dev")
    assert dev is not None, f"{data} holds no dev file of {task.name}"
    head, job = load_model(folder, task)
    model: Any = head.eval().model
    torch.set_num_threads(1)
    facts, tokenizer = read_model_folder(folder), load_tokenizer(folder)
    length = min(job.training.max_seq_len, facts.max_positions)
    features = make_features(task, sample_by_hash(read_examples(task, dev), EXAMPLES), tokenizer, facts, length)
    batches = batches_of(features, task, job)
    own = model.forward
    ways: dict[str, Callable[..., Any]] = {"torch": lambda **inputs: own(**inputs).logits}
    ways |= {name: open_graph(folder / file, threads=1) for name, file in FILES.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    logits = {}
    for _ in range(rounds):
        for name, forward in ways.items():
            begin = time.process_time()
            logits[name] = logits_of(forward, batches, task)
            seconds[name].append(time.process_time() - begin)
    rows = []
    for name, forward in ways.items():
        model.forward = lambda forward=forward, **inputs: SimpleNamespace(logits=forward(**inputs))
        outputs = predict(head, features, task, job, torch.device("cpu"))
        score = task.score(features.labels, task.decode(outputs, features, tokenizer))[task.selection]
        path = folder / FILES.get(name, "model.safetensors")
        rows += [
            Row(f"{name}, size", path.stat().st_size / 1e6, "MB"),
            Row(f"{name}, speed", len(features.owner) / statistics.median(seconds[name]), "sentences/s"),
            Row(f"{name}, {task.selection} on dev", score, "× 100"),
        ]
        if name != "torch":
            near = agreement(task, logits[name], logits["torch"])
            rows.append(Row(f"{name}, agreement", near, "of labels", LEAST_AGREEMENT, note=f"{len(logits[name]):,}"))
    return print_rows(f"{task.title}, {len(features.owner):,} dev texts", rows)


def main() -> int:
    """Print the figures of each folder; return 1 where a graph's labels are not near enough to its folder's."""
    parser = parser_of(__doc__, json=True)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(hardware())
    rows = [row for folder in options.models for row in rows_of(folder, options.data, options.rounds)]
    return finish(rows, options.json)


if __name__ == "__main__":
    sys.exit(main())
