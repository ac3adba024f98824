"""The stages of a decoder's run: instructions, the tuned model, its scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.globs import expand
from common.names import find, find_here
from common.progress import say
from common.stage_folders import folder_of
from data.instruct.build import build_instructions, instruct_files
from data.instruct.settings import InstructSettings
from hunmin.pipeline.inputs import Input, labelled, model_inputs
from hunmin.pipeline.stage import Counts, Stage, section_settings
from leaderboard.score import score_model
from leaderboard.settings import LeaderboardSettings
from leaderboard.texts import test_files, test_texts
from pretrain.training_stage import steps_done, train_in_processes, write_job
from pretrain.tuning.settings import TuneSettings

if TYPE_CHECKING:
    from hunmin.instruct.recipe import InstructRecipe


def _suites(recipe: InstructRecipe) -> dict[str, Path]:
    """Return the suites that a recipe scores on files of its own → their folder."""
    board = recipe.leaderboard
    return {name: Path(board.data) for name in board.suites if name != "instruct"} if board else {}


def _test_inputs(recipe: InstructRecipe) -> list[Input]:
    return [
        entry for suite, data in _suites(recipe).items() for entry in labelled(suite, test_files(suite, data), data)
    ]


def _instruct_inputs(recipe: InstructRecipe) -> list[Input]:
    if recipe.instruct.uses:
        expand(recipe.instruct.data)  # says where there is nothing
    files = instruct_files(recipe.instruct)
    own = [path for path in files if Path(path).is_relative_to(Path(recipe.instruct.data).expanduser())]
    extra = [path for path in files if path not in own]
    return [*labelled("data", own, recipe.instruct.data), *labelled("extra", extra), *_test_inputs(recipe)]


def _base_inputs(recipe: InstructRecipe) -> list[Input]:
    """Return the base's files; refuse one that is here and cannot be tuned before instructions are built for it."""
    inputs = model_inputs("tune.base", recipe.tune.base, "model")
    folder = find_here(recipe.tune.base, "model")
    if folder:
        from pretrain.decoders.load import read_base

        read_base(folder, recipe.tune.max_seq_len)
    return inputs


def _instruct(recipe: InstructRecipe, run: Path, out: Path) -> Counts:
    tests = {name: test_texts(name, data) for name, data in _suites(recipe).items()}
    return build_instructions(recipe.instruct, out, tests)


def tuning_job(recipe: InstructRecipe, run: Path, out: Path) -> dict[str, Any]:
    """Write the job of `pretrain.tuning.train` (settings and paths) into the stage's folder, and return it."""
    settings = recipe.tune.model_dump(mode="json")
    return write_job({"settings": settings, "instructions": str(folder_of(run, "instruct")), "out": str(out)}, out)


def _tune(recipe: InstructRecipe, run: Path, out: Path) -> Counts:
    tuning_job(recipe, run, out)
    several = [str(recipe.tune.processes)] if recipe.tune.processes > 1 else []
    return train_in_processes(["pretrain.tuning.train", *several], out, recipe.tune)


def _board(recipe: InstructRecipe, run: Path, out: Path) -> Counts:
    board = recipe.leaderboard
    if board is None:
        say("leaderboard the recipe has no leaderboard section: the model is not scored", style="yellow")
        return {"skipped": True}
    models = [("tuned", folder_of(run, "tune") / "model", recipe.name)]
    models += [("base", find(recipe.tune.base, "model"), f"base of {recipe.name}")] if board.base else []
    counts: Counts = {}
    for name, model, title in models:
        scores = score_model(board, model, out / name, folder_of(run, "instruct") / "held_out.jsonl", title)["tasks"]
        counts[name] = {task: of_task["results"][task] for task, of_task in scores.items()}
    return counts


def decoder_folder(name: str) -> Path:
    """Return the folder of a decoder: of a run the tuned model's, else what `common.names.find` finds."""
    tuned = folder_of(Path(name), "tune") / "model"
    return tuned if tuned.is_dir() else find(name, "model")


INSTRUCT_STAGES = (
    Stage(
        "instruct", after=(), settings=section_settings("instruct"), work=_instruct, inputs=_instruct_inputs,
        model=InstructSettings,
    ),
    Stage(
        "tune", after=("instruct",), settings=section_settings("tune"), work=_tune, inputs=_base_inputs,
        model=TuneSettings, packages=("torch", "transformers", "peft", "deepspeed"), extent=steps_done,
    ),
    Stage(
        "leaderboard", after=("instruct", "tune"), settings=section_settings("leaderboard"), work=_board,
        inputs=lambda recipe: [*_test_inputs(recipe), *_base_inputs(recipe)], model=LeaderboardSettings,
        packages=("lm_eval", "torch", "transformers"), unread=("train.jsonl", "adapter/*"),
    ),
)  # fmt: skip
