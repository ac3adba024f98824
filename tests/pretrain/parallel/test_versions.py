"""Processes with other code are refused where they meet, and a resumed run says what has changed."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from torch.distributed import HashStore

from common.code import ROOMS, code_changes, running_code, source_hash
from common.errors import UserError
from pretrain.callbacks.metrics import STARTS, note_start
from pretrain.parallel.versions import UNKNOWN_VERSION, difference, read_versions, refuse, versions_of
from tests.pretrain.parallel.meeting import meet

ROOT = Path(__file__).parents[3]
OWN = {"hunmin": "0.1", "source": "aa", "python": "3.11", "torch": "2.13.0", "numpy": "2.4"}

JOIN = """
import sys
from common.errors import HunminError
from pretrain.parallel.processes import join_processes, leave_processes, place_process
try:
    process = join_processes(place_process())
except HunminError as error:
    print(error)
    sys.exit(error.exit_code)
with process.monitor:
    print(process.gather("its rank", process.rank), sorted(process.code))
leave_processes()
"""


def clone(folder: Path) -> Path:
    """Copy the sources, as they lie in a clone."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room)
    return folder


def test_a_process_with_other_code_is_refused_on_all(tmp_path: Path) -> None:
    other = clone(tmp_path / "other")
    masking = other / "pretrain" / "batches" / "masking.py"
    masking.write_text(masking.read_text().replace("key_of(seed, 2)", "key_of(seed, 9)"))
    codes, said = meet(JOIN, [{"PYTHONPATH": path} for path in (ROOT, other)], tmp_path)
    assert codes == [2, 2] and said[0] == said[1]
    host, version = socket.gethostname(), running_code()["hunmin"]
    assert f"\n  rank 0 on {host}: hunmin {version}, source {source_hash()}\n" in said[0]
    (line,) = [line for line in said[0].splitlines() if line.startswith("  rank 1 on")]
    assert line.startswith(f"  rank 1 on {host}: hunmin {version}, source ") and source_hash() not in line
    assert "fix:" in said[0] and "torch" not in line


def test_an_earlier_version_that_tells_nothing_is_refused(tmp_path: Path) -> None:
    """It gathers host and cores alone, and ends by what it cannot unpack."""
    other = clone(tmp_path / "other")
    module = other / "pretrain" / "parallel" / "processes.py"
    source = module.read_text().replace("(info.host, own, code)", "(info.host, own)")
    module.write_text(
        source.replace("    refuse_together([(host,", "    [(host, own) for host, own in everywhere]; ([(host,")
    )
    codes, said = meet(JOIN, [{"PYTHONPATH": path} for path in (ROOT, other)], tmp_path)
    assert codes[0] == 2 and codes[1] != 0 and f"rank 1 on {socket.gethostname()}: {UNKNOWN_VERSION}" in said[0]


def test_what_was_told_is_known_where_collectives_fail() -> None:
    store = HashStore()
    store.set("0", json.dumps(["n0", OWN]))
    assert difference(read_versions(store, 3, ("n0", OWN))) == ""  # a process that has not come is no other version
    store.set("2", json.dumps(["n2", {**OWN, "torch": "2.12.0"}]))
    assert "rank 2 on n2: hunmin 0.1, torch 2.12.0" in difference(read_versions(store, 3, ("n0", OWN)))


def test_the_same_code_in_two_places_is_the_same(tmp_path: Path) -> None:
    codes, said = meet(JOIN, [{"PYTHONPATH": path} for path in (ROOT, clone(tmp_path / "other"))], tmp_path)
    assert codes == [0, 0]
    assert said[0].startswith("[0, 1] ") and said[1].startswith("[] ")
    assert all(f"'{name}'" in said[0] for name in ("hunmin", "source", "python", "torch", "numpy", "transformers"))


def test_what_differs_is_named_with_ranks_and_hosts() -> None:
    assert difference([("n0", OWN)] * 3) == ""
    newer = {**OWN, "torch": "2.14.0"}
    lacking = {name: version for name, version in OWN.items() if name != "numpy"}
    versions = [("n0", OWN), ("n0", OWN), ("n1", newer), ("n2", newer), ("n3", lacking)]
    assert difference(versions).splitlines() == [
        "the processes of this run run different code:",
        "  ranks 0, 1 on n0: hunmin 0.1, numpy 2.4, torch 2.13.0",
        "  ranks 2, 3 on n1, n2: hunmin 0.1, numpy 2.4, torch 2.14.0",
        "  rank 4 on n3: hunmin 0.1, numpy none, torch 2.13.0",
    ]
    untold = difference([("n0", OWN), ("n1", {})]).splitlines()
    assert untold[1:] == ["  rank 0 on n0: hunmin 0.1", f"  rank 1 on n1: {UNKNOWN_VERSION}"]
    large = [("n0", OWN)] * 2000 + [(f"m{rank}", {**OWN, "source": str(rank)}) for rank in range(100)]
    assert len(difference(large)) < 2000 and "and 1992 more on n0:" in difference(large)
    with pytest.raises(UserError, match=r"ranks 0, 1 on n0(.|\n)*fix: .*install the same"):
        refuse(difference(versions))


def test_sources_are_the_same_by_content_alone(tmp_path: Path) -> None:
    """A clone elsewhere has the same hash; a changed constant or default has another one."""
    ask = [sys.executable, "-c", "from common.code import source_hash; print(source_hash())"]

    def hash_of(folder: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        return subprocess.run(ask, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout.strip()

    other = clone(tmp_path / "other")
    (other / "README.md").write_text("a page is no code")
    assert hash_of(other) == source_hash() == hash_of(ROOT)
    with (other / "pretrain" / "tuning" / "trainer.yaml").open("a") as stream:
        stream.write("# a default\n")
    assert hash_of(other) != source_hash()


def test_a_resumed_run_says_what_has_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = {**OWN, "torch": "2.14.0", "source": "bb"}
    changed = code_changes(OWN, now)
    assert changed == ["source: aa → bb", "torch: 2.13.0 → 2.14.0"]
    note_start(tmp_path, 40, 2, changed)
    note_start(tmp_path, 50, 2)
    rows = [json.loads(line) for line in (tmp_path / STARTS).read_text().splitlines()]
    assert rows[0]["changed"] == changed and "changed" not in rows[1]
    said = " ".join(capsys.readouterr().err.split())
    assert "step 40 was made by other code: source: aa → bb, torch: 2.13.0 → 2.14.0" in said and "step 50" not in said


def test_versions_hold_what_changes_numbers() -> None:
    import numpy
    import torch

    versions = versions_of(("numpy", "no-such-package"))
    assert versions["torch"] == torch.__version__ and versions["numpy"] == numpy.__version__
    assert versions["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}" and "no-such-package" not in versions
