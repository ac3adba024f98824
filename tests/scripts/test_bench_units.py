"""The benchmark of many small units, on a few of them."""

import json
import shutil
import sys

import pytest


@pytest.mark.slow
def test_a_tree_takes_what_it_takes_itself(load_script, monkeypatch, capsys):
    bench = load_script("bench_units")
    command = ["x", "--other", str(bench.ROOT), "--units", "12", "--rounds", "1", "--json"]
    monkeypatch.setattr(sys, "argv", command)
    assert bench.main() in (0, 1)  # by the clock
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    values = [(row["name"], row["value"]) for row in rows]
    assert ("outputs that differ", 0) in values
    if shutil.which("strace"):
        assert values[-1] == ("this to the other", 1), "the same code makes the same calls"
        assert dict(values)["unlink, this tree"] >= 12 * 3, "a part, its counts, its signatures"
