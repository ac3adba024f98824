"""`hunmin init` and `hunmin recipes`: a recipe to start from, and nothing of the user's overwritten."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from common.progress import duration
from data.pii.settings import MAKE_KEY
from hunmin.main import run_command
from hunmin.recipes.builtin import builtin_recipes
from hunmin.recipes.recipe import load_recipe


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("size", ["small", "base"])
@pytest.mark.parametrize("klue", [[], ["--klue", "klue benchmark"]])
def test_a_new_recipe_can_be_run(size: str, klue: list[str]) -> None:
    command = ["init", "--text", "a: b/*.txt", "--text", "말뭉치", "--name", "내 모델: 1", "--size", size, *klue]
    assert run_command(command) == 0
    recipe = load_recipe("recipe.yaml")
    assert recipe.corpus.inputs == ["a: b/*.txt", "말뭉치"] and recipe.out == "runs/내 모델: 1"
    assert (recipe.klue.data if recipe.klue else None) == (klue[1] if klue else None)
    assert recipe.pretrain.model.hidden == {"small": 192, "base": 768}[size]
    assert recipe.pretrain.checkpoint_every == {"small": 400, "base": 1000}[size]  # a step of the base takes seconds
    text = Path("recipe.yaml").read_text(encoding="utf-8")
    assert "{" not in "".join(line for line in text.splitlines() if line.startswith("#")) and "HUNMIN_PII_KEY" in text


def test_an_own_task_is_in_the_recipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text is the column of prose, of labelled examples as Excel saves them; any other kind is a YAML file."""
    rows = "".join(f"{n};배송이 {n}일 늦었습니다;{'배송' if n % 2 else '환불'}\n" for n in range(40))
    Path("민원.csv").write_text(f"번호;본문;갈래\n{rows}", encoding="cp949")
    Path("say.yaml").write_text("{kind: tagging, train: t.conll}")
    Path("t.conll").write_text("서울 B-LC\n간다 O\n\n" * 40, encoding="utf-8")
    Path("c.txt").write_text("나는 서울에 산다.\n" * 9, encoding="utf-8")
    given = ["init", "--text", "c.txt", "--labelled", "민원.csv", "--label", "갈래", "--task-file", "say.yaml"]
    assert run_command(given) == 0
    klue = load_recipe("recipe.yaml").klue
    assert klue is not None and klue.data is None and klue.tasks == ["say", "민원"]
    assert [(row.name, row.kind, row.text, row.label) for row in klue.own] == [
        ("say", "tagging", ["text"], ["label"]), ("민원", "classification", ["본문"], ["갈래"])
    ]  # fmt: skip
    monkeypatch.setenv("HUNMIN_PII_KEY", "0123456789abcdef-test")
    assert run_command(["run", "recipe.yaml", "--dry-run"]) == 0
    assert run_command([*given, "--klue", "klue", "--out", "both.yaml"]) == 0
    both = load_recipe("both.yaml").klue
    assert both is not None and both.data == "klue" and len(both.tasks) == 10
    assert run_command(["init", "--text", "c.txt", "--labelled", "t.conll", "--label", "tags", "--out", "b.yaml"]) == 0
    tagging = load_recipe("b.yaml").klue
    assert tagging is not None and [row.kind for row in tagging.own] == ["tagging"]
    Path("n.csv").write_text("n,m,l\n1,2,a\n2,3,b\n")
    Path("empty.csv").write_text("text,label\n")
    capsys.readouterr()
    for words, fault in (
        (["--labelled", "민원.csv", "--label", "종류"], "민원.csv has no column '종류'"),
        (["--labelled", "t.conll"], "its columns are tokens, tags"),
        (["--labelled", "n.csv", "--label", "l"], "the texts in n.csv are not known"),
        (["--labelled", "empty.csv"], "empty.csv has no column 'label'"),
        (["--labelled", "none.csv"], "none.csv"),
        (["--task-file", "t.conll"], "t.conll"),
    ):
        assert run_command(["init", "--text", "c.txt", "--out", "x.yaml", *words]) == 2
        assert fault in " ".join(capsys.readouterr().err.split()) and not Path("x.yaml").exists()


def test_a_small_recipe_scores_one_model_once() -> None:
    """An hour of pretraining is not followed by days of fine-tuning that nobody asked for."""
    assert run_command(["init", "--text", "x", "--klue", "klue"]) == 0
    klue = load_recipe("recipe.yaml").klue
    assert klue is not None and (len(klue.seed_list), klue.baseline_random) == (1, False)


def test_the_hours_are_those_of_plan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("pretrain.cost.peak.measured_rate", lambda device=None: 5e10)
    Path("a.txt").write_text("가나다라 마바사\n" * 1000)
    assert run_command(["init", "--text", "a.txt"]) == 0
    (hours,) = re.findall(r"the run takes about (.+); of other devices", capsys.readouterr().err)
    assert run_command(["run", "recipe.yaml", "corpus.pii.enabled=false", "--dry-run", "--json"]) == 0
    assert duration(json.loads(capsys.readouterr().out)["seconds"]) == hours
    assert run_command(["init", "--text", "hf:someone/news", "--out", "other.yaml"]) == 0
    assert "without corpus, tokenizer, encode (unknown)" in capsys.readouterr().err


