"""Errors that carry the value, the rule it broke and the fix; the command line turns them into exit codes."""

from __future__ import annotations

from collections.abc import Sequence

from common.secrets import masked

EXIT_FAILED = 1
EXIT_MISUSED = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class HunminError(Exception):
    """Something went wrong that the user can understand: shown without a traceback, exit code 1.

    Args:
        problem: what is wrong, with the value ("shard 3 holds 12 bytes").
        rule: what should have been the case ("a shard holds at least one document").
        fix: what to do about it ("delete the folder and run again").
    """

    exit_code = EXIT_FAILED
    parts: tuple[HunminError, ...] = ()
    """Errors that this one stands for; see `raise_together`."""
    path: str = ""
    """Path that names nothing, as it was given; "" where the error is another one."""

    def __init__(self, problem: str, rule: str = "", fix: str = "") -> None:
        # they are printed, written to logs and told to other processes
        self.problem = masked(problem)
        self.rule = masked(rule)
        self.fix = masked(fix)
        super().__init__(str(self))

    def __str__(self) -> str:
        return "\n".join(
            part
            for part in (
                self.problem,
                self.rule and f"  rule: {self.rule}",
                self.fix and f"  fix:  {self.fix}",
            )
            if part
        )

    def __reduce__(self) -> tuple[type[HunminError], tuple[str, str, str]]:
        """Keep the three parts when the error crosses a process boundary."""
        return type(self), (self.problem, self.rule, self.fix)


class UserError(HunminError):
    """The program was used wrongly (recipe, arguments, input): exit code 2."""

    exit_code = EXIT_MISUSED


def raise_together(errors: Sequence[UserError], problem: str) -> None:
    """Raise errors as one: a single one as it is, several as a list, each with rule and fix; without any, do nothing.

    Args:
        errors: those of the same problem count once.
        problem: what the list is of, after its number.

    Raises:
        UserError: there is an error.
    """
    different = {part.problem: part for error in errors for part in error.parts or (error,)}
    if len(different) < 2:
        for error in errors:
            raise error
        return
    lines = [f"  - {part}".replace("\n", "\n  ") for part in different.values()]
    together = UserError(f"{len(different)} {problem}:\n" + "\n".join(lines))
    together.parts = tuple(different.values())
    raise together


class DiskFullError(HunminError):
    """The disk is full; whatever was finished before stays intact. Exit code 1."""


class DamagedError(HunminError):
    """A file that the program itself has written is not as it left it. Exit code 1."""


def nearest(word: str, known: list[str]) -> str:
    """Return " (did you mean 'X'?)" for the known word closest to `word`, or "" if none is close."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""
