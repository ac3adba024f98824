"""The recipe: a whole run as one validated file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, Field, model_validator

from common.control_characters import one_line
from common.errors import UserError, nearest
from common.files import atomic_write, read_bytes
from common.secrets import masked
from common.settings import (
    FIX,
    Settings,
    apply_overrides,
    dump_settings,
    load_yaml,
    parse_settings,
    runtime,
    under,
)
from data.decontaminate.settings import NOT_DECONTAMINATED
from data.settings import CorpusSettings
from embed.settings import EmbedSettings
from hunmin.hub.settings import HubSettings
from hunmin.recipes.builtin import builtin_recipes, recipe_file
from hunmin.recipes.pins import pin_names
from klue.settings import KlueSettings
from klue.tasks.own import OwnTask
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import PretrainSettings
from tokenizer.encode import EncodeSettings
from tokenizer.train import TokenizerSettings

NOT_NAMED = "(not named yet)"
"""Stands in a recipe for what lies elsewhere than in the recipes that come with the package: corpora, the benchmark."""

INSTRUCT_SECTIONS = frozenset({"instruct", "tune", "leaderboard"})
"""Sections of a recipe that tunes a decoder (`hunmin.instruct.recipe`)."""

RESOLVED = "# Written by hunmin: every setting of the run.\n"


def _without_secret(name: str) -> str:
    if masked(name) != name:
        raise ValueError("it holds what looks like a secret, and stands in names of files and on pages")
    return name


class CommitSettings(Settings):
    """Commits of the names on the hub that a recipe holds."""

    commits: dict[str, str] = runtime({})
    """Commit for each name on the hub in this recipe (OWNER/NAME, OWNER/NAME@REVISION). Hunmin writes it into the run's
    recipe.yaml, so that a resumed run reads the same files; change it to move to another commit."""


class ExportSettings(Settings):
    """Which weights a finished run exports."""

    average: int | None = Field(None, ge=2)
    """Number of last checkpoints whose mean is exported; `pretrain.keep_last` keeps as many. None: the last one."""


class RunSettings(Settings):
    """What the recipe of any run holds."""

    name: Annotated[str, AfterValidator(one_line), AfterValidator(_without_secret)]
    """Name of the run: title of the report, name in wandb."""
    out: Annotated[str, AfterValidator(one_line), AfterValidator(_without_secret)] = runtime(...)
    """Run folder; each stage has a folder below it."""
    seed: int = 42
    """Default of `seed` in `tokenizer`, `pretrain`, `embed`, `instruct` and `tune`.
    `corpus.mixture.seed` and `klue.seeds` have values of their own."""


class Recipe(RunSettings):
    """A run from raw text to the report. Paths are relative to the folder the command is started in."""

    corpus: CorpusSettings
    """Raw text to clean text shards."""
    tokenizer: TokenizerSettings = TokenizerSettings()
    """Text shards to a vocabulary."""
    encode: EncodeSettings = EncodeSettings()
    """Text shards to token shards."""
    pretrain: PretrainSettings = PretrainSettings()
    """Token shards to a model."""
    export: ExportSettings = ExportSettings()
    """Checkpoints to a model for transformers."""
    klue: KlueSettings | None = None
    """Model to KLUE scores. Without it the stage `klue` is skipped, and the corpus is decontaminated only against
    `corpus.decontaminate.benchmark`. The texts of `klue.own` are kept out as well."""
    embed: EmbedSettings | None = None
    """Model to sentence embeddings. Without it there is no stage `embed`."""
    hub: HubSettings = HubSettings()
    """Model to the model hub."""

    @model_validator(mode="after")
    def _ends_as_an_encoder(self) -> Recipe:
        last = self.pretrain.objectives[0]
        for there, action, fix in (
            (self.klue, "fine-tune", "klue=null"),
            (self.hub.repository, "push to the hub", "hub.repository=null"),
        ):
            if there and not OBJECTIVES[last].scored:
                raise ValueError(
                    f"pretrain.objective={last} leaves no encoder to {action}: its tokens have not seen what follows "
                    f"them; set {fix}, or end with masks: pretrain.objective=mlm, or a last one of pretrain.phases"
                )
        return self

    @model_validator(mode="after")
    def _averages_what_training_leaves(self) -> Recipe:
        p, count = self.pretrain, self.export.average or 0
        last = [*range(p.checkpoint_every, p.steps, p.checkpoint_every), p.steps][-count:]
        shapes = [(s.objective, s.max_seq_len, s.model) for s, *_ in (p.phase_at(step - 1) for step in last)]
        every = f"lower it, or pretrain.checkpoint_every={p.checkpoint_every}"
        for wrong, why in (
            (p.keep_last < count, f"is more than pretrain.keep_last={p.keep_last}; set pretrain.keep_last={count}"),
            (len(last) < count, f"is more than the {len(last)} checkpoints that training saves; {every}"),
            (shapes.count(shapes[-1]) < count,
             f"reaches back to step {last[0]}, in a phase of another objective, length or RoPE base; {every}"),
        ):  # fmt: skip
            if wrong:
                raise ValueError(f"export.average={count} {why}")
        return self

    @property
    def kept_out(self) -> list[OwnTask]:
        """Return the own tasks whose texts are taken out of the corpus, beside those of the benchmarks."""
        return self.klue.own if self.klue and self.corpus.decontaminate.enabled else []

    @property
    def is_decontaminated(self) -> bool:
        """Return whether any text is kept out of the corpus."""
        return self.corpus.decontaminate.applies or bool(self.kept_out)

    @property
    def published(self) -> bool:
        """Return whether published rows are shown beside the scores."""
        return self.klue is not None and self.klue.published


def load_recipe(
    path: str | Path,
    overrides: Sequence[str] = (),
    without_data: bool = False,
    fetch: bool = False,
    section: str | None = None,
) -> Recipe:
    """Return the recipe in a YAML file, with `key=value` overrides applied and shared values filled in.

    A name that is no file's may be that of a recipe that comes with the package (`hunmin.recipes.builtin`).
    `seed` goes to every stage without one, and `pretrain.max_seq_len` to a tokenizer without `base`;
    `corpus.decontaminate.benchmark` is `klue.data`, with the data of other suites that are scored, unless stated. Names
    on the hub get their commits (`hunmin.recipes.pins`).

    Args:
        overrides: `key=value` each.
        without_data: `corpus.inputs` and `klue.data` may be missing, and are `NOT_NAMED` then.
        fetch: fetch what is named on the hub and not in its cache.
        section: that a command works on, whose keys may stand in `overrides` without it.

    Raises:
        UserError: the file or a value is wrong, what is named on the hub cannot be fetched, or the key of the
            pseudonyms would stand beside them.
    """
    path, written = read_recipe(path)
    refuse_instructions(written, path)
    tree = apply_overrides(written, under(overrides, section, Recipe.model_fields) if section else overrides)
    for section in ("tokenizer", "pretrain", *(["embed"] if tree.get("embed") else [])):
        part = tree.setdefault(section, {})
        if isinstance(part, dict):
            part.setdefault("seed", tree.get("seed", 42))
    _share_length(tree)
    if without_data:
        for section, key, value in (("corpus", "inputs", [NOT_NAMED]), ("klue", "data", NOT_NAMED)):
            part = tree.get(section)
            if isinstance(part, dict):
                part.setdefault(key, value)
    corpus, klue = tree.get("corpus"), tree.get("klue")
    if not without_data:
        pin_names(tree, Path(path), fetch)
    tests = _benchmark(klue) if isinstance(klue, dict) and klue.get("data") else []
    if isinstance(embed := tree.get("embed"), dict):
        embed.setdefault("sources", tests)
        if embed.get("score") and isinstance(embed["sources"], list):
            tests = list(dict.fromkeys([*tests, *embed["sources"]]))
    if isinstance(corpus, dict) and tests:
        decontaminate = corpus.setdefault("decontaminate", {})
        if isinstance(decontaminate, dict) and decontaminate.get("enabled", True):
            decontaminate.setdefault("benchmark", tests[0] if len(tests) == 1 else tests)
    no_data = isinstance(klue, dict) and not klue.get("data")
    fix = FIX + ("; klue=null runs without scores" if no_data else "")
    recipe = parse_settings(Recipe, tree, str(path), fix)
    if _has_key(written) and Path(path).resolve().is_relative_to(Path(recipe.out).resolve()):
        raise UserError(
            f"{path} holds corpus.pii.key and lies in the run folder {recipe.out}",
            "the key of the pseudonyms never stands beside them: who has both can test guesses",
            f"move the recipe out of the run folder, or set {recipe.corpus.pii.key_env} and take the key out",
        )
    return recipe


def _share_length(tree: dict[str, Any]) -> None:
    """Let a new tokenizer state the length of the model; one that is taken over states its own."""
    tokenizer, pretrain = tree["tokenizer"], tree["pretrain"]
    if isinstance(tokenizer, dict) and isinstance(pretrain, dict) and not tokenizer.get("base"):
        length, phases = pretrain.get("max_seq_len"), pretrain.get("phases")
        stated = [phase for phase in phases if isinstance(phase, dict)] if isinstance(phases, list) else []
        lengths = [phase.get("max_seq_len") or length for phase in stated] or [length]
        right = [each for each in lengths if isinstance(each, int) and each >= 8]
        if len(right) == len(lengths):  # what is wrong there is said once, there
            tokenizer.setdefault("max_seq_len", max(right))


def read_recipe(path: str | Path) -> tuple[Path, dict[str, Any]]:
    """Return the file that a recipe's name stands for, and what is written in it, or raise a UserError."""
    path = recipe_file(path)
    if not path.exists():
        raise _no_recipe(path)
    return path, load_yaml(path)


