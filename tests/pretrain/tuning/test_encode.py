"""Ids of training: those of lm-eval's pairs and of apply_chat_template; tokenizers that cannot be tuned with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_decoders import byte_level, rows, sentence_pieces, write_base
from transformers import PreTrainedTokenizerFast

from common.errors import UserError
from data.instruct.layout import CHAT_TEMPLATE, plain_prompt, user_message
from pretrain.decoders.prompts import encode_pair, prompt_of, read_tokenizer
from pretrain.tuning.inputs import Examples

OWN = (
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}"
    "{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def saved(folder: Path, kind: str, template: str | None) -> Path:
    tokenizer = byte_level(folder) if kind == "byte-level" else sentence_pieces(folder, begins=kind == "bos")
    tokenizer.chat_template = template
    return write_base(folder, "llama", tokenizer)


@pytest.mark.parametrize("kind", ["byte-level", "bos", "no-bos"])
@pytest.mark.parametrize("template", [None, OWN, "{{ bos_token }}" + OWN], ids=["layout", "own", "own-bos"])
def test_ids_are_those_of_lm_eval_and_of_the_chat_template(kind: str, template: str | None, tmp_path: Path) -> None:
    from lm_eval.models.huggingface import HFLM

    if template and template.startswith("{{ bos") and kind == "byte-level":
        pytest.skip("it has no BOS")
    base = saved(tmp_path / "base", kind, template)
    tokenizer = read_tokenizer(base)
    tokenizer.save_pretrained(base)  # as it is saved with the tuned model
    scorer = HFLM(pretrained=str(base), device="cpu", batch_size=1)
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(40)))
    examples = Examples(tmp_path / "train.jsonl", tokenizer, 1000).accepted
    assert len(examples) == 40
    for row, example in zip(rows(40), examples, strict=True):
        user = {"role": "user", "content": user_message(row["instruction"], row["input"])}
        blank = " " if template is None else ""
        prompt = scorer.apply_chat_template([user])
        start, rest = scorer._encode_pair(prompt, blank + row["output"])
        assert example.ids.tolist() == [*start, *rest, tokenizer.eos_token_id]
        own_start, own_rest = encode_pair(tokenizer, prompt, blank + row["output"])
        assert own_start + own_rest == start + rest and example.prompt == len(own_start)
        whole = tokenizer.apply_chat_template([user, {"role": "assistant", "content": row["output"]}])["input_ids"]
        assert whole[: len(example.ids)] == example.ids.tolist()
        begun = tokenizer.apply_chat_template([user], add_generation_prompt=True)["input_ids"]
        assert begun == whole[: len(begun)] == own_start
        if template is None:
            assert whole == example.ids.tolist() and begun == start
            assert prompt.removeprefix("<s>") == plain_prompt(user["content"])
    marks = [example.ids[0] == tokenizer.bos_token_id for example in examples]
    assert all(marks) if kind == "bos" or (template or "").startswith("{{ bos") else not any(marks)


def test_the_layout_is_the_agreed_one() -> None:
    assert user_message("고르세요.") == "고르세요."
    assert user_message("고르세요.", "사과, 배") == "고르세요.\n\n### 입력:\n사과, 배"
    assert plain_prompt("고르세요.") == "### 명령어:\n고르세요.\n\n### 응답:"


def test_several_turns_of_the_layout(tmp_path: Path) -> None:
    tokenizer = read_tokenizer(saved(tmp_path / "base", "byte-level", None))
    turns = [{"role": role, "content": text} for role, text in zip(["user", "assistant"] * 2, "가나다라", strict=True)]
    written = tokenizer.apply_chat_template(turns[:3], tokenize=False, add_generation_prompt=True)
    end = "<|endoftext|>"
    assert written == f"### 명령어:\n가\n\n### 응답: 나{end}\n\n### 명령어:\n다\n\n### 응답:"
    assert tokenizer.chat_template == CHAT_TEMPLATE and prompt_of(tokenizer, "가") == plain_prompt("가")


def test_what_is_no_example_is_set_aside_with_line_and_reason(tmp_path: Path, bases: dict[str, Path]) -> None:
    tokenizer, good = read_tokenizer(bases["llama"]), rows(3)
    long = {**good[1], "output": " ".join(["사과"] * 300)}
    lines = [json.dumps(good[0]), json.dumps(long), "{", json.dumps({"task": "a"}), "[]", json.dumps(good[2])]
    (tmp_path / "train.jsonl").write_text("\n".join(lines) + "\n")
    examples = Examples(tmp_path / "train.jsonl", tokenizer, 250)
    assert len(examples.accepted) == 2 and [reject["line"] for reject in examples.rejects] == [2, 3, 4, 5]
    assert examples.rejects[0]["id"] == good[1]["id"] and "more than" in examples.rejects[0]["reason"]
    assert not any("사과 사과" in reject["reason"] for reject in examples.rejects)
    lengths = [len(example.ids) for example in examples.accepted]
    assert len(Examples(tmp_path / "train.jsonl", tokenizer, max(lengths)).accepted) == 2
    assert len(Examples(tmp_path / "train.jsonl", tokenizer, max(lengths) - 1).accepted) < 2
    with pytest.raises(UserError, match="hunmin instruct build"):
        Examples(tmp_path / "none.jsonl", tokenizer, 9)


def tokenizer_fault(base: Path) -> str:
    with pytest.raises(UserError) as caught:
        read_tokenizer(base)
    return str(caught.value)


def test_tokenizers_that_are_refused(tmp_path: Path) -> None:
    ends = write_base(tmp_path / "ends", "llama", sentence_pieces(tmp_path, ends=True))
    assert "</s>" in tokenizer_fault(ends) and "add_eos_token" in tokenizer_fault(ends)
    endless = write_base(tmp_path / "endless", "llama")
    changed: Any = PreTrainedTokenizerFast.from_pretrained(endless, eos_token=None)
    changed.save_pretrained(endless)
    assert "end mark" in tokenizer_fault(endless)
    strict = write_base(tmp_path / "strict", "llama")
    template = "{{ raise_exception('a system turn is needed') }}"
    changed = PreTrainedTokenizerFast.from_pretrained(strict, chat_template=template)
    changed.save_pretrained(strict)
    assert "a system turn is needed" in tokenizer_fault(strict)
