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


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Return a base's tokenizer with the chat template that the tuned model is saved with.

    The template is its own, else our layout. Where the tokenizer begins texts with BOS the template does, too: else
    lm-eval would score other ids than `apply_chat_template` gives.

    Raises:
        UserError: there is no tokenizer; or it needs code of the folder, takes no lone user's turn, has no end mark, or
            writes other marks than BOS around a text.
    """
    name = shown_name(folder)
    if not any(fnmatch(path.name, pattern) for path in folder.iterdir() for pattern in TOKENIZERS):
        raise UserError(f"{name} has no tokenizer", "a base has one beside its weights", "save it into the folder")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        marked, plain = tokenizer.encode(PROBE), tokenizer.encode(PROBE, add_special_tokens=False)
        own = tokenizer.chat_template
        tokenizer.chat_template = (own.get("default") if isinstance(own, dict) else own) or CHAT_TEMPLATE
        prompt = prompt_of(tokenizer, PROBE)
    except Exception as error:  # of many kinds
        reason = (str(error).splitlines() or [""])[0]
        raise UserError(f"the tokenizer of {name} does not load: {reason}", "no code of a folder is run") from None
    if tokenizer.eos_token_id is None:
        raise UserError(f"the tokenizer of {name} has no end mark (eos_token)", "an answer ends with it", "set one")
    if marked not in (plain, [tokenizer.bos_token_id, *plain]):
        raise UserError(
            f"the tokenizer of {name} writes {PROBE!r} as {tokenizer.decode(marked)!r}",
            "a mark of the tokenizer's own at the end of a prompt would part it from its answer",
            "turn it off in tokenizer_config.json (add_eos_token), or name another base",
        )
    if marked != plain and not prompt.startswith(tokenizer.bos_token):
        tokenizer.chat_template = "{{ bos_token }}" + tokenizer.chat_template
    return tokenizer


def prompt_of(tokenizer: PreTrainedTokenizerBase, message: str) -> str:
    """Return the prompt of a user's turn by the tokenizer's chat template."""
    turn = [{"role": "user", "content": message}]
    return str(tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True))


def encode(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Return a text's ids; a first mark that it brings itself is not added again, as in lm-eval."""
    mark = tokenizer.bos_token or tokenizer.eos_token
    return list(tokenizer.encode(text, add_special_tokens=not text.startswith(mark)))


def encode_pair(tokenizer: PreTrainedTokenizerBase, prompt: str, answer: str) -> tuple[list[int], list[int]]:
    """Return the ids of a prompt and of its answer, encoded together and parted as lm-eval's HFLM does.

    Args:
        tokenizer: of the model.
        prompt: not empty; blanks and line ends at its end belong to the answer.
        answer: with the blank that parts it from the prompt, if any.
    """
    start = encode(tokenizer, prompt.rstrip())
    return start, encode(tokenizer, prompt + answer)[len(start) :]


def read_examples(path: Path, tokenizer: PreTrainedTokenizerBase, length: int) -> Examples:
    """Return the examples of a JSON Lines file of data/instruct.

    Args:
        path: train.jsonl or held_out.jsonl.
        tokenizer: as `read_tokenizer` returns it.
        length: most ids of an example.

    Raises:
        UserError: the file cannot be read.
    """
    found, blank = Examples(), " " if str(tokenizer.chat_template).endswith(CHAT_TEMPLATE) else ""
    if not path.is_file():
        raise UserError(f"{path} is missing", "tuning reads a build of instructions", "run hunmin instruct build")
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        row: Any = None
        try:
            row = json.loads(line)
            prompt = prompt_of(tokenizer, user_message(row["instruction"], row["input"]))
            start, rest = encode_pair(tokenizer, prompt, blank + row["output"])
            origin = row["task"], row["dataset"], row["licence"]
            reason = f"more than {length} tokens" if len(start) + len(rest) >= length else ""
        except (ValueError, KeyError, TypeError) as error:
            reason = f"no row of instructions: {type(error).__name__} {error}" if row else "not JSON"
        if reason:
            identity = row.get("id") if isinstance(row, dict) else None
            found.rejects.append({"file": path.name, "line": number, "id": identity, "reason": reason})
        else:
            ids = np.array([*start, *rest, tokenizer.eos_token_id], dtype=np.int32)
            found.kept.append(Example(ids, len(start), origin[0]))
            found.sets[origin[1:]] += 1
    return found
