"""A new user's first hour: a clone, an environment of its own, and the commands of the README in its order."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from klue.results import metrics_of
from klue.tasks import KLUE
from tests.test_tutorial import script_of

TITLES = {task.title: task.name for task in KLUE}

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCORES = (ROOT / "docs" / "results" / "quickstart.md").read_text(encoding="utf-8")
TEXTS = """
mkdir -p texts more
.venv/bin/python -c 'import pathlib, zstandard as z
text = pathlib.Path("runs/sample/corpora/encyclopedia.jsonl").read_bytes()
pathlib.Path("texts/encyclopedia.jsonl.zst").write_bytes(z.compress(text))'
cp runs/sample/corpora/books.txt more/
cp -r runs/sample/klue klue-benchmark
"""
# an hour of local-small is not needed to see that it works
SMALL = (
    "tokenizer.vocab_size=4000 tokenizer.min_character_count=2 pretrain.steps=40 pretrain.optimizer.warmup_steps=4 "
    "pretrain.validation_samples=64 klue.seeds=1 klue.training.epochs=1 klue.training.max_train_examples=64"
)
# a line of the README: what comes before it, and what is added
RUN = {
    "make install": ("", ""),
    "hunmin doctor": (". .venv/bin/activate", ""),
    "make quickstart": ("", ""),
    "[ -s ~/.hunmin-pii-key ]": (TEXTS, ""),
    "export HUNMIN_PII_KEY=": ("", ""),
    "hunmin init": ("", ""),
    "hunmin run my-model.yaml": ("", SMALL),
    "hunmin plan my-model.yaml": ("", SMALL),
    "hunmin report runs/my-model": ("", ""),
    "hunmin push runs/my-model": ("", ""),
}
LEFT_OUT = {"make test": "what runs this file"}


def lines() -> list[str]:
    """Return the commands of the README's blocks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    stripped = (re.sub(r"\s+#.*", "", line) for block in blocks for line in block.splitlines())
    return [line for line in stripped if re.match(r"\[ |(\S*/)?(make|hunmin|pip|export|python)\b", line)]


def test_each_command_of_the_readme_is_run_or_left_out_for_a_reason() -> None:
    commands = lines()
    for line in commands:
        assert any(map(line.startswith, (*RUN, *LEFT_OUT))), line
    assert all(any(line.startswith(start) for line in commands) for start in (*RUN, *LEFT_OUT))


def script() -> str:
    parts = ["set -eux", "make install"]
    for line in lines():
        start = next(start for start in (*RUN, *LEFT_OUT) if line.startswith(start))
        if start in RUN:
            before, added = RUN[start]
            parts += [before, f"{line} {added}".replace("RECIPE", "configs/klue-roberta-base.yaml")]
    parts += [
        f"python - <<'END'\n{text}END"
        for text in re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    ]
    return "\n".join(parts)


def shell(text: str, folder: Path, **variables: str) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HUNMIN_PII_KEY", "PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL")
    }
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env={**environment, "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def check_quickstart(run: Path) -> None:
    """The table in docs/results: seven tasks, pretrained above random weights; the digits depend on the kind of CPU."""
    entries = json.loads((run / "klue" / "summary.json").read_bytes())
    means = {(entry["task"], entry["init"]): {m: s["mean"] for m, s in entry["best"].items()} for entry in entries}
    rows = re.findall(r"^\| (\S+) (.+?) \| ([\d.]+) ± [\d.]+ \| ([\d.]+) ± [\d.]+ \|$", SCORES, re.MULTILINE)
    assert {TITLES[title] for title, *_ in rows} == {task for task, _ in means} == set(TITLES.values()) - {"wos"}
    for title, metric, *_ in rows:
        task = TITLES[title]
        [key] = [key for key, name in metrics_of(task).items() if name == metric]
        ours, random = (means[task, init][key] for init in ("pretrained", "random"))
        assert ours > random, (task, metric, ours, random)


@pytest.mark.drill
@pytest.mark.skipif(not (ROOT / ".git").exists() or not shutil.which("git"), reason="needs a git clone and git")
def test_a_fresh_clone_does_what_the_readme_and_the_tutorial_say(tmp_path: Path) -> None:
    """Needs the package registry; an environment takes some 3 GB of disk, twice."""
    clone, place = tmp_path / "hunmin", tmp_path / "place"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    said = shell(script(), clone, PYTHON=getattr(sys, "_base_executable", sys.executable), COLUMNS="160")
    for expected in ("KLUE-NLI accuracy", "my-model", "['반대'"):
        assert expected in said, expected
    for name in ("quickstart", "my-model"):
        assert (clone / "runs" / name / "report.html").is_file()
    check_quickstart(clone / "runs" / "quickstart")
    place.mkdir()
    tutorial = script_of((clone / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    said = shell(f". {clone}/.venv/bin/activate\n{tutorial}", place, HF_HUB_OFFLINE="1", COLUMNS="160")
    assert "KLUE-NER" in said and (place / "model" / "model.safetensors").is_file()
