"""What docs/extending.md shows works: its code is taken from the page and used."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import re2
import torch

from common.errors import HunminError
from data.pii.detect import Span, scan
from data.pii.surrogate import surrogate
from data.pii.type_names import PII_TYPES
from data.pii.types import BY_NAME
from data.readers.blocks import LINES
from data.readers.formats import READERS, parse_block, read_blocks
from data.readers.paths import list_files
from data.readers.records import Document, Reject
from data.readers.registry import Reader, _at
from data.readers.settings import SourceSettings
from klue.examples import load_splits
from klue.tasks.base import Features
from klue.tasks.rows import build_task, load_rows
from pretrain.batches.loader import Loader, plan_samples
from pretrain.batches.predictions import IGNORE
from pretrain.callbacks.guard import StepGuard
from pretrain.kernels.compile import speed_up
from pretrain.models.bert import Bert
from pretrain.models.check_forms import differing_form
from pretrain.models.deberta import DebertaV2
from pretrain.models.default_encoder import DefaultEncoder
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.optim.registry import OPTIMIZERS
from pretrain.parallel.start_engine import start_engine
from pretrain.settings import ModelSettings, OptimizerSettings, PretrainSettings
from pretrain.trainer import Trainer
from tests.pretrain.small_tokens import make_tokenizer, make_tokens
from tokenizer.shards import TokenShards

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def shown(name: str) -> dict[str, Any]:
    """Return what the block whose first line is `# name` defines."""
    [block] = re.findall(rf"^```python\n(# {name}\n.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(compile(block, f"docs/extending.md, {name}", "exec"), names)
    return names


def test_a_type_of_personal_data(monkeypatch: pytest.MonkeyPatch) -> None:
    new = shown("pii")
    kind, text = new["STUDENT_ID"], "제 학번 2021-123456을 확인해 주세요."
    name = kind.name
    monkeypatch.setitem(BY_NAME, name, kind)
    assert scan(text, 0, len(text), (name, *PII_TYPES)) == [Span(5, 16, name)]
    assert scan("방 2021-123456", 0, 13, (name,)) == []
    assert re2.search(kind.gate, text)
    made = surrogate(b"a key of sixteen bytes", name, "2021-123456")
    assert re.fullmatch("0000-[0-9]{6}", made)
    assert made == surrogate(b"a key of sixteen bytes", name, "2021-123456")


def test_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, "text", Reader(shown("reader")["parse_lyrics"], _at(LINES)))
    (tmp_path / "a.lrc").write_bytes("[00:12.00] 첫 줄\n\n[00:15.20] 둘째 줄\n".encode() + b"\xff\xfe\xfa\n")
    [file] = list_files([SourceSettings(path=str(tmp_path / "a.lrc"), format="text", encoding="utf-8")])
    for size in (1, 1 << 20):
        items = [item for format, block in read_blocks(file, size) for item in parse_block(file, format, block)]
        documents = [(item.id, item.text) for item in items if isinstance(item, Document)]
        assert documents == [("a-1", "첫 줄"), ("a-3", "둘째 줄")]
        assert [item.line for item in items if isinstance(item, Reject)] == [4]


def test_a_task(tmp_path: Path) -> None:
    [block] = re.findall(r"^```yaml\n(# task\n.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "rows.yaml").write_text(block, encoding="utf-8")
    [(name, row)] = load_rows(tmp_path / "rows.yaml").items()
    task = build_task(name, row)
    folder = tmp_path / task.folder
    folder.mkdir()
    for split in ("train", "dev"):
        records = [{"text": f"{split} {n}번째 영화", "label": ("bad", "good")[n % 2]} for n in range(4)]
        (folder / f"{task.folder}_{split}.json").write_text(json.dumps(records), encoding="utf-8")
    examples = load_splits(task, tmp_path).dev
    assert [example.label for example in examples] == ["bad", "good"] * 2
    logits = [np.array(row) for row in ([2.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 1.0])]
    predictions = task.decode({"logits": logits}, Features(examples, np.arange(4), {}))
    assert predictions == ["bad", "good", "good", "good"]
    assert task.score([example.label for example in examples], predictions) == {"accuracy": 75.0}
    with pytest.raises(ValueError, match="not a label"):
        task.check("great", "good")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("small")
    return make_tokens(folder / "tokens"), make_tokenizer(folder / "tokenizer"), folder / "plans"


def losses(small: tuple[Path, Path, Path], settings: PretrainSettings) -> list[float]:
    """Return the loss of each of a few steps of a small run."""
    tokens, tokenizer, plans = small
    shards, cpu = TokenShards(tokens), torch.device("cpu")
    model = MaskedRowsModel(build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids)))
    plan_samples(settings, tokens, plans)
    loader = Loader(settings, tokens, tokenizer, plans, 0, 1)
    trainer = Trainer(start_engine(model, settings, cpu), loader, StepGuard(settings, False, cpu))
    values = []
    for step in range(40):
        totals = trainer.step(step, 3e-3, loader.micro_batches(step)).totals
        values.append(loader.objective(step).figures(dict(zip(trainer.names, totals.tolist(), strict=True)))["loss"])
    return values


SMALL = PretrainSettings(
    model=ModelSettings(layers=1, hidden=32, heads=2, dropout=0.0), max_seq_len=24, steps=40, global_batch=16,
    micro_batch=8, validation_samples=0, optimizer=OptimizerSettings(warmup_steps=1),
)  # fmt: skip


def test_a_model(small: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    new = shown("model")["PreNorm"]()
    monkeypatch.setitem(ARCHITECTURES, new.name, new)
    settings = SMALL.model_copy(update={"model": SMALL.model.model_copy(update={"type": new.name})})
    special = {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}
    model = MaskedRowsModel(build_model(settings, build_config(settings, 50, special))).eval()
    assert new.parameters(settings.model, 50, 24) == model.hf_model.num_parameters()
    ids, rows = torch.arange(5, 15)[None], torch.tensor([[2, 7]])
    labels = torch.full((1, 10), IGNORE).scatter(1, rows, 9)
    expected = model.hf_model(input_ids=ids, labels=labels).loss
    assert model(ids, rows, torch.tensor([[9, 9]]))["loss"].item() == pytest.approx(2 * expected.item(), rel=1e-5)
    assert differing_form(model.hf_model) == ""
    speed_up(model, settings.model_copy(update={"max_seq_len": 512}), torch.device("cpu"))
    assert model.unpadded and differing_form(model.hf_model) == ""
    step_losses = losses(small, settings)
    assert sum(step_losses[-8:]) < sum(step_losses[:8])


def test_a_model_with_an_attention_of_its_own_is_kept_from_mixing_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Added as the page says, by someone who does not know of packing: DeBERTa through transformers' forward pass."""

    class Naive(DefaultEncoder):
        name, label, classes = "deberta-v2", "naive", {"mlm": "DebertaV2ForMaskedLM"}
        config, position_parameters = DebertaV2.config, DebertaV2.position_parameters

    class Bold(Naive):
        unpadded = True

    class NaiveBert(Bert):
        name, label, classes = "deberta-v2", "as BERT", {"mlm": "DebertaV2ForMaskedLM"}
        config = DebertaV2.config

    settings = SMALL.model_copy(update={"model": SMALL.model.model_copy(update={"type": "deberta-v2"})})
    special = {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}
    for kind in (Naive, Bold, NaiveBert):
        monkeypatch.setitem(ARCHITECTURES, "deberta-v2", kind())
        hf_model = build_model(settings, build_config(settings, 50, special))
        long = settings.model_copy(update={"max_seq_len": 512})
        if kind.unpadded:
            with pytest.raises(HunminError, match="set unpadded = False"):
                speed_up(MaskedRowsModel(hf_model), long, torch.device("cpu"))
        else:
            speed_up(model := MaskedRowsModel(hf_model), long, torch.device("cpu"))
            assert not model.unpadded
        with pytest.raises(RuntimeError):  # of its shape: it is not taken for a mask of other meaning
            differing_form(hf_model)