def test_the_next_command_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["init", "--text", "x", "--out", "내 모델.yaml"]) == 0
    said = capsys.readouterr().err
    assert shlex.split(said.split("Check it: ")[1]) == ["hunmin", "run", "내 모델.yaml", "--dry-run"]


@pytest.mark.parametrize(
    ("megabytes", "size", "rare"),
    [
        (0.2, 2_000, 5),
        (1, 4_000, 5),
        (3, 8_000, 5),
        (19, 8_000, 5),
        (90, 16_000, 20),
        (100, 32_000, 20),
        (900, 32_000, 20),
    ],
)
def test_the_vocabulary_suits_the_text(megabytes: float, size: int, rare: int) -> None:
    """As `docs/tokenizer.md` has it."""
    for name in ("a.txt", "b.txt"):
        with Path(name).open("wb") as file:
            file.truncate(int(megabytes * 500_000))  # sparse, and not read
    assert run_command(["init", "--text", "*.txt"]) == 0
    tokenizer = load_recipe("recipe.yaml").tokenizer
    assert (tokenizer.vocab_size, tokenizer.min_character_count) == (size, rare)
    assert f"for {megabytes:.1f} MB of text" in Path("recipe.yaml").read_text() or megabytes < 1


@pytest.mark.parametrize(
    ("megabytes", "size", "steps", "warmup"),
    [(0.2, "small", 420, 18), (1, "small", 2100, 93), (3, "small", 4500, 200), (0.01, "small", 100, 4),
     (200, "base", 1600, 38), (20_000, "base", 100_000, 2400)],
)  # fmt: skip
def test_little_text_is_read_forty_times(megabytes: float, size: str, steps: int, warmup: int) -> None:
    """Bytes / 4.7 × 40 / tokens per step; never more steps than the size's own."""
    with Path("a.txt").open("wb") as file:
        file.truncate(int(megabytes * 1_000_000))
    assert run_command(["init", "--text", "a.txt", "--size", size]) == 0
    pretrain = load_recipe("recipe.yaml").pretrain
    assert (pretrain.steps, pretrain.optimizer.warmup_steps) == (steps, warmup)
    assert ("about 40 times" in Path("recipe.yaml").read_text()) is (steps not in (4500, 100_000))


@pytest.mark.parametrize("text", ["gone/*.txt", "hf:someone/news", "https://127.0.0.1:9/a.txt"])
def test_the_vocabulary_of_text_that_is_not_here_is_the_papers(text: str) -> None:
    assert run_command(["init", "--text", text]) == 0
    assert load_recipe("recipe.yaml").tokenizer.vocab_size == 32_000


def test_nothing_is_overwritten_and_nothing_asked_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Path("recipe.yaml").write_text("mine")
    assert run_command(["init", "--text", "x"]) == 2 and run_command(["init", "--out", "new.yaml"]) == 2
    assert "already exists" in (said := capsys.readouterr().err) and "hunmin init --text" in said
    assert [path.name for path in Path().iterdir()] == ["recipe.yaml"] and Path("recipe.yaml").read_text() == "mine"


def test_a_wrong_answer_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["init", "--text", "x", "--name", "two\nlines"]) == 2
    assert not [*Path().iterdir()], capsys.readouterr().err


def test_recipes_are_listed_and_copied(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["recipes", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [*listed] == [*builtin_recipes()] and all(8 < len(text) < 260 for text in listed.values())
    assert run_command(["recipes"]) == 0 and "quickstart" in capsys.readouterr().out
    assert run_command(["recipes", "--copy", "quickstart"]) == 0
    assert Path("quickstart.yaml").read_bytes() == builtin_recipes()["quickstart"].read_bytes()
    assert run_command(["recipes", "--copy", "quickstart"]) == run_command(["recipes", "--copy", "quickstar"]) == 2
    assert "already exists" in (said := capsys.readouterr().err) and "there is no recipe 'quickstar'" in said


def test_what_is_not_there_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["init", "--text", "nothing/*.csv", "--klue", "nowhere", "--out", "a.yaml"]
    assert run_command(words) == 0
    message = " ".join(capsys.readouterr().err.split())
    assert "warning: nothing found at nothing/*.csv" in message and "warning: --klue nowhere: no such folder" in message


def test_files_that_the_shell_names_are_all_taken() -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        Path(name).write_text("가나다라 마바사\n" * 50, encoding="utf-8")
    assert run_command(["init", "--text", "a.txt", "b.txt", "c.txt", "--out", "a.yaml"]) == 0
    recipe = load_recipe("a.yaml")
    assert recipe.corpus.inputs == ["a.txt", "b.txt", "c.txt"]


def test_the_command_for_a_key_keeps_one_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    keys = []
    for _ in range(2):
        subprocess.run(["bash", "-c", MAKE_KEY], check=True)
        keys.append((tmp_path / ".hunmin-pii-key").read_text().strip())
    assert keys[0] == keys[1] and len(keys[0]) == 64
    assert run_command(["init", "--text", "x", "--out", "a.yaml"]) == 0
    assert MAKE_KEY in Path("a.yaml").read_text("utf-8")
