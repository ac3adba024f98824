"""What a stage opens outside its run is among its inputs, or belongs to an installed package or the system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mini import write_mini

import hunmin
from hunmin.pipeline.stages import STAGES
from hunmin.recipes.recipe import load_recipe

HOOK = """
import os, sys

def note(event, args):
    log = os.environ.get("OPENED")
    if log and event == "open" and isinstance(args[0], (str, bytes)) and not args[2] & (os.O_WRONLY | os.O_RDWR):
        line = os.path.realpath(os.fsdecode(args[0])) + "\\n"
        del os.environ["OPENED"]
        with open(log, "a") as stream:
            stream.write(line)
        os.environ["OPENED"] = log

sys.addaudithook(note)
"""
DRIVER = """
import os, sys
from hunmin.recipes.recipe import load_recipe
from hunmin.pipeline.run import run
from hunmin.pipeline.stages import STAGES

def noted(stage):
    def work(recipe, folder, out):
        os.environ["OPENED"] = os.path.join(sys.argv[2], stage.name)
        try:
            return stage.work(recipe, folder, out)
        finally:
            del os.environ["OPENED"]
    return work

if __name__ == "__main__":
    run(load_recipe(sys.argv[1], sys.argv[3:]), works={stage.name: noted(stage) for stage in STAGES})
"""
SHORT = ["klue.tasks=[ynat]", "pretrain.steps=10"]
ELSEWHERE = ("/usr", "/lib", "/etc", "/proc", "/sys", "/dev", "/opt")


@pytest.mark.slow
def test_a_stage_opens_nothing_but_its_inputs(tmp_path: Path) -> None:
    """By an audit hook in every Python process of a run; what libraries open in their own C code is not seen."""
    recipe = write_mini(tmp_path)
    (hooks := tmp_path / "hooks").mkdir()
    (opened := tmp_path / "opened").mkdir()
    (hooks / "sitecustomize.py").write_text(HOOK)
    (hooks / "driver.py").write_text(DRIVER)
    root = Path(hunmin.__file__).parents[1]
    path = os.pathsep.join([str(hooks), str(root)])
    home = str(tmp_path / "home")
    environment = {**os.environ, "PYTHONPATH": path, "WANDB_MODE": "offline", "HOME": home, "XDG_CACHE_HOME": home}
    command = [sys.executable, str(hooks / "driver.py"), str(recipe), str(opened), *SHORT]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path, capture_output=True)
    own = [tmp_path / "run", tmp_path / "home", hooks, root, Path(sys.prefix), Path(sys.base_prefix)]
    allowed = tuple(f"{os.path.realpath(name)}/" for name in (*own, *ELSEWHERE))
    loaded = load_recipe(recipe, SHORT)
    for stage in STAGES:
        inputs = {os.path.realpath(name.path) for name in stage.inputs(loaded) if name.path}
        read = set((opened / stage.name).read_text().splitlines())
        others = {name for name in read if Path(name).is_file() and not name.startswith(allowed)}
        assert others <= inputs, stage.name
        assert stage.name not in ("corpus", "klue") or inputs & read, "the hook works"
