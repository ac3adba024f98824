import pytest

from common.errors import UserError
from common.settings import parse_settings
from klue.settings import FineTuneSettings, KlueSettings
from klue.tasks import TASKS
from klue.training import resolve_training
from tests.klue.names import KLUE_TASKS

KOBEST = ("boolq", "copa", "hellaswag", "sentineg", "wic")
KOELECTRA = ["nsmc", "paws-x", "kornli", "korsts", "question-pair", "korquad", "hate-speech"]


def test_patience_and_dropout_are_the_authors_unless_stated():
    base = resolve_training(KlueSettings(data="d"), TASKS["klue-sts"], 768)
    patience = {name: resolve_training(KlueSettings(data="d"), task, 768).patience for name, task in TASKS.items()}
    assert {name for name, value in patience.items() if value} == {"klue-sts", "klue-nli", "klue-ner"}
    changed = KlueSettings(data="d", training=FineTuneSettings(patience=0, dropout=0.2))
    assert base.dropout is None and base.max_train_examples is None
    found = resolve_training(changed, TASKS["klue-sts"], 768).model_dump()
    assert found == {**base.model_dump(), "patience": 0, "dropout": 0.2}


def test_a_tasks_own_section_goes_before_the_common_one():
    settings = KlueSettings(
        data="d",
        training=FineTuneSettings(epochs=9, global_batch=8),
        per_task={"nli": {"epochs": 2, "max_train_examples": 5}},
    )
    nli, ynat = (resolve_training(settings, TASKS[name], 768) for name in ("klue-nli", "ynat"))
    assert (nli.epochs, nli.global_batch, nli.max_train_examples) == (2, 8, 5)
    assert (ynat.epochs, ynat.global_batch, ynat.max_train_examples) == (9, 8, None)


def test_tasks_are_those_of_the_suites_or_those_that_are_named_with_or_without_the_suites_name():
    assert KlueSettings(data="d").tasks == list(KLUE_TASKS)
    assert KlueSettings(data="d", suites=["kobest"]).tasks == [f"kobest-{n}" for n in KOBEST]
    both = KlueSettings(data="d", suites=["koelectra", "klue"]).tasks
    assert both[:8] == list(KLUE_TASKS) and both[8:] == KOELECTRA
    named = ["sts", "klue-ynat", "wos", "boolq", "kobest-wic", "koelectra-korsts", "hate_speech", "nli"]
    assert KlueSettings(data="d", tasks=named).tasks == [
        *("klue-sts", "ynat", "wos", "kobest-boolq", "kobest-wic", "korsts", "hate-speech", "klue-nli")
    ]


def test_each_suite_has_its_folder(tmp_path):
    (tmp_path / "b" / "kobest").mkdir(parents=True)
    one = KlueSettings(data=str(tmp_path / "d"), benchmarks=str(tmp_path / "b"), tasks=["ynat", "boolq", "kornli"])
    assert [one.folder_of(name) for name in one.tasks] == [tmp_path / "d", tmp_path / "b" / "kobest", tmp_path / "b"]
    assert one.inputs == [str(tmp_path / name) for name in ("d", "b/kobest/BoolQ", "b/kornli")]
    task, folder = one.source_of("kornli")
    assert (task.name, folder) == ("klue-nli", tmp_path / "d") and one.source_of("ynat") is None
    alone = KlueSettings(data=str(tmp_path / "b" / "kobest"), suites=["kobest"])
    assert alone.folder_of("kobest-boolq") == tmp_path / "b" / "kobest"


@pytest.mark.parametrize(("seeds", "expected"), [(3, [42, 43, 44]), ([7, 1], [7, 1]), (1, [42])])
def test_seeds_as_list_or_count(seeds, expected):
    assert KlueSettings(data="d", seeds=seeds).seed_list == expected


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"tasks": ["klue-mcr"]}, r"unknown task 'klue-mcr' \(did you mean 'klue-mrc'\?\); available: ynat, klue-sts"),
        ({"tasks": ["naver-ner"]}, "'naver-ner' is not offered: its data are not published"),
        ({"tasks": ["ynat", "klue-ynat"]}, "named twice"),
        ({"suites": ["kobes"]}, r"unknown suite 'kobes' \(did you mean 'kobest'\?\); available: klue, kobest"),
        ({"suites": []}, "one or more suites"),
        ({"suites": ["klue", "kobest"], "tasks": ["ynat"]}, "no task of suite kobest is named"),
        ({"seeds": 0}, "at least one seed"),
        ({"seeds": [1, 1]}, "different numbers"),
        ({"per_task": {"nli": {"epoch": 3}}}, r"unknown key 'per_task.nli.epoch' \(did you mean 'epochs'\?\)"),
        ({"per_task": {"nil": {}}}, r"unknown task 'nil' \(did you mean 'klue-nli'\?\)|unknown task 'nil'"),
        ({"per_task": {"nli": {}, "klue-nli": {}}}, "a task has two sections"),
        ({"per_task": {"nli": {"parser_width": 64}}}, "klue-nli: parser_width is of klue-dp alone"),
        ({"training": {"learning_rate": 0}}, "learning_rate"),
    ],
)
def test_wrong_settings(tree, message):
    with pytest.raises(UserError, match=message):
        parse_settings(KlueSettings, {"data": "d", **tree}, "recipe.yaml")
