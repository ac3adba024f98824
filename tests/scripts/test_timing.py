"""What the benchmarks measure with: peaks of children, bars."""

import os
import subprocess
import sys
from itertools import pairwise

import pytest


@pytest.fixture
def timing(load_script):
    """The script as a module."""
    return load_script("timing")


def test_a_bar_is_reached_from_below_or_above(timing):
    assert timing.Row("speed", 5, "MB/s", 5).reached is True
    assert timing.Row("speed", 4.9, "MB/s", 5).reached is False
    assert timing.Row("memory", 1.6, "GB", 1.5, most=True).reached is False
    assert timing.Row("speed", float("nan"), "MB/s", 5).reached is False
    assert timing.Row("speed", 1, "MB/s").reached is None


def test_rows_are_printed_with_their_bars(timing, capsys):
    timing.print_rows("title", [timing.Row("a", 1234.5, "MB/s", 2000, note="why"), timing.Row("b", 0.5, "s")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["title", lines[2], lines[3]]
    assert lines[2].split() == ["a", "1,234", "MB/s", ">=", "2,000", "NO", "why"]
    assert lines[3].split() == ["b", "0.5", "s"]


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_the_peak_of_a_child_is_its_own(timing):
    ballast = bytearray(200_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])
    hold = "x = bytearray(60 * 10**6); import time; time.sleep(0.5)"
    with timing.ChildrenPeak() as peak, subprocess.Popen([sys.executable, "-c", hold]) as child:
        child.wait()  # other tests may have left children here, too
    assert child.returncode == 0
    assert 60e6 < peak.peaks[str(child.pid)] < 150e6 < timing.peak_bytes()


def test_what_a_child_held_before_its_own_program_began_is_not_its_peak(timing, monkeypatch):
    """Between vfork and exec a child shows its parent's memory."""
    answers = {"41": [200, 60, 70], "42": [30, 0, 0]}
    monkeypatch.setattr(timing, "peak_bytes", lambda child: answers[child].pop(0))
    peak = timing.ChildrenPeak()
    for _ in range(3):
        peak.note(answers)
    assert peak.peaks == {"41": 70, "42": 30}
    assert peak.largest == 70


def test_a_sample_is_spread_evenly_and_the_same_again(load_script):
    bench = load_script("bench_corpus")
    items, sizes = list(range(1000)), [1000 + n % 7 for n in range(1000)]
    chosen = bench.sample(items, sizes, 0.1)
    assert abs(sum(sizes[n] for n in chosen) - 100_000) < 2000
    assert max(b - a for a, b in pairwise(chosen)) <= 11
    assert chosen == bench.sample(items, sizes, 0.1)
    assert bench.sample(items, sizes, 100) == items


def test_a_work_is_measured_beside_a_yardstick(timing, monkeypatch):
    """A machine that is three times as slow in one round changes the seconds, and not the ratio."""
    clock = iter([0, 1, 1, 5, 0, 3, 3, 15, 0, 1, 1, 5])
    monkeypatch.setattr(timing.time, "process_time", lambda: next(clock))
    assert timing.beside(int, int, 3) == (4, 0.25)


def test_trees_are_run_in_turn(timing, tmp_path, capsys):
    assert timing.in_turn(tmp_path, lambda tree: tree.name, 3) == ([timing.ROOT.name] * 3, [tmp_path.name] * 3)
    order = [line.split()[2].rstrip(":") for line in capsys.readouterr().out.splitlines()]
    assert order == ["this", "other", "other", "this", "this", "other"]


def test_a_program_that_fails_in_a_tree_ends_the_benchmark(timing, tmp_path):
    (tmp_path / "there.py").write_text("VALUE = 7")
    program = "import there, sys; print('noise'); print([there.VALUE, int(sys.argv[1])])"
    assert timing.printed_by(tmp_path, program, "5") == [7, 5]
    with pytest.raises(SystemExit, match="is not there"):
        timing.printed_by(tmp_path, "raise ValueError('it is not there')")


def test_a_fresh_process_is_another_one(timing):
    assert timing.in_fresh_processes(1, divmod, 17, 5) == [(3, 2)]
    assert os.getpid() not in timing.in_fresh_processes(1, os.getpid)


def test_a_bar_that_is_not_reached_is_the_exit_code(timing, capsys):
    good, bad, without = (timing.Row("a", 5, "s", bar) for bar in (4, 6, None))
    assert [timing.finish(rows, False) for rows in ([good, without], [good, bad])] == [0, 1]
    assert capsys.readouterr().out == ""
    assert timing.finish([bad], True) == 1 and '"reached": false' in capsys.readouterr().out