def test_an_objective(small: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    new = shown("objective")["AllTokens"]()
    monkeypatch.setitem(OBJECTIVES, new.name, new)
    settings = SMALL.model_copy(update={"objective": new.name})
    loader = Loader(settings, small[0], small[1], small[2], 0, 1)
    for batch, masked in loader.masked_batches(0):
        ordinary = batch.ids_BS >= 5
        assert masked.predicted == ordinary.sum() and (masked.ids_BS != batch.ids_BS).sum() > 0
        assert (batch.ids_BS[ordinary] == masked.labels_BM[masked.labels_BM != IGNORE]).all()
    step_losses = losses(small, settings)
    assert sum(step_losses[-8:]) < sum(step_losses[:8])


def test_an_optimizer(small: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    new = shown("optimizer")["Lion"]()
    monkeypatch.setitem(OPTIMIZERS, new.name, new)
    settings = SMALL.model_copy(update={"optimizer": SMALL.optimizer.model_copy(update={"type": new.name})})
    weight = torch.nn.Parameter(torch.tensor([[1.0, -2.0]]))
    optimizer = new.build(torch.nn.ParameterList([weight]), settings)
    for skip, expected in ((1.0, [[1.0, -2.0]]), (0.0, [[1 - 0.1 * (1 + 0.01), -2 - 0.1 * (-1 - 0.02)]])):
        weight.grad = torch.tensor([[4.0, -4.0]]) if not skip else torch.full((1, 2), torch.nan)
        new.prepare(optimizer, 0.1, torch.tensor(2.0), torch.tensor(skip))
        optimizer.step()
        torch.testing.assert_close(weight.data, torch.tensor(expected))
    assert new.updates(optimizer) == 1
    step_losses = losses(small, settings)
    assert sum(step_losses[-8:]) < sum(step_losses[:8])


@pytest.mark.parametrize("page", ["extending.md", "extending.ko.md"])
def test_names_exist_in_the_files_beside_which_they_stand(page: str) -> None:
    rows = [line for line in (ROOT / "docs" / page).read_text("utf-8").splitlines() if line.startswith("| `")]
    checked = 0
    for row in rows:
        files, meaning = row.split("|")[1:3]
        paths = [ROOT / path for path in re.findall(r"`([\w/.]+)`", files)]
        sources = [*(p for path in paths for p in ([path] if path.is_file() else path.glob("*.py")))]
        text = "".join(path.read_text("utf-8") for path in sources)
        for name in re.findall(r"`(\w+)`", meaning):
            checked += name not in ("parse_lyrics", "key")
            assert re.search(rf"\b{name}\b", text) or name in ("parse_lyrics", "key"), (row, name)
    assert checked > 30


def test_the_korean_page_shows_the_same_code() -> None:
    blocks = [
        re.findall(r"^```\w+\n.*?^```$", (ROOT / "docs" / name).read_text("utf-8"), re.DOTALL | re.MULTILINE)
        for name in ("extending.md", "extending.ko.md")
    ]
    assert blocks[0] == blocks[1] and len(blocks[0]) == 6
