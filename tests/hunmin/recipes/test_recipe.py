"""The recipes in configs/ are valid, and hold the paper's settings."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import pytest
import torch

from common.errors import UserError
from common.settings import load_yaml
from hunmin.main import run_command
from hunmin.pipeline.stages import stage_named
from hunmin.recipes.recipe import is_of_embeddings, is_of_instructions, load_recipe
from klue.tasks import TASKS
from pretrain.kernels.compile import speed_up
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from tests.klue.names import KLUE_TASKS

CONFIGS = Path(__file__).parents[3] / "configs"
RECIPES = sorted(CONFIGS.glob("*.yaml"))
YOURS = ("corpus.inputs=[x]", "klue.data=y")
RECIPES = [path for path in RECIPES if not is_of_embeddings(load_yaml(path))]  # tests/hunmin/embed has them
DECODERS = [path for path in RECIPES if is_of_instructions(load_yaml(path))]


@pytest.mark.parametrize("path", [path for path in RECIPES if path not in DECODERS], ids=lambda p: p.stem)
def test_valid(path: Path) -> None:
    recipe = load_recipe(path, () if path.stem == "quickstart" else YOURS)
    assert recipe.name == path.stem and recipe.out == f"runs/{path.stem}"


def commands(path: Path) -> list[list[str]]:
    """The commands that the comment at the head of a recipe tells to type, as arguments of hunmin."""
    head = itertools.takewhile(lambda line: line.startswith("#"), path.read_text("utf-8").splitlines())
    lines = [line.lstrip("# ").split("  ")[0] for line in head if line.startswith("#   hunmin ")]
    return [shlex.split(part)[1:] for line in lines for part in line.split("&&")]


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_the_commands_at_its_head_work(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUNMIN_PII_KEY", "0" * 64)
    (tmp_path / "configs").symlink_to(CONFIGS)
    for name in ("texts/a.jsonl.zst", "klue-benchmark/ynat.json", "sets/nsmc.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"")
    for name in KLUE_TASKS:
        dev = tmp_path / "klue-benchmark" / str(TASKS[name].file("dev"))
        dev.parent.mkdir(exist_ok=True)
        dev.write_bytes(b"")
    commands_of_recipe = commands(path)
    assert [c for c in commands_of_recipe if c[0] in ("plan", "run") and c[1] == f"configs/{path.name}"]
    for command in commands_of_recipe:
        if command[0] == "run" and "--dry-run" not in command:
            command.append("--dry-run")
        assert run_command(command) == 0, command
        if "--devices" in command:  # what is planned can be run
            devices = command[command.index("--devices") + 1]
            overrides = [word for word in command if "=" in word]
            load_recipe(path, [*YOURS, *overrides, f"pretrain.processes={devices}"])


@pytest.mark.parametrize(
    ("name", "layers", "hidden", "heads", "steps", "batch", "objective"),
    [
        ("klue-bert-base", 12, 768, 12, 1_000_000, 256, "mlm+nsp"),
        ("klue-roberta-small", 6, 768, 12, 1_000_000, 2048, "mlm"),
        ("klue-roberta-base", 12, 768, 12, 1_000_000, 2048, "mlm"),
        ("klue-roberta-large", 24, 1024, 16, 500_000, 2048, "mlm"),
    ],
)
def test_table_31(name: str, layers: int, hidden: int, heads: int, steps: int, batch: int, objective: str) -> None:
    recipe = load_recipe(CONFIGS / f"{name}.yaml", YOURS)
    p = recipe.pretrain
    assert (p.model.layers, p.model.hidden, p.model.heads) == (layers, hidden, heads)
    assert (p.steps, p.global_batch, p.objective) == (steps, batch, objective)
    assert (p.optimizer.learning_rate, p.max_seq_len) == (1e-4, 512)
    assert recipe.tokenizer.vocab_size == 32_000 and p.masking.whole_word


@pytest.mark.parametrize("path", [path for path in RECIPES if path.stem.startswith("klue-")], ids=lambda p: p.stem)
def test_on_a_gpu_the_published_recipes_are_computed_without_padding(path: Path) -> None:
    """With their dropout, by the kernel for texts of any length; the stand-in for a GPU has shapes alone."""
    settings = load_recipe(path, [*YOURS, "pretrain.model.layers=1"]).pretrain
    special = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
    stand_in = torch.device("meta")
    with stand_in:
        model = MaskedRowsModel(build_model(settings, build_config(settings, 64, special)), torch.bfloat16)
    speed_up(model, settings, stand_in)
    assert model.input_form(stand_in).texts
    own = model.hf_model.base_model.encoder.layer[0].attention.self
    assert own.dropout.p == settings.model.dropout == 0.1 and own.forward.__name__ == "attend_fused"


@pytest.mark.parametrize("command", [["run", "quickstart"], ["run", "quickstart", "--dry-run"], ["run", "gpu-check"]])
def test_elsewhere_than_in_a_clone_the_sample_is_said_how_to_make(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(command) == 2
    assert "hunmin sample --out runs/sample, then the same command again" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_what_is_left_to_the_user_is_asked_for() -> None:
    with pytest.raises(UserError) as caught:
        load_recipe(CONFIGS / "local-small.yaml")
    assert "'corpus.inputs' is missing: give it in the recipe or as corpus.inputs=VALUE" in str(caught.value)
    assert "'klue.data' is missing" in str(caught.value)


def test_shared_values_are_filled_in() -> None:
    recipe = load_recipe(CONFIGS / "local-small.yaml", [*YOURS, "seed=7"])
    assert recipe.pretrain.seed == recipe.tokenizer.seed == 7
    assert recipe.corpus.decontaminate.benchmark == "y"


def test_a_new_tokenizer_states_the_length_of_the_model() -> None:
    def length(*changes: str) -> int:
        return load_recipe(CONFIGS / "local-small.yaml", [*YOURS, *changes]).tokenizer.max_seq_len

    assert length("pretrain.max_seq_len=64") == 64
    assert length("pretrain.max_seq_len=64", "tokenizer.max_seq_len=48") == 48
    # one that is taken over states its own; 512 is what it is not told
    assert length("pretrain.max_seq_len=64", "tokenizer={base: /a/tokenizer, vocab_size: 32000}") == 512
    with pytest.raises(UserError) as caught:
        length("pretrain.max_seq_len=4")
    assert "pretrain.max_seq_len" in str(caught.value) and "tokenizer" not in str(caught.value)


def test_a_finished_tokenizer_stays_when_the_length_of_the_model_changes() -> None:
    """It would take tokens and training with it."""
    stage = stage_named("tokenizer")
    before, after = (
        stage.settings(load_recipe(CONFIGS / "local-small.yaml", [*YOURS, f"pretrain.max_seq_len={n}"]))
        for n in (64, 128)
    )
    assert before == after and before["vocab_size"] > 1000
