"""Encoding: the base's tokenizer with its chat template, and examples as ids of prompt, answer and end mark."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from common.errors import UserError
from common.names import TOKENIZERS, shown_name
from data.instruct.layout import CHAT_TEMPLATE, user_message

PROBE = "한국어"
RULE = "a base is a folder with config.json, weights and a tokenizer whose texts end without a mark of its own"


@dataclass(frozen=True)
class Example:
    """One instruction and its answer."""

    ids: np.ndarray
    prompt: int
    """How many ids are the prompt's; the others, the end mark too, are learned."""
    use: str


@dataclass
class Examples:
    """The examples of a file, and what was set aside."""

    kept: list[Example] = field(default_factory=list)
    rejects: list[dict[str, Any]] = field(default_factory=list)
    """File, line, id and reason of each row that is left out."""
    sets: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(data set, licence) → examples."""

    @property
    def lengths(self) -> np.ndarray:
        """Ids of each example."""
        return np.array([len(example.ids) for example in self.kept], dtype=np.int64)


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Return a base's tokenizer with the chat template that the tuned model is saved with.

    The template is its own, else our layout. Where the tokenizer begins texts with BOS the template does, too: else
    lm-eval would score other ids than `apply_chat_template` gives.

    Raises:
        UserError: there is no tokenizer, it needs code of the folder, has no end mark, puts marks of its own around
            texts, or its template takes no lone user's turn.
    """
    name = shown_name(folder)
    if not any(fnmatch(path.name, pattern) for path in folder.iterdir() for pattern in TOKENIZERS):
        raise UserError(f"{name} has no tokenizer", RULE, "save the tokenizer of the model into the folder")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        marked, plain = tokenizer.encode(PROBE), tokenizer.encode(PROBE, add_special_tokens=False)
        own = tokenizer.chat_template
        tokenizer.chat_template = (own.get("default") if isinstance(own, dict) else own) or CHAT_TEMPLATE
        prompt = prompt_of(tokenizer, PROBE)
    except Exception as error:  # of many kinds
        reason = (str(error).splitlines() or [""])[0]
        raise UserError(
            f"the tokenizer of {name} does not load: {reason}", "code in a model's folder is never run", "name another base"
        ) from None
    if tokenizer.eos_token_id is None:
        raise UserError(f"the tokenizer of {name} has no end mark (eos_token)", "an answer ends with it", "set one")
    if marked not in (plain, [tokenizer.bos_token_id, *plain]):
        raise UserError(
            f"the tokenizer of {name} writes {tokenizer.decode(marked)!r} for {PROBE!r}",
            "a mark of the tokenizer's own at a prompt's end would part it from its answer",
            "take the base's tokenizer without it (add_eos_token: false in tokenizer_config.json)",
        )
    if marked != plain and not prompt.startswith(tokenizer.bos_token):
        tokenizer.chat_template = "{{ bos_token }}" + tokenizer.chat_template
    return tokenizer


def prompt_of(tokenizer: PreTrainedTokenizerBase, message: str) -> str:
    """Return the prompt of a user's turn by the tokenizer's chat template."""
    turn = [{"role": "user", "content": message}]
    return str(tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True))


def encode(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Return a text's ids; a first mark that it brings itself is not added again (as lm-eval does)."""
    mark = tokenizer.bos_token or tokenizer.eos_token
    return list(tokenizer.encode(text, add_special_tokens=not text.startswith(mark)))


def encode_pair(tokenizer: PreTrainedTokenizerBase, prompt: str, answer: str) -> tuple[list[int], list[int]]:
    """Return the ids of a prompt and of its answer, encoded together and parted as lm-eval's HFLM does.

    Blanks and line ends at the prompt's end belong to the answer.

    Args:
        tokenizer: of the model.
        prompt: not empty.
        answer: with the blank that parts it from the prompt, if any.
    """
    start = encode(tokenizer, prompt.rstrip())
    return start, encode(tokenizer, prompt + answer)[len(start) :]


def encode_row(tokenizer: PreTrainedTokenizerBase, row: dict[str, Any]) -> Example:
    """Return the example of a row of data/instruct."""
    blank = " " if str(tokenizer.chat_template).endswith(CHAT_TEMPLATE) else ""
    prompt = prompt_of(tokenizer, user_message(row["instruction"], row.get("input", "")))
    start, rest = encode_pair(tokenizer, prompt, blank + row["output"])
    return Example(np.array([*start, *rest, tokenizer.eos_token_id], dtype=np.int32), len(start), str(row["task"]))


def read_examples(path: Path, tokenizer: PreTrainedTokenizerBase, length: int) -> Examples:
    """Return the examples of a JSON Lines file of data/instruct.

    Args:
        path: train.jsonl or held_out.jsonl.
        tokenizer: as `read_tokenizer` returns it.
        length: most ids of an example.

    Raises:
        UserError: the file cannot be read.
    """
    found = Examples()
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}", "tuning reads a build of instructions", "run hunmin instruct build"
        ) from None
    for number, line in enumerate(lines, 1):
        row: dict[str, Any] = {}
        try:
            row = json.loads(line)
            example = encode_row(tokenizer, row)
            reason = "" if len(example.ids) <= length else f"{len(example.ids)} tokens, more than length {length}"
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"not a row of instructions ({type(error).__name__})"
        if reason:
            identity = row.get("id") if isinstance(row, dict) else None
            found.rejects.append({"file": path.name, "line": number, "id": identity, "reason": reason})
        else:
            found.kept.append(example)
            found.sets[row.get("dataset", row["task"]), row.get("licence", "unknown")] += 1
    return found
