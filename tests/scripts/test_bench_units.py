"""The benchmarks beside another checkout, on little text: this tree beside itself."""

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


@pytest.mark.slow
def test_hits_of_a_tree_are_its_own(load_script, monkeypatch, capsys, tmp_path):
    bench = load_script("bench_beside")
    lines = [{"text": f"{number}번 사람은 {number * 7 % 90}번 골목의 집으로 걸어갔다."} for number in range(40)]
    for name in ("corpus", "benchmark"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = ["--benchmark", str(tmp_path / "benchmark.jsonl"), "--parts", "search", "--rounds", "1", "--json"]
    command = ["x", str(tmp_path / "corpus.jsonl"), "--other", str(bench.ROOT), *options]
    monkeypatch.setattr(sys, "argv", command)
    assert bench.main() in (0, 1)  # by the clock
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    assert [(row["name"], row["value"]) for row in rows][-1] == ("outputs that differ", 0)
