"""Mining: no positive and no query among the negatives, ordered by score, files that training reads, same bytes."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
import torch
from tiny_encoders import PLACES, embedding_folder, pairs, write_encoder, write_lines, write_sts

from common.errors import UserError
from common.settings import parse_settings
from embed.settings import EmbedSettings

pytest.importorskip("sentence_transformers")
from sentence_transformers.util import cos_sim, pairwise_cos_sim

from embed.base import load_model
from embed.data import load_sets
from embed.mine import mine


def settings(data: list[dict[str, Any]], batch: int = 2, **changes: Any) -> EmbedSettings:
    return parse_settings(EmbedSettings, {"data": data, "batch": batch, "max_seq_len": 32, "mine": changes}, "test")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def model(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return embedding_folder(base, tmp_path_factory.mktemp("models") / "tiny", settings([{"use": "korsts"}]))


@pytest.mark.parametrize("seed", range(6))
def test_no_positive_is_a_negative(seed: int, model: Path, tmp_path: Path) -> None:
    """Rows of few words in many spellings, so that texts repeat, with several positives, in two sets."""
    draw = random.Random(seed)

    def text() -> str:
        words = draw.choice([" ", "  ", "\t"]).join(draw.choices(PLACES[:4], k=draw.randint(1, 2)))
        return normalize(draw.choice(["NFC", "NFD"]), words) + draw.choice(["", " ", ".", "．"])

    def key(text: str) -> str:
        return "".join(normalize("NFKC", text).rstrip(". ").split())

    data, positives = [], {}
    for name in ("a", "b"):
        rows = [{"query": text(), "positive": text()} for _ in range(12)]
        rows = [row for row in rows if row["query"] != row["positive"]]
        data.append({"path": str(write_lines(tmp_path / f"{name}.jsonl", rows))})
        for row in rows:
            positives.setdefault(key(row["query"]), set()).add(key(row["positive"]))
    mine(settings(data, negatives=2, margin=0), model, None, tmp_path)
    found = [row for name in ("0-a", "1-b") for row in read(tmp_path / f"{name}.jsonl")]
    assert found
    for row in found:
        query, negatives = key(row["query"]), [key(negative) for negative in row["negatives"]]
        assert len(set(negatives)) == 2 and query not in negatives
        assert key(row["positive"]) in positives[query] and positives[query].isdisjoint(negatives)
    load_sets(settings([{"path": str(tmp_path / f"{name}.jsonl")} for name in ("0-a", "1-b")
                        if (tmp_path / f"{name}.jsonl").stat().st_size], batch=2))  # fmt: skip


class Planted:
    """Vectors in a plane, by angle."""

    device = torch.device("cpu")
    similarity, similarity_pairwise = staticmethod(cos_sim), staticmethod(pairwise_cos_sim)

    def __init__(self, angles: dict[str, float]) -> None:
        self.angles = angles

    def encode(self, texts: list[str], **_: Any) -> Any:
        return np.array([[math.cos(self.angles[text]), math.sin(self.angles[text])] for text in texts], np.float32)

    encode_query = encode_document = encode


def test_a_positive_of_a_removed_row_stays_known(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is removed, since its pair is scored; its document stands in another row, and is the query's closest."""
    path = write_sts(tmp_path / "klue") / "klue-sts-v1.1" / "klue-sts-v1.1_dev.json"
    pair = json.loads(path.read_bytes())[0]
    query, document = pair["sentence1"], pair["sentence2"]
    angles = {query: 0.0, "답": 0.1, document: 0.2, f" {document}": 0.2, "다른 질문": 1.0, "다른 답": 0.5, "글": 0.6}
    monkeypatch.setattr("embed.base.load_model", lambda *_: Planted(angles))
    asked = [
        (query, document),
        (query, "답"),
        ("다른 질문", f" {document}"),
        ("다른 질문", "다른 답"),
        ("다른 질문", "글"),
    ]
    rows = [{"query": one, "positive": positive} for one, positive in asked]
    for number, nearest in ((1, f" {document}"), (0, "다른 답")):
        data = [{"path": str(write_lines(tmp_path / "x.jsonl", rows[number:]))}]
        s = settings(data, negatives=1, margin=0).model_copy(
            update={"sources": (str(tmp_path),), "score": () if number else ("KLUE-STS",)}
        )
        mine(s, model, None, tmp_path)
        (found,) = [row for row in read(tmp_path / "0-x.jsonl") if row["query"] == query]
        assert (found["positive"], found["negatives"]) == ("답", [nearest])


