"""The command that installs an extra works where it is given: in the clone, elsewhere, and beside a wheel."""

import configparser
import re
import shlex
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from common import extras

ROOT = Path(__file__).parents[2]
SOURCES = [
    path for room in ("common", "data", "tokenizer", "pretrain", "klue", "leaderboard", "embed", "hunmin")
    for path in (ROOT / room).rglob("*.py")
]  # fmt: skip


def words(extra: str) -> list[str]:
    """The command's words after those that name pip."""
    command = shlex.split(extras.pip_install(extra))
    return command[command.index("install") + 1 :]


def test_in_the_clone_it_is_the_command_of_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert words("llm") == ["-c", "constraints.txt", "-e", ".[llm]"]
    assert "pip install -c constraints.txt -e '.[llm]'" in (ROOT / "docs" / "instruct.md").read_text("utf-8")


def test_elsewhere_it_names_the_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert words("embed") == ["-c", f"{ROOT}/constraints.txt", "-e", f"{ROOT}[embed]"]
    spaced = tmp_path / "my clone"
    spaced.mkdir()
    (spaced / "constraints.txt").touch()
    monkeypatch.setattr(extras, "ROOT", spaced)
    assert words("embed") == ["-c", f"{spaced}/constraints.txt", "-e", f"{spaced}[embed]"]


@pytest.mark.parametrize("extra", ["llm", "embed", "onnx"])
def test_beside_a_wheel_it_names_the_packages(extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "ROOT", tmp_path)  # an installed package has no constraints.txt
    monkeypatch.setattr(extras, "requires", lambda name: metadata())
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = [Requirement(line) for line in setup["options.extras_require"][extra].split("\n") if line]
    here = [line for line in lines if line.marker is None or line.marker.evaluate()]
    assert [Requirement(word) for word in words(extra)] == [Requirement(f"{n.name}{n.specifier}") for n in here]


def metadata() -> list[str]:
    """The lines of a wheel's metadata as setuptools writes them: a marker names the extra."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    requirements = [line for line in setup["options"]["install_requires"].split("\n") if line]
    for extra, lines in setup["options.extras_require"].items():
        for line in filter(None, lines.split("\n")):
            need, _, marker = line.partition(";")
            own = f'extra == "{extra}"'
            requirements.append(f"{need.strip()}; {f'({marker.strip()}) and {own}' if marker else own}")
    return requirements


def test_another_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip` on the PATH may belong to another Python than the one that lacks the package."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert extras.pip_install("llm").startswith(f"{sys.executable} -m pip install ")


def test_no_message_names_a_package_index_that_does_not_have_hunmin() -> None:
    assert [str(path) for path in SOURCES if re.search(r"hunmin\[\w+\]", path.read_text("utf-8"))] == []
