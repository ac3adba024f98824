import json
import logging
import shutil

import numpy as np
import pytest

from common.errors import UserError
from klue.examples import load_splits
from klue.features import load_features, load_tokenizer, make_features, save_features
from klue.model_folder import read_model_folder
from klue.tasks import TASKS
from tests.klue.names import SENTENCE_TASKS


def roundtrip(task, benchmark, model, tmp_path, max_length=64):
    facts, dev = read_model_folder(model), load_splits(task, benchmark).dev
    made = make_features(task, dev, load_tokenizer(model), facts, max_length)
    save_features({"dev": made}, tmp_path / "features")
    return dev, load_features(tmp_path / "features", "dev")


@pytest.mark.parametrize("name", SENTENCE_TASKS)
def test_features_come_back_as_they_were_made(name, benchmark, tiny_roberta, tmp_path):
    dev, features = roundtrip(TASKS[name], benchmark, tiny_roberta, tmp_path)
    tokenizer = load_tokenizer(tiny_roberta)
    assert features.examples == dev and features.labels == [e.label for e in dev]
    assert features.owner.tolist() == list(range(len(dev)))
    assert features.columns["labels"].tolist() == [TASKS[name].target(e) for e in dev]
    assert [row.tolist() for row in features.columns["input_ids"]] == [tokenizer(*e.texts)["input_ids"] for e in dev]
    assert "token_type_ids" not in features.columns
    assert features.lengths.tolist() == [len(row) for row in features.columns["input_ids"]]


def test_token_types_tell_the_texts_apart(benchmark, tiny_bert, tmp_path):
    _, features = roundtrip(TASKS["klue-nli"], benchmark, tiny_bert, tmp_path)
    rows = zip(features.columns["input_ids"], features.columns["token_type_ids"], strict=True)
    for ids, types in rows:
        first = int(np.flatnonzero(ids == 2)[0])
        assert types.tolist() == [0] * (first + 1) + [1] * (len(ids) - first - 1)


def test_pairs_are_cut_to_the_maximum_and_keep_both_ends(benchmark, tiny_roberta, tmp_path):
    _, features = roundtrip(TASKS["klue-nli"], benchmark, tiny_roberta, tmp_path, max_length=10)
    assert features.lengths.max() == 10
    assert all((row == 2).sum() == 2 for row in features.columns["input_ids"])


def test_tokenizer_of_another_model(benchmark, tiny_roberta):
    from dataclasses import replace

    task, facts = TASKS["ynat"], replace(read_model_folder(tiny_roberta), vocab_size=20)
    with pytest.raises(UserError, match="the model has 20 embeddings"):
        make_features(task, load_splits(task, benchmark).dev, load_tokenizer(tiny_roberta), facts, 64)


def test_damaged_tokenizer(tiny_roberta, tmp_path):
    folder = shutil.copytree(tiny_roberta, tmp_path / "model")
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match="does not load"):
        load_tokenizer(folder)


def test_no_warning_of_texts_that_a_task_cuts_itself(tiny_roberta, tmp_path, caplog):
    folder = shutil.copytree(tiny_roberta, tmp_path / "model")
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 8}))
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    try:
        assert len(load_tokenizer(folder)("학교에 있다. " * 20)["input_ids"]) > 8
    finally:
        logger.removeHandler(caplog.handler)
    assert "longer than" not in caplog.text
