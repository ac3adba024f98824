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
from tiny_encoders import RUN, embedding_folder, losses_of, pairs, scored, write_encoder, write_job, write_lines

from common.settings import parse_settings
from embed.settings import EmbedDataSettings, EmbedSettings

pytest.importorskip("sentence_transformers")
from embed.base import begin_model, load_model
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


def _cosines(a: torch.Tensor, b: torch.Tensor) -> list[list[float]]:
    unit = [v / v.norm(dim=1, keepdim=True) for v in (a, b)]
    return [[float(x @ y) for y in unit[1]] for x in unit[0]]


@pytest.mark.parametrize(("negatives", "mini"), [(0, None), (1, 3), (3, None), (3, 3)])
def test_a_guide_reads_the_texts_themselves(negatives: int, mini: int | None, base: Path, tmp_path: Path) -> None:
    """The loss of the Trainer's batch by a plain loop, with a guide of another vocabulary, length and prompts."""
    from embed.trainer import Tuner, as_datasets

    rows = pairs(160)  # the last words of a text are unknown to the model, not to the guide
    data = [
        {"query": f"{row['query']} 뷁{n}", "positive": row["positive"] + " 뷁쉙" * (n % 3),
         "negatives": [f"{other['positive']} 쉙" for other in rows[40 + n :: 40][:negatives]]}
        for n, row in enumerate(rows[:8])
    ]  # fmt: skip
    path = write_lines(tmp_path / "rows.jsonl", data)
    guided = parse_settings(
        EmbedSettings, {"data": [{"path": "x", "prompts": {"query": "뷁: "}}], "max_seq_len": 64}, "t"
    )
    bare = write_encoder(tmp_path / "bare", letters="뷁쉙:", hidden_size=16)
    guide = load_model(embedding_folder(bare, tmp_path / "guide", guided), "cpu")
    changes = {"data": [{"path": str(path)}], "batch": 8, "max_seq_len": 16, "mini_batch": mini, "guide": "guide"}
    s = parse_settings(EmbedSettings, changes, "test")
    model, sets = begin_model(base, s, "cpu").eval(), load_sets(s)
    arguments = Tuner.arguments(output_dir=str(tmp_path / "out"), report_to=[], use_cpu=True)
    trainer = Tuner(model, arguments, as_datasets(sets), loss={one.name: loss_of(one, model, s, 1) for one in sets})
    trainer.data_collator.guide = guide
    batch = trainer.data_collator(as_datasets(sets)["0-rows"].to_list())
    features, _ = trainer.collect_features(batch)
    found = next(iter(trainer.loss.values()))(features, None)

    texts = list(zip(*((row["query"], row["positive"], *row["negatives"]) for row in data), strict=True))
    own = [torch.tensor(model.encode(list(column))) for column in texts]
    told = [torch.tensor(guide.encode([prompt + text for text in column]))
            for prompt, column in zip(["뷁: ", *[""] * len(texts)], texts, strict=False)]  # fmt: skip
    cells = [(0, column) for column in range(1, len(texts))] + [(0, 0), (1, 1)]
    expected = 0.0
    for row in range(8):
        bound = _cosines(told[0], told[1])[row][row]
        total = 0.0
        for a, b in cells:
            theirs, ours = _cosines(told[a], told[b])[row], _cosines(own[a], own[b])[row]
            total += sum(math.exp(ours[n] / 0.05) for n in range(8) if theirs[n] <= bound or (a, b, n) == (0, 1, row))
        expected += (math.log(total) - _cosines(own[0], own[1])[row][row] / 0.05) / 8
    assert found.item() == pytest.approx(expected, rel=1e-4)
    found.backward()


def test_rows_of_three_negatives_train_with_a_guide(run: Any, base: Path, tmp_path: Path) -> None:
    """Beside scored rows, which no guide looks at; a stop and a resume give the same bytes."""
    rows = pairs(160)
    mined = [
        {**row, "negatives": [other["positive"] for other in rows[40 + n :: 40][:3]]} for n, row in enumerate(rows[:40])
    ]
    data = [{"path": str(write_lines(tmp_path / "mined.jsonl", mined))},
            {"path": str(write_lines(tmp_path / "scored.jsonl", scored(20))), "range": [0, 5]}]  # fmt: skip
    s = parse_settings(EmbedSettings, {"data": data, "max_seq_len": 64}, "test")
    guide = embedding_folder(write_encoder(tmp_path / "guide", letters="뷁"), tmp_path / "model", s)
    given = {"guide": str(guide), "steps": 4, "checkpoint_every": 2, "matryoshka": [8]}
    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    run(base, data, straight, **given)
    run(base, data, resumed, stop_at=2, **given)
    run(base, data, resumed, **given)
    assert weights(straight) == weights(resumed)
    assert "| CachedGISTEmbedLoss |" in (straight / "model" / "README.md").read_text().replace("MatryoshkaLoss, ", "")


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