def test_negatives_are_the_closest_below_the_margin(model: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    """Against a search written here: cosines, the margin, the order."""
    data, encoder = [rows["triplets"], rows["scored"]], load_model(model, "cpu")
    counts = mine(settings(data, negatives=2, margin=0.002, scores=True), model, None, tmp_path / "x")
    found = read(tmp_path / "x" / "0-triplets.jsonl")
    assert counts["documents"] == 120 and len(found) == counts["sets"]["0-triplets"]["rows"] > 0
    assert counts["sets"]["0-triplets"]["left out: too few below margin"] == 60 - len(found)
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["0-triplets.jsonl"]
    documents = [text for row in pairs(60) for text in (row["positive"], *row["negatives"])]
    vectors = dict(zip(documents, encoder.encode(documents, normalize_embeddings=True), strict=True))
    expected = {}
    for row in pairs(60):
        query = encoder.encode([row["query"]], normalize_embeddings=True)[0]
        cosine = {text: float(query @ vectors[text]) for text in documents}
        limit = cosine[row["positive"]] * 0.998
        ranked = sorted((text for text in documents if text != row["positive"]), key=lambda text: -cosine[text])
        below = [text for text in ranked if cosine[text] <= limit][:2]
        if len(below) == 2:
            expected[row["query"]] = (below, [cosine[row["positive"]], *(cosine[text] for text in below)])
    assert expected.keys() == {row["query"] for row in found}
    for row in found:
        assert row["negatives"] == expected[row["query"]][0]
        assert row["scores"] == pytest.approx(expected[row["query"]][1], abs=1e-5)
    (one,) = load_sets(settings([{"path": str(tmp_path / "x" / "0-triplets.jsonl")}]))
    assert one.shape == "distilled"


@pytest.mark.parametrize("by", ["cosine", "reranker"])
def test_all_documents_are_looked_at(by: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """155 documents lie above the margin, three below it; each row that is left out has its reason."""
    near, far = [f"가까운 글 {n}" for n in range(155)], [f"먼 글 {n}" for n in range(3)]
    angles = {"물음": 0.0, "답": 0.1} | {text: 0.1 + n / 1e5 for n, text in enumerate(near)}
    angles |= {text: 1.2 + n / 10 for n, text in enumerate(far)}
    monkeypatch.setattr("embed.base.load_model", lambda *_: Planted(angles))
    calls = []

    class Cross:
        def predict(self, pairs: list[tuple[str, str]], **_: Any) -> Any:
            calls.append(len(pairs))
            return np.array([math.cos(angles[query] - angles[text]) for query, text in pairs], np.float32)

    monkeypatch.setattr("embed.rerank.load_reranker", lambda *_: Cross())
    angles |= {"답 하나": 0.1, "둘째 물음": 1.25, "셋째 물음": 0.15}
    rows = [{"query": "물음", "positive": "답", "negatives": [text]} for text in ["답 하나", *near, *far]]
    data = [{"path": str(write_lines(tmp_path / "x.jsonl", rows))}]
    for query in ("둘째 물음", "셋째 물음"):
        row = {"query": query, "positive": "먼 글 0", "negatives": ["먼 글 1"]}
        data.append({"path": str(write_lines(tmp_path / f"{query}.jsonl", [row]))})
    reranker = tmp_path if by == "reranker" else None
    counts = mine(settings(data, negatives=3, scores=True, max_score=0.38), model, reranker, tmp_path / "out")["sets"]
    (found,) = read(tmp_path / "out" / "0-x.jsonl")
    assert found["negatives"] == far
    assert found["scores"] == pytest.approx([math.cos(angle) for angle in (0.1, 1.2, 1.3, 1.4)], abs=1e-5)
    assert not calls or calls[:5] == [1, 30, 129, 1, 30]  # a positive, then ten times as many of the other documents
    why = {"rows": 0, "left out: repeated": 0, "left out: too few below margin": 0,
           "left out: too few below max_score": 0, "licence": "unstated"}  # fmt: skip
    assert counts["0-x"] == why | {"rows": 1, "left out: repeated": len(rows) - 1}
    # 0.408, the highest of 156, is above 0.38; of the third query's, two are below the margin
    assert counts["1-둘째 물음"] == why | {"left out: too few below max_score": 1}
    assert counts["2-셋째 물음"] == why | {"left out: too few below margin": 1}


def test_an_encoder_is_pooled_and_a_second_run_writes_the_same_bytes(
    base: Path, model: Path, rows: dict[str, Any], tmp_path: Path
) -> None:
    for name, folder in (("a", base), ("b", base), ("c", model)):
        mine(settings([rows["pairs"]], negatives=1), folder, None, tmp_path / name)
    written = [(tmp_path / name / "0-pairs.jsonl").read_bytes() for name in "abc"]
    assert written[0] and written[0] == written[1] == written[2]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["0-pairs.jsonl"]


def test_bad_input(base: Path, model: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    cross = write_encoder(tmp_path / "cross")
    written = json.loads((cross / "config.json").read_bytes())
    (cross / "config.json").write_text(json.dumps({**written, "architectures": ["RobertaForSequenceClassification"]}))
    few = {"path": str(write_lines(tmp_path / "few.jsonl", pairs(2)))}
    for data, folder, changes, message in (
        (rows["scored"], model, {}, "no set with queries: 0-scored"),
        (few, model, {"negatives": 4}, "the sets hold 4 documents, embed.mine.negatives is 4"),
        (rows["pairs"], model, {"max_score": -2.0}, "no query has 3 negatives"),
        (rows["pairs"], cross, {}, "head of a fine-tuned"),
        (rows["pairs"], write_encoder(tmp_path / "causal", is_decoder=True), {}, "holds a decoder"),
    ):
        with pytest.raises(UserError, match=message):
            mine(settings([data], **changes), folder, None, tmp_path / "x")
    with pytest.raises(UserError, match="is no cross-encoder: RobertaForMaskedLM"):
        mine(settings([rows["pairs"]]), model, base, tmp_path / "x")
