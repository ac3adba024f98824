"""The ids of a prompt in use begin those of training, whatever the template, the tokenizer and the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_decoders import byte_level, rows, sentence_pieces, write_base
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from common.errors import UserError
from data.instruct.layout import user_message
from pretrain.decoders.prompts import encode, encode_pair, prompt_of, read_tokenizer
from pretrain.tuning.inputs import Examples

TURNS = "{% for m in messages %}{{ '### ' + m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}"
ASK = "{% if add_generation_prompt %}### assistant:END{% endif %}"
TEMPLATES = {
    "layout": None,
    "blank": TURNS + ASK.replace("END", " "),
    "two blanks": TURNS + ASK.replace("END", "  "),
    "tab": TURNS + ASK.replace("END", "\t"),
    "line": TURNS + ASK.replace("END", "\n"),
    "two lines": TURNS + ASK.replace("END", "\n\n"),
    "thought": TURNS + ASK.replace("END", "\n<think>\n\n</think>\n\n"),
    "nothing": TURNS + ASK.replace("END", ""),
    "quote": TURNS + ASK.replace("END", ' "'),
    "no generation prompt": TURNS,
    "begins twice": "{{ bos_token }}{{ bos_token }}" + TURNS + ASK.replace("END", " "),
    "own system turn": "{{ '### system: 답하세요.\n' }}" + TURNS + ASK.replace("END", " "),
    "strips": TURNS.replace("m['content']", "(m['content'] | trim)") + ASK.replace("END", " "),
    "other with answers": "{% if messages[-1]['role'] == 'assistant' %}=== {% endif %}" + TURNS + ASK,
}
ANSWERS = ("긍정", "Yes", "3.14", '"인용"', ": )", "## 제목", "\n다음 줄", "- 하나\n- 둘", "😀", "…", "a  b", " 앞")


def glued(folder: Path) -> PreTrainedTokenizerFast:
    """BPE whose tokens reach over blanks and line ends, so that prompt and answer often share one."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    ends = (": ", ":", "\n", ' "')
    texts = [f"### assistant:{end}{answer}" for end in ends for answer in ANSWERS for _ in range(5)]
    core.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=600, special_tokens=["<s>", "</s>"], show_progress=False,
                                   initial_alphabet=pre_tokenizers.ByteLevel.alphabet()),
    )  # fmt: skip
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>")


TOKENIZERS: dict[str, Any] = {
    "byte-level": byte_level, "glued": glued, "bos": sentence_pieces,
    "no-bos": lambda folder: sentence_pieces(folder, begins=False),
}  # fmt: skip


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    TOKENIZERS[request.param](folder).save_pretrained(folder)
    return folder


def with_template(folder: Path, template: str | None) -> PreTrainedTokenizerBase:
    """Return what training reads of a base with this template, read again as it is saved with the tuned model."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    tokenizer.chat_template = template
    out = folder / "base"
    tokenizer.save_pretrained(out)
    read_tokenizer(out).save_pretrained(out)
    return read_tokenizer(out)


def asked(tokenizer: PreTrainedTokenizerBase, message: str) -> list[int]:
    """Return the ids that generation is given for a message."""
    turn = [{"role": "user", "content": message}]
    return list(tokenizer.apply_chat_template(turn, add_generation_prompt=True, return_dict=True)["input_ids"])


@pytest.mark.parametrize("template", TEMPLATES)
def test_an_example_begins_with_the_prompt_in_use(template: str, tokenizer_file: Path, tmp_path: Path) -> None:
    tokenizer = with_template(tokenizer_file, TEMPLATES[template])
    made = [{**row, "output": answer} for row, answer in zip(rows(len(ANSWERS)), ANSWERS, strict=True)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    examples = Examples(tmp_path / "train.jsonl", tokenizer, 1000)
    assert not examples.rejects
    blank = " " if template == "layout" else ""
    for row, example in zip(made, examples.accepted, strict=True):
        message = user_message(row["instruction"], row["input"])
        prompt = asked(tokenizer, message)
        *ids, end = example.ids.tolist()
        assert ids[: len(prompt)] == prompt and example.prompt == len(prompt) and end == tokenizer.eos_token_id
        text = prompt_of(tokenizer, message) + blank + row["output"]
        assert tokenizer.decode(ids) == tokenizer.decode(encode(tokenizer, text))  # and nothing else


@given(st.text(st.sampled_from('긍정예 \n:"a1.#😀'), min_size=1, max_size=8).filter(str.strip))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_answer_follows_the_prompt(tokenizer_file: Path, answer: str) -> None:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tokenizer_file)
    for prompt in ("### assistant: ", "### assistant:", "### assistant:\n", '### assistant: "'):
        start, rest = encode_pair(tokenizer, prompt, answer)
        assert start == encode(tokenizer, prompt)
        assert tokenizer.decode(start + rest) == tokenizer.decode(encode(tokenizer, prompt + answer))


def test_a_tokenizer_that_joins_prompt_and_answer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = write_base(tmp_path / "base", "llama", glued(tmp_path))
    tokenizer = PreTrainedTokenizerFast.from_pretrained(base)
    tokenizer.chat_template = TEMPLATES["blank"]
    tokenizer.save_pretrained(base)
    monkeypatch.setattr("pretrain.decoders.prompts.ANSWERS", ANSWERS)
    read_tokenizer(base)
    monkeypatch.setattr("pretrain.decoders.prompts.ANCHORS", ())  # none of them helps
    with pytest.raises(UserError, match=r"joins the end of the prompt .*assistant: ' with the answer "):
        read_tokenizer(base)


def test_scores_are_of_the_ids_that_were_trained(tmp_path: Path, tokenizer_file: Path) -> None:
    from leaderboard.models import CountingLM

    for name in ("blank", "line", "nothing", "quote"):
        folder = tmp_path / name
        write_base(folder, "llama", with_template(tokenizer_file, TEMPLATES[name]))  # type: ignore[arg-type]
        scorer, tokenizer = CountingLM(pretrained=str(folder), device="cpu", batch_size=1), read_tokenizer(folder)
        prompt, plain = prompt_of(tokenizer, "고르세요."), scorer._encode_pair("물음: 1 ", "예")
        for answer in ("긍정", "Yes", '"인용"'):
            scorer.chat = True
            start, rest = scorer._encode_pair(prompt, answer)
            trained = encode_pair(tokenizer, prompt, answer)
            assert start + rest == trained[0] + trained[1]
            scorer.chat = False
            assert scorer._encode_pair("물음: 1 ", "예") == plain  # of a plain prompt lm-eval's own
