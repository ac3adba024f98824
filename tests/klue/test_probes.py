"""Frozen probes: rows by hand, and vectors against the model's own hidden states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from klue.probes import TASKS, probe, rows, text_and_labels
from klue.tasks.base import Example


@pytest.mark.parametrize(
    ("name", "example", "wanted"),
    [
        ("ynat", Example("1", ("금리 올라",), "경제"), ("금리 올라", ["경제"])),
        (
            "klue-ner",
            Example("1", ("서울 안 갔다",), ["B-LC", "I-LC", "O", "O", "O"]),
            ("서울 안 갔다", ["B-LC", "O", "O"]),
        ),
        (
            "klue-dp",
            Example("1", ("나는", "큰", "책을", "봤다"), {"heads": [4, 3, 4, 0], "labels": []}),
            ("나는 큰 책을 봤다", ["later", "next", "next", "root"]),
        ),
        ("klue-dp", Example("1", ("가", "나"), {"heads": [0, 1], "labels": []}), ("가 나", ["root", "earlier"])),
    ],
)
def test_labels(name: str, example: Example, wanted: tuple[str, list[str]]) -> None:
    assert text_and_labels(name, example) == wanted


def test_vectors_are_means_of_layers_and_tokens(tiny_reader: Path) -> None:
    model, tokenizer = AutoModel.from_pretrained(tiny_reader), AutoTokenizer.from_pretrained(tiny_reader)
    texts = [("서울 금리", ["가", "나"]), ("법원", ["다"]), ("경찰 전시", ["라"])]
    vectors, labels = rows(model.eval(), tokenizer, texts)
    assert labels == ["가", "나", "다", "라"]
    with torch.no_grad():
        layers = [
            torch.stack(model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[1:])
            .mean(0)[0].numpy()
            for text, _ in texts
        ]  # fmt: skip
    split = len(tokenizer("서울", add_special_tokens=False)["input_ids"]) + 1
    wanted = [layers[0][1:split].mean(0), layers[0][split:-1].mean(0), layers[1][1:-1].mean(0), layers[2][1:-1].mean(0)]
    assert np.allclose(vectors, wanted, atol=1e-5)


def test_topics_with_words_of_their_own_are_read_off_random_weights(tiny_reader: Path, sample_benchmark: Path) -> None:
    pytest.importorskip("sklearn")
    model, tokenizer = AutoModel.from_pretrained(tiny_reader), AutoTokenizer.from_pretrained(tiny_reader)
    scores = {name: probe(model, tokenizer, name, sample_benchmark) for name in TASKS}
    assert scores["ynat"] > 20  # of seven topics chance finds 14
    assert all(0 < score < 100 for score in scores.values())
