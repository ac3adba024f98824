"""Nothing with a secret, personal data or this machine's paths leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from common.errors import UserError
from hunmin.hub.scrub import public_recipe, refuse_private
from hunmin.recipe import Recipe

KEY = "the-key-of-the-pseudonyms"


def recipe(**changes: Any) -> Recipe:
    tree = {
        "name": "x",
        "out": "/home/hong/runs/x",
        "corpus": {
            "inputs": [
                "/home/hong/corpora/news.jsonl",
                "~/secret place/*.txt",
                "relative/folder/deep/web.txt",
                "s3://b/k",
            ],
            "pii": {"key": KEY, "key_env": "MY_KEY"},
        },
        "pretrain": {"init_from": "klue/roberta-base", "wandb_project": "hongs-project"},
        "klue": {"data": "/mnt/disk of hong/klue"},
        "hub": {"repository": "hong/private-name", "note": "n"},
    }
    return Recipe.model_validate({**tree, **changes})


def test_a_recipe_without_paths_keys_and_names() -> None:
    text = public_recipe(recipe())
    tree = yaml.safe_load(text)
    assert tree["corpus"]["inputs"] == ["news.jsonl", "secret place/*.txt", "web.txt", "k"]
    assert tree["klue"]["data"] == "klue" and tree["pretrain"]["init_from"] == "klue/roberta-base"
    assert not any(word in text for word in ("hong", "/home", "/mnt", KEY, "hub", "\nout:"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\nb hf_" + "A" * 34, r"README.md, line 2, .*a service's key"),
        ("AKIA" + "Z" * 16, "a service's key"),
        ("x\n\nnote: s3cr3t-value-of-mine", r"line 3, holds the value of WANDB_API_KEY"),
        (f"key: {KEY}", "the value of MY_KEY"),
        ("문의 010-1234-5678", r"personal data \(TEL\)"),
        ("write to hong@naver.com", r"personal data \(EMAIL\)"),
    ],
)
def test_what_must_not_leave_is_named_and_not_shown(text: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "s3cr3t-value-of-mine")
    monkeypatch.setenv("MY_KEY", KEY)
    with pytest.raises(UserError, match=told) as raised:
        refuse_private({"README.md": text}, "MY_KEY")
    for secret in ("A" * 34, "s3cr3t", KEY, "5678", "hong@"):
        assert secret not in str(raised.value)


def test_what_a_card_holds_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "no")  # too short to be looked for
    refuse_private(
        {
            "README.md": "see https://example.org/x, lr 0.0006, β 0.9/0.98, no 1,234,567",
            "recipe": public_recipe(recipe()),
        }
    )


def test_shipped_recipes_may_leave() -> None:
    from hunmin.recipe import load_recipe

    files = sorted((Path(__file__).parents[3] / "configs").glob("*.yaml"))
    assert len(files) > 3
    for file in files:
        loaded = load_recipe(file, ["corpus.inputs=[a]", "klue.data=b"])
        refuse_private({file.name: public_recipe(loaded)})
