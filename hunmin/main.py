"""Entry point of the command `hunmin`: commands, and errors turned into messages and exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable
from functools import cache
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.models import CommandInfo, TyperInfo

from common.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_MISUSED, EXIT_TERMINATED, HunminError
from common.files import disk_errors
from common.output import guard_output, typed_words, use_utf8_names
from common.process import Terminated, end_on_sigterm
from common.progress import say, shown
from common.secrets import masked, remember
from hunmin.commands import (
    compare,
    corpus,
    doctor,
    embed,
    instruct,
    klue,
    launch,
    leaderboard,
    model,
    push,
    run,
    start,
    tokenizer,
)
from hunmin.commands.options import CONTRACT

RESUME = "finished work is kept; resume with the same command"


PANELS = {
    "Start": ("init", "recipes", "sample", "doctor"),
    "Pipeline": ("run", "plan", "corpus", "tokenizer", "pretrain", "klue", "verify", "clean", "launch"),
    "Results": ("report", "compare"),
    "Publish": ("card", "export", "push"),
    "Other models": ("instruct", "leaderboard", "embed"),
}
"""Groups of `hunmin --help`, in its order, and their commands."""
OUTPUTS = {"--out", "--plot", "--plots", "--hits"}
"""Options that name what is written here."""


def _prepare(options: Iterable[Any]) -> None:
    """Leave out "<bool>" beside flags in the help, and say of each output what it may replace."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
        if not OUTPUTS.isdisjoint(option.opts):
            option.help = f"{option.help.removesuffix(CONTRACT).rstrip(' .')}. {CONTRACT}"


class _Group(TyperGroup):
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command: Any = super().get_command(ctx, cmd_name)
        for each in (command, *getattr(command, "commands", {}).values()):  # a group in a group, too
            _prepare(each.get_params(ctx) if each else ())
        return command


class _Commands(_Group):
    """All commands; on Ctrl-C it says what is kept, where typer itself ends without a word."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in PANELS.values() for name in names]

    def get_params(self, ctx: Any) -> Any:
        options = super().get_params(ctx)
        _prepare(options)
        return options

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            say(str(error) or f"interrupted: {RESUME}", style="yellow")
            raise typer.Exit(EXIT_INTERRUPTED) from None


app = typer.Typer(
    name="hunmin",
    cls=_Commands,
    help="Pretrain Korean encoders (BERT, RoBERTa, ModernBERT): one recipe from raw text to KLUE scores.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _versions(context: typer.Context, asked: bool) -> None:
    if asked and not context.resilient_parsing:  # a shell that completes what comes after it reads it, too
        from hunmin.version import version_lines

        print("\n".join(version_lines()))
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_versions, is_eager=True, help="Print the versions of Hunmin and libraries."
        ),
    ] = False,
) -> None:
    pass


start.register(app)
run.register(app)
model.register(app)
push.register(app)
compare.register(app)
launch.register(app)
doctor.register(app)
for group in (corpus, tokenizer, klue, instruct, leaderboard, embed):
    app.add_typer(group.app, name=group.__name__.rpartition(".")[2], cls=_Group)
panel_of = {name: panel for panel, names in PANELS.items() for name in names}
registered: list[CommandInfo | TyperInfo] = [*app.registered_commands, *app.registered_groups]
for known in registered:
    known.rich_help_panel = panel_of[str(known.name)]


@cache
def program() -> Any:
    """Return the tree of all commands, which `app()` builds anew at each call: a tenth of a second."""
    return get_command(app)


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 used wrongly, 130 interrupted, 143 terminated."""
    use_utf8_names()
    guard_output()
    end_on_sigterm()
    sys.excepthook = _show_fault
    sys.exit(run_command(typed_words()))


def run_command(arguments: list[str]) -> int:
    """Return the exit code of a command line; a user's mistake is shown without a traceback."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    remember(arguments)
    try:
        with disk_errors("the output"):
            code = program()(arguments, standalone_mode=False)
        # a command that ends with typer.Exit(code) comes back here as that code
        return code if isinstance(code, int) else 0
    except HunminError as error:
        say(f"error: {error}", style="red")
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except Terminated:
        say(f"terminated: {RESUME}", style="yellow")
        return EXIT_TERMINATED
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_FAILED
    except OSError as error:  # a folder that is not there, no permission, a disk that is mounted for reading alone …
        if error.filename is None:  # not a path of the user: an internal error keeps its traceback
            raise
        say(f"error: {error.filename}: {error.strerror}", style="red")
        say("  fix:  name another path, or fix its permissions")
        return EXIT_FAILED
    except UnicodeEncodeError as error:  # Python keeps bytes that are no text as lone surrogates
        if not any(0xDC80 <= ord(character) <= 0xDCFF for character in error.object):
            raise
        say("error: an argument or a file name is not UTF-8", style="red")
        say("  fix:  rename the file, or set a UTF-8 locale")
        return EXIT_MISUSED
    except Exception as error:
        if _is_usage_error(error):
            error.message = masked(error.message)  # type: ignore[attr-defined]
            error.show()  # type: ignore[attr-defined]
            return EXIT_MISUSED
        raise


def _show_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an internal error with its traceback, secrets masked."""
    print(shown("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)


def _is_usage_error(error: Exception) -> bool:
    """Return whether the command line itself was wrong (an unknown option, a missing argument)."""
    return any(kind.__name__ == "ClickException" for kind in type(error).__mro__)


if __name__ == "__main__":
    main()
