"""Slurm: three batch jobs, one after the other: the corpus, training on all nodes, and the scores."""

from __future__ import annotations

import os.path
import re
import shlex
from pathlib import Path

from markupsafe import Markup

from common.errors import UserError
from common.files import HUB, is_remote
from hunmin.launch.cluster import FILES, RANK_LOGS, Job, Launch, Step
from hunmin.launch.fill import fill
from hunmin.recipes.builtin import recipe_file

OUTPUT = Path("logs") / "slurm"
"""Folder, in that of a run, of what the batch jobs print."""
SHARED = r"--oversubscribe|-s|--cpus-per-task|-c|--cpus-per-gpu"
REPLACED = {
    "exclusive": SHARED,
    "mem": rf"{SHARED}|--mem-per-cpu|--mem-per-gpu",
    "gpus-per-node": "--gres|--gpus|-G|--gpus-per-task",
    "ntasks-per-node": "--ntasks|-n",
}
"""Option of ours → a user's that exclude it. Of an option given twice Slurm takes the last one, the user's."""


def launch(job: Job) -> Launch:
    """Return the three batch scripts, and the one that submits them.

    Raises:
        UserError: a line is no option.
    """
    commands = {
        "corpus": job.hunmin("run", "--until", "encode"),
        "train": job.hunmin("pretrain"),
        "scores": job.hunmin("run", "--from", "export"),  # where training is not done, it refuses
    }
    scripts = {job.run / FILES / f"{name}.sh": _script(job, name, words) for name, words in commands.items()}
    submit = job.run / FILES / "submit.sh"
    files = {**scripts, submit: fill("submit.sh", {"scripts": list(scripts)})}
    return Launch((Step("Slurm", ("bash", str(submit))),), files)


def _script(job: Job, name: str, words: tuple[str, ...]) -> str:
    own = job.cluster.lines_of(name)
    for option in own:
        if not re.fullmatch(r"--?[A-Za-z].*", option):
            raise UserError(
                f"--scheduler-option={option}",
                "it is an option of sbatch; corpus:, train: or scores: before it stands for that job alone",
                "e.g. --scheduler-option=--qos=high, or --scheduler-option=corpus:--partition=cpu",
            )
    replaced = [
        ours
        for ours, users in REPLACED.items()
        if any(re.match(rf"(?:{users})(?:[=\s\d]|$)", option) for option in own)
    ]
    mounts = ",".join(map(str, [Path.cwd(), *(_outside(job) if job.cluster.image else [])]))
    folders = {"output": job.run / OUTPUT, "here": Path.cwd(), "mounts": mounts}
    # a % in a path is Slurm's own sign
    patterns = {"output_pattern": job.run / OUTPUT, "rank_pattern": job.run / RANK_LOGS}
    doubled = {key: str(path).replace("%", "%%") for key, path in patterns.items()}
    return fill("slurm.sh", {**job.values, **folders, **doubled, "job": name, "command": words, "replaced": replaced,
                             "own": list(map(_own, own)), "sbatch": _sbatch})  # fmt: skip


def _outside(job: Job) -> list[Path]:
    """Return the folders outside the working directory that a run reads or writes, which a container must be given."""
    recipe = job.recipe
    named = [place if isinstance(place, str) else place.path for place in recipe.corpus.inputs]
    named += recipe.corpus.decontaminate.benchmarks if recipe.corpus.decontaminate.enabled else []
    named += recipe.klue.inputs if recipe.klue else []
    models = [recipe.tokenizer.base, recipe.pretrain.init_from, recipe.pretrain.branch_from]
    if embed := recipe.embed:
        named += [*embed.sources, *(place.path for place in embed.data if place.path)]
        models += [embed.base, embed.guide]
    named += [place for place in models if place]
    local = [_absolute(place) for place in named if not is_remote(place) and not place.startswith(HUB)]
    folders = {_absolute(job.run), _absolute(recipe_file(job.path)).parent}
    for place in local:
        while any(sign in str(place) for sign in "*?["):
            place = place.parent
        named_and_meant = (place, place.resolve())  # where links lead to, from the working directory, too
        folders |= {place if place.is_dir() else place.parent for place in named_and_meant}
    outside = sorted(place for place in folders if not place.is_relative_to(Path.cwd()))
    for folder in (Path.cwd(), *outside):
        if re.search("[,:]", str(folder)):
            raise UserError(f"{folder} with --image", "a comma or colon ends the name of a mount", "rename the folder")
    return outside


def _absolute(place: str | Path) -> Path:
    return Path(os.path.normpath(Path.cwd() / os.path.expanduser(place)))  # noqa: PTH111 (as it is, where nobody has the name)


def _sbatch(value: object) -> Markup:
    """Return a value as a word of a `#SBATCH` line, where a backslash escapes the next character in quotes, too."""
    return Markup(shlex.quote(str(value)).replace("\\", "\\\\"))


def _own(option: str) -> Markup:
    name, equals, value = option.partition("=")
    return Markup(f"{name}={_sbatch(value)}" if equals else option)
