"""The one door for what a user names to be written: it lies beside its place until it is whole, and then gets its name.

What stands there already is replaced only if Hunmin made it, of this kind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from fcntl import F_GETFL, fcntl
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from common.compressed import decompression_errors
from common.errors import HunminError, UserError
from common.files import (
    MADE_BY,
    atomic_write,
    disk_errors,
    fsync_files,
    fsync_folder,
    open_bytes,
    publish_folder,
    remove_folder,
    text_stream,
)

RULE = "an output replaces only what Hunmin made, of its kind and unchanged; never an input or a link"
TAKEN = "this command reads or writes it already"
HEAD_BYTES = 2**20
"""Bytes of a file's content in which its kind is looked for."""
URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
OPEN_FILE = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(?:self|thread-self)/(fd/\d+)")
"""Names of files that this process has open, which are written where it has come to: behind what `>>` continues."""


@dataclass(frozen=True)
class OutputFile:
    """A file that a user names; refused at once where it may not be written, and again before it gets its name.

    An empty file counts as none. Pipes, devices and open files (/dev/stdout) are written in place.

    Args:
        path: as it is named.
        kind: what the first MiB of every such file holds; b"" = no file is replaced.
        overwrite: replace a file of this kind.
        inputs: other files that the command reads or writes; "-" stands for standard input and output.

    Raises:
        UserError: it may not be written.
    """

    path: Path
    kind: bytes = b""
    overwrite: bool = False
    inputs: Sequence[str | Path] = ()

    def __post_init__(self) -> None:
        self._refuse()

    @contextmanager
    def open(self, mode: str = "w", as_given: bool = False) -> Iterator[IO[Any]]:
        """Yield a stream that is the file when the block ends without error; for the arguments see `atomic_write`."""
        with ExitStack() as stack:
            with _os_errors(self.path):
                number, in_place = self._descriptor(), self._in_place()
                if number is not None:
                    stream: Any = stack.enter_context(os.fdopen(os.dup(number), "wb"))
                elif in_place:
                    stream = stack.enter_context(self.path.open("wb"))
                else:
                    stream = stack.enter_context(atomic_write(self.path, mode, as_given, self._refuse))
            text = text_stream(stream, as_given) if in_place and mode == "w" else nullcontext(stream)
            yield stack.enter_context(text)

    def place(self, file: Path) -> None:
        """Rename a finished file of the same file system to this output."""
        self._refuse()
        with disk_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fsync_files(file.parent)
            file.replace(self.path)
            fsync_folder(self.path.parent)

    def _in_place(self) -> bool:
        kinds = Path.is_symlink, Path.is_file, Path.is_dir
        special = self.path.exists() and not any(is_kind(self.path) for is_kind in kinds)
        return special or self._descriptor() is not None

    def _descriptor(self) -> int | None:
        match = OPEN_FILE.fullmatch(str(self.path))
        name = (match[1] or match[2]).removeprefix("fd/") if match else ""
        return {"stdout": 1, "stderr": 2}.get(name) or int(name) if match else None

    def _refuse(self) -> None:
        path = self.path
        why = ""
        fix = "name another file"
        with _os_errors(path):
            number = self._descriptor()
            taken = path.is_file() and any(_same(path, other) for other in self.inputs)
            if self._in_place():
                if number is not None and fcntl(number, F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                    why = "it is open for reading alone"
                if why or taken:
                    raise UserError(f"cannot write to {path}: {why or TAKEN}", RULE, fix)
                return
            if path.is_dir():
                why = "it is a folder"
            elif taken or any(path.resolve() == Path(other).resolve() for other in self.inputs):
                why = TAKEN
            elif path.is_file() and path.stat().st_size:
                if not (self.kind and self.overwrite):
                    why = "it already exists"
                    fix += ", or add --overwrite to replace an earlier output" * bool(self.kind)
                elif not self._is_of_kind():
                    why = "it is of another kind"
            _refuse(path, why, fix)

    def _is_of_kind(self) -> bool:
        try:
            with decompression_errors(self.path), open_bytes(self.path) as stream:
                return self.kind in stream.read(HEAD_BYTES)
        except HunminError:
            return False


def refuse_folder(out: Path, stage: str = "") -> None:
    """Raise a UserError where a new folder may not get a name.

    Args:
        out: its name; absent, or an empty folder.
        stage: it may also be a folder with this stage's manifest with nothing changed or added; "" = it may not.
    """
    why = ""
    with _os_errors(out):
        if out.resolve() == Path.cwd():
            why = "it is the folder you are in"
        elif out.exists() and not out.is_dir():
            why = "it is a file"
        elif out.is_dir() and any(out.iterdir()) and (users := _users_own(out, stage)):
            why = f"it is not empty: {users}"
        _refuse(out, why, "name a new folder")


@contextmanager
def new_folder(out: Path, stage: str = "") -> Iterator[Path]:
    """Yield a folder that gets its name when the block ends without error, else is removed; see `refuse_folder`."""
    refuse_folder(out, stage)
    temporary = out.with_name(f".{out.name}.{token_hex(4)}.tmp")
    try:
        with disk_errors(out):
            temporary.mkdir(parents=True)
            yield temporary
        name_folder(temporary, out, stage)
    except BaseException:
        remove_folder(temporary)
        raise


def name_folder(temporary: Path, out: Path, stage: str = "") -> None:
    """Rename a finished folder of the same file system to its name, after `refuse_folder`."""
    refuse_folder(out, stage)
    with _os_errors(out):
        publish_folder(temporary, out, replace=bool(stage))


def claim_folder(out: Path, kind: str) -> None:
    """Make a folder in which a command continues what it began there, with a mark of its kind.

    Args:
        out: the folder; it holds nothing, this mark, or another mark alone, as a refused command leaves it.
        kind: of its content: "KLUE scores" …

    Raises:
        UserError: it holds something else.
    """
    mark = out / MADE_BY
    with _os_errors(out):
        # an empty mark: another element of an array is about to write it
        ours = mark.is_file() and (mark.read_bytes() in (b"", kind.encode()) or [*out.iterdir()] == [mark])
        if out.is_symlink() or not ours:
            refuse_folder(out)
        _refuse(mark)
        with disk_errors(out):
            out.mkdir(parents=True, exist_ok=True)
            mark.write_bytes(kind.encode())


def _users_own(folder: Path, stage: str) -> str:
    """Return why a folder may not be replaced; "" where Hunmin made it and nothing was changed or added."""
    from common.manifest import MANIFEST, damaged_outputs, made_by, read_manifest  # loads pydantic: not for completion

    manifest = read_manifest(folder) if stage and made_by(folder, stage) else None
    if manifest is None:
        return "it holds something else"
    own = {MANIFEST, *manifest.outputs}
    own |= {parent.as_posix() for name in own for parent in Path(name).parents}
    if added := sorted({path.relative_to(folder).as_posix() for path in folder.rglob("*")} - own):
        return f"{added[0]} was added"
    changed = [name for name in damaged_outputs(folder, manifest) if os.path.lexists(folder / name)]
    return f"{changed[0]} was changed" if changed else ""


def _refuse(path: Path, why: str = "", fix: str = "name another place") -> None:
    """Raise a UserError where `why` says that a path may not be written, or where no path like it may."""
    above = next((parent for parent in path.absolute().parents if os.path.lexists(parent)), path)
    if URL.match(str(path)):  # it would become folders, with its password in their names
        why = "it is a URL"
    elif path.is_symlink():
        why, fix = "it is a link", "name what it leads to"
    elif not why and not above.is_dir():
        why = f"{above} is no folder"
    elif not why and not os.access(above, os.W_OK | os.X_OK):
        why = f"you may not write to {above}"
    if why:
        raise UserError(f"cannot write to {path}: {why}", RULE, fix)


@contextmanager
def _os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write to {path}: {error.strerror or error}", RULE, "name another place") from None


def _same(path: Path, other: str | Path) -> bool:
    def is_file_of(read: Callable[[], os.stat_result]) -> bool:
        try:
            return os.path.samestat(path.stat(), read())
        except OSError:  # it is not there, or closed
            return False

    if str(other) == "-":
        return any(is_file_of(partial(os.fstat, number)) for number in (0, 1))
    return is_file_of(Path(other).stat)
