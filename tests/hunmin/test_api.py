"""The scripts of docs/api.md, run as they stand there, and what the functions return beside other ways to know it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml
from mini import write_further, write_recipe
from transformers import AutoTokenizer

import hunmin
from hunmin.main import run_command
from hunmin.recipes.recipe import Recipe

ROOT = Path(__file__).parents[2]
SCRIPTS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "api.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)


def without_comments(text: str) -> str:
    return re.sub(r"  # .*", "", text)


GUARD = """\
script.py calls hunmin without the guard `if __name__ == "__main__":`
  rule: each worker process imports the script that started it, and would call hunmin again
  fix:  put the calls into a function main() and end the script with these two lines:
          if __name__ == "__main__":
              main()
"""


def started(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(script, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "script.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)


def python(script: str, folder: Path) -> str:
    done = started(script, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(mini_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the page assumes it: recipe.yaml, whose run is beside it, and the benchmark's files."""
    folder = tmp_path_factory.mktemp("연구 폴더")
    path = write_further(mini_run, folder, max_seq_len=128)
    shutil.copytree(mini_run / "sample" / "klue", folder / "klue-benchmark")
    (train,) = folder.glob("klue-benchmark/klue-nli-*/*_train.json")
    train.write_text(json.dumps(json.loads(train.read_text("utf-8"))[:64]), encoding="utf-8")
    recipe = yaml.safe_load(path.read_text("utf-8"))
    path.write_text(yaml.safe_dump(recipe | {"out": "run"}), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_page(folder: Path) -> None:
    whole, mistake = SCRIPTS
    assert without_comments(whole) in without_comments((ROOT / "docs" / "api.ko.md").read_text("utf-8"))
    said = python(whole, folder).splitlines()
    assert said[0].endswith("ids, the last one is [SEP]: True")
    tokens = yaml.safe_load((folder / "run" / "tokens" / "tokens.json").read_text("utf-8"))
    assert said[1] == f"{tokens['documents']} documents of {tokens['tokens']} tokens"
    assert said[2] == "2500 entries"
    best = float(re.search(r"klue-nli \{'accuracy': ([\d.]+)", said[3])[1])  # type: ignore[index]
    scored = float(re.search(r"\{'accuracy': ([\d.]+)", said[4])[1])  # type: ignore[index]
    assert best == pytest.approx(scored)
    assert "unknown key 'pretrain.step' (did you mean 'steps'?)" in python(mistake, folder)


def test_a_script_without_a_guard_is_told_the_two_lines(tmp_path: Path) -> None:
    """By one error: its workers, which begin the script anew, say nothing."""
    (tmp_path / "a.txt").write_text("오늘은 날씨가 맑다. 내일은 비가 온다.\n" * 3, encoding="utf-8")
    path = write_recipe(tmp_path, tmp_path / "a.txt", workers=2)
    call = f"from hunmin import run_recipe\nrun_recipe({str(path)!r}, last='corpus')\n"
    done = started(call, tmp_path)
    assert done.stderr.endswith(GUARD) and done.stderr.count("Traceback") == 1


@pytest.mark.slow
def test_fine_tuning_without_a_guard_is_told_the_two_lines(folder: Path) -> None:
    hunmin.run_recipe(folder / "recipe.yaml", f"out={folder / 'run'}", last="export")
    arguments = "'run', 'klue-benchmark', 'unguarded', tasks=['klue-nli']"
    done = started(f"from hunmin import finetune\nfinetune({arguments})\n", folder)
    assert done.stderr.endswith(GUARD) and done.stderr.count("Traceback") == 1


@pytest.mark.slow
def test_ids_are_those_of_transformers(folder: Path) -> None:
    hunmin.run_recipe(folder / "recipe.yaml", f"out={folder / 'run'}", last="tokenizer")
    tokenizer = folder / "run" / "tokenizer"
    documents = ["오늘은 날씨가 맑다.", "", ["한 문장.", "둘째 문장 [MASK]"], "\x00"]
    encoded = hunmin.TextEncoder(tokenizer).encode(documents)
    theirs = AutoTokenizer.from_pretrained(tokenizer)
    for document, ids in zip(documents, encoded, strict=True):
        text = document if isinstance(document, str) else " ".join(document)
        expected = theirs(text, add_special_tokens=False, split_special_tokens=True).input_ids
        assert ids.tolist() == ([*expected, theirs.sep_token_id] if expected else [])
    (again,) = hunmin.TextEncoder(tokenizer).encode(documents[:1])
    assert np.array_equal(again, encoded[0])


def test_a_run_is_as_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `hunmin run` does beside the stages a script's run does as well; the stages themselves are left out here."""
    done: list[object] = []

    @contextmanager
    def following(recipe: Recipe, run: Path, last: bool = True) -> Iterator[None]:
        done.append(("follows", recipe.hub.repository, last))
        yield
        done.append("ends")

    monkeypatch.setattr("hunmin.pipeline.run_and_publish.following", following)
    monkeypatch.setattr(
        "hunmin.pipeline.run_and_publish.run",
        lambda recipe, first, last, restart=None: done.append((first, last)) or [],
    )
    monkeypatch.setattr("hunmin.pipeline.run_and_publish.write_page", lambda run: done.append(f"page of {run.name}"))
    monkeypatch.setattr("hunmin.hub.publish_run.publish_run", lambda *_: done.append("pushed"))
    monkeypatch.setattr("hunmin.pipeline.report.print_report", lambda run, page: None)
    words = ("quickstart", f"out={tmp_path / 'run'}", "hub.repository=me/x")
    whole = [("follows", "me/x", False), ("export", None), "ends", "page of run", "pushed"]
    part = [("follows", "me/x", True), (None, "pretrain"), "ends"]
    for run in (
        lambda: (
            hunmin.run_recipe(*words, first="export") == tmp_path / "run" and hunmin.run_recipe(*words, last="pretrain")
        ),
        lambda: run_command(["run", *words, "--from", "export"]) or run_command(["run", *words, "--until", "pretrain"]),
    ):
        run()
        assert done == [*whole, *part]
        done.clear()
    hunmin.run_recipe(*words[:2])
    assert done == [("follows", None, False), (None, None), "ends", "page of run"]  # no repository is named


def test_what_can_be_imported() -> None:
    for name in hunmin.__all__:
        assert getattr(hunmin, name).__doc__
    assert set(hunmin.__all__) == set(hunmin.HOMES) <= set(dir(hunmin))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hunmin.nothing  # noqa: B018
    with pytest.raises(ImportError):
        from hunmin import nothing  # noqa: F401


def test_imports_and_completion_load_nothing_heavy() -> None:
    lines = (
        "import sys, hunmin; hunmin.__version__",
        "print([m for m in ('torch', 'numpy', 'pydantic', 'typer') if m in sys.modules])",
        "from hunmin import completion as c; import hunmin.main",
        "[f('') for f in (c.recipes, c.stages, c.launchers, c.tasks, c.devices)]",
        "print([m for m in ('torch', 'transformers', 'numpy', 'pyarrow', 'pydantic', 'lm_eval') if m in sys.modules])",
        "import hunmin.recipes.recipe",
        "print([m for m in ('torch', 'data.pii.types', 'data.decontaminate.matcher', 'wandb') if m in sys.modules])",
        "hunmin.main.run_command(['plan', 'klue-roberta-base', '--device', 'H100', '--json'])",
        "print('loaded', [m for m in ('torch', 'transformers', 'wandb') if m in sys.modules])",
    )
    command = [sys.executable, "-c", "\n".join(lines)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert (said[:3], said[-1]) == (["[]"] * 3, "loaded []")
