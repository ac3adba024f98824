"""Filters one after another: who drops a document, what is counted, and what a recipe may say."""

import pickle

import numpy as np
import pytest

from common.errors import UserError
from common.settings import dump_settings, parse_settings
from data.filters.chain import build_filters
from data.filters.settings import FilterSettings
from data.settings import CorpusSettings

from .filtering import documents_of

LONG, SHORT, FOREIGN = "이것은 충분히 긴 한국어 글입니다.", "짧다", "This is not Korean at all, is it?"


def chain(*trees: dict):
    return build_filters([FilterSettings.model_validate(tree) for tree in trees])


def test_the_first_filter_that_refuses_a_document_is_the_one_that_drops_it():
    texts = [LONG, SHORT, FOREIGN, "no", ""]
    filtered = chain({"length": None}, {"language": {}}).apply(documents_of(texts), texts)
    assert filtered.texts == [LONG, ""] and [document.id for document in filtered.documents] == ["d0", "d4"]
    assert [(row["id"], row["filter"], row["measure"], row["score"]) for row in filtered.dropped] == [
        ("d1", "length", "characters", 2),
        ("d3", "length", "characters", 2),
        ("d2", "language", "hangul", 0),
    ]
    assert filtered.counts == {
        "length": {"characters": {"s1": {"documents": 2, "characters": 4}}},
        "language": {"hangul": {"s0": {"documents": 1, "characters": len(FOREIGN)}}},
    }
    other = chain({"language": {}}, {"length": {}}).apply(documents_of(texts), texts)
    assert [row["filter"] for row in other.dropped] == ["language", "language", "length"]


def test_scores_stand_beside_the_documents_that_stay():
    made = chain({"length": {}}, {"language": {}})
    filtered = made.apply(documents_of([SHORT, LONG]), [SHORT, LONG])
    assert (
        list(filtered.scores)
        == [field.name for field in made.schema]
        == ["length_characters", "length_characters_per_word", "language_hangul", "language_code_lines"]
    )
    assert [values.tolist() for values in filtered.scores.values()][::2] == [[len(LONG)], [1]]
    assert {values.dtype for values in filtered.scores.values()} == {np.dtype(np.float32)}


def test_a_filter_may_score_and_drop_nothing():
    left = chain({"length": {"min_chars": 100}, "drop": False}).apply(documents_of([LONG]), [LONG])
    assert left.texts == [LONG] and left.dropped == [] and left.scores["length_characters"].tolist() == [len(LONG)]


def test_a_value_at_a_bound_stays():
    texts = ["가나다 " * 4 + "가나다", "가나다 " * 4 + "가나"]
    assert chain({"length": {"min_chars": 19}}).apply(documents_of(texts), texts).texts == texts[:1]
    for measure in chain({"repetition": {}}).steps[0].filter.measures:
        assert measure.refuses(np.array([measure.high, np.nextafter(measure.high, 1)])).tolist() == [False, True]


def test_a_chain_crosses_processes_and_its_identity_holds_all_that_scores_depend_on():
    made = chain({"length": {"min_chars": 5}})
    assert pickle.loads(pickle.dumps(made)).identity == made.identity
    others = [
        {"length": {"min_chars": 6}},
        {"length": {"min_chars": 5}, "name": "other"},
        {"length": {"min_chars": 5}, "drop": False},
        {"language": {}},
    ]
    assert len({tuple(chain(tree).identity) for tree in [{"length": {"min_chars": 5}}, *others]}) == 5


def test_settings_that_were_dumped_are_read_again():
    chosen = FilterSettings.model_validate({"length": {"min_chars": 5}})
    assert FilterSettings.model_validate(dump_settings(chosen)) == chosen


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ([{}], "a filter is one of .* not none of them"),
        ([{"length": {}, "language": {}}], "not length and language"),
        (
            [{"lenght": {}}],
            r"unknown key 'corpus\.filters\.0\.lenght' \(did you mean 'length'\?\)|did you mean 'length'",
        ),
        ([{"length": {"min_char": 3}}], "did you mean 'min_chars'"),
        ([{"length": {"min_chars": -1}}], "greater than or equal to 0"),
        ([{"length": {}}, {"length": {}}], "two filters are named length"),
        ([{"length": {}, "name": "Two Words"}], "pattern"),
        ([{"licence": {}}], "name licences to allow or to deny"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_told(filters, message):
    with pytest.raises(UserError, match=message):
        parse_settings(CorpusSettings, {"inputs": ["x"], "filters": filters}, "recipe")


def test_a_filter_without_settings_is_its_name() -> None:
    bare = FilterSettings.model_validate("length")
    assert bare == FilterSettings.model_validate({"length": {}}) == FilterSettings.model_validate({"length": None})
    for wrong in ("lenght", "licence of it"):
        with pytest.raises(ValueError, match=wrong):
            FilterSettings.model_validate(wrong)
