"""transformers 4 and sentence-transformers 5.1 in a folder of their own, which pip fetches, for drills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGES = (
    "sentence-transformers==5.1.2", "transformers==4.57.3", "huggingface_hub==0.36.0", "tokenizers==0.22.1",
    "datasets==4.4.1",
)  # fmt: skip


def fetch_old(folder: Path) -> Path:
    """Return the folder with these packages alone; what they need beside them is as it is. Skip without a network."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pip: {done.stderr[-300:]}")
    return folder


def with_old(old: Path, script: str, arguments: Any) -> Any:
    """Return what a script prints as JSON, which has the old packages and reads `arguments` as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(arguments), capture_output=True, text=True, cwd=old,
        env={**os.environ, "PYTHONPATH": str(old), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
