"""Prompts of a decoder: its tokenizer with its chat template, and examples that begin with a prompt's own ids."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from common.errors import UserError
from common.names import shown_name
from data.instruct.layout import CHAT_TEMPLATE

PROBE = "한국어"
ANSWERS = (PROBE, "Korean", "1")
RULE = "a base has a tokenizer without code, with an end mark, that adds no mark to the end of a text"
PARTED = "what is learned follows the ids that the prompt has in use"
ANCHORS = ("", "\n", "\n.", "가\n")
"""Texts before an answer that is encoded apart; some tokenizers put a blank before a text that stands alone."""


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Return a base's tokenizer, its chat template (ours where it has none) as training, scoring and answers take it.

    Where the tokenizer begins texts with BOS the template does, too, or lm-eval's ids and the template's would differ.

    Raises:
        UserError: it does not load or breaks `RULE`, or its template fails, or no example can begin with its prompt.
    """

    def refused(fault: str) -> UserError:
        return UserError(f"the tokenizer of {shown_name(folder)} {fault}", RULE, "fix its files, or name another base")

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        marked = tokenizer.encode(PROBE)
        plain = tokenizer.encode(PROBE, add_special_tokens=False)
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
    turn = [{"role": "user", "content": PROBE}]
    prompt = prompt_of(tokenizer, PROBE)
    if list(tokenizer.apply_chat_template(turn, add_generation_prompt=True)["input_ids"]) != encode(tokenizer, prompt):
        raise refused(f"encodes {prompt[-40:]!r}, the end of a prompt, otherwise than its chat template does")
    for text in ANSWERS:
        encode_pair(tokenizer, prompt, text)
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
    """Return the ids of a prompt, as generation has them, and those of its answer (with the blank before it, if any).

    They are those of prompt and answer encoded together, parted as lm-eval's HFLM does where the prompt does not end in
    a blank. Where a token would lie across the border ("답: " and "예": " 예"), which no generation can follow a prompt
    with, the answer is encoded apart.

    Raises:
        UserError: the tokenizer gives no ids that add just the answer to the prompt.
    """
    start = encode(tokenizer, prompt)
    whole = encode(tokenizer, prompt + answer)
    if whole[: len(start)] == start:
        return start, whole[len(start) :]
    for anchor in ANCHORS:
        before, both = (tokenizer.encode(text, add_special_tokens=False) for text in (anchor, anchor + answer))
        answer_ids = both[len(before) :]
        if both[: len(before)] == before and tokenizer.decode(start + answer_ids) == tokenizer.decode(whole):
            return start, answer_ids
    raise UserError(
        f"the tokenizer joins the end of the prompt {prompt[-20:]!r} with the answer {answer[:20]!r} into one token",
        PARTED,
        "end the chat template's prompt otherwise, or name another base",
    )