def recipe_of(run: Path) -> Path:
    """Return the recipe of a run folder.

    Raises:
        UserError: it is none.
    """
    path = run / "recipe.yaml"
    if not path.is_file():
        known = [str(path.parent) for path in run.parent.glob("*/recipe.yaml")] if run.parent.is_dir() else []
        problem = f"{run} is no run folder" if run.exists() else f"{run} does not exist"
        raise UserError(
            problem + nearest(str(run), known), "a run folder holds recipe.yaml", "give the folder `out` of a recipe"
        )
    return path


def is_of_instructions(tree: dict[str, Any]) -> bool:
    """Return whether what is written in a recipe is for a decoder: instructions, tuning, leaderboard."""
    return "corpus" not in tree and not INSTRUCT_SECTIONS.isdisjoint(tree)


def is_of_embeddings(tree: dict[str, Any]) -> bool:
    """Return whether what is written in a recipe is for sentence embeddings alone, from a base that is there."""
    return "corpus" not in tree and "embed" in tree


def refuse_instructions(tree: dict[str, Any], path: Path) -> None:
    """Raise a UserError where a recipe has no corpus, for the commands that work on an encoder's whole run."""
    if is_of_embeddings(tree):
        raise UserError(
            f"{path} is a recipe of sentence embeddings, which only `hunmin run`, `embed` and `verify` read",
            fix="to publish or score its model, name the folder embed/model of its run",
        )
    if is_of_instructions(tree):
        raise UserError(
            f"{path} is a recipe of instruction tuning, which only `hunmin run`, `instruct` and `verify` read",
            fix="to ask or score its model, name the folder tune/model of its run",
        )


