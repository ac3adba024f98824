"""docs/outside.md: its Python as it stands there, on a run; and the files that TEI reads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from hunmin.main import run_command
from klue.model_folder import read_model_folder

ROOT = Path(__file__).parents[3]
PAGES = [(ROOT / "docs" / f"outside{language}.md").read_text("utf-8") for language in ("", ".ko")]
READ_BY_TEI = {
    "config.json": ("architectures", "model_type", "max_position_embeddings", "pad_token_id"),
    "sentence_bert_config.json": ("max_seq_length",),
    "1_Pooling/config.json": (
        "pooling_mode_cls_token", "pooling_mode_mean_tokens", "pooling_mode_max_tokens",
        "pooling_mode_mean_sqrt_len_tokens",
    ),
}  # fmt: skip
"""File → fields without which TEI's router (router/src/lib.rs) does not start."""


@pytest.fixture(scope="module")
def folder(mini_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the page assumes it: runs/x, and model, an export for sentence-transformers."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "runs").mkdir()
    (folder / "runs" / "x").symlink_to(mini_run / "run")
    (*_, last) = sorted((mini_run / "run" / "pretrain" / "checkpoints").glob("step-*"))
    assert run_command(["export", str(last), "--out", str(folder / "model"), "--sentence-embeddings"]) == 0
    return folder


@pytest.mark.slow
def test_the_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.delenv("WANDB_MODE")  # a library would print that it is set
    program = "\n".join(blocks(PAGES[0]))
    own = {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **own}, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if not line.startswith("{'")]  # the Trainer's own
    sources = json.loads((folder / "runs/x/corpus/statistics.json").read_bytes())["sources"]
    documents = sum(counts["kept"]["documents"] for counts in sources.values())
    assert said[0] == f"['id', 'source', 'licence', 'sentences'] {documents} documents"
    tokens = Tokenizer.from_file(str(folder / "runs/x/tokenizer/tokenizer.json"))
    assert said[2] == str(tokens.encode("세종대왕이 훈민정음을 만들었다.", add_special_tokens=False).tokens)
    assert said[3] == f"steps: {-(-documents // 16)}"
    assert re.fullmatch(r"\[\{'label': '(nega|posi)tive', 'score': 0\.\d+\}\]", said[4])
    assert said[5] == "3 vectors; torch.Size([3, 3])"
    assert read_model_folder(folder / "continued").family == "roberta"  # what fine-tuning asks of a model


def test_the_korean_page_shows_the_same() -> None:
    assert blocks(PAGES[0]) == blocks(PAGES[1]) and len(blocks(PAGES[0])) == 5


@pytest.mark.slow
def test_an_export_holds_what_tei_reads(folder: Path) -> None:
    for name, fields in READ_BY_TEI.items():
        assert set(json.loads((folder / "model" / name).read_bytes())) >= set(fields), name
        for page in PAGES:
            assert f"| `{name}` |" in page
    assert all((folder / "model" / name).is_file() for name in ("model.safetensors", "tokenizer.json"))


def blocks(page: str) -> list[str]:
    """Return the Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
