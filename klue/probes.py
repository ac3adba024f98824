"""Frozen probes: what logistic regression reads off the mean of a model's layers, which stay as they are.

YNAT: a text's topic, from the mean of its tokens. NER: a word's entity label, that of its first character. DP: whether
a word's head is the next word, a later or an earlier one, or the root. Words are vectors of the mean of their tokens.

Shapes: R rows, H hidden width, S tokens, B inputs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common.extras import require
from klue.examples import load_splits, sample_by_hash
from klue.tasks import get_task
from klue.tasks.base import Example
from pretrain.compare.bits_per_byte import words_of

TASKS = ("ynat", "klue-ner", "klue-dp")
TRAIN, DEV = 2000, 1000
"""Examples at most, by the hash of their guids."""
BATCH = 32
STRENGTH, ITERATIONS = 0.1, 300
"""Inverse strength of the penalty, and the solver's iterations: the same for all models, converged or not."""


def text_and_labels(name: str, example: Example) -> tuple[str, list[str]]:
    """Return an example's text and its label, or that of each word."""
    if name == "klue-dp":
        return " ".join(example.texts), [
            "root" if not head else "next" if head == place + 1 else "later" if head > place else "earlier"
            for place, head in enumerate(example.label["heads"], start=1)
        ]
    text = example.texts[0]
    if name == "ynat":
        return text, [example.label]
    order = np.cumsum([character != " " for character in text]) - 1  # of the characters that have a label
    return text, [example.label[order[word.start()]] for word in re.finditer(r"\S+", text)]


def probe(model: Any, tokenizer: Any, name: str, data: Path) -> float:
    """Return the macro F1 × 100 on dev of the labels that a probe reads off a model.

    Args:
        model: encoder of transformers, on its device.
        tokenizer: fast one, of the model.
        name: of `TASKS`.
        data: folder with the benchmark's files.

    Raises:
        UserError: scikit-learn is not installed, or a file is missing or damaged.
    """
    require("sklearn", "a probe", "embed")
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    splits = load_splits(get_task(name), data, tell=False)
    train, dev = (
        rows(model, tokenizer, [text_and_labels(name, example) for example in sample_by_hash(examples, most)])
        for examples, most in ((splits.train, TRAIN), (splits.dev, DEV))
    )
    regression = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=ITERATIONS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        regression.fit(*train)
    return 100 * float(f1_score(dev[1], regression.predict(dev[0]), average="macro"))


@torch.inference_mode()
def rows(model: Any, tokenizer: Any, texts: Sequence[tuple[str, list[str]]]) -> tuple[np.ndarray, list[str]]:
    """Return vectors (R, H) and their labels: of a text with one label for several words the text's, else the words'.

    A text is cut at the model's positions; words behind that have no row.
    """
    model.eval()
    vectors: list[np.ndarray] = []
    labels: list[str] = []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        encoded = tokenizer(
            [text for text, _ in batch], return_offsets_mapping=True, return_special_tokens_mask=True, padding=True,
            truncation=True, return_tensors="pt",
        )  # fmt: skip
        spans, special = encoded.pop("offset_mapping").tolist(), encoded.pop("special_tokens_mask").tolist()
        hidden = model(**encoded.to(model.device), output_hidden_states=True).hidden_states[1:]
        mean_BSH = torch.stack(hidden).mean(0).float().cpu().numpy()
        for layers_SH, (text, own_labels), at, marks in zip(mean_BSH, batch, spans, special, strict=True):
            for vector, label in _vectors(layers_SH, np.array(words_of(text, at, marks)), text, own_labels):
                vectors.append(vector)
                labels.append(label)
    return np.stack(vectors), labels


def _vectors(
    layers_SH: np.ndarray, words_S: np.ndarray, text: str, labels: list[str]
) -> Iterator[tuple[np.ndarray, str]]:
    if len(labels) < len(re.findall(r"\S+", text)):
        yield layers_SH[words_S >= 0].mean(0), labels[0]
        return
    for word in range(int(words_S.max()) + 1):
        if (words_S == word).any():
            yield layers_SH[words_S == word].mean(0), labels[word]
