"""A tuned folder gives the same vectors in sentence-transformers 5.1 with transformers 4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.old_packages import fetch_old, with_old

pytest.importorskip("sentence_transformers")
from embed.base import load_model

pytestmark = pytest.mark.drill
READ = """
import json, sys
import sentence_transformers, transformers
from sentence_transformers import CrossEncoder, SentenceTransformer
assert sentence_transformers.__version__ == "5.1.2" and transformers.__version__.startswith("4.")
folder, texts, reranker = json.load(sys.stdin)
model = SentenceTransformer(folder, device="cpu", local_files_only=True)
vectors = {name: model.encode(texts, prompt_name=name).tolist() for name in ("query", "document")}
scores = CrossEncoder(reranker, device="cpu", local_files_only=True).predict([texts, texts[::-1]]).tolist()
print(json.dumps([vectors, model.max_seq_length, model.similarity_fn_name, scores]))
"""
TEXTS = ["서울 사과 어디", "포도는 부산에서 판다 " * 9]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetch_old(tmp_path_factory.mktemp("old"))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_same_vectors_and_scores(
    pooling: str, old: Path, run: Any, base: Path, rows: dict[str, Any], tmp_path: Path
) -> None:
    from embed.rerank import load_reranker

    data = [{**rows["triplets"], "prompts": {"query": "질문: ", "document": "글: "}}]
    folder = run(base, data, tmp_path / "run", pooling=pooling, steps=2) / "model"
    reranker = run(base, [rows["triplets"]], tmp_path / "rerank", reranker=True, steps=2) / "model"
    vectors, length, similarity, scores = with_old(old, READ, [str(folder), TEXTS, str(reranker)])
    model = load_model(folder, "cpu")
    assert (length, similarity) == (model.max_seq_length, "cosine")
    for name, found in vectors.items():
        np.testing.assert_allclose(found, model.encode(TEXTS, prompt_name=name), atol=1e-5)
    np.testing.assert_allclose(scores, load_reranker(reranker).predict([TEXTS, TEXTS[::-1]]), atol=1e-5)
