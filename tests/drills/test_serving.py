"""Other programs give the vectors of sentence-transformers: what docs/embeddings.md says of each."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sentence_transformers")
pytest.importorskip("onnxruntime")
pytest.importorskip("gguf")
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import check_serving

from pretrain.models.registry import ARCHITECTURES

pytestmark = [pytest.mark.drill, pytest.mark.skipif(not shutil.which("npm"), reason="npm is missing")]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the programs; skip without a network."""
    folder = tmp_path_factory.mktemp("serving")
    try:
        check_serving.fetch(folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(error.stderr.decode()[-300:])
    return folder


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_the_same_ids_and_vectors(kind: str, programs: Path) -> None:
    rows = check_serving.check(programs, [kind])
    assert len(rows) >= 10 and not [row for row in rows if row.reached is False]
