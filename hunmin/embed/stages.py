"""The stage `embed`: an encoder to sentence embeddings, with their scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from common.extras import require
from common.files import write_text
from common.names import find
from common.settings import dump_settings
from common.stage_folders import folder_of
from embed.data import load_sets, refuse_small_sets
from embed.sets import set_files
from embed.settings import EmbedSettings, require_mteb
from hunmin.embed.recipe import WithEmbed
from hunmin.pipeline.inputs import Input, labelled, model_inputs
from hunmin.pipeline.stage import Counts, Stage, section_settings
from pretrain.training_stage import steps_done, train_in_processes, write_job


def settings_of(recipe: WithEmbed) -> EmbedSettings:
    """Return the section `embed` of a recipe that has it."""
    assert recipe.embed is not None
    return recipe.embed


def base_of(recipe: WithEmbed) -> Path:
    """Return the folder of the encoder that is tuned: the recipe's base, else its run's export."""
    base = settings_of(recipe).base
    return find(base, "model") if base else folder_of(Path(recipe.out), "export")


def set_inputs(settings: EmbedSettings) -> list[Input]:
    """Return the files of the data sets and of the scored tasks, in their order."""
    return [entry for number, path in enumerate(set_files(settings), 1) for entry in labelled(f"set {number}", [path])]


def _inputs(recipe: WithEmbed) -> list[Input]:
    settings = settings_of(recipe)
    models = {"base": settings.base, "guide": settings.guide}
    return [
        *set_inputs(settings),
        *(entry for key, name in models.items() for entry in model_inputs(key, name, "model")),
    ]


def train_on(recipe: WithEmbed, settings: EmbedSettings, out: Path, reranker: bool = False) -> Counts:
    """Return the counts of a tuning of the recipe's encoder by settings; see `train_in_processes`."""
    job = {"settings": dump_settings(settings, "secret"), "base": str(base_of(recipe)), "name": recipe.name}
    write_job({**job, "out": str(out), "reranker": reranker}, out)
    several = [str(settings.processes)] if settings.processes > 1 else []
    return train_in_processes(["embed.train", *several], out, settings)


def _embed(recipe: WithEmbed, run: Path, out: Path) -> Counts:
    settings = settings_of(recipe)
    counts = train_on(recipe, settings, out)
    if not settings.score:
        return counts
    from embed.card import read_facts, write_card
    from embed.score import as_markdown, score_models

    model = out / "model"
    folders = [Path(source) for source in settings.sources]
    table = score_models(
        model, folders, out / "scores", settings.score, base_of(recipe), name=recipe.name, widths=settings.matryoshka
    )
    card = write_card(read_facts(model), recipe.name, as_markdown(table, "en"))
    write_text(model / "README.md", card)
    return {**counts, "scores": table}


def _check(recipe: WithEmbed, run: Path) -> None:
    """Refuse before unfinished work is moved aside: a wrong row, a base that cannot be tuned, a missing package."""
    require("sentence_transformers", "the stage embed", "embed")
    settings = settings_of(recipe)
    if settings.score:
        require_mteb()
    refuse_small_sets(load_sets(settings), settings.batch)
    check_models(recipe)


def check_models(recipe: WithEmbed) -> None:
    """Refuse a base or guide that cannot be used; the run's own export need not be there. Raises UserError."""
    from embed.base import load_model, read_base

    settings = settings_of(recipe)
    if settings.base:
        read_base(base_of(recipe), settings)
    if settings.guide:
        load_model(find(settings.guide, "model"), "cpu")


ALONE = Stage(
    "embed", after=(), settings=section_settings("embed"), work=_embed, inputs=_inputs, model=EmbedSettings,
    packages=("torch", "transformers", "sentence-transformers", "mteb"), extent=steps_done, check=_check,
)  # fmt: skip
AFTER_EXPORT = replace(ALONE, after=("export",))
