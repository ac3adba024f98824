"""The tutorial works as written: its commands, its recipe and its script are run in the page's order."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(sh|yaml|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def script_of(page: str) -> str:
    """Return one shell script of a page's blocks; a YAML block is the file that its first line names."""
    parts = ["set -eu"]
    for kind, text in BLOCK.findall(page):
        if kind == "yaml":
            name = text.splitlines()[0].removeprefix("# ")
            parts.append(f"cat > {name} <<'END'\n{text}END")
        else:
            parts.append(text if kind == "sh" else f"python - <<'END'\n{text}END")
    return "\n".join(parts)


def test_the_korean_page_runs_the_same() -> None:
    english, korean = (
        [
            (kind, [re.sub(r"\s*#.*", "", line) for line in text.splitlines()[1 if kind == "yaml" else 0 :]])
            for kind, text in BLOCK.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))
        ]
        for name in ("tutorial.md", "tutorial.ko.md")
    )
    assert len(english) > 8
    assert english == korean


@pytest.mark.drill
def test_a_new_user_gets_to_the_end(tmp_path: Path) -> None:
    programs, place = tmp_path / "bin", tmp_path / "place"
    programs.mkdir()
    place.mkdir()
    for name, command in (("hunmin", f"{sys.executable} -m hunmin.main"), ("python", sys.executable)):
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (programs / name).chmod(0o755)
    environment = {
        **{name: value for name, value in os.environ.items() if name != "HUNMIN_PII_KEY"},
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(place),
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "160",
    }
    (place / ".hunmin-pii-key").write_text("a" * 64)  # a key of the day's makes other pseudonyms, and another model
    script = script_of((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    done = subprocess.run(
        ["bash", "-c", script], cwd=place, env=environment, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for expected in ("TEL", "posts", "KLUE-NER", "KLUE-NLI"):  # the page says that they are seen
        assert expected in done.stdout, expected
    assert "'반대'" in done.stdout  # among the words that fill the mask
    klue = json.loads((place / "runs/my-first/klue/summary.json").read_bytes())
    character = {row["init"]: row["best"]["character_macro_f1"]["mean"] for row in klue}
    assert character["pretrained"] > character["random"]
    corpus = b"".join(path.read_bytes() for path in (place / "runs/my-first/corpus").rglob("*.json*"))
    assert b"010-2345-6789" not in corpus
    assert (place / "runs/my-first/report.html").is_file() and (place / "model/model.safetensors").is_file()
