import pytest

from klue.search import GRID, tried_values, values_name
from klue.settings import KlueSettings, resolve_training
from klue.tasks import TASKS

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
