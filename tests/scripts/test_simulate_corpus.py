"""The simulation of a large corpus, in little: it ends, leaves nothing behind and prints a table that adds up."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_in_little(tmp_path):
    line = [sys.executable, "scripts/simulate_corpus.py", "--terabytes", "0.001", "--share", "0.04", "--text-mb", "2"]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = subprocess.run(
        [*line, "--folder", str(tmp_path), "--json"], cwd=ROOT, env=surroundings, capture_output=True, check=True
    )
    found = json.loads(made.stdout)
    assert (found["measured"]["parts"], found["measured"]["documents"]) == (5, 16_000)
    assert 0.05 * 16_000 < found["measured"]["equal"] < 0.1 * 16_000
    estimate = found["estimate"]
    for cores, hours in estimate["hours"].items():
        assert hours == sum(step["hours"][cores] for step in estimate["steps"])
    assert estimate["partitions"] == 1
    assert not list(tmp_path.iterdir())
