"""The reranker: labelled pairs, the same bytes after a stop, what loads it, its scores by hand, its teaching."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_encoders import embedding_folder, losses_of, pairs

from common.errors import UserError
from common.settings import parse_settings
from embed.settings import EmbedSettings

pytest.importorskip("sentence_transformers")
pytest.importorskip("mteb")
from embed import rerank
from embed.base import load_model
from embed.data import load_sets
from embed.mine import mine
from embed.rerank import load_pairs, load_reranker, reranker_settings, score_reranker, teach
from embed.tasks import local_task


def settings(data: list[dict[str, Any]], **changes: Any) -> EmbedSettings:
    return parse_settings(EmbedSettings, {"data": data, "batch": 2, "max_seq_len": 32, **changes}, "test")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reranker")


@pytest.fixture
def reranker(run: Any, base: Path, rows: dict[str, Any], trained: Path) -> Path:
    """A reranker that is tuned once."""
    if not (trained / "model").exists():
        run(base, [rows["triplets"], rows["distilled"]], trained, reranker=True)
    return trained / "model"


def test_pairs(rows: dict[str, Any]) -> None:
    (one,) = load_pairs(settings([rows["triplets"], rows["scored"], rows["pairs"]]))  # the last has no negatives
    expected = {(row["query"], row["positive"]): 1.0 for row in pairs(60)}
    expected |= {(row["query"], row["negatives"][0]): 0.0 for row in pairs(60)}
    assert dict(zip(one.texts, one.labels, strict=True)) == expected and len(one.texts) == 120
    for name, message in (("pairs", "0-pairs has no negatives"), ("scored", "no set with queries")):
        with pytest.raises(UserError, match=message):
            load_pairs(settings([rows[name]]))


def test_a_base_with_fewer_positions_names_the_setting_of_the_reranker(
    base: Path, rows: dict[str, Any], run: Any, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"set embed\.rerank\.max_seq_len=\d+ at most"):
        run(base, [rows["triplets"]], tmp_path / "r", reranker=True, max_seq_len=4096)


def test_settings_of_the_reranker() -> None:
    own = reranker_settings(
        settings([{"use": "korsts"}], steps=900, mini_batch=2, rerank={"batch": 6, "learning_rate": 1e-3})
    )
    assert (own.batch, own.learning_rate, own.steps, own.max_seq_len, own.mini_batch) == (6, 1e-3, None, 256, None)
    for rate, expected in ((2e-5, 2e-5), (1e-3, 3e-4)):  # of the base's size, as the embedder's is
        own = reranker_settings(settings([{"path": "x"}], learning_rate=rate, kind="multi-vector"))
        assert (own.learning_rate, own.kind) == (expected, "dense")
    with pytest.raises(UserError, match=r"embed.rerank of the recipe: .*\n.*multiple of processes"):
        reranker_settings(settings([{"use": "korsts"}], processes=2, rerank={"batch": 3}))


def test_a_stop_and_a_resume_give_the_same_bytes(
    run: Any, base: Path, rows: dict[str, Any], reranker: Path, tmp_path: Path
) -> None:
    data = [rows["triplets"], rows["distilled"]]
    run(base, data, tmp_path, stop_at=5, reranker=True)
    run(base, data, tmp_path, reranker=True)
    resumed = tmp_path / "model"
    assert (resumed / "model.safetensors").read_bytes() == (reranker / "model.safetensors").read_bytes()
    assert losses_of(tmp_path) == losses_of(reranker.parent) and len(losses_of(tmp_path)) == 9
    counts = json.loads((tmp_path / "counts.json").read_bytes())
    assert [(one["rows"], one["texts"]) for one in counts["sets"]] == [(120, 120), (48, 48)]
    assert counts["sets"][0]["cut"] > 0  # of 16 tokens


def test_the_folder_loads_and_holds_no_training_text(reranker: Path) -> None:
    from sentence_transformers import CrossEncoder
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    asked = [("서울 사과 어디", "사과는 서울에서 판다"), ("서울 사과 어디", "서울에는 사과가 없다 " * 9)]
    cross = CrossEncoder(str(reranker), device="cpu")
    tokenizer = AutoTokenizer.from_pretrained(reranker, trust_remote_code=False)
    batch = tokenizer(
        [query for query, _ in asked], [text for _, text in asked], padding=True, truncation=True, max_length=16,
        return_tensors="pt",
    )  # fmt: skip
    model = AutoModelForSequenceClassification.from_pretrained(reranker, trust_remote_code=False).eval()
    with torch.no_grad():
        logits = model(**batch).logits[:, 0]
    assert cross.predict(asked) == pytest.approx(torch.sigmoid(logits).numpy(), abs=1e-6)
    assert load_reranker(reranker, logits=True).predict(asked) == pytest.approx(logits.numpy(), abs=1e-5)
    published = b"".join(path.read_bytes() for path in reranker.rglob("*") if path.suffix in (".md", ".json"))
    texts = [text for row in pairs(60) for text in (row["query"], row["positive"], *row["negatives"])]
    assert not any(text.encode() in published for text in texts)
    assert [one["set"] for one in json.loads((reranker / "hunmin-embed.json").read_bytes())["trained_on"]] == [
        "triplets.jsonl", "distilled.jsonl"
    ]  # fmt: skip
    assert not list(reranker.parent.rglob("checkpoints/**/README.md"))


def test_a_reranker_scores_mined_candidates(reranker: Path, base: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    cross = load_reranker(reranker)
    everything = [cross.predict([(row["query"], row["positive"])])[0] for row in pairs(60)]
    s = settings([rows["triplets"]], mine={"negatives": 1, "margin": 0, "scores": True, "max_score": 0.999})
    mine(s, base, reranker, tmp_path)
    found = [json.loads(line) for line in (tmp_path / "0-triplets.jsonl").read_text(encoding="utf-8").splitlines()]
    assert found
    for row in found:
        expected = cross.predict([(row["query"], text) for text in (row["positive"], *row["negatives"])])
        assert row["scores"] == pytest.approx(expected, abs=1e-5) and row["scores"][0] >= row["scores"][1]
    assert {round(float(score), 4) for score in everything} >= {round(row["scores"][0], 4) for row in found}


def test_what_is_taught_trains(reranker: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    counts = teach(settings([rows["triplets"], rows["scored"], rows["distilled"]]), reranker, tmp_path)
    assert {name: one["rows"] for name, one in counts["sets"].items()} == {"0-triplets": 60, "2-distilled": 24}
    (one,) = load_sets(settings([{"path": str(tmp_path / "0-triplets.jsonl"), "distill": "kl"}]))
    assert one.shape == "distilled" and one.texts == load_sets(settings([rows["triplets"]]))[0].texts
    cross = load_reranker(reranker)
    for (query, *texts), scores in list(zip(one.texts, one.labels, strict=True))[::7]:
        assert scores == pytest.approx(cross.predict([(query, text) for text in texts]), abs=1e-5)
    with pytest.raises(UserError, match="0-pairs has no negatives"):
        teach(settings([rows["pairs"]]), reranker, tmp_path)


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """KLUE-MRC's dev part, invented: twelve passages, a question each."""
    folder = tmp_path / "sets" / "klue-mrc-v1.1"
    folder.mkdir(parents=True)
    paragraphs = [
        {"context": f"문서 {n}", "qas": [
            {"guid": f"q{n}", "question": f"질문 {n}", "is_impossible": n > 3,
             "answers": [] if n > 3 else [{"text": "문서", "answer_start": 0}]}]}
        for n in range(12)
    ]  # fmt: skip
    tree = {"data": [{"title": "x", "paragraphs": paragraphs}]}
    (folder / "klue-mrc-v1.1_dev.json").write_text(json.dumps(tree, ensure_ascii=False), encoding="utf-8")
    return tmp_path / "sets"


