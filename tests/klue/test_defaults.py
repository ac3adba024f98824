"""Values where nothing is stated: by hand for some sizes, as docs/own-task.md tells them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from klue.defaults import default_values
from klue.heads.library import SequenceHead
from klue.tasks import TASKS
from klue.tasks.own import build_own
from klue.tasks.own_row import OwnTask


def values(width: int, train: dict[str, int], **row: object) -> dict[str, object]:
    task = build_own(OwnTask.model_validate({"name": "mine", "train": "t.csv", **row}))
    return default_values(task, width, train)


@pytest.mark.parametrize(
    ("examples", "width", "epochs", "batch", "rate", "evaluations"),
    [
        (100, 768, 20, 16, 5e-5, 1),
        (1000, 192, 16, 16, 3e-4, 1),
        (1999, 256, 9, 16, 1e-4, 2),
        (2000, 512, 16, 32, 5e-5, 1),
        (100_000, 1024, 3, 32, 2e-5, 6),
    ],
)
def test_by_examples_and_width(
    examples: int, width: int, epochs: int, batch: int, rate: float, evaluations: int
) -> None:
    chosen = values(width, {"a": examples // 2, "b": examples - examples // 2})
    assert (chosen["epochs"], chosen["global_batch"], chosen["learning_rate"]) == (epochs, batch, rate)
    assert (chosen["evaluations_per_epoch"], chosen["patience"]) == (evaluations, 5)


def test_classes_are_weighted_where_some_are_rare_and_each_counts_alike() -> None:
    assert values(768, {"a": 10, "b": 100})["class_weights"] and not values(768, {"a": 11, "b": 100})["class_weights"]
    assert not values(768, {"a": 10, "b": 100}, metric="accuracy")["class_weights"]
    assert not values(768, {"": 100}, kind="regression")["class_weights"]


def test_a_benchmark_has_its_authors_values() -> None:
    small, large = (default_values(TASKS["ynat"], width, {"a": 5}) for width in (768, 1024))
    assert (small["epochs"], small["learning_rate"], small["warmup_share"]) == (4, 5e-5, 0.1)
    assert large["warmup_share"] == 0.2 and "class_weights" not in small


def test_weights_are_those_of_scikit_learn() -> None:
    labels = torch.tensor([0, 0, 0, 0, 1, 2, 2])
    head = SequenceHead.__new__(SequenceHead)
    torch.nn.Module.__init__(head)
    head.model = torch.nn.Module()
    head.model.config = type("Config", (), {"problem_type": "single_label_classification", "num_labels": 3})
    head.weigh_classes(labels)
    expected = compute_class_weight("balanced", classes=np.arange(3), y=labels.numpy())
    np.testing.assert_allclose(head.weights_C, expected, rtol=1e-6)
