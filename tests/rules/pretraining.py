"""What pretraining makes of fixed token shards: batches, masks and labels of each objective, and rates of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pretrain.batches.inputs import InputForm
from pretrain.batches.loader import Loader, plan_samples
from pretrain.objectives.registry import OBJECTIVES
from pretrain.optim import schedules
from pretrain.settings import OptimizerSettings, PretrainSettings
from tokenizer.shards import token_dtype, write_meta, write_shard

CODE = (
    *("pretrain/batches", "pretrain/models", "pretrain/objectives", "pretrain/optim", "pretrain/phase.py"),
    *("pretrain/settings.py", "pretrain/trainer.py", "tokenizer/shards.py"),
)
INPUT = ("tests/rules/pretraining.py",)
SPECIAL = {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}
WORDS, PIECES, LENGTH, STEPS = 61, 31, 24, 40
PAIRS = {"type": "bert", "layers": 1, "hidden": 32, "heads": 2}
RUNS: dict[str, dict[str, Any]] = {
    "mlm, full-sentences": {"masking": {"rate": 0.3, "rate_end": 0.15}},
    "mlm, doc-sentences": {"packing": "doc-sentences", "masking": {"whole_word": False}},
    "mlm, contiguous": {"packing": "contiguous", "masking": {"max_word_tokens": 2, "mask_share": 0.5}},
    "mlm, packed": {"packing": "packed", "batch_warmup": {"start": 8, "steps": 2}, "masking": {"kind": "static"}},
    "mlm after clm": {"phases": [{"objective": "clm", "steps": 1}, {"steps": STEPS - 1}]},
    "longer samples of a mixture": {
        "packing": "packed",
        "phases": [{"steps": 1}, {"steps": STEPS - 1, "max_seq_len": 40, "global_batch": 8, "masking_rate": 0.3}],
    },
    "mlm+nsp": {
        "objective": "mlm+nsp", "packing": "sentence-pairs", "model": PAIRS,
        "masking": {"kind": "static", "dupe_factor": 2},
    },
    "clm, packed": {"objective": "clm", "packing": "packed"},
    "mlm of a mixture": {"masking": {"random_share": 0.2}},
}  # fmt: skip
FORMS = {"rectangles": InputForm(), "unpadded": InputForm(texts=True)}


def output(folder: Path) -> dict[str, Any]:
    """Write token shards below a folder, and return the first batches of each run and the rates of each schedule."""
    folder.mkdir(parents=True)
    tokenizer = _write_vocabulary(folder / "tokenizer")
    plain, mixture = _write_tokens(folder / "plain", (1, 1)), _write_tokens(folder / "mixture", (1, 2, 0))
    batches = {}
    for number, (name, changes) in enumerate(RUNS.items()):
        settings, tokens = _settings(changes), mixture if name.endswith("mixture") else plain
        plans = folder / f"plans-{number}"
        plan_samples(settings, tokens, plans)
        batches[name] = {form: _batches(settings, tokens, tokenizer, plans, FORMS[form]) for form in FORMS}
    steps = (0, 1, 8, 9, 10, 11, 50, 89, 90, 91, 99)
    return {
        "batches": batches,
        "rates": {
            f"{name}, warm-up {warmup}": [
                schedules.rate_factor(step, 100, OptimizerSettings(schedule=name, warmup_steps=warmup, decay_share=0.3))  # type: ignore[arg-type]
                for step in steps
            ]
            for name in schedules.SCHEDULES
            for warmup in (0, 10)
        },
    }


def _settings(changes: dict[str, Any]) -> PretrainSettings:
    return PretrainSettings(**{
        "model": {"layers": 1, "hidden": 32, "heads": 2}, "max_seq_len": LENGTH, "steps": STEPS, "global_batch": 16,
        "micro_batch": 4, "validation_samples": 8, "optimizer": {"warmup_steps": 5}, **changes,
    })  # fmt: skip


def _batches(settings: PretrainSettings, tokens: Path, tokenizer: Path, plans: Path, form: InputForm) -> dict[str, Any]:
    """Return the micro-batches of the second of two processes at three steps, and a held-out one."""
    loader = Loader(settings, tokens, tokenizer, plans, 1, 2, form=form)
    of_steps = {str(step): [_described(part) for part in loader.micro_batches(step)] for step in (0, 1, STEPS - 1)}
    return {
        "steps": of_steps,
        "held out": _described(next(iter(loader.validation()))),
        "epochs": loader.epochs,
        "noted": [loader.objective(step).noted(loader.at(step)[0], step) for step in (0, 1, STEPS - 1)],
    }


def _described(batch: Any) -> dict[str, Any]:
    arrays = {name: tensor.numpy() for name, tensor in sorted(batch.inputs.items())}
    return {**arrays, "counts": batch.counts.numpy(), "expected": batch.expected, "objective": batch.objective.name}


def _write_tokens(folder: Path, copies: Sequence[int]) -> Path:
    """Write token shards of words of one to four pieces, and how often each comes in a pass."""
    folder.mkdir()
    size, entries = len(SPECIAL) + WORDS + PIECES, []
    for shard, times in enumerate(copies):
        tokens: list[int] = []
        documents, sentences = [0], [0]
        for document in range(40):
            for sentence in range(1 + (document * 5 + shard) % 6):
                for word in range(2 + (document + 3 * sentence) % 7):
                    number = document * 17 + sentence * 29 + word * 11 + shard
                    tokens.append(len(SPECIAL) + number % WORDS)
                    pieces = (number * 7 + word) % 4
                    tokens += [len(SPECIAL) + WORDS + (number + step) % PIECES for step in range(pieces)]
                sentences.append(len(tokens))
            tokens.append(SPECIAL["sep"])
            sentences[-1] = len(tokens)
            documents.append(len(tokens))
        tokens[3], tokens[30] = SPECIAL["unk"], SPECIAL["unk"]
        entry = write_shard(folder, shard, np.array(tokens, token_dtype(size)), documents, sentences)
        entries.append({**entry, "copies": times})
    write_meta(folder, size, SPECIAL, entries, unk=2 * len(copies))
    return folder


def _write_vocabulary(folder: Path) -> Path:
    folder.mkdir()
    entries = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    entries += [f"w{n}" for n in range(WORDS - 1)] + ["[unused0]"] + [f"##p{n}" for n in range(PIECES)]
    (folder / "vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    return folder


def unhit(output: dict[str, Any]) -> list[str]:
    """Return the objectives, kinds of packing and of masking, and schedules without a run."""
    runs = [_settings(changes) for changes in RUNS.values()]
    packings = get_args(PretrainSettings.model_fields["packing"].annotation)
    kinds = get_args(type(runs[0].masking).model_fields["kind"].annotation)
    asked = {
        "objective": (OBJECTIVES, {name for run in runs for name in run.objectives}),
        "packing": (packings, {run.packing for run in runs}),
        "masking": (kinds, {run.masking.kind for run in runs}),
        "schedule": (schedules.SCHEDULES, {name.split(",")[0] for name in output["rates"]}),
    }
    return [f"{kind} {name}" for kind, (names, hit) in asked.items() for name in names if name not in hit]