def warnings(recipe: Recipe) -> list[str]:
    """Return warnings on what a run of the recipe leaves out unexpectedly, as sentences without a full stop."""
    lines = []
    if recipe.klue is None:
        lines.append("the recipe has no klue section: the model is not scored")
    if recipe.corpus.decontaminate.enabled and not recipe.is_decontaminated:
        lines.append(NOT_DECONTAMINATED)
    return [*lines, *filter(None, [recipe.corpus.pii.left_out])]


def _benchmark(klue: dict[str, Any]) -> list[str]:
    """Return the data of all that a recipe's klue section scores: what is to be taken out of its corpus."""
    try:
        return KlueSettings.model_validate(klue).benchmark_inputs
    except ValueError:  # it is told of when the whole recipe is read
        return [str(klue["data"])]


def _no_recipe(path: Path) -> UserError:
    shipped = list(builtin_recipes())
    here = [file.name for file in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
    known = nearest(path.name, here) or nearest(path.stem, shipped)
    return UserError(
        f"cannot read {path}: no such file{known}",
        "a recipe is a YAML file, or one that comes with hunmin",
        f"name your own, or one of {', '.join(shipped)}",
    )


def _has_key(tree: dict[str, Any]) -> bool:
    corpus = tree.get("corpus")
    pii = corpus.get("pii") if isinstance(corpus, dict) else None
    return isinstance(pii, dict) and pii.get("key") is not None


def save_recipe(recipe: RunSettings, path: Path, drop: str = "secret") -> None:
    """Write the resolved recipe as YAML, without secrets.

    Args:
        drop: "secret", or "runtime" to leave out all that the results do not depend on, the run folder among it.
    """
    with atomic_write(path) as stream:
        stream.write(RESOLVED + _as_yaml(dump_settings(recipe, drop=drop)))


def _as_yaml(tree: dict[str, Any]) -> str:
    return str(yaml.safe_dump(tree, allow_unicode=True, sort_keys=False))


def is_resolved_recipe(path: Path) -> bool:
    """Return whether a file is as `save_recipe` writes it, and nobody has put a word of their own into it."""
    try:
        text = read_bytes(path).decode()
        if text.startswith(RESOLVED) and text.count("#") == 1:
            return True
        tree = load_yaml(path)
    except (OSError, ValueError, UserError):
        return False
    text = text.removeprefix(RESOLVED)
    return Recipe.model_fields.keys() - {"klue", "embed"} <= tree.keys() and _as_yaml(tree) == text
