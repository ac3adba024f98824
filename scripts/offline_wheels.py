"""Wheels for a GPU machine without network: which distributions it lacks, and those fetched elsewhere.

    python3 scripts/offline_wheels.py check > have.json              # there; needs the standard library alone
    python scripts/offline_wheels.py fetch have.json --out wheels    # where there is a package index
    python3 -m pip install --no-index --no-deps --target site wheels/*.whl
    PYTHONPATH=site make gpu GPU_PYTHON=python3

torch, its CUDA libraries and triton must be there already; all else that `make gpu` imports and the machine lacks is
fetched, with what that needs in turn, in the versions of constraints.txt. What has no wheel is built into one here, if
it is pure Python. More than 64 MiB together is refused.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

NEEDED = (
    *("torch", "transformers", "accelerate", "tokenizers", "safetensors", "deepspeed", "psutil", "xxhash"),  # training
    "triton",  # own kernels; torch for CUDA brings it
    *("numpy", "numba", "pyarrow", "orjson", "fsspec", "zstandard"),  # batches and files
    *("pydantic", "pyyaml", "rich", "typer", "google-re2"),  # recipes and the command line
    "mecab-ko",  # morphemes of the KLUE tasks' texts
    *("pytest", "hypothesis"),
)
"""Distributions that `make gpu` imports; torch and triton must be there."""
GIVEN = re.compile(r"torch|triton|nvidia-.*|cuda-.*")
"""Distributions that are never fetched."""
MOST_BYTES = 64 << 20
PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in (39, 35, 34, 31, 28, 27, 24, 17, 12, 5)] + ["manylinux2014_x86_64"]


def normal(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def describe() -> dict[str, Any]:
    installed = {
        normal(distribution.name): distribution.version
        for distribution in metadata.distributions()
        if distribution.name
    }
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "machine": platform.machine(),
        "installed": installed,
        "missing": sorted(name for name in NEEDED if name not in installed),
    }


def close(
    names: list[str], machine: dict[str, Any], get: Callable[[str], tuple[Path, list[str]]]
) -> tuple[dict[str, Path], list[str]]:
    """Return the wheels of distributions and of what they need in turn, and what is needed and only given.

    Args:
        machine: see `describe`.
        get: requirement → its wheel and that wheel's requirements.
    """
    from packaging.requirements import Requirement

    environment = {
        "python_version": machine["python"], "python_full_version": f"{machine['python']}.0", "sys_platform": "linux",
        "platform_system": "Linux", "platform_machine": machine["machine"], "implementation_name": "cpython",
        "platform_python_implementation": "CPython", "os_name": "posix", "extra": "",
    }  # fmt: skip
    wheels: dict[str, Path] = {}
    refused: list[str] = []
    todo = list(names)
    while todo:
        requirement = Requirement(todo.pop())
        name = normal(requirement.name)
        there = machine["installed"].get(name)
        if name in wheels or (requirement.marker and not requirement.marker.evaluate(environment)):
            continue
        if there is not None and (requirement.specifier.contains(there, prereleases=True) or GIVEN.fullmatch(name)):
            continue
        if GIVEN.fullmatch(name):
            refused.append(str(requirement))
            continue
        wheels[name], needs = get(str(requirement).partition(";")[0].strip())
        todo += needs
    return wheels, refused


def fetch_wheel(requirement: str, python: str, out: Path) -> tuple[Path, list[str]]:
    """Return the wheel of a requirement for a Python on Linux, and what it requires. Raises SystemExit where there is
    no wheel, and none that is pure Python can be built."""
    constraints = Path(__file__).parents[1] / "constraints.txt"
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip"]
        quiet = ["--no-deps", "--quiet", "--disable-pip-version-check", "-c", str(constraints)]
        platforms = [f"--platform={tag}" for tag in PLATFORMS]
        only = ["--only-binary=:all:", f"--python-version={python}", "--implementation=cp", *platforms]
        for command in (["download", *only, "-d", folder], ["wheel", "-w", folder]):
            done = subprocess.run([*pip, *command, *quiet, requirement], capture_output=True, text=True)
            if not done.returncode:
                break
        else:
            raise SystemExit(f"{requirement}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        (wheel,) = Path(folder).glob("*.whl")
        if command[0] == "wheel" and not wheel.name.endswith("-none-any.whl"):
            raise SystemExit(f"{requirement} has no wheel for Python {python}, and {wheel.name} is for this one alone")
        target = out / wheel.name
        target.write_bytes(wheel.read_bytes())
    with zipfile.ZipFile(target) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().partition("\n\n")[0].splitlines()
    return target, [line.partition(":")[2].strip() for line in lines if line.startswith("Requires-Dist:")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="print what this machine has and lacks as JSON; exit code 1 when it lacks some")
    fetch = commands.add_parser("fetch", help="fetch what a machine lacks")
    fetch.add_argument("have", type=Path, help="what `check` printed there")
    fetch.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "check":
        machine = describe()
        print(json.dumps(machine, indent=1))
        return int(bool(machine["missing"]))
    machine = json.loads(options.have.read_bytes())
    options.out.mkdir(parents=True, exist_ok=True)
    wheels, refused = close(machine["missing"], machine, lambda text: fetch_wheel(text, machine["python"], options.out))
    sizes = {path.name: path.stat().st_size for path in wheels.values()}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size / 2**20:7.2f} MiB  {name}")
    total = sum(sizes.values())
    print(f"{total / 2**20:7.2f} MiB in all")
    wrong = [f"{requirement} must be there already" for requirement in refused]
    if total > MOST_BYTES:
        wrong.append(f"more than {MOST_BYTES >> 20} MiB together; carry the largest by another way")
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return 2 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
