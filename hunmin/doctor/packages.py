"""Checks of software: Python, the packages of setup.cfg in the ranges that it states, and that the heavy ones work."""

from __future__ import annotations

import platform
import re

from hunmin.doctor.ask import Answer
from hunmin.doctor.check import Check, pip_install
from hunmin.version import Need, installed, needed_python, needs, own_version

BY_THEMSELVES = ("torch", "transformers", "tokenizers", "deepspeed", "python-mecab-ko")
"""Packages with a line of their own."""
TRIED = {"transformers": "transformers", "deepspeed": "deepspeed", "python-mecab-ko": "mecab", "torch": "torch"}
"""Package → the probe that uses it."""
FOR_DEVELOPERS = ("dev", "peers")
"""Extras that no run needs."""


def python_check() -> Check:
    """Return whether this Python is one that the package runs on."""
    wanted, found = needed_python(), platform.python_version()
    if problem := _outside(f"python{wanted}", found):
        return Check("python", "broken", problem, f"make PYTHON=python3 with a Python {wanted}")
    return Check("python", "ok", f"{found}, hunmin {own_version()}")


def package_checks(answers: dict[str, Answer]) -> list[Check]:
    """Return a check for each package that matters by itself, and one for all others that are needed.

    Args:
        answers: of the probes in `TRIED`.
    """
    always = {_name(need): need for need in needs() if not need.extra}
    if installed("packaging") is None:
        return [Check("packages", "missing", "packaging, which reads the ranges of the others",
                      pip_install(always["packaging"].line))]  # fmt: skip
    checks = [_single(name, always[name], answers.get(TRIED.get(name, ""))) for name in BY_THEMSELVES]
    others = [need for name, need in always.items() if name not in BY_THEMSELVES]
    problems = {need.line: problem for need in others if (problem := _problem(need))}
    if problems:
        found = "; ".join(problems.values())
        return [*checks, Check("other packages", "missing", found, pip_install(*problems))]
    return [*checks, Check("other packages", "ok", f"{len(others)} are installed, in the ranges of setup.cfg")]


def _single(name: str, need: Need, answer: Answer | None) -> Check:
    """Return the check of a package by its metadata, and by what its probe has said."""
    found = installed(name)
    if found is None:
        return Check(name, "missing", f"not installed; needed: {need.line}", pip_install(need.line))
    if problem := _problem(need):
        return Check(name, "broken", problem, pip_install(need.line))
    if answer and "error" in answer:
        again = pip_install(need.line).replace(" install ", " install --force-reinstall ", 1)
        return Check(name, "broken", f"{found} is installed and does not work: {answer['error']}", again)
    if answer and name == "python-mecab-ko":
        return Check(name, "ok", f"{found}: {' + '.join(answer['found']['morphemes'])}")
    if answer and name == "torch":
        seen = answer["found"]
        built = f"CUDA {seen['cuda']}" if seen["cuda"] else f"ROCm {seen['hip']}" if seen["hip"] else "the CPU alone"
        return Check(name, "ok", f"{found}, built for {built}")
    return Check(name, "ok", found)


def extras_check() -> Check:
    """Return which extras are installed, and what the others consist of."""
    lines: dict[str, list[Need]] = {}
    for need in needs():
        if need.extra and need.extra not in FOR_DEVELOPERS:
            lines.setdefault(need.extra, []).append(need)
    there = [extra for extra, members in lines.items() if all(installed(_name(need)) for need in members)]
    absent = [f"{extra} ({', '.join(n.line for n in lines[extra])})" for extra in lines if extra not in there]
    return Check("extras", "ok", f"installed: {', '.join(there) or 'none'}; not: {', '.join(absent) or 'none'}")


def _name(need: Need) -> str:
    return re.split(r"[<>=!~\[ ]", need.line)[0]


def _problem(need: Need) -> str:
    """Return what is wrong with a needed package's version, "" if nothing."""
    found = installed(_name(need))
    return f"{need.line} is not installed" if found is None else _outside(need.line, found)


def _outside(line: str, found: str) -> str:
    """Return a sentence if a version lies outside of a requirement's range, else ""."""
    try:
        from packaging.requirements import Requirement
    except ImportError:  # that it is missing is said by itself
        return ""
    requirement = Requirement(line)
    inside = requirement.specifier.contains(found, prereleases=True)
    return "" if inside else f"{requirement.name} {found} is installed, {requirement.specifier} is needed"
