"""Slurm's options: as `#SBATCH` lines, what a user's own lines replace of them, and time limits."""

from __future__ import annotations

import re

from common.errors import UserError

LONG = {
    "-A": "--account", "-c": "--cpus-per-task", "-D": "--chdir", "-G": "--gpus", "-J": "--job-name", "-N": "--nodes",
    "-n": "--ntasks", "-o": "--output", "-p": "--partition", "-s": "--oversubscribe", "-t": "--time",
}  # fmt: skip
REPLACES = {
    "--oversubscribe": {"--exclusive", "--mem"},
    "--cpus-per-task": {"--exclusive", "--mem"},
    "--cpus-per-gpu": {"--exclusive", "--mem"},
    "--mem-per-cpu": {"--mem"},
    "--mem-per-gpu": {"--mem"},
    "--gres": {"--gpus-per-node"},
    "--gpus": {"--gpus-per-node"},
    "--gpus-per-task": {"--gpus-per-node"},
    "--ntasks": {"--ntasks-per-node"},
}
"""A user's option → those of ours that it takes the place of, beside the one of its own name."""
TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<first>\d+)(?::(?P<second>\d+))?(?::(?P<third>\d+))?")


def key_of(option: str) -> str:
    """Return an option's long name.

    >>> key_of("--time=10"), key_of("--time 10"), key_of("-t10"), key_of("--exclusive")
    ('--time', '--time', '--time', '--exclusive')
    """
    name = re.split(r"[=\s]", option, maxsplit=1)[0]
    return name if name.startswith("--") else LONG.get(name[:2], name[:2])


def value_of(option: str) -> str:
    """Return an option's value, "" where it has none."""
    if option.startswith("--"):
        return (*re.split(r"[=\s]+", option, maxsplit=1), "")[1].strip()
    return option[2:].strip()


def with_own(options: list[str], own: tuple[str, ...]) -> list[str]:
    """Return the options of a job, those of ours that the user says otherwise left out, then the user's.

    Args:
        options: ours.
        own: the user's.

    Raises:
        UserError: one of the user's is no option.
    """
    for line in own:
        if not re.fullmatch(r"--?[A-Za-z][^\n]*", line):
            raise UserError(
                f"--line={line}",
                "it is an option of sbatch; corpus:, train: or scores: before it stands for that job alone",
                "e.g. --line=--qos=high, or --line=corpus:--partition=cpu",
            )
    keys = {key_of(line) for line in own}
    replaced = keys.union(*(REPLACES.get(key, set()) for key in keys))
    return [option for option in options if key_of(option) not in replaced] + list(own)


def directive(option: str) -> str:
    """Return an option as a line of a batch script; unless quoted, sbatch splits it at spaces and ends it at a #.

    >>> directive("--chdir=/a b"), directive("--nodes=2")
    ('#SBATCH --chdir="/a b"', '#SBATCH --nodes=2')
    """
    name, equals, value = option.partition("=")
    if equals and re.search(r"[\s\"'#\\]", value):
        value = '"' + re.sub(r'([\\"])', r"\\\1", value) + '"'
    return f"#SBATCH {name}{equals}{value}"


def seconds_of(limit: str) -> int | None:
    """Return the seconds of a time limit as Slurm takes it, None where there is none ("0", "UNLIMITED").

    >>> seconds_of("30"), seconds_of("10:30"), seconds_of("24:00:00"), seconds_of("1-12"), seconds_of("1-00:30")
    (1800, 630, 86400, 129600, 88200)

    Raises:
        UserError: it is no time limit.
    """
    if limit.upper() in ("UNLIMITED", "INFINITE", "0"):
        return None
    found = TIME.fullmatch(limit)
    if not found:
        raise UserError(
            f"--time {limit}",
            "Slurm takes MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES or "
            "DAYS-HOURS:MINUTES:SECONDS",
            "e.g. --time 24:00:00",
        )
    first, second, third = (int(found[name] or 0) for name in ("first", "second", "third"))
    if found["days"]:
        return int(found["days"]) * 86400 + first * 3600 + second * 60 + third
    if found["third"]:
        return first * 3600 + second * 60 + third
    return first * 60 + second
