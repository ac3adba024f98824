"""What a corpus of many small units costs a file system: metadata calls and seconds, beside those of another checkout.

    python scripts/bench_units.py --other CHECKOUT [--units 5000] [--workers 1] [--rounds 3] [--json]

CHECKOUT: another working tree of this project, run by the same Python. Each tree builds the same corpus of UNITS files
of a few invented lines, a unit each, near copies among them, in fresh processes; all must write the same bytes.

- seconds: of `build_corpus`, imports left out; the trees in turn, medians of so many rounds.
- calls: system calls that look a name up, below the corpus's folder alone (stat, open, mkdir, rename, unlink, listing),
  of one build of each tree under `strace -f`; without strace they are not counted. Each is a round trip to the metadata
  server of a parallel file system. What works on an open file (read, write, fstat, fsync) is not counted.

Exit code 1 when this tree takes more than 1.1 times what the other does.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from timing import ROOT, Row, finish, hardware, in_turn, parser_of, print_rows, printed_by

MOST = 1.1
CALLS = {
    "stat": ("stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink"),
    "open": ("open", "openat", "openat2", "creat"),
    "mkdir": ("mkdir", "mkdirat"),
    "rename": ("rename", "renameat", "renameat2"),
    "unlink": ("unlink", "unlinkat", "rmdir"),
    "listing": ("getdents", "getdents64"),
}
"""Kind of metadata call → system calls; strace passes over those that the machine does not have."""
PROGRAM = """
import json, sys, time
from pathlib import Path
from common.manifest import describe_outputs
from common.settings import settings_hash
from data.corpus import build_corpus
from data.settings import CorpusSettings
if __name__ == "__main__":
    settings, out = CorpusSettings.model_validate_json(sys.argv[1]), Path(sys.argv[2])
    out.mkdir()
    began = time.perf_counter()
    build_corpus(settings, out)
    print(json.dumps([time.perf_counter() - began, settings_hash(describe_outputs(out))]))
"""


def write_inputs(folder: Path, units: int) -> None:
    """Write so many files of a few sentences; every tenth is nearly the one before it."""
    folder.mkdir()
    for number in range(units):
        base = number - number % 10 if number % 10 == 1 else number
        lines = [f"{base}번 사람은 {base * 7 % 90}번 골목의 {n * 3 + base % 11}번 집으로 걸어갔다." for n in range(8)]
        text = "\n".join([*lines, f"{number}번 글의 끝이다."])
        (folder / f"{number:06d}.jsonl").write_text(json.dumps({"text": text}, ensure_ascii=False), encoding="utf-8")


def build(tree: Path, settings: dict[str, Any], out: Path, before: Sequence[str] = ()) -> tuple[float, str]:
    """Build a corpus by a tree's code, and return the seconds and a hash of the files; the folder is removed."""
    seconds, digest = printed_by(tree, PROGRAM, json.dumps(settings), str(out), before=before)
    shutil.rmtree(out)
    return seconds, digest


def count_calls(tree: Path, settings: dict[str, Any], folder: Path) -> Counter[str]:
    """Return kind → number of the metadata calls below a folder, of one build by a tree's code."""
    log = folder.with_suffix(".strace")
    kinds = {call: kind for kind, calls in CALLS.items() for call in calls}
    traced = ",".join(f"?{call}" for call in kinds)
    build(tree, settings, folder, ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", f"trace={traced}"])
    below, counts = str(folder), Counter[str]()
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            opened = "AT_EMPTY_PATH" in line  # what fstat is on newer kernels
            if below in line and not opened and (call := re.match(r"\d+\s+(\w+)\(", line)):
                counts[kinds[call[1]]] += 1
    log.unlink()
    return counts


def main() -> int:
    parser = parser_of(__doc__, json=True)
    parser.add_argument("--other", type=Path, required=True, help="another checkout")
    parser.add_argument("--units", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        inputs, out = Path(folder) / "in", Path(folder) / "corpus"
        write_inputs(inputs, options.units)
        settings = {
            "inputs": [{"path": str(inputs), "name": "invented"}],
            "pii": {"enabled": False},
            "decontaminate": {"enabled": False},
            "deduplicate": {"near": True},
            "workers": options.workers,
        }
        print(f"{hardware()}; {options.units:,} units, workers: {options.workers}, rounds: {options.rounds}")
        ours, theirs = in_turn(options.other, lambda tree: build(tree, settings, out), options.rounds)
        this, other = (statistics.median(seconds for seconds, _ in runs) for runs in (ours, theirs))
        hashes = {digest for _, digest in (*ours, *theirs)}
        rows += print_rows("seconds", [
            Row("this tree", this, "s", note=f"{options.units / this:,.0f} units/s"),
            Row("the other", other, "s"),
            Row("this to the other", this / other, "", MOST, most=True),
            Row("outputs that differ", len(hashes) - 1, "", 0, most=True),
        ])  # fmt: skip
        if not shutil.which("strace"):
            print("\nno strace: metadata calls are not counted")
            return finish(rows, options.json)
        trees = {"this": ROOT, "other": options.other.resolve()}
        counts = {name: count_calls(tree, settings, out) for name, tree in trees.items()}
        this_calls, other_calls = (sum(counts[name].values()) for name in ("this", "other"))
        rows += print_rows("metadata calls", [
            *(Row(f"{kind}, this tree", counts["this"][kind], "", note=f"the other: {counts['other'][kind]:,}")
              for kind in CALLS),
            Row("a unit, this tree", this_calls / options.units, ""),
            Row("a unit, the other", other_calls / options.units, ""),
            Row("this to the other", this_calls / max(other_calls, 1), "", MOST, most=True),
        ])  # fmt: skip
    return finish(rows, options.json)


if __name__ == "__main__":
    sys.exit(main())
