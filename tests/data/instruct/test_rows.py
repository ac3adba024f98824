"""Rows as lines, and our layout as text and as a chat template."""

import json
from pathlib import Path
from typing import Any

import pytest
from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from common.errors import UserError
from data.instruct.layout import CHAT_TEMPLATE, plain_prompt, user_message
from data.instruct.rows import Row, read_rows, write_rows

ROW = Row("copa-000123-2", "copa", "KoBEST COPA", "train", 2, "고르세요.", "가\n나", "나", ("가", "나"), "CC-BY-SA-4.0")


def rendered(*turns: tuple[str, str], add_generation_prompt: bool = False) -> str:
    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)  # as in transformers
    environment.globals["raise_exception"] = refuse
    messages = [{"role": role, "content": content} for role, content in turns]
    return environment.from_string(CHAT_TEMPLATE).render(
        messages=messages, add_generation_prompt=add_generation_prompt, eos_token="<|endoftext|>"
    )


def test_the_layout_letter_by_letter() -> None:
    assert user_message("고르세요.") == "고르세요."
    assert user_message("고르세요.", "가\n나") == "고르세요.\n\n### 입력:\n가\n나"
    assert plain_prompt("고르세요.\n\n### 입력:\n가") == "### 명령어:\n고르세요.\n\n### 입력:\n가\n\n### 응답:"


@pytest.mark.parametrize("message", ["한 줄", user_message("여러 줄", " 가\n\n나 "), "{{ 중괄호 }} {% if %}"])
def test_the_chat_template_gives_the_same_text(message: str) -> None:
    prompt = plain_prompt(message)
    assert rendered(("user", message), add_generation_prompt=True) == prompt
    assert rendered(("user", message), ("assistant", "답")) == f"{prompt} 답<|endoftext|>"
    several = [("user", message), ("assistant", "답"), ("user", "또"), ("assistant", "예")]
    assert rendered(*several) == f"{prompt} 답<|endoftext|>\n\n{plain_prompt('또')} 예<|endoftext|>"
    assert rendered(*several[:3], add_generation_prompt=True) == f"{prompt} 답<|endoftext|>\n\n{plain_prompt('또')}"


def test_other_turns_are_refused() -> None:
    for turns in ([("system", "x"), ("user", "y")], [("assistant", "x")]):
        with pytest.raises(TemplateError, match="turns are of user and assistant"):
            rendered(*turns)


def test_rows_come_back(tmp_path: Path) -> None:
    free = ROW._replace(id="math-000001-0", choices=None, input="")
    write_rows(tmp_path / "rows.jsonl", [ROW, free])
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["choices"] == ["가", "나"] and "choices" not in json.loads(lines[1])
    assert read_rows(tmp_path / "rows.jsonl") == [ROW, free]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output": " "}, "an empty answer"),
        ({"choices": ["가", "다"]}, "or none is the answer"),
        ({"choices": ["나", "나"]}, "two choices are equal"),
        ({"choices": "나"}, "no list of texts"),
        ({"licence": None}, "no text in field 'licence'"),
        ({"template": "1"}, "template that is no number"),
    ],
)
def test_what_is_no_row_is_told_with_its_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    lines = [ROW.as_record(), {**ROW.as_record(), **change}]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    with pytest.raises(UserError, match=f"line 2 of .*{message}"):
        read_rows(tmp_path / "rows.jsonl")
