"""Progress: plain lines away from a terminal, with rate and expected end."""

from __future__ import annotations

import io

import pytest
from rich.table import Table
from rich.text import Text

from common import progress
from common.errors import HunminError, UserError, nearest
from common.progress import ProgressBar, console, duration, say, short_number, show


def test_plain_lines_away_from_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 5.0, 11.0, 20.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with ProgressBar("read", 100, "documents", done=10) as bar:
        bar.advance(10)
        bar.advance(24, "loss 3.2")
        bar.advance(6)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "read: 44 of 100 documents, 3.1 documents/s, 18s left, loss 3.2\n"


def test_numbers_and_durations_for_people() -> None:
    assert [duration(s) for s in (0.4, 42, 185, 7620)] == ["0s", "42s", "3m 05s", "2h 07m"]
    assert [short_number(n) for n in (3, 3.14, 950, 12_340, 4.5e6)] == ["3", "3.1", "950", "12.3k", "4.5M"]


def test_errors_carry_three_parts_across_processes() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(UserError("a", "b", "c")))
    assert str(error) == "a\n  rule: b\n  fix:  c" and error.exit_code == 2
    assert HunminError("x").exit_code == 1 and str(HunminError("x")) == "x"
    assert nearest("corpsu", ["corpus", "klue"]) == " (did you mean 'corpus'?)"
    assert nearest("zzz", ["corpus"]) == ""


def test_skipped_units_do_not_count_into_the_rate(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("common.progress.time.monotonic", lambda: now[0])
    bar = ProgressBar("corpus", 100, "MB")
    bar.skip(80)
    now[0] = 10.0
    bar.done += 10
    assert bar._line(now[0]) == "corpus: 90 of 100 MB, 1 MB/s, 10s left"


EVIL = "a\x1b]0;TITLE\x07\x1b[2J\x9b31m[/x][bold]:smile:"
"""Sets a terminal's title, clears it, colours it; ends a style that was not begun."""


def test_nothing_that_a_name_holds_is_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(EVIL, title=EVIL, caption=EVIL)
    table.add_row(EVIL)
    table.add_row(Text(EVIL, style="bold"))
    for stderr in (True, False):
        console(stderr).print(table)
        console(stderr).print(EVIL)
    say(EVIL, style="red")
    show(f"{EVIL}\n")
    out, err = capsys.readouterr()
    for text in (out, err):
        assert not {"\x1b", "\x07", "\x9b"} & set(text)
        assert text.replace("\\x07", "").count("a\\x1b]0;TITLE\\x1b[2J\\x9b31m[/x][bold]:smile:") == 7


def test_what_a_terminal_shows_is_coloured_by_us_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    out = console()
    out.file, out._force_terminal, out._color_system = stream, True, 1  # type: ignore[assignment]
    out.print(Text(EVIL, style="red"))
    text = stream.getvalue()
    assert "\x1b[31m" in text and "\x1b]0" not in text and "\x1b[2J" not in text
