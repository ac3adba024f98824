"""Multi-vector models: losses by hand, the same bytes after a stop, a folder that loads, the library's own scores."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_encoders import PLACES, THINGS, losses_of, pairs, write_lines

from common.errors import UserError
from common.settings import parse_settings
from embed.settings import EmbedSettings
from tests.damage import flip

pytest.importorskip("mteb")
pytest.importorskip("sentence_transformers")
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.evaluation import MultiVectorInformationRetrievalEvaluator
from transformers import AutoModel, AutoTokenizer

from embed.base import begin_model, load_model
from embed.data import load_sets
from embed.mine import mine
from embed.multi_vector import token_loss_of
from embed.rerank import score_reranker
from embed.score import as_markdown, score_models
from embed.tables import read_table

KIND: dict[str, Any] = {"kind": "multi-vector", "token_width": 12}
FILES = ("model.safetensors", "1_Dense/model.safetensors")
TEXTS = ["서울 사과 어디", "포도는 부산에서 판다 " * 9]


def contents(out: Path) -> list[bytes]:
    return [(out / "model" / file).read_bytes() for file in FILES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("multi")


@pytest.fixture
def tuned(run: Any, base: Path, rows: dict[str, Any], folder: Path) -> Path:
    """A model that is tuned once, with prompts."""
    if not (folder / "model").exists():
        data = [rows[name] | {"prompts": {"query": "질문: "}} for name in ("triplets", "distilled")]
        run(base, data, folder, **KIND)
    return folder / "model"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An invented retrieval task in the layout of BEIR: fourteen documents, of which a query has one or two."""
    home = tmp_path_factory.mktemp("sets") / "AutoRAGRetrieval"
    write_lines(
        home / "corpus.jsonl", [{"_id": f"d{n}", "text": f"{THINGS[n]}는 {PLACES[n]}에서 판다"} for n in range(14)]
    )
    write_lines(home / "queries.jsonl", [{"_id": f"q{n}", "text": f"{PLACES[n]} {THINGS[n]} 어디"} for n in range(9)])
    lines = [f"q{n}\td{document}\t1" for n in range(9) for document in {n, n + n % 3}]
    (home / "qrels").mkdir()
    (home / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")
    return home.parent


@pytest.mark.parametrize("changes", [{}, {"mini_batch": 3}])
def test_a_stop_and_a_damaged_checkpoint_give_the_same_bytes(
    changes: dict[str, Any], run: Any, base: Path, rows: dict[str, Any], tmp_path: Path
) -> None:
    """With dropout, of three shapes, in a second epoch; the projection is a part of the checkpoint."""
    data = [rows["triplets"], {**rows["distilled"], "distill": "kl"}, rows["pairs"]]
    settings = {**KIND, **changes, "steps": 20, "checkpoint_every": 6}
    straight = run(base, data, tmp_path / "straight", **settings)
    resumed = run(base, data, tmp_path / "resumed", stop_at=14, **settings)
    flip(resumed / "checkpoints" / "checkpoint-14" / FILES[1])
    run(base, data, resumed, **settings)
    assert contents(straight) == contents(resumed)
    assert losses_of(straight) == losses_of(resumed) and len(losses_of(straight)) == 20


def max_sim(query: torch.Tensor, document: torch.Tensor) -> float:
    """Return the mean over a query's tokens of the highest cosine to a document's, by loops."""
    return sum(max(float(token @ other) for other in document) for token in query) / len(query)


def test_losses_are_the_formulas(base: Path, rows: dict[str, Any]) -> None:
    data = [rows["triplets"], rows["distilled"], {**rows["distilled"], "distill": "kl"}, rows["pairs"]]
    settings = parse_settings(EmbedSettings, {"data": data, "batch": 8, "temperature": 0.1, **KIND}, "test")
    model = begin_model(base, settings, "cpu").eval()
    expected: Any
    for dataset in load_sets(settings):
        columns = [list(column) for column in zip(*dataset.texts[:4], strict=True)]
        labels = dataset.labels[:4]
        features = [model.preprocess(column, task="document" if n else "query") for n, column in enumerate(columns)]
        queries, *documents = (model.encode(column) for column in columns)
        own = [[max_sim(queries[row], column[row]) for column in documents] for row in range(4)]
        if dataset.shape == "ranking":
            every = [[max_sim(query, text) / 0.1 for column in documents for text in column] for query in queries]
            expected = sum(math.log(sum(map(math.exp, line))) - line[row] for row, line in enumerate(every)) / 4
        elif dataset.settings.distill == "kl":
            teacher, student = (torch.tensor(scores).div(0.1).softmax(1) for scores in (labels, own))
            expected = float((teacher * (teacher / student).log()).sum() / 4)
        else:
            expected = sum((a - b - (x - y)) ** 2 for (a, b), (x, y) in zip(own, labels, strict=True)) / 4
        result = token_loss_of(dataset, model, settings, 1)(features, torch.tensor(labels) if labels else None)
        assert result.item() == pytest.approx(expected, rel=1e-4), dataset.name


def test_the_folder_loads_and_holds_no_training_text(tuned: Path) -> None:
    """Its vectors are those of transformers, a matrix product and a norm."""
    model = MultiVectorEncoder(str(tuned), device="cpu")
    tokenizer = AutoTokenizer.from_pretrained(tuned, trust_remote_code=False)
    encoder = AutoModel.from_pretrained(tuned, add_pooling_layer=False, trust_remote_code=False).eval()
    matrix = load_model(tuned, "cpu")[1].linear.weight
    for text, vectors in zip(TEXTS, model.encode_query(TEXTS), strict=True):
        batch = tokenizer([f"질문: {text}"], truncation=True, max_length=16, return_tensors="pt")
        with torch.no_grad():
            hidden = encoder(**batch).last_hidden_state[0] @ matrix.T
        assert torch.allclose(vectors, hidden / hidden.norm(dim=1, keepdim=True), atol=1e-5)
    card = (tuned / "README.md").read_text(encoding="utf-8")
    assert 'MultiVectorEncoder("embed/model")' in card and "MultiVectorMultipleNegativesRankingLoss" in card
    published = b"".join(path.read_bytes() for path in tuned.rglob("*") if path.suffix in (".md", ".json"))
    texts = [text for row in pairs(60) for text in (row["query"], row["positive"], *row["negatives"])]
    assert not any(text.encode() in published for text in texts)


def test_scores_are_the_librarys_own(tuned: Path, base: Path, asked: Path, tmp_path: Path) -> None:
    table = score_models(tuned, [asked], tmp_path / "out", base=base)
    assert table == read_table(tmp_path / "out") and list(table["tasks"]) == ["AutoRAGRetrieval"]
    task = asked / "AutoRAGRetrieval"
    corpus, queries = (
        {row["_id"]: row["text"] for row in map(json.loads, (task / f"{name}.jsonl").read_text("utf-8").splitlines())}
        for name in ("corpus", "queries")
    )
    relevant: dict[str, set[str]] = {}
    for line in (task / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, document, _ = line.split("\t")
        relevant.setdefault(query, set()).add(document)
    model = MultiVectorEncoder(str(tuned), device="cpu")
    scores = MultiVectorInformationRetrievalEvaluator(queries, corpus, relevant, write_csv=False)(model)
    ours = table["rows"][0]["scores"]["AutoRAGRetrieval"] / 100
    assert ours == pytest.approx(scores["meanmaxsim_ndcg@10"], abs=1e-6)
    assert len({row["scores"]["AutoRAGRetrieval"] for row in table["rows"]}) > 2
    index = table["rows"][0]["index"]["AutoRAGRetrieval"]
    tokens = sum(len(vectors) for vectors in model.encode_document([*corpus.values()]))
    assert (index["documents"], index["queries"], index["bytes"]) == (14, 9, tokens * 12 * 4)
    text = as_markdown(table)
    assert f"| AutoRAGRetrieval | 14 | {tokens * 48 / 14:,.0f} |" in text and text.count("| AutoRAGRetrieval |") == 2


def test_the_index_of_a_dense_model_has_a_vector_per_document(base: Path, asked: Path, tmp_path: Path) -> None:
    from tiny_encoders import embedding_folder

    settings = EmbedSettings(data=[{"use": "korsts"}], max_seq_len=16)
    dense = embedding_folder(base, tmp_path / "dense", settings)
    (row, *_) = score_models(dense, [asked], tmp_path / "out")["rows"]
    assert row["index"]["AutoRAGRetrieval"]["bytes"] == 14 * 32 * 4


def test_it_mines_and_is_reranked(tuned: Path, base: Path, rows: dict[str, Any], asked: Path, tmp_path: Path) -> None:
    from tiny_encoders import reranker_folder

    s = parse_settings(EmbedSettings, {
        "data": [rows["pairs"]], "score": ["AutoRAGRetrieval"], "sources": [str(asked)],
        "mine": {"negatives": 2, "margin": 0, "scores": True}, **KIND,
    }, "test")  # fmt: skip
    mine(s, tuned, None, tmp_path)
    model = MultiVectorEncoder(str(tuned), device="cpu")
    for line in (tmp_path / "0-pairs.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        texts = [row["positive"], *row["negatives"]]
        scores = model.similarity(model.encode_query([row["query"]]), model.encode_document(texts))[0]
        assert row["scores"] == pytest.approx(scores.tolist(), abs=1e-5)
    before = score_reranker(s, tuned, reranker_folder(base, tmp_path / "reranker"))["AutoRAGRetrieval"]["before"]
    table = score_models(tuned, [asked], tmp_path / "out")
    assert before["ndcg@10"] == pytest.approx(table["rows"][0]["scores"]["AutoRAGRetrieval"], abs=1e-3)


def test_what_needs_one_vector_is_refused(
    tuned: Path, run: Any, base: Path, rows: dict[str, Any], asked: Path, tmp_path: Path
) -> None:
    from embed.gguf import export_gguf
    from embed.onnx import export_encoder

    pytest.importorskip("gguf")
    refusals = {
        "--task KLUE-STS": lambda: score_models(tuned, [asked], tmp_path / "out", ["KLUE-STS"]),
        "--truncate 4": lambda: score_models(tuned, [asked], tmp_path / "out", truncate=4),
        "--backend onnx": lambda: score_models(tuned, [asked], tmp_path / "out", backend="onnx"),
        "hunmin export MODEL --onnx": lambda: export_encoder(tuned),
        "hunmin export MODEL --gguf": lambda: export_gguf(tuned),
    }
    for option, use in refusals.items():
        with pytest.raises(UserError, match=rf"multi-vector model.*\n.*{option} takes a model with one vector"):
            use()
    with pytest.raises(UserError, match="holds scored pairs"):
        run(base, [rows["triplets"], rows["scored"]], tmp_path / "run", **KIND)


@pytest.mark.parametrize("damage", ["cut", "NaN", "shape", "gone"])
def test_a_damaged_projection_is_refused(damage: str, tuned: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(tuned, tmp_path / "model")
    path = copy / FILES[1]
    weights = load_file(path)["linear.weight"].clone()
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-8])
    else:
        weights = weights[:, :8].contiguous() if damage == "shape" else weights.fill_(math.nan)
        save_file({"linear.weight": weights}, path)
    with pytest.raises(UserError, match=f"{copy.name}"):
        load_model(copy)
