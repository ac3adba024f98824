"""Scores are mteb's: its values, its statistics, its files; and what stands beside them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import UserError

pytest.importorskip("mteb")
pytest.importorskip("sentence_transformers")
import mteb
from tiny_encoders import PLACES, THINGS

from embed.base import embedding_folder, load_model
from embed.score import NGRAMS, as_markdown, score_models
from embed.settings import EmbedSettings
from embed.tasks import differences, local_task


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """KLUE-STS's and KLUE-MRC's dev parts, invented."""
    folder = tmp_path_factory.mktemp("sets")
    sts = [
        {"guid": f"s{n}", "sentence1": f"{PLACES[n]} {THINGS[n]}", "sentence2": f"{PLACES[n]} {THINGS[n % 3]} 어디",
         "labels": {"label": n % 6 * 1.0, "real-label": n % 6 * 1.0, "binary-label": int(n % 6 >= 3)}}
        for n in range(12)
    ]  # fmt: skip
    asked = [
        {"context": f"{PLACES[n]}에서는 {THINGS[n]}를 판다.", "qas": [
            {"guid": f"q{n}", "question": f"{THINGS[n]}는 어디?", "is_impossible": n == 9,
             "answers": [] if n == 9 else [{"text": PLACES[n], "answer_start": 0}]}]}
        for n in range(10)
    ]  # fmt: skip
    for name, tree in (("klue-sts-v1.1", sts), ("klue-mrc-v1.1", {"data": [{"title": "x", "paragraphs": asked}]})):
        (folder / name).mkdir()
        (folder / name / f"{name}_dev.json").write_text(json.dumps(tree, ensure_ascii=False), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = EmbedSettings(data=[{"use": "korsts"}], max_seq_len=32)
    return embedding_folder(base, tmp_path_factory.mktemp("models") / "tiny", settings)


def test_the_table_holds_mtebs_own_scores(model: Path, base: Path, sets: Path, tmp_path: Path) -> None:
    facts = {"trained_on": [{"set": "klue-sts"}, {"set": "x.jsonl"}]}
    shutil.copytree(model, tmp_path / "tuned")
    (tmp_path / "tuned" / "hunmin-embed.json").write_text(json.dumps(facts))
    table = score_models(tmp_path / "tuned", [sets], tmp_path / "out", base=base)
    assert [row["model"] for row in table["rows"]] == ["tuned", "tuned, untuned", "tuned, random weights", NGRAMS]
    assert list(table["tasks"]) == ["KLUE-STS", "HunminKlueMrcRetrieval"] and "KorNLI" in table["absent"]
    tuned, untuned, random, _ = (row["scores"] for row in table["rows"])
    assert tuned == untuned != random
    for name, score in tuned.items():
        task = local_task(name, [sets])
        found = mteb.evaluate(load_model(model), task, cache=None, co2_tracker=False, show_progress_bar=False)
        assert score == pytest.approx(100 * found.task_results[0].get_score(), abs=1e-6)
    written = sorted(
        path.relative_to(tmp_path / "out" / "mteb" / "results") for path in tmp_path.rglob("KLUE-STS.json")
    )
    assert len({path.parts[0] for path in written}) == 4  # each model has a name of its own
    text = as_markdown(table)
    assert text.startswith("1 of 20 tasks of MTEB(kor, v2)") and "MTEB(kor, v2), percent" in text
    assert "*" in text.split("| tuned |")[1].split("|")[0] and "KLUE-STS: validation: 12 rows, mteb has 519" in text

    before = (tmp_path / "out" / "fingerprints.json").read_bytes()
    assert score_models(tmp_path / "tuned", [sets], tmp_path / "out", base=base)["rows"] == table["rows"]
    assert (tmp_path / "out" / "fingerprints.json").read_bytes() == before
    short = score_models(tmp_path / "tuned", [sets], tmp_path / "out", ["KLUE-STS"], truncate=4)
    assert short["rows"][0]["scores"]["KLUE-STS"] != tuned["KLUE-STS"]


def test_wrong_uses(model: Path, base: Path, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tasks": ["KorSTS"]}, "no test file of KorSTS"), ({"tasks": ["STS17"]}, "no task 'STS17'"),
        ({"truncate": 33}, "more than the 32 entries"), ({"folders": [tmp_path]}, "no dev file of YNAT"),
        ({"model": base}, "is no model of sentence embeddings"),
    ]  # fmt: skip
    for changes, message in cases:
        with pytest.raises(UserError, match=message):
            score_models(**{"model": model, "folders": [sets], "out": tmp_path / "out", **changes})
    monkeypatch.setattr(sys, "version_info", (3, 10, 9, "final", 0))
    with pytest.raises(UserError, match=r"needs Python 3.11; this is 3.10"):
        score_models(model, [sets], tmp_path / "out")


class Planted:
    """Vectors by which pairs are as close as they are rated, and a question is its passage."""

    def __init__(self, vectors: dict[str, Any]) -> None:
        from mteb.models.model_meta import ModelMeta

        self.vectors, self.mteb_model_meta = vectors, ModelMeta.create_empty()

    def encode(self, inputs: Any, **_: Any) -> Any:
        return np.stack([self.vectors[text] for batch in inputs for text in batch["text"]])

    def similarity(self, a: Any, b: Any) -> Any:
        return np.asarray(a) @ np.asarray(b).T

    def similarity_pairwise(self, a: Any, b: Any) -> Any:
        return (np.asarray(a) * np.asarray(b)).sum(1)


def test_planted_vectors_score_1(sets: Path) -> None:
    vectors: dict[str, Any] = {}
    for row in json.loads((sets / "klue-sts-v1.1" / "klue-sts-v1.1_dev.json").read_bytes()):
        cosine = row["labels"]["label"] / 5
        vectors[row["sentence1"]] = np.array([1.0, 0.0])
        vectors[row["sentence2"]] = np.array([cosine, (1 - cosine**2) ** 0.5])
    tree = json.loads((sets / "klue-mrc-v1.1" / "klue-mrc-v1.1_dev.json").read_bytes())
    for number, one in enumerate(tree["data"][0]["paragraphs"]):
        for text in (one["context"], one["qas"][0]["question"]):
            vectors[text] = np.eye(10)[number]
    for name in ("KLUE-STS", "HunminKlueMrcRetrieval"):
        found = mteb.evaluate(Planted(vectors), local_task(name, [sets]), cache=None, co2_tracker=False)
        assert found.task_results[0].get_score() == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KLUE-STS", "KorSTS", "KLUE-NLI", "KorNLI", "PawsXPairClassification",
                                  "SQuADKorV1Retrieval"])  # fmt: skip
def test_rows_and_characters_are_those_of_mtebs_statistics(name: str, shared: list[str]) -> None:
    task = local_task(name, shared)
    assert task.metadata.descriptive_stats and differences(task) == []


@pytest.mark.slow
def test_a_smaller_train_part_is_told(shared: list[str]) -> None:
    """YNAT's public train part is smaller, so other examples are drawn; the scored rows are as many."""
    assert differences(local_task("KLUE-TC", shared))[-1].startswith("train: 36,547 rows, mteb has 45,678")


def test_differences_are_told(sets: Path) -> None:
    assert differences(local_task("KLUE-STS", [sets]))[0] == "validation: 12 rows, mteb has 519"
    assert differences(local_task("HunminKlueMrcRetrieval", [sets])) == []
