"""Places and names that users give: odd ones work, impossible ones end in one clear error, never a traceback."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mini import write_mini, write_recipe

from hunmin.main import run_command
from tests.runs import copy_run

Said = Callable[[], str]


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Said:
    """What a command has said on stderr: an error of one line, its rule, its fix."""

    def read() -> str:
        err = capfd.readouterr().err
        assert "Traceback" not in err and err.count("error:") == 1
        return err

    return read


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run up to its checkpoints, whose recipe, inputs and output are in a folder with a space and Hangul."""
    home = tmp_path_factory.mktemp("실험 기록")
    folder = home / "첫 번째 실험"
    recipe = write_mini(folder, steps=10)
    if sys.version_info >= (3, 11):  # the command is given where files hide the names of our folders
        for name in ("data", "common"):
            (home / f"{name}.py").write_text("raise SystemExit('the wrong one was imported')")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        assert run_command(["run", str(recipe), "--until", "pretrain"]) == 0
    return folder / "run"


@pytest.mark.slow
def test_spaces_and_hangul_in_paths(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "내보낸 모델"
    (checkpoint,) = (run / "pretrain" / "checkpoints").glob("step-*10")
    assert run_command(["export", str(checkpoint), "--out", str(out)]) == 0
    assert (out / "config.json").is_file()
    assert run_command(["corpus", "stats", str(run), "--plots", str(tmp_path / "그림 모음")]) == 0
    assert run_command(["tokenizer", "show", str(run / "tokenizer"), "안녕"]) == 0


@pytest.mark.slow
def test_a_checkpoint_without_its_mark(run: Path, tmp_path: Path, said: Said) -> None:
    copied = tmp_path / "run"
    copy_run(run, copied)
    (checkpoint,) = (copied / "pretrain" / "checkpoints").glob("step-*10")
    (checkpoint / "complete.json").unlink()
    code = run_command(["export", str(checkpoint), "--out", str(tmp_path / "model")])
    assert code != 0
    message = said()
    assert "is not a whole checkpoint" in message and "fix: " in message
    assert not (tmp_path / "model").exists()


def test_a_recipe_that_is_not_there(tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("{}")
    for name, meant in (
        ("quickstrt", "quickstart"),
        ("configs/quickstrt.yaml", "quickstart"),
        ("min.yaml", "mine.yaml"),
    ):
        assert run_command(["plan", name]) == 2
        assert f"did you mean '{meant}'?" in said()
    assert run_command(["plan", "zzz"]) == 2
    assert "klue-roberta-base" in said()


def test_a_file_of_the_users_goes_before_a_recipe_of_that_name(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("quickstart", "configs/quickstart.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine: 1")
        assert run_command(["plan", name]) == 2
        assert "unknown key 'mine'" in said()


def test_the_remedy_repeats_what_was_given(tmp_path: Path, said: Said) -> None:
    (tmp_path / "text.txt").write_text("가나다\n", encoding="utf-8")
    recipe, out = str(write_recipe(tmp_path, tmp_path / "text.txt")), f"out={tmp_path / 'a run'}"
    assert run_command(["pretrain", recipe, out]) == 2
    fix = said().split("fix: ")[1].replace("\n         ", " ")
    assert shlex.split(fix) == ["hunmin", "run", recipe, out, "--until", "encode"]


OUTPUTS = (
    ["sample", "--out", "{}/x"],
    ["run", "recipe.yaml", "out={}/run", "klue=null"],
    ["tokenizer", "train", "--corpus", "text.txt", "--vocab-size", "100", "--out", "{}/x"],
    ["corpus", "split", "--in", "text.txt", "--out", "{}/x"],
    pytest.param(["report", "made-run", "--out", "{}/x/page.html"], marks=pytest.mark.slow),
    pytest.param(["export", "made-run/pretrain/checkpoints/step-00000010", "--out", "{}/x"], marks=pytest.mark.slow),
)


@pytest.mark.parametrize("words", OUTPUTS, ids=lambda words: words[0])
def test_an_output_that_cannot_be_written(
    words: list[str],
    tmp_path: Path,
    said: Said,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("가나다 라마바\n" * 50, encoding="utf-8")
    (tmp_path / "klue").mkdir()
    (tmp_path / "klue" / "ontology.json").write_text("{}")
    write_recipe(tmp_path, tmp_path / "text.txt")
    if words[0] in ("export", "report"):
        (tmp_path / "made-run").symlink_to(request.getfixturevalue("run"))
    capfd.readouterr()
    code = run_command([word.format("/proc/self") for word in words])  # nobody may write there, root included
    message = said()
    assert code in (1, 2) and "/proc/self" in message and "fix: " in message


@pytest.mark.parametrize("url", ["https://127.0.0.1:9/a.jsonl", "s3://no-such-bucket-of-anybody/a.jsonl"])
def test_inputs_that_cannot_be_reached(url: str, mini_run: Path, tmp_path: Path, said: Said) -> None:
    changes = [f"out={tmp_path / 'run'}", f"corpus.inputs=['{url}']"]
    assert run_command(["run", str(mini_run / "recipe.yaml"), *changes, "--until", "corpus"]) == 2
    message = said()
    assert url in message and "check the URL" in message


@pytest.mark.slow
def test_a_model_of_the_hub_without_network(
    run: Path, said: Said, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    capfd.readouterr()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    recipe = run.parent / "recipe.yaml"
    change = ["pretrain.init_from=nobody/no-such-model", f"out={run}"]
    assert run_command(["run", str(recipe), "--until", "pretrain", *change]) == 2
    message = said()
    assert "nobody/no-such-model is no folder here and not in the hub's cache" in message
    assert "hf download nobody/no-such-model" in message


def test_a_folder_without_a_model(tmp_path: Path, said: Said) -> None:
    words = ["klue", "finetune", str(tmp_path), "--data", str(tmp_path), "--out", str(tmp_path / "scores")]
    assert run_command(words) == 2
    assert "name an exported model's folder" in said()
