"""Progress on stderr: a live bar on a terminal, a plain line now and then elsewhere; rate and expected end in both."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Task as RichTask
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from common.control_characters import CONTROL, escaped
from common.secrets import masked, masked_tree

PLAIN_EVERY = 10.0
"""Seconds between two plain lines when stderr is not a terminal."""

PIPED_WIDTH, WHOLE_WIDTH = 120, 10_000
"""Columns that a table takes in a file or a pipe where its words allow, and at most: nothing is cut."""
_on_screen: list[Progress] = []
"""Bars of this process that a terminal shows: what is printed meanwhile stands above them."""


class _Console(Console):
    """A console to which a string is text, not markup; what names hold of secrets and control characters is not shown.

    Styles come by `Text` and by the options of tables.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as it is shown, so that columns are as wide as it."""
        return super().render_str(shown(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the pieces of what is printed; rich's own control codes stand in pieces of their own kind."""
        if isinstance(renderable, Text) and (safe := masked(renderable.plain)) != renderable.plain:
            style = renderable.spans[0].style if renderable.spans else renderable.style
            renderable = Text(safe, style, justify=renderable.justify)  # before it is wrapped
        if isinstance(renderable, Table) and self.width == WHOLE_WIDTH:
            options = options or self.options
            longest = Measurement.get(self, options, renderable).minimum  # of the words of all columns
            options = options.update(width=max(PIPED_WIDTH, longest))
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(shown(piece.text), piece.style)


def console(stderr: bool = True) -> Console:
    """Return a console; away from a terminal it drops colours, and tables are as wide as `PIPED_WIDTH` says."""
    if stderr and _on_screen:
        return _on_screen[-1].console
    stream = sys.stderr if stderr else sys.stdout
    return _Console(
        stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True,
        width=None if stream.isatty() else WHOLE_WIDTH,
    )  # fmt: skip


def say(message: str, style: str = "", interrupts: bool = False) -> None:
    """Print one line to stderr.

    Args:
        interrupts: whether the terminal's cursor may stand behind an echoed ^C, and behind another process's bar.
    """
    if interrupts and sys.stderr.isatty() and not _on_screen:
        print(file=sys.stderr)
    console().print(Text(shown(message), style=style))


def show(text: str) -> None:
    """Print text that people read to stdout, as it is but for secrets and control characters."""
    print(shown(text), end="")


def print_json(tree: Any, stream: IO[str] | None = None, indent: int | None = 1) -> None:
    """Print a JSON-like tree to stdout, or to a stream, secrets masked."""
    text = json.dumps(masked_tree(tree), ensure_ascii=False, indent=indent)
    print(CONTROL.sub(_json_escape, text), file=stream or sys.stdout)


def _json_escape(match: re.Match[str]) -> str:
    return match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}"


def shown(text: str) -> str:
    """Return a text as a person may see it: secrets masked, control characters as escapes."""
    return escaped(masked(text))


def duration(seconds: float) -> str:
    """Return a duration for people: 42s, 3m 05s, 2h 07m."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


class _Rate(ProgressColumn):
    def render(self, task: RichTask) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{short_number(speed)} {task.fields['unit']}/s" if speed else "", style="cyan")


class _Done(ProgressColumn):
    def render(self, task: RichTask) -> Text:
        return Text(_done(task.completed, task.total, task.fields["unit"]))


def _done(done: float, total: float | None, unit: str) -> str:
    return f"{_amount(done)}{f' of {_amount(total)}' if total else ''} {unit}"


def _amount(value: float) -> str:
    return f"{value:,.1f}" if value < 10 and value != int(value) else f"{value:,.0f}"


def short_number(value: float) -> str:
    """Return a number in at most six characters: 950, 12.3k, 4.5M, 1.0T."""
    for limit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.99995:
            return f"{value / limit:.1f}{suffix}"
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


class ProgressBar:
    """A counter with a total, for a `with` block.

    Args:
        title: what is done.
        total: how many units in all; None when unknown.
        unit: name of a unit ("documents").
        done: units already done before (a resumed run); they do not count into the rate.
    """

    def __init__(self, title: str, total: float | None, unit: str, done: float = 0) -> None:
        self.title = title
        self.total = total
        self.unit = unit
        self.done = done
        self._started_at, self._already = time.monotonic(), done
        self._last_line = self._started_at
        self._note = ""
        self._live: Progress | None = None
        self._task: TaskID | None = None
        if sys.stderr.isatty():
            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                _Done(),
                _Rate(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", style="dim"),
                console=console(),
            )
            self._task = self._live.add_task(title, total=total, completed=done, unit=unit, note="")  # type: ignore[arg-type]

    def __enter__(self) -> ProgressBar:
        if self._live:
            self._live.start()
            _on_screen.append(self._live)
        return self

    def advance(self, amount: float = 1, note: str | None = None) -> None:
        """Add `amount` units; `note` replaces the text at the end of the line ("loss 3.21")."""
        self.done += amount
        if note is not None:
            self._note = note
        if self._live and self._task is not None:
            self._live.update(self._task, completed=self.done, note=self._note)
            return
        now = time.monotonic()
        if now - self._last_line >= PLAIN_EVERY:
            self._last_line = now
            print(shown(self._line(now)), file=sys.stderr, flush=True)

    def skip(self, amount: float) -> None:
        """Count `amount` units as done before this run began: they do not count into the rate."""
        self.done += amount
        self._already += amount
        if self._live and self._task is not None:
            self._live.update(self._task, completed=self.done)

    def _line(self, now: float) -> str:
        rate = (self.done - self._already) / max(now - self._started_at, 1e-9)
        ahead = (self.total or 0) - self.done  # below zero where the total was an estimate
        left = f", {duration(ahead / rate)} left" if ahead > 0 and rate else ""
        note = f", {self._note}" if self._note else ""
        return (
            f"{self.title}: {_done(self.done, self.total, self.unit)}, {short_number(rate)} {self.unit}/s{left}{note}"
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live in _on_screen:
            _on_screen.remove(self._live)
        if self._live and self._task is not None:
            if not self.total and kind is None:  # nothing was to be done, or how much is known now
                self._live.update(self._task, total=self.done or None, visible=self.done > 0)
            self._live.stop()
