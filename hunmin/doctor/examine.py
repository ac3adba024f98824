"""All checks together."""

from __future__ import annotations

from pathlib import Path

from hunmin.doctor.ask import ask
from hunmin.doctor.check import Check
from hunmin.doctor.machine import compiler_checks, device_check, disk_check, locale_check, memory_checks
from hunmin.doctor.network import keys_check, network_check, offline_variables
from hunmin.doctor.packages import extras_check, package_checks, python_check
from hunmin.doctor.probes import PROBES


def examine(run: Path) -> list[Check]:
    """Return what was found, the software first.

    Args:
        run: folder that runs go to.
    """
    answers = ask([name for name in PROBES if name != "network" or not offline_variables()])
    return [
        python_check(),
        *package_checks(answers),
        extras_check(),
        device_check(answers["torch"]),
        *compiler_checks(answers["torch"], answers["triton"]),
        *memory_checks(),
        disk_check(run),
        locale_check(),
        network_check(answers.get("network")),
        keys_check(),
    ]
