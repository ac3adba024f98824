"""Ends of processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from common.process import Terminated, end_on_sigterm, own_package


def test_sigterm_unwinds_as_ctrl_c_does():
    before = signal.getsignal(signal.SIGTERM)
    undone = []
    try:
        end_on_sigterm()
        with pytest.raises(Terminated):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
            except Exception:
                undone.append("taken for a fault")
            finally:
                undone.append("undone")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert undone == ["undone"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 does not know PYTHONSAFEPATH")
@pytest.mark.parametrize("inherited", ["", ":", "elsewhere:"])  # an empty name is the current folder
def test_a_child_imports_this_package_and_nothing_of_the_current_folder(
    inherited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "__init__.py").touch()
    for name in ("html.py", "common/progress.py"):
        (tmp_path / name).write_text("raise SystemExit(9)")
    monkeypatch.setenv("PYTHONPATH", inherited)
    program = "import html, common.progress; print(common.progress.__file__)"
    environment = {**os.environ, **own_package()}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(Path(__file__).parents[2] / "common" / "progress.py")


UNGUARDED = """
import multiprocessing
from common.process import refuse_unguarded
refuse_unguarded()
with multiprocessing.get_context("spawn").Pool(1) as pool:
    pool.map(len, ["ab"])
"""


def test_a_process_that_imports_its_script_anew_is_told_of_the_guard(tmp_path: Path) -> None:
    """Of another program's pool, whose processes have to say it themselves."""
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, str(script)], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:  # the pool would start processes for ever
        assert process.stderr
        said = next(line for line in process.stderr if "UserError" in line)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert 'calls hunmin without the guard `if __name__ == "__main__":`' in said
