"""Tuned models on the hub: card, scores in both forms, and no training text in any file."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard
from safetensors.numpy import load_file, save_file

from common.errors import DamagedError, UserError
from common.results import encoded
from common.settings import parse_settings, settings_hash
from embed.settings import EmbedSettings
from hunmin.main import run_command

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "embed"))
from hub_server import Hub
from tiny_encoders import RUN, pairs, write_encoder, write_lines, write_sts

pytest.importorskip("mteb")
pytest.importorskip("sentence_transformers")
pytestmark = pytest.mark.slow
TRAINED = [text for row in pairs(40) for text in (row["query"], row["positive"], *row["negatives"])]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's stage: a tuned model, scored on an invented dev part of KLUE-STS whose rows mteb would have counted."""
    from embed import tasks
    from embed.score import score_models
    from embed.train import tune_embeddings

    folder = tmp_path_factory.mktemp("tuned")
    data = [{"path": str(write_lines(folder / "mine.jsonl", pairs(40))), "licence": "CC0",
             "prompts": {"query": "질문: ", "document": ""}}]  # fmt: skip
    settings = parse_settings(EmbedSettings, {**RUN, "data": data, "steps": 2, "mini_batch": 4}, "test")
    tune_embeddings(settings, write_encoder(folder / "base"), folder / "embed", "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "differences", lambda task: [])
        score_models(
            folder / "embed" / "model", [write_sts(folder / "klue")], folder / "embed" / "scores", ["KLUE-STS"]
        )
    return folder / "embed"


def test_a_tuned_model_goes_with_card_and_scores(hub: Hub, tuned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tuned / "model" / "onnx").mkdir(exist_ok=True)
    (tuned / "model" / "onnx" / "encoder_qint8.onnx").write_bytes(b"graph")
    words = ["push", str(tuned / "model"), "me/tiny"]
    assert run_command([*words, "--dry-run"]) == 0
    assert ".eval_results/KLUE-STS.yaml" in capsys.readouterr().out and not hub.calls
    assert run_command([*words, "--language", "ko"]) == 0
    there = hub.repositories["me/tiny"]
    assert there.private and {"model.safetensors", "modules.json", "1_Pooling/config.json", "tokenizer.json",
                              "hunmin-embed.json", "onnx/encoder_qint8.onnx"} <= set(there.files)  # fmt: skip
    for name, content in there.files.items():
        assert not any(text.encode() in content for text in TRAINED), name
        assert str(tuned.parent).encode() not in content, name

    score = json.loads((tuned / "scores" / "table.json").read_bytes())["rows"][0]["scores"]["KLUE-STS"]
    entries = yaml.safe_load(there.files[".eval_results/KLUE-STS.yaml"])
    assert [one["dataset"]["task_id"] for one in entries] == ["KLUE-STS_default_validation", "KLUE-STS"]
    assert all(one["dataset"]["id"] == "klue/klue" and one["value"] == pytest.approx(score) for one in entries)
    card = ModelCard(there.files["README.md"].decode())
    (result,) = card.data.eval_results or []
    assert (result.dataset_type, result.metric_type, result.dataset_split) == (
        "klue/klue",
        "cosine_spearman",
        "validation",
    )
    assert result.metric_value == pytest.approx(score, abs=1e-4) and card.data.library_name == "sentence-transformers"
    assert 'SentenceTransformer("me/tiny")' in card.text and "`질문: `" in card.text and "## 학습 데이터" in card.text
    assert "| mine.jsonl | train | 40 | CachedMultipleNegativesRankingLoss | CC0 |" in card.text
    assert re.search(rf"\| tuned\d* \| {score:.2f} \|", card.text) and "문자 n-그램" in card.text


def test_a_multi_vector_model_leaves_with_its_projection(hub: Hub, tmp_path: Path) -> None:
    import torch
    from sentence_transformers import MultiVectorEncoder

    from embed.train import tune_embeddings

    data = [{"path": str(write_lines(tmp_path / "mine.jsonl", pairs(40)))}]
    settings = parse_settings(EmbedSettings, {**RUN, "data": data, "steps": 2, "kind": "multi-vector"}, "test")
    tune_embeddings(settings, write_encoder(tmp_path / "base"), tmp_path / "embed", "tiny")
    folder = tmp_path / "embed" / "model"
    assert run_command(["push", str(folder), "me/tokens"]) == 0
    for name, content in hub.repositories["me/tokens"].files.items():
        path = tmp_path / "fetched" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    vectors = [MultiVectorEncoder(str(place), device="cpu").encode_query(TRAINED[0])
               for place in (folder, tmp_path / "fetched")]  # fmt: skip
    assert torch.equal(*vectors) and vectors[0].shape[1] == 128
    card = ModelCard((tmp_path / "fetched" / "README.md").read_text("utf-8"))
    assert 'MultiVectorEncoder("me/tokens")' in card.text and "multi-vector" in (card.data.tags or [])


def test_its_card_has_the_language_of_its_run(hub: Hub, tuned: Path, tmp_path: Path) -> None:
    shutil.copytree(tuned, tmp_path / "embed")
    (tmp_path / "recipe.yaml").write_text("hub: {language: ko}\n")
    assert run_command(["push", str(tmp_path / "embed" / "model"), "me/korean"]) == 0
    assert "## 학습 데이터" in hub.repositories["me/korean"].files["README.md"].decode()


def test_what_is_not_mtebs_data_stays_in_the_table(tuned: Path, tmp_path: Path) -> None:
    from embed.score import score_models
    from embed.tables import read_table
    from hunmin.hub.embeddings import hub_scores, publish_embeddings

    scores = Path(shutil.copytree(tuned / "scores", tmp_path / "scores"))
    table = read_table(scores)
    table["tasks"]["KLUE-STS"]["differs"] = ["validation: 12 rows, mteb has 519"]
    (scores / "table.json").write_bytes(encoded(table))
    assert list(hub_scores(tuned / "model", scores)) == []

    short, sets = tmp_path / "short", [tuned.parent / "klue"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("embed.tasks.differences", lambda task: [])
        score_models(tuned / "model", sets, short, ["KLUE-STS"], truncate=4)
    assert list(hub_scores(tuned / "model", short)) == []  # no score of the whole model

    other: Any = Path(shutil.copytree(tuned / "model", tmp_path / "other"))
    weights = load_file(other / "model.safetensors")
    save_file({name: 2 * value for name, value in weights.items()}, other / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match="holds no scores of"):
        publish_embeddings(other, "me/tiny", scores, dry_run=True)
    facts = json.loads((other / "hunmin-embed.json").read_bytes())
    facts["trained_on"][0]["licence"] = "hf_" + "A" * 34
    (other / "hunmin-embed.json").write_text(json.dumps(facts))
    with pytest.raises(DamagedError, match=r"hunmin-embed\.json is damaged or was changed"):
        publish_embeddings(other, "me/tiny", dry_run=True)
    facts.pop("digest")  # sealed by hand: Hunmin masks a key before it seals
    (other / "hunmin-embed.json").write_text(json.dumps({**facts, "digest": settings_hash(facts)}))
    with pytest.raises(UserError, match="a service's key"):
        publish_embeddings(other, "me/tiny", dry_run=True)
    for broken in ({"settings": {}}, {"base": 5}, {"trained_on": [{"rows": -1}]}, {"trained_on": 5}):
        (other / "hunmin-embed.json").write_bytes(encoded({**facts, **broken}))
        with pytest.raises(DamagedError, match=r"hunmin-embed\.json is damaged or was changed"):
            publish_embeddings(other, "me/tiny", dry_run=True)
    (other / "hunmin-embed.json").unlink()
    with pytest.raises(UserError, match=r"holds no hunmin-embed.json"):
        publish_embeddings(other, "me/tiny", dry_run=True)


def test_facts_name_no_place(tmp_path: Path) -> None:
    from embed.card import facts_of

    for guide, told in ((str(tmp_path / "guide"), "guide"), ("hf:me/guide@main", "hf:me/guide@main"), (None, None)):
        settings = parse_settings(EmbedSettings, {"data": [{"path": "/a/b.jsonl"}], "guide": guide}, "test")
        facts = facts_of(settings, tmp_path / "base", [])
        assert (facts["base"], facts["settings"]["guide"], facts["settings"]["data"][0]["path"]) == (
            "base",
            told,
            "b.jsonl",
        )
