"""A wheel, made from the source distribution, installed beside other software whose packages are named `data` and
`common`, and used in a folder with a space, Hangul, and files of those names: it disturbs nothing, and works.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
BUILD = "import setuptools.build_meta as b, sys; print(getattr(b, sys.argv[1])(sys.argv[2]))"
pytestmark = pytest.mark.drill


def run(words: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "offline", **variables}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distribution and the wheel that was made of it."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    done = run([sys.executable, "-c", BUILD, "build_sdist", str(out)], tree)
    assert done.returncode == 0, done.stderr
    (source,) = out.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(out / "unpacked", filter="data")
    (unpacked,) = (out / "unpacked").iterdir()
    done = run([sys.executable, "-c", BUILD, "build_wheel", str(out)], unpacked)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def python(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that sees the packages of this one, the wheel, and other packages `data` and `common`."""
    folder = tmp_path_factory.mktemp("다른 환경")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    for name in ("data", "common"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text(f"OWNER = 'another {name}'\n")
    (wheel,) = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    return python


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A researcher's folder, with files that would hide ours if ours were top-level packages."""
    folder = tmp_path_factory.mktemp("연구자의 폴더")
    for name in ("data", "common", "klue"):
        (folder / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the folder was imported')\n")
    return folder


def hunmin(python: Path, folder: Path, *words: str) -> str:
    done = run([str(python.with_name("hunmin")), *words], folder)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr[-3000:]
    return done.stdout


def test_one_name_at_the_top_and_the_recipes_within(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"hunmin"}
    recipes = {f"hunmin/configs/{path.name}" for path in (ROOT / "configs").glob("*.yaml")}
    assert recipes <= set(names) and {"hunmin/klue/published.json", "hunmin/py.typed"} <= set(names)


def test_other_packages_stay_what_they_are(python: Path, work: Path, tmp_path: Path) -> None:
    program = (
        "import data, common, hunmin, sys; from hunmin import score, HunminError, TextEncoder; "
        "print(data.OWNER, common.OWNER, sys.modules['data'].OWNER, HunminError.__module__, hunmin.__version__)"
    )
    done = run([str(python), "-c", program], tmp_path)
    version = next(line.split()[2] for line in (ROOT / "setup.cfg").read_text().splitlines() if "version =" in line)
    assert done.stdout == f"another data another common another data hunmin.common.errors {version}\n"
    assert hunmin(python, work, "--version").startswith(f"hunmin {version}\n")


def test_doctor_and_recipes_by_name(python: Path, work: Path) -> None:
    assert json.loads(hunmin(python, work, "doctor", "--json"))["ok"]
    for name in ("quickstart", "configs/quickstart.yaml"):
        plan = json.loads(hunmin(python, work, "plan", name, "--device", "H100", "--json"))
        assert plan["parameters"] > 1e6


def test_a_whole_run(python: Path, work: Path) -> None:
    """Workers of the corpus, two training processes and the jobs of the scores are processes of their own."""
    hunmin(python, work, "sample", "--out", "표본 하나")
    write = (
        "import sys; sys.path[:0] = sys.argv[2:]; from mini import write_mini; from pathlib import Path; "
        "write_mini(Path(sys.argv[1]), processes=2, micro_batch=8)"
    )
    subprocess.run([sys.executable, "-c", write, str(work / "작은 실행"), str(ROOT), str(ROOT / "tests" / "hunmin")],
                   check=True)  # fmt: skip
    recipe = work / "작은 실행" / "recipe.yaml"
    tree = yaml.safe_load(recipe.read_text("utf-8"))
    tree["out"] = "작은 실행/run"
    recipe.write_text(yaml.safe_dump(tree), encoding="utf-8")
    settings = ("corpus.workers=2", "encode.workers=2", "tokenizer.workers=2", "klue.tasks=[ynat]")
    report = json.loads(hunmin(python, work, "run", "작은 실행/recipe.yaml", *settings, "--json"))
    assert {row["task"] for row in report["klue"]} == {"ynat"}
    again = run([str(python.with_name("hunmin")), "run", "작은 실행/recipe.yaml", *settings], work)
    assert again.returncode == 0 and "begins" not in again.stderr
