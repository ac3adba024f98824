"""How a decoder is prompted: its tokenizer with its chat template, ids as lm-eval has them."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from common.errors import UserError
from common.names import TOKENIZERS, shown_name
from data.instruct.layout import CHAT_TEMPLATE

PROBE = "한국어"
RULE = "a base has a tokenizer without code, with an end mark, that adds no mark to the end of a text"


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Return a base's tokenizer, its chat template (ours where it has none) as training, scoring and answers take it.

    Where the tokenizer begins texts with BOS the template does, too, or lm-eval's ids and the template's would differ.

    Raises:
        UserError: there is none, or it breaks `RULE`, or its template takes no lone turn.
    """

    def refused(fault: str) -> UserError:
        return UserError(f"the tokenizer of {shown_name(folder)} {fault}", RULE, "fix its files, or name another base")

    if not any(fnmatch(path.name, pattern) for path in folder.iterdir() for pattern in TOKENIZERS):
        raise refused("is missing")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        marked, plain = tokenizer.encode(PROBE), tokenizer.encode(PROBE, add_special_tokens=False)
        own = tokenizer.chat_template
        tokenizer.chat_template = (own.get("default") if isinstance(own, dict) else own) or CHAT_TEMPLATE
        prompt = prompt_of(tokenizer, PROBE)
        tokenizer.deprecation_warnings["sequence-length-is-longer-than-the-specified-maximum"] = True  # quarantined
    except Exception as error:  # of many kinds
        raise refused(f"does not load: {(str(error).splitlines() or [''])[0]}") from None
    if tokenizer.eos_token_id is None:
        raise refused("has no end mark (eos_token)")
    if marked not in (plain, [tokenizer.bos_token_id, *plain]):
        raise refused(f"writes {PROBE!r} as {tokenizer.decode(marked)!r} (add_eos_token)")
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
