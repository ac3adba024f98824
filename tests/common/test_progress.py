"""Progress: plain lines away from a terminal, with rate and expected end."""

import io
import re

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


class Terminal(io.StringIO):
    """A terminal as far as bars need one: a carriage return, an erased line, a line up."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Return the lines that stand on it."""
        lines, at, column = [""], 0, 0
        for piece in re.findall(r"\x1b\[[0-9;?]*[a-zA-Z]|\r|\n|[^\x1b\r\n]+", self.getvalue()):
            if piece == "\n":
                at, column = at + 1, 0
                lines += [""] * (at == len(lines))
            elif piece == "\r":
                column = 0
            elif piece == "\x1b[2K":
                lines[at] = ""
            elif piece == "\x1b[1A":
                at -= 1
            elif piece[0] != "\x1b":
                lines[at] = lines[at][:column] + piece + lines[at][column + len(piece) :]
                column += len(piece)
        return [line.replace("━", "").strip() for line in lines if line.strip()]


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return what takes the place of stderr in a test."""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", terminal)
    return terminal


def test_a_line_that_is_said_while_a_bar_is_shown_stands_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with ProgressBar("pretrain", 10, "steps") as bar:
        bar.advance(4)
        say("interrupted: waiting", interrupts=True)
    say("after")
    said, shown_bar, after = terminal.lines()
    assert (said, after) == ("interrupted: waiting", "after") and shown_bar.startswith("pretrain")


def test_a_line_after_ctrl_c_does_not_stand_behind_another_process_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    terminal.write("pretrain 40% 4 of 10 steps^C")
    say("interrupted: waiting", interrupts=True)
    assert terminal.lines() == ["pretrain 40% 4 of 10 steps^C", "interrupted: waiting"]


@pytest.mark.parametrize(
    ("total", "skipped", "done", "ends"),
    [
        (5, 5, 0, "100% 5 of 5 MB"),  # all was done before
        (None, 0, 3, "100% 3 of 3 MB"),  # it turned out how many there were
        (None, 0, 0, None),  # there was nothing to do
        (0, 0, 0, None),
        (5, 0, 2, "40% 2 of 5 MB"),  # ended early
    ],
)
def test_a_bar_ends_at_what_was_done(
    total: float | None, skipped: float, done: float, ends: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_of(monkeypatch)
    with ProgressBar("corpus", total, "MB") as bar:
        if skipped:
            bar.skip(skipped)
        if done:
            bar.advance(done)
    say("after")
    *shown_bars, after = terminal.lines()
    assert after == "after" and len(shown_bars) == (ends is not None)
    assert ends is None or ends in shown_bars[0]


def test_a_table_in_a_pipe_is_no_wider_than_its_words_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    for words, width in ((["word"] * 100, 120), (["a" * 150], 154)):
        table = Table("why")
        table.add_row(" ".join(words))
        console(stderr=False).print(table)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) == width or (len(words) > 1 and max(map(len, lines)) in range(110, 121))
        assert " ".join(" ".join(lines[3:-1]).replace("│", " ").split()) == " ".join(words)
