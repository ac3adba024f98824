"""The locked stages: what each makes of its fixed input, by which code, and which rules that input does not hit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.rules import rules_number

from . import corpus, pretraining, tokens
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
    """

    output: Callable[[Path], Output]
    code: tuple[str, ...]
    input: tuple[str, ...]
    unhit: Callable[[Output], list[str]]


STAGES: dict[str, Stage] = {
    "corpus": Stage(corpus.output, corpus.CODE, corpus.INPUT, corpus.unhit),
    "tokenizer": Stage(tokens.tokenizer_output, tokens.TOKENIZER_CODE, tokens.INPUT, tokens.unhit_by_tokenizer),
    "encode": Stage(tokens.encode_output, tokens.ENCODE_CODE, tokens.INPUT, tokens.unhit_by_encode),
    "pretrain": Stage(pretraining.output, pretraining.CODE, pretraining.INPUT, pretraining.unhit),
}
UNLOCKED = {
    "export": "it converts trained weights, and checks what it wrote against them",
    "report": "pages are always written anew",
    **dict.fromkeys(("klue", "embed", "instruct", "tune", "leaderboard"), "to come"),
}
"""Stages with a number and without a block: why."""


def output_of(stage: str) -> Output:
    """Return what a stage makes of its fixed input now."""
    with tempfile.TemporaryDirectory() as folder:
        return STAGES[stage].output(Path(folder) / "work")


def block_of(stage: str, output: Output, root: Path = ROOT) -> Block:
    """Return a stage's block as it would be locked now."""
    of = STAGES[stage]
    return Block(rules_number(stage), digest(output), hash_of(of.input, root), hash_of(of.code, root))
