"""Training values: those that a search tries, and those where nothing is stated, by hand for some sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from klue.heads.library import SequenceHead
from klue.settings import KlueSettings
from klue.tasks import TASKS
from klue.tasks.own import build_own
from klue.tasks.own_row import OwnTask
from klue.training import GRID, default_values, resolve_training, tried_values, values_name

NLI = TASKS["klue-nli"]


def tried(search, hidden_size=768, **changes):
    return tried_values(KlueSettings(data="d", search=search, **changes), NLI, hidden_size)


def test_without_a_search_there_is_one_set():
    assert tried("none") == [resolve_training(KlueSettings(data="d"), NLI, 768)]


def test_small_varies_the_learning_rate_around_the_authors_values():
    found = tried("small", 1024)
    assert [values.learning_rate for values in found] == [1e-5, 2e-5, 3e-5, 5e-5]
    assert {(v.warmup_share, v.epochs, v.global_batch, v.weight_decay, v.max_seq_len) for v in found} == {
        (0.2, 5, 32, 0.0, 128)
    }


def test_the_grid_is_the_papers():
    found = tried("grid")
    assert len(found) == 4 * 4 * 2 * 3 * 4 == len({values_name(values.values) for values in found})
    for name, choices in GRID.items():
        assert {getattr(values, name) for values in found} == set(choices)
    assert all(type(values.global_batch) is type(values.epochs) is int for values in found)


@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"epochs": 7}},
        {"per_task": {"nli": {"epochs": 7}}},
        {"training": {"epochs": 3}, "per_task": {"nli": {"epochs": 7}}},
    ],
)
def test_a_value_that_is_given_is_not_varied(changes):
    found = tried("grid", **changes)
    assert len(found) == 384 / 4 and {values.epochs for values in found} == {7}


def test_a_value_that_is_not_given_is_no_part_of_a_fingerprint():
    values = resolve_training(KlueSettings(data="d"), NLI, 768)
    assert values.metric_for_best_model is None and "metric_for_best_model" not in values.values
    other = resolve_training(KlueSettings(data="d", per_task={"nli": {"metric_for_best_model": "accuracy"}}), NLI, 768)
    assert other.values == {**values.values, "metric_for_best_model": "accuracy"}


def test_names_are_those_of_the_values():
    name = "lr5e-05-warmup0.1-decay0-batch32-epochs5"
    assert values_name(resolve_training(KlueSettings(data="d"), NLI, 768).values) == name
    assert name in {values_name(values.values) for search in ("small", "grid") for values in tried(search)}


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
