"""How an instruction is written as a prompt: our layout, and the chat template that gives the same text.

Nothing stands after the colon of a prompt: lm-eval moves blanks and line ends at a prompt's end into what it scores.
"""

from __future__ import annotations

INSTRUCTION = "### 명령어:"
INPUT = "### 입력:"
RESPONSE = "### 응답:"
"""The lines above an instruction and its input, and the cue that ends a prompt."""

CHAT_TEMPLATE = f"""
{{%- for message in messages -%}}
{{%- if message['role'] == 'user' -%}}
{{{{- ('' if loop.first else '\\n\\n') + '{INSTRUCTION}\\n' + message['content'] -}}}}
{{%- elif message['role'] == 'assistant' and not loop.first -%}}
{{{{- '\\n\\n{RESPONSE} ' + message['content'] + eos_token -}}}}
{{%- else -%}}
{{{{- raise_exception('turns are of user and assistant, and the first is the user') -}}}}
{{%- endif -%}}
{{%- endfor -%}}
{{%- if add_generation_prompt -%}}{{{{- '\\n\\n{RESPONSE}' -}}}}{{%- endif -%}}
""".strip()
"""For a tokenizer without one: `plain_prompt` of a user's turn, a blank, answer, end mark; turns a blank line apart."""


def user_message(instruction: str, input: str = "") -> str:
    """Return the user's turn: the instruction and, if there is an input, a blank line, a heading and the input."""
    return f"{instruction}\n\n{INPUT}\n{input}" if input else instruction


def plain_prompt(message: str) -> str:
    """Return the prompt of a user's turn in our layout, for a base without a chat template."""
    return f"{INSTRUCTION}\n{message}\n\n{RESPONSE}"
