"""Preflight checks: errors of `hunmin run`, reported beforehand by `hunmin run --dry-run` and `hunmin plan`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from common.errors import UserError, raise_together
from common.files import HUB, human_size, read_bytes
from common.lock import LOCK
from common.manifest import read_manifest
from common.names import find_here, with_prefix
from common.settings import Settings, apply_overrides, dump_settings
from common.stage_folders import MADE, folder_of, folders_of, links_of
from data.corpus import CorpusSettings, corpus_files
from data.readers.paths import list_files
from data.readers.records import InputFile
from data.units.fields import check_fields, entry_of, unfit_files
from data.units.quarantine import Quarantine
from hunmin.recipes.pins import MISSING, refuse_unknown_names
from hunmin.recipes.recipe import Recipe, RunSettings, is_resolved_recipe, read_recipe
from klue.examples import split_files
from klue.tasks import TASKS
from pretrain.callbacks.checkpoint_metadata import read_metadata
from pretrain.cost.epochs import EPOCHS, MANY, epochs_of, fitting_steps
from pretrain.phase import refuse_held_out
from pretrain.settings import PretrainSettings
from pretrain.train import JOB
from tokenizer.fitting import fitting_size, is_too_large

SHARED_STAGE = "corpus"
"""The stage that several processes can do together in one run folder."""


class _OfCorpus(Settings):
    corpus: CorpusSettings


def refuse_shared_executor(recipe: RunSettings, first: str | None, last: str | None) -> bool:
    """Return whether several processes do the corpus stage together; refuse it in a run of other stages.

    Raises:
        UserError: it is the recipe's, and there are other stages.
    """
    if not isinstance(recipe, Recipe):
        return False
    executor = recipe.corpus.executor
    share = executor == "slurm-array"
    if share and (first or last != SHARED_STAGE):
        raise UserError(
            f"corpus.executor={executor} in a run of other stages",
            f"the elements of an array do the stage '{SHARED_STAGE}' alone",
            f"submit hunmin corpus build RECIPE --executor {executor}; then run the recipe with corpus.executor=local",
        )
    return share


def refuse_missing(recipe: RunSettings, reads: Iterable[Callable[[Any], object]], ask: bool = False) -> None:
    """Refuse a recipe of which something that it reads is not there, or cannot be used; all of it is named.

    Args:
        reads: of each stage, what gives the files that it reads, and whatever else refuses a recipe.
        ask: also ask the hub of names that are not in its cache.

    Raises:
        UserError: there is such a thing.
    """
    checks: list[Callable[[Any], object]] = [partial(refuse_unknown_names, ask=True)] if ask else []
    raise_together(_refused([partial(check, recipe) for check in [*checks, *reads]], recipe), MISSING)


def refuse_with_inputs(error: UserError, path: str, overrides: Sequence[str]) -> None:
    """Refuse a recipe that could not be loaded for its settings and for the files of its corpus at once; files that fit
    are no reason.

    Args:
        error: why it could not be loaded.
        path: of the recipe.
        overrides: `key=value` each.

    Raises:
        UserError: files are not there or do not fit; what the error says comes first.
    """
    try:
        tree = apply_overrides(read_recipe(path)[1], overrides)
        settings = CorpusSettings.model_validate({"inputs": tree["corpus"]["inputs"]})
    except (UserError, ValueError, KeyError, TypeError):  # the error says what is wrong there
        return
    checks = [lambda: list_files(settings.inputs), lambda: check_fields(listed_files(settings))]
    if refused := _refused(checks, _OfCorpus(corpus=settings)):
        raise_together([error, *refused], MISSING)


def _refused(checks: Iterable[Callable[[], object]], recipe: Settings) -> list[UserError]:
    refused = []
    for check in checks:
        try:
            check()
        except UserError as error:
            refused += with_settings(error, recipe)
    return refused


def with_settings(error: UserError, recipe: Settings) -> list[UserError]:
    """Return the errors that an error stands for; one on a missing path names the settings that hold the path."""
    tree, errors = dump_settings(recipe, "secret"), []
    for part in error.parts or (error,):
        names = ", ".join(_places(tree, part.path)) if part.path else ""
        errors.append(UserError(part.problem + f" ({names})" * bool(names), part.rule, part.fix))
    return errors


def _places(value: Any, path: str, key: str = "") -> Iterator[str]:
    """Yield where a value stands in a JSON-like tree: `corpus.inputs[1].path`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _places(inner, path, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _places(inner, path, f"{key}[{number}]")
    elif isinstance(value, str) and value.removeprefix(HUB) == path:
        yield key


def listed_files(settings: CorpusSettings) -> list[InputFile]:
    """Return the files of those inputs that can be listed; `corpus_files` raises for the others."""
    files: list[InputFile] = []
    for entry in settings.inputs:
        with suppress(UserError):
            files += list_files([entry])
    return files


def unfit_inputs(settings: CorpusSettings) -> list[str]:
    """Return a warning for each input file that a run would quarantine because it lacks the columns or fields that the
    recipe names; of many files of a kind some are looked into.

    Raises:
        UserError: they are more than `max_bad_file_share` allows; or as `corpus_files`.
    """
    files = corpus_files(settings)
    quarantine = Quarantine(len(files), settings.max_bad_file_share)
    problems = []
    for file, error in unfit_files(files):
        quarantine.add(file.path, error.reason, tell=False)
        problems.append(
            f"{error.problem} and will be quarantined: {error.rule}. Take it out of the input {file.settings.path}; to "
            f"read it, add an entry of its own to corpus.inputs: {entry_of(file)}"
        )
    return problems


def unfilled_vocabulary(recipe: Recipe, text_bytes: float | None) -> list[str]:
    """Return a warning where a text is too small for the vocabulary that is to be trained on it."""
    size = recipe.tokenizer.vocab_size
    if recipe.tokenizer.base or not text_bytes or not is_too_large(size, text_bytes):
        return []
    return [
        f"tokenizer.vocab_size={size} is large for {human_size(text_bytes)} of text, which yields too few entries or "
        f"many that occur a few times: set tokenizer.vocab_size={fitting_size(text_bytes)}, or give more text"
    ]


def repeated_text(settings: PretrainSettings, text_bytes: float | None) -> list[str]:
    """Return a warning where training reads a text more than `MANY` times."""
    if not text_bytes or (epochs := epochs_of(settings.tokens, text_bytes)) <= MANY:
        return []
    steps = fitting_steps(text_bytes, settings.tokens // settings.steps, settings.steps)
    return [
        f"pretrain.steps={settings.steps} reads {human_size(text_bytes)} of text about {epochs:,.0f} times; BERT was "
        f"trained for about {EPOCHS} epochs: set pretrain.steps={steps}, or give more text"
    ]


def refuse_moved(recipe: RunSettings, path: str, overrides: Sequence[str]) -> None:
    """Refuse a run's own recipe where the run's folder was moved or copied: it names the old place.

    Args:
        overrides: `key=value` each; one that says `out` is what is wanted.

    Raises:
        UserError: the recipe is the one that a run has written into its folder, and names another folder.
    """
    folder = Path(path).parent
    own = Path(path).name == "recipe.yaml" and (folder / LOCK).is_file() and is_resolved_recipe(Path(path))
    if (
        own
        and folder.resolve() != Path(recipe.out).resolve()
        and not any(override.startswith("out=") for override in overrides)
    ):
        raise UserError(
            f"{path} says out: {recipe.out}, and its run is in {folder}",
            "a run's own recipe continues the run beside it; paths in it are relative to where the command is given",
            f"continue that run with out={folder}, or name another folder",
        )


def refuse_training(recipe: Recipe, here: bool = True) -> None:
    """Refuse training that would end at its first step, `here` or on another machine, as far as that is known before.

    Raises:
        UserError: it has more processes than the machine has GPUs, begins with a model of another kind or shape, or
            holds samples out of a corpus that repeats them.
    """
    if here:
        _refuse_more_processes_than_gpus(recipe.pretrain.processes)
    refuse_no_parent(recipe)
    refuse_other_model(recipe)
    refuse_repeated_validation(recipe)


def _refuse_more_processes_than_gpus(processes: int) -> None:
    import torch

    gpus = torch.cuda.device_count()
    if torch.cuda.is_available() and processes > gpus:
        raise UserError(
            f"{processes} processes on a machine with {gpus} GPUs",
            "a process has a GPU of its own",
            f"set pretrain.processes={gpus}",
        )


def parent_of(branch_from: str | None, run: Path) -> str | None:
    """Return where the checkpoint is that a run branches from: links of the run itself follow the branch once that has
    begun, so that its own job says whence it came."""
    if branch_from is None:
        return None
    named = Path(branch_from).absolute()
    if named.parent.parent in links_of(run.absolute(), "pretrain"):
        for folder in folders_of(run, "pretrain"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                parent = Path(json.loads(read_bytes(folder / "logs" / JOB))["parent"])
                if parent.name == named.name and parent.parents[2].samefile(run / MADE):
                    return str(parent)
        return str(named.resolve()) if named.exists() else branch_from
    return branch_from


def refuse_tasks_without_files(recipe: Recipe) -> None:
    """Refuse tasks to score whose files are not there.

    Raises:
        UserError: they are not; all of them are named.
    """
    klue = recipe.klue
    refused: dict[str, UserError] = {}
    for name in klue.tasks if klue else ():
        folder = klue.folder_of(name) if klue else Path()
        try:
            if folder.is_dir():  # else it is told of as a whole, or on the hub
                split_files(TASKS[name], folder)
        except UserError as error:
            refused[name] = error
    if len(refused) > 1:
        first = next(iter(refused.values()))
        raise UserError(f"{first.problem}, nor what {', '.join(list(refused)[1:])} need", first.rule, first.fix)
    raise_together([*refused.values()], "")


def refuse_no_parent(recipe: Recipe) -> None:
    """Refuse training that is to branch from a checkpoint that is not there; whether it is whole, training reads.

    Raises:
        UserError: it is not.
    """
    parent = parent_of(recipe.pretrain.branch_from, Path(recipe.out))
    if parent is not None and read_metadata(Path(parent)) is None:
        raise UserError(
            f"pretrain.branch_from={parent} is no checkpoint",
            "it names the folder of one (…/checkpoints/step-00001000)",
            "choose another one",
        )


def refuse_other_model(recipe: Recipe) -> None:
    """Refuse a model to continue from that is here, and has another kind, shape or vocabulary than the recipe's.

    Raises:
        UserError: it has.
    """
    source = recipe.pretrain.init_from
    folder = find_here(with_prefix(source), "model") if source else None
    if source and folder and folder.is_dir():
        from pretrain.models.continuation import check_model

        check_model(source, recipe.pretrain)
        if not recipe.tokenizer.base and read_manifest(folder_of(Path(recipe.out), "tokenizer")) is None:
            raise UserError(
                f"pretrain.init_from={source} without tokenizer.base",
                "its embeddings are of its own vocabulary, and the run would train another",
                f"set tokenizer.base={source}",
            )


def refuse_repeated_validation(recipe: Recipe) -> None:
    """Refuse samples held out of a corpus that holds out no documents, and repeats some or cuts them in several ways.

    Raises:
        UserError: the recipe asks for it.
    """
    mixture, pretrain = recipe.corpus.mixture, recipe.pretrain
    refuse_held_out(pretrain, pretrain.packing == "sentence-pairs" or bool(mixture and mixture.held_out))
    if mixture is None or mixture.held_out or not pretrain.validation_samples or pretrain.packing == "sentence-pairs":
        return
    drawn = mixture.max_epochs > 1 and (
        mixture.alpha < 1 or any(source.weight != 1 for source in mixture.sources.values())
    )
    if drawn or any((source.epochs or 0) > 1 for source in mixture.sources.values()):
        raise UserError(
            f"corpus.mixture repeats documents, and pretrain.validation_samples={pretrain.validation_samples} are to "
            "be held out of them",
            "a sample that is held out must not come again in training",
            "set corpus.mixture.held_out (0.005, say), or pretrain.validation_samples=0",
        )
