"""Tuning: losses by shape, the same bytes after a stop, processes that share a batch, files that all versions read."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_encoders import RUN, losses_of, pairs, write_encoder, write_job

from common.settings import parse_settings
from embed.settings import EmbedDataSettings, EmbedSettings

pytest.importorskip("sentence_transformers")
from embed.base import begin_model
from embed.batches import draw_batches
from embed.data import TrainingSet, load_sets
from embed.trainer import loss_of

ROOT = Path(__file__).parents[2]


def weights(out: Path) -> bytes:
    return (out / "model" / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_a_stop_and_a_resume_give_the_same_bytes(run: Any, base: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    """With dropout, of four shapes, in a second epoch, with cached losses and widths."""
    assert json.loads((base / "config.json").read_bytes())["hidden_dropout_prob"] == 0.1
    data = [rows["triplets"], {**rows["scored"], "weight": 0.5}, rows["distilled"], rows["pairs"]]
    for number, changes in enumerate([{}, {"mini_batch": 3, "matryoshka": [8, 16]}]):
        given = {"steps": 30 if number == 0 else 9, "checkpoint_every": 7, **changes}
        straight = run(base, data, tmp_path / f"straight-{number}", **given)
        resumed = tmp_path / f"resumed-{number}"
        run(base, data, resumed, stop_at=given["steps"] - 5, **given)
        run(base, data, resumed, **given)
        assert weights(straight) == weights(resumed)
        assert losses_of(straight) == losses_of(resumed) and len(losses_of(straight)) == given["steps"]


def test_losses_are_the_formulas(base: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    """Each loss against its formula, on vectors that the model gives."""
    settings = parse_settings(
        EmbedSettings,
        {"data": [rows[name] for name in ("triplets", "scored", "distilled", "pairs")], "batch": 8},
        "test",
    )
    model = begin_model(base, settings, "cpu").eval()
    for one in load_sets(settings):
        texts, labels = one.texts[:6], one.labels[:6]
        columns = [list(column) for column in zip(*texts, strict=True)]
        features = [model.preprocess(column) for column in columns]
        vectors = [torch.tensor(model.encode(column)) for column in columns]
        unit = [v / v.norm(dim=1, keepdim=True) for v in vectors]
        found = loss_of(one, model, settings, 1)(features, torch.tensor(labels)).item()
        expected = 0.0
        if one.shape == "ranking":
            documents = torch.cat(unit[1:])
            for row in range(6):
                cosines = [float(unit[0][row] @ document) / 0.05 for document in documents]
                expected += (math.log(sum(math.exp(value) for value in cosines)) - cosines[row]) / 6
        elif one.shape == "scored":
            cosines = [float(a @ b) / 0.05 for a, b in zip(*unit, strict=True)]
            expected = math.log(1 + sum(
                math.exp(cosines[i] - cosines[j]) for i in range(6) for j in range(6) if labels[j] > labels[i]
            ))  # fmt: skip
        else:
            margins = ((unit[0] * (unit[1] - unit[2])).sum(1)).tolist()
            expected = sum((m - (given[0] - given[1])) ** 2 for m, given in zip(margins, labels, strict=True)) / 6
        assert found == pytest.approx(expected, rel=1e-4), one.name


# cosines to the query: .7071, 1 and -.6; the vectors' lengths differ
PLANTED = [[[1.0, 0.0]], [[2.0, 2.0]], [[3.0, 0.0]], [[-0.3, 0.4]]]


@pytest.mark.parametrize(
    ("distill", "scores", "expected"),
    [
        ("margin-mse", [0.5**0.5, 1.0, -0.6], 0.0),
        ("kl", [0.5**0.5, 1.0, -0.6], 0.0),
        ("margin-mse", [1.0, 0.0, 0.0], ((0.5**0.5 - 2) ** 2 + (0.5**0.5 + 0.6 - 1) ** 2) / 2),
        ("kl", [0.9, 0.5, -0.2], 5.855735),
    ],
)
def test_a_student_with_the_teachers_cosines_has_loss_0(distill: Any, scores: list[float], expected: float) -> None:
    one = TrainingSet("x", EmbedDataSettings(path="x", distill=distill), "", "distilled")
    loss = loss_of(one, None, EmbedSettings(data=[{"path": "x"}]), 1)
    found = loss.compute_loss_from_embeddings([torch.tensor(column) for column in PLANTED], torch.tensor([scores]))
    assert found.item() == pytest.approx(expected, abs=1e-5)


def test_the_cached_loss_has_the_gradients_of_the_plain_one(base: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    found = []
    for mini in (None, 3):
        settings = parse_settings(EmbedSettings, {"data": [rows["triplets"]], "batch": 8, "mini_batch": mini}, "test")
        model = begin_model(base, settings, "cpu").eval()
        (one,) = load_sets(settings)
        columns = [list(column) for column in zip(*one.texts[:8], strict=True)]
        loss = loss_of(one, model, settings, 1)([model.preprocess(column) for column in columns], None)
        loss.backward()
        gradients = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        found.append((loss.item(), gradients))
    (plain, a), (cached, b) = found
    assert cached == pytest.approx(plain, abs=1e-5)
    assert (a - b).abs().max() <= 1e-5 * a.abs().max()


def start(job: Path, processes: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "embed.train", *([str(processes)] if processes > 1 else []), str(job)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_two_processes_have_the_losses_of_one(rows: dict[str, Any], tmp_path: Path) -> None:
    """Negatives are gathered: without that, each process has half of them and a smaller loss."""
    base = write_encoder(tmp_path / "base", dropout=0.0)
    for processes in (1, 2):
        start(write_job(tmp_path / str(processes), base, [rows["triplets"]], processes=processes), processes)
    one, two = losses_of(tmp_path / "1"), losses_of(tmp_path / "2")
    assert len(one) == 9 and [step for step, _ in one] == [step for step, _ in two]
    for (_, a), (_, b) in zip(one, two, strict=True):
        assert a == pytest.approx(b, abs=1e-5)
    settings = parse_settings(EmbedSettings, {**RUN, "data": [rows["triplets"]]}, "test")
    sets = load_sets(settings)
    model = begin_model(base, settings, "cpu")
    _, batch = next(draw_batches(sets, 8, 1, settings.seed))
    whole, *halves = (
        loss_of(sets[0], model, settings, 1)(
            [model.preprocess(list(column)) for column in zip(*(sets[0].texts[row] for row in part), strict=True)], None
        ).item()
        for part in (batch, batch[:4], batch[4:])
    )
    assert two[0][1] == pytest.approx(whole, abs=1e-4)
    assert abs(sum(halves) / 2 - whole) > 0.1  # what two processes lose that do not gather


def test_files_are_of_the_old_form_and_hold_no_training_text(
    run: Any, base: Path, rows: dict[str, Any], tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    prompts = {"query": "질문: ", "document": ""}
    for pooling in ("mean", "cls"):
        out = run(base, [{**rows["triplets"], "prompts": prompts}], tmp_path / pooling, pooling=pooling, steps=2)
        folder = out / "model"
        kinds = [one["type"] for one in json.loads((folder / "modules.json").read_bytes())]
        assert kinds == [f"sentence_transformers.models.{name}" for name in ("Transformer", "Pooling")]
        modes = json.loads((folder / "1_Pooling" / "config.json").read_bytes())
        assert [name for name, on in modes.items() if on is True] == [
            "pooling_mode_mean_tokens" if pooling == "mean" else "pooling_mode_cls_token"
        ]
        texts = ["서울 사과 어디", "포도는 부산에서 판다 " * 9]
        found = SentenceTransformer(str(folder), device="cpu").encode(texts, prompt_name="query")
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        batch = tokenizer([f"질문: {text}" for text in texts], padding=True, truncation=True, max_length=16,
                          return_tensors="pt")  # fmt: skip
        encoder = AutoModel.from_pretrained(folder, add_pooling_layer=False, trust_remote_code=False).eval()
        with torch.no_grad():
            hidden = encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        expected = (hidden * mask).sum(1) / mask.sum(1) if pooling == "mean" else hidden[:, 0]
        assert torch.allclose(torch.tensor(found), expected, atol=1e-5)
        published = b"".join(path.read_bytes() for path in folder.rglob("*") if path.suffix in (".md", ".json"))
        texts = [text for row in pairs(60) for text in (row["query"], row["positive"], *row["negatives"])]
        assert not any(text.encode() in published for text in texts)
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert (
            "| triplets.jsonl | train | 60 | MultipleNegativesRankingLoss | unstated |" in card
            and str(tmp_path) not in card
        )
        assert not list(out.rglob("checkpoints/**/README.md")) and not (out / ".begin").exists()


def test_a_checkpoint_of_another_run_is_refused(run: Any, base: Path, rows: dict[str, Any], tmp_path: Path) -> None:
    from common.errors import UserError

    run(base, [rows["pairs"]], tmp_path / "x", stop_at=2)
    with pytest.raises(UserError, match="is of another run"):
        run(base, [rows["pairs"]], tmp_path / "x", learning_rate=2e-3)
    mine = tmp_path / "mine.jsonl"
    mine.write_bytes(Path(rows["pairs"]["path"]).read_bytes())
    run(base, [{"path": str(mine)}], tmp_path / "y", stop_at=2)
    mine.write_bytes(mine.read_bytes().replace(b"\n", b" \n"))  # the same rows in other bytes
    with pytest.raises(UserError, match="is of another run"):
        run(base, [{"path": str(mine)}], tmp_path / "y")