RANKS = {0: (2, 1), 1: (1, 4), 2: (11, 3), 3: (12, 1)}
"""Question → rank of its passage by the embedder, and by the reranker among the first eleven."""


def number(text: str) -> int:
    return int(text.split()[-1])


class Planted:
    """Vectors and scores that give the ranks above; passages beside the right one keep their order."""

    def __init__(self) -> None:
        from mteb.models.model_meta import ModelMeta

        self.mteb_model_meta = ModelMeta.create_empty()

    def encode(self, inputs: Any, **_: Any) -> Any:
        found = []
        for text in (text for batch in inputs for text in batch["text"]):
            others = [n for n in range(12) if n != number(text)]
            others.insert(RANKS.get(number(text), (0, 0))[0] - 1, number(text))
            asked = [math.cos(others.index(n) / 10) for n in range(12)]
            found.append(asked if "질문" in text else np.eye(12)[number(text)])
        return np.array(found)

    def similarity(self, a: Any, b: Any) -> Any:
        return torch.tensor(np.asarray(a) @ np.asarray(b).T)

    def similarity_pairwise(self, a: Any, b: Any) -> Any:
        return (np.asarray(a) * np.asarray(b)).sum(1)


class PlantedCross:
    def __init__(self) -> None:
        self.mteb_model_meta = Planted().mteb_model_meta

    def predict(self, inputs1: Any, inputs2: Any, **_: Any) -> Any:
        found = []
        texts = ([number(text) for batch in inputs for text in batch["text"]] for inputs in (inputs1, inputs2))
        for own, other in zip(*texts, strict=True):
            place = other if other < own else other - 1
            found.append(-(RANKS[own][1] - 1.5) if other == own else -float(place))
        return np.array(found)


