"""What a shell completes: names that commands take.

It is asked at every press of the key, so nothing heavy is loaded: names that stand in modules which load torch or numpy
are repeated here, and tests/hunmin/test_completion.py compares them.

Where nothing is found, shells complete the names of files themselves.
"""

from __future__ import annotations

from pathlib import Path

from hunmin.builtin_recipes import shipped_recipes

STAGES = ("corpus", "tokenizer", "encode", "pretrain", "export", "klue", "report", "instruct", "tune", "leaderboard")
LAUNCHERS = ("local", "torchrun", "deepspeed", "slurm", "kubernetes", "kubeflow", "xla")
TASKS = ("ynat", "klue-sts", "klue-nli", "klue-ner", "klue-re", "klue-dp", "klue-mrc", "wos",
         "kobest-boolq", "kobest-copa", "kobest-hellaswag", "kobest-sentineg", "kobest-wic",
         "nsmc", "paws-x", "kornli", "korsts", "question-pair", "korquad", "hate-speech")  # fmt: skip
SUITES = ("klue", "kobest", "koelectra")
BOARDS = ("kit19", "leaderboard2", "instruct")


def recipes(incomplete: str) -> list[str]:
    """Return the recipes that a word begins: those that come with the package, and the YAML files of this folder."""
    here = sorted(path.name for path in Path().glob("*.yaml"))
    return [name for name in (*shipped_recipes(), *here) if name.startswith(incomplete)]


def stages(incomplete: str) -> list[str]:
    """Return the stages that a word begins, in their order."""
    return [name for name in STAGES if name.startswith(incomplete)]


def launchers(incomplete: str) -> list[str]:
    """Return the launchers that a word begins."""
    return [name for name in LAUNCHERS if name.startswith(incomplete)]


def tasks(incomplete: str) -> list[str]:
    """Return the benchmarks' tasks that a word begins."""
    return [name for name in TASKS if name.startswith(incomplete)]


def suites(incomplete: str) -> list[str]:
    """Return the suites of tasks that a word begins."""
    return [name for name in SUITES if name.startswith(incomplete)]


def devices(incomplete: str) -> list[str]:
    """Return the devices that a word begins; those with a space in their names would have to be quoted."""
    from pretrain.cost.devices import DEVICES

    return [name for name in DEVICES if name.startswith(incomplete) and " " not in name]


def boards(incomplete: str) -> list[str]:
    """Return the suites of decoders' tasks that a word begins."""
    return [name for name in BOARDS if name.startswith(incomplete)]
