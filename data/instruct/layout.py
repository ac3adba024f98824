"""Layout of a prompt and its answer for models whose tokenizer has no chat template of its own."""

from __future__ import annotations

INPUT = "### 입력:"
PROMPT = "### 명령어:"
ANSWER = "### 응답:"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}"
    "{{ ' ' + message['content'] + eos_token }}"
    "{% else %}"
    "{{ '\n\n' if not loop.first else '' }}"
    "{{ '" + PROMPT + "\n' + message['content'] + '\n\n" + ANSWER + "' }}"
    "{% endif %}"
    "{% endfor %}"
)
"""A tokenizer's chat template: a user's turn is `plain_prompt`, the answer one blank, the text, the end mark."""


def user_message(instruction: str, input: str = "") -> str:
    """Return a user's turn: the instruction and, where there is one, the input below its heading.

    Args:
        instruction: what is asked.
        input: what it is asked about; "" for none.
    """
    return f"{instruction}\n\n{INPUT}\n{input}" if input else instruction


def plain_prompt(message: str) -> str:
    """Return the prompt of one user's turn; nothing follows its last colon.

    Args:
        message: as `user_message` returns it.
    """
    return f"{PROMPT}\n{message}\n\n{ANSWER}"
