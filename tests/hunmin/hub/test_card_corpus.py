"""What a card says of the mixture of its corpus, worked out by hand; nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from common.manifest import MANIFEST, Manifest
from common.settings import parse_settings
from data.corpus import CorpusSettings, build_corpus
from hunmin.hub.card import write_card
from hunmin.hub.facts import read_facts
from tests.runs import note_manifest, rewrite

TITLES = {"en": "How often training used each source", "ko": "출처를 섞은 비율"}
HEADS = {
    "en": (
        "| source | share of the text | share of the training | times in an epoch | times in the whole training | "
        "documents held out | documents left out |"
    ),
    "ko": (
        "| 출처 | 전체 글에서의 비율 | 학습한 글에서의 비율 | 한 에폭에 나온 횟수 | 학습 전체에서 나온 횟수 | "
        "떼어 둔 문서 | 쓰지 않은 문서 |"
    ),
}
ALL = {"en": "all", "ko": "전체"}
PLACES = {"wiki": "강산", "news": "들섬절", "talk": "밭"}
"""Source → a document for each: '우리는 강에 갔다.', of 24 bytes."""


@pytest.fixture
def mixed(scored: Path, tmp_path: Path) -> Path:
    """The run with the statistics of a corpus that the stage has mixed, and 2.5 epochs of training."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, places in PLACES.items():
        (texts / f"{name}.txt").write_text("\n".join(f"우리는 {place}에 갔다." for place in places), encoding="utf-8")
    tree = {
        "inputs": [str(texts)],
        "pii": {"enabled": False},
        "decontaminate": {"enabled": False},
        "workers": 1,
        "mixture": {"held_out": 0, "sources": {"wiki": {"epochs": 3}, "talk": {"epochs": 0}}},
    }
    out = tmp_path / "corpus"
    out.mkdir()
    build_corpus(parse_settings(CorpusSettings, tree, "test"), out)
    say(scored, json.loads((out / "statistics.json").read_bytes())["mixture"])
    edit(scored / "pretrain" / "manifest.json", lambda found: found["counts"].update(epochs=2.5))
    return scored


def say(run: Path, mixture: dict[str, Any]) -> None:
    edit(run / "corpus" / "statistics.json", lambda found: found.update(mixture=mixture))


def edit(file: Path, change: Any) -> None:
    found = json.loads(file.read_bytes())
    change(found)
    if file.name == MANIFEST:
        note_manifest(file.parent.resolve(), Manifest(**found))
    else:
        rewrite(file, json.dumps(found))


def table(card: str, language: str) -> list[str]:
    """Return the rows of the mixture, head first."""
    lines = card.partition(TITLES[language])[2].partition("\n\n")[2].partition("\n\n")[0].splitlines()
    return [lines[0], *lines[2:]]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_shares_and_epochs_of_what_the_stage_mixed(language: Any, mixed: Path) -> None:
    card = write_card(read_facts(mixed), None, language)
    # found: 48 + 72 + 24 = 144 bytes; in an epoch: 3 × 48 + 72 + 0 = 216
    assert table(card, language) == [
        HEADS[language],
        "| news | 50.0% | 33.3% | 1.00 | 2.50 | 0 | 0 |",
        "| talk | 16.7% | 0.0% | 0.00 | 0.00 | 0 | 1 |",
        "| wiki | 33.3% | 66.7% | 3.00 | 7.50 | 0 | 0 |",
        f"| **{ALL[language]}** |  |  |  |  | 0 | 1 |",
    ]
    assert "`corpus.mixture`" in card


def counted(documents: int, size: int) -> dict[str, int]:
    return {"documents": documents, "bytes": size}


def test_documents_held_out_and_left_out(mixed: Path) -> None:
    """Of a thousand bytes a document: web gives 10 to validation and four in five of the others to training."""
    web = {
        "rate": 0.8, "before": counted(1510, 1_510_000), "left_out": counted(300, 300_000),
        "held_out": counted(10, 10_000), "pass": counted(1200, 1_200_000),
    }  # fmt: skip
    books = {
        "rate": 2.5, "before": counted(490, 490_000), "left_out": counted(0, 0),
        "held_out": counted(10, 10_000), "pass": counted(1200, 1_200_000),
    }  # fmt: skip
    say(mixed, {"a|b": books, "web": web})
    # 490 and 1,510 of 2,000; 1,200 of 2,400 each; 2.5 × 2.5 = 6.25 and 0.8 × 2.5 = 2
    assert table(write_card(read_facts(mixed), None), "en")[1:] == [
        r"| a\|b | 24.5% | 50.0% | 2.50 | 6.25 | 10 | 0 |",
        "| web | 75.5% | 50.0% | 0.80 | 2.00 | 10 | 300 |",
        "| **all** |  |  |  |  | 20 | 300 |",
    ]


def test_what_the_whole_training_read_is_said_only_where_it_is_known(mixed: Path) -> None:
    """Not of a checkpoint before the end, and not of pairs of sentences."""
    early = json.loads((mixed / "pretrain" / "checkpoints" / "step-00000010" / "complete.json").read_bytes())
    short = "| wiki | 33.3% | 66.7% | 3.00 | 0 | 0 |"
    rows = table(write_card(read_facts(mixed, early), None), "en")
    assert short in rows and "whole training" not in rows[0] and "| **all** |  |  |  | 0 | 1 |" in rows
    tree = yaml.safe_load((mixed / "recipe.yaml").read_text("utf-8"))
    tree["pretrain"]["packing"] = "sentence-pairs"
    tree["pretrain"]["objective"] = "mlm+nsp"
    tree["pretrain"]["model"]["type"] = "bert"
    (mixed / "recipe.yaml").write_text(yaml.safe_dump(tree), "utf-8")
    assert short in table(write_card(read_facts(mixed), None), "en")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_nothing_is_said_without_a_mixture(language: Any, scored: Path) -> None:
    card = write_card(read_facts(scored), None, language)
    assert "corpus.mixture" not in card.split("```yaml")[0] and TITLES[language] not in card
    for word in HEADS[language].split(" | ")[1:]:
        assert f"| {word.strip('| ')} |" not in card
