"""Licences of cards: the hub's names, or `other` with a name of its own; others are refused before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from common.errors import UserError
from common.settings import parse_settings
from hunmin.hub.card import metadata, with_license
from hunmin.hub.settings import HubSettings
from hunmin.main import run_command


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("CC BY-SA 4.0", "did you mean 'cc-by-sa-4.0'"),
        ("Apache-2.0", "did you mean 'apache-2.0'"),
        ("apache2", "did you mean 'apache-2.0'"),
        ("other", "other:NAME"),
        ("other:", "other:NAME"),
        ("other:My Licence", "other:NAME"),
        ("", "other:NAME"),
    ],
)
def test_other_names_are_refused_when_the_recipe_is_read(value: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_settings(HubSettings, {"license": value}, "test")
    assert f"the hub has no licence '{value}'" in str(caught.value) and told in str(caught.value)


@pytest.mark.parametrize(
    ("value", "license", "name"), [("cc-by-sa-4.0", "cc-by-sa-4.0", None), ("other:kogl-1", "other", "kogl-1")]
)
def test_a_card_states_it_as_the_hub_reads_it(value: str, license: str, name: str | None) -> None:
    parse_settings(HubSettings, {"license": value}, "test")
    older: list[dict[str, Any]] = [{}, {"license": "mit"}, {"license": "other", "license_name": "old"}]
    for before in older:
        card = ModelCard(with_license(metadata(**before) + "# Title\n", value))
        assert (card.data.get("license"), card.data.get("license_name")) == (license, name)


def test_a_push_refuses_one_before_it_looks_at_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["push", str(tmp_path), "me/x", "--license", "CC-BY"]) == 2
    assert "the hub has no licence 'CC-BY'" in capsys.readouterr().err