def test_scores_are_those_worked_by_hand(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mteb")
    monkeypatch.setattr(rerank, "load_model", lambda *_: Planted())
    monkeypatch.setattr(rerank, "load_reranker", lambda *_, **__: PlantedCross())
    given: dict[str, Any] = {"score": ["HunminKlueMrcRetrieval"], "sources": [str(asked)], "rerank": {"first": 11}}
    found = score_reranker(settings([{"use": "korsts"}], **given), Path(), Path())["HunminKlueMrcRetrieval"]
    gain = {1: 1.0, 2: 1 / math.log2(3), 3: 0.5, 4: 1 / math.log2(5)}
    before, after = [2, 1], [1, 4, 3]  # the eleventh counts only after; the twelfth never: it is not reordered
    assert found["queries"] == 4
    for when, ranks in (("before", before), ("after", after)):
        assert found[when]["ndcg@10"] == pytest.approx(25 * sum(gain[rank] for rank in ranks), abs=1e-3)
        assert found[when]["mrr@10"] == pytest.approx(25 * sum(1 / rank for rank in ranks), abs=1e-3)
    with pytest.raises(UserError, match=r"embed.score has no retrieval task"):
        score_reranker(settings([{"use": "korsts"}], score=["KorSTS"]), Path(), Path())


def test_the_score_before_is_mtebs(asked: Path, reranker: Path, base: Path, tmp_path: Path) -> None:
    mteb = pytest.importorskip("mteb")
    s = settings([{"use": "korsts"}], score=["HunminKlueMrcRetrieval"], sources=[str(asked)])
    embedder = embedding_folder(base, tmp_path / "embedder", s)
    found = score_reranker(s, embedder, reranker)["HunminKlueMrcRetrieval"]["before"]["ndcg@10"]
    task = local_task("HunminKlueMrcRetrieval", [asked])
    expected = mteb.evaluate(load_model(embedder), task, cache=None, co2_tracker=False, show_progress_bar=False)
    assert found == pytest.approx(100 * expected.task_results[0].get_score(), abs=1e-3)


def test_what_is_no_cross_encoder(base: Path, tmp_path: Path) -> None:
    for folder, message in ((base, "is no cross-encoder: RobertaForMaskedLM"), (tmp_path, r"has no config\.json")):
        with pytest.raises(UserError, match=message):
            load_reranker(folder)
