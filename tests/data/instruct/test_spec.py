"""Specs: what the twenty hold, and what is refused when one is read."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from common.errors import UserError
from data.instruct.settings import InstructSettings
from data.instruct.spec import USES, is_open, use_of

GOOD: dict[str, Any] = {
    "dataset": "Set",
    "group": "group",
    "licence": "MIT",
    "layouts": [{"format": "tsv", "files": ["train.tsv"]}],
    "fields": {"text": {"column": "text"}},
    "answer": {"column": "label", "labels": {"1": "예", "0": "아니요"}},
    "templates": [{"instruction": f"묻는 말 {n}.", "input": "{text}"} for n in range(5)],
}
CHOICES = {"answer": {"column": "answer", "choices": ["1", "2"]}}
REFUSED: dict[str, dict[str, Any]] = {
    "names the unknown field texte": {"templates.1.input": "{texte}"},
    "names the unknown field choices": {"templates.1.input": "{text} {choices}"},
    "never uses the field text": {"templates.1.input": "고정된 글"},
    "no template uses the field extra": {"fields.extra": {"column": "x"}, "optional": ["extra"]},
    "the use has no field other": {"optional": ["other"]},
    "names the unknown field answer": {"templates.2.instruction": "{answer}라고 하세요."},
    "has no answer": {"templates.0.output": "예"},
    "or a number without choices": {
        **{f"templates.{n}.input": "{text} {choices}" for n in range(5)},
        "templates.3.input": "{text}", "templates.3.output": "{number}", "optional": ["choices"], **CHOICES,
    },
    "words for other labels than 1, 0": {"templates.0.words": {"1": "네"}},
    "two labels of one word": {"templates.0.words": {"1": "네", "0": "네"}},
    "a word with blanks around it": {"templates.0.words": {"1": "네 ", "0": "아니"}},
    "is no plain name": {"templates.0.input": "{text.upper}"},
    "expected '}'": {"templates.0.input": "{text"},
    "at least 5": {"templates": GOOD["templates"][:4]},
    "unknown key 'lable'": {"lable": 1},
}  # fmt: skip


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    tree = copy.deepcopy(GOOD)
    for key, value in changes.items():
        node: Any = tree
        *parents, leaf = key.split(".")
        for name in parents:
            node = node[int(name) if name.isdigit() else name]
        node[leaf] = value
    return tree


def read(path: Path, tree: dict[str, Any]) -> Any:
    path.write_text(yaml.safe_dump(tree, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return use_of(path)


def test_a_good_spec_is_read(tmp_path: Path) -> None:
    assert read(tmp_path / "good.yaml", GOOD).needed == ["text", "label"]


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_fit_together_is_refused(tmp_path: Path, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        read(tmp_path / "bad.yaml", changed(REFUSED[message]))


@pytest.mark.parametrize("name", USES)
def test_wording_is_whole(name: str) -> None:
    use = use_of(name)
    texts = [template.instruction for template in use.templates]
    assert len(set(texts)) == len(texts) >= 5
    for template in use.templates:
        for text in (template.instruction, template.input):
            assert text == text.strip() and "  " not in text and "###" not in text
            assert not re.search(r"\}(은|는|이|가|을|를|과|와|으로|로)(?![가-힣])", text), "a particle that may not fit"
            assert not re.search(r"\}'(은|는|이|가|을|를|과|와|으로|로)(?![가-힣])", text)
        words = template.words if template.words is not None else use.answer.labels
        if words and "{answer}" in template.output and len(words) <= 2 and template.instruction.count("'") >= 4:
            assert all(f"'{word}'" in template.instruction for word in words.values()), "a label is asked for by name"


def test_the_open_uses_are_those_of_the_facts() -> None:
    closed = {name for name in USES if not is_open(use_of(name).licence)}
    assert closed == {"unsmile", "lbox", "hatescore", "petitions"}
    assert [*map(is_open, ("", " ", "CC-BY-NC-SA-2.0", "cc by-nd 4.0", "CC BY-SA 4.0", "Apache-2.0"))] == [
        *[False] * 4,
        *[True] * 2,
    ]
    assert [name for name in USES if use_of(name).split == "test"] == ["apeach"]


def test_settings_know_the_uses() -> None:
    assert set(InstructSettings(data="x").uses) == set(USES) and len(USES) == 20
    with pytest.raises(ValueError, match="did you mean 'copa'"):
        InstructSettings(data="x", uses=["coppa"])
    assert InstructSettings(data="x", uses=["copa", "boolq", "copa"]).uses == ["copa", "boolq"]
