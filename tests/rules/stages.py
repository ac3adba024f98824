"""The locked stages: what each makes of its fixed input, by which code, and which rules that input does not hit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from common.rules import rules_number

from . import corpus, decoders, embeddings, finetuning, pretraining, tokens
from .lock import ROOT, Block, digest, hash_of

Output = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """One stage.

    Args:
        output: a new folder → what the stage makes of its fixed input there.
        code: modules and folders, below the repository, that decide what comes out.
        input: files that the fixed input is in, or made by.
        unhit: output → what the input lacks, by the registries of the code.
        needs: modules that are not there on every Python.
    """

    output: Callable[[Path], Output]
    code: tuple[str, ...]
    input: tuple[str, ...]
    unhit: Callable[[Output], list[str]]
    needs: tuple[str, ...] = ()


STAGES: dict[str, Stage] = {
    "corpus": Stage(corpus.output, corpus.CODE, corpus.INPUT, corpus.unhit, ("mwparserfromhell",)),
    "tokenizer": Stage(tokens.tokenizer_output, tokens.TOKENIZER_CODE, tokens.INPUT, tokens.unhit_by_tokenizer),
    "encode": Stage(tokens.encode_output, tokens.ENCODE_CODE, tokens.INPUT, tokens.unhit_by_encode),
    "pretrain": Stage(pretraining.output, pretraining.CODE, pretraining.INPUT, pretraining.unhit),
    "klue": Stage(finetuning.output, finetuning.CODE, finetuning.INPUT, finetuning.unhit),
    "embed": Stage(embeddings.output, embeddings.CODE, embeddings.INPUT, embeddings.unhit),
    "instruct": Stage(decoders.instruct_output, decoders.INSTRUCT_CODE, decoders.INPUT, decoders.unhit_by_instruct),
    "tune": Stage(decoders.tune_output, decoders.TUNE_CODE, decoders.INPUT, decoders.unhit_by_tune),
    "leaderboard": Stage(decoders.board_output, decoders.BOARD_CODE, decoders.INPUT, decoders.unhit_by_board),
}
UNLOCKED = {
    "export": "it converts trained weights, and checks what it wrote against them",
    "report": "pages are always written anew",
}
"""Stages with a number and without a block: why."""


def lacks(stage: str) -> str:
    """Return the module that a stage needs and that this Python lacks, "" where it lacks none."""
    return next((name for name in STAGES[stage].needs if find_spec(name) is None), "")


def output_of(stage: str) -> Output:
    """Return what a stage makes of its fixed input now."""
    with tempfile.TemporaryDirectory() as folder:
        return STAGES[stage].output(Path(folder) / "work")


def block_of(stage: str, output: Output, root: Path = ROOT) -> Block:
    """Return a stage's block as it would be locked now."""
    described = STAGES[stage]
    return Block(rules_number(stage), digest(output), hash_of(described.input, root), hash_of(described.code, root))
