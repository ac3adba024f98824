"""Standard output and error of a process, and its logs: secrets masked whoever writes, in an encoding for any text.

Names of files are UTF-8, whatever the terminal's locale says: a program begins with `use_utf8_names`.
"""

from __future__ import annotations

import codecs
import io
import locale
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from common.secrets import masked, masked_urls, remember_environment

UTF8 = "PYTHONUTF8"
"""Variable by which Python reads names of files as UTF-8."""


class MaskedStream(io.TextIOWrapper):
    """A text stream that writes whole lines, each without secrets, and at a flush what there is of a line.

    Bytes written to its buffer are not looked at.
    """

    mask = staticmethod(masked)

    def __init__(self, *args: Any, **options: Any) -> None:
        self._begun: list[str] = []
        super().__init__(*args, **options)

    def write(self, text: str) -> int:
        """Take text; its whole lines are written."""
        lines, end, rest = text.rpartition("\n")
        if end:
            super().write(self.mask("".join([*self._begun, lines, end])))
            self._begun = []
        self._begun.append(rest)
        return len(text)

    def flush(self) -> None:
        begun, self._begun = "".join(self._begun), []
        if begun:
            super().write(self.mask(begun))
        super().flush()


class MaskedFile(MaskedStream):
    """A masked stream for files that programs read: JSON and YAML stay valid."""

    mask = staticmethod(masked_urls)


def guard_output() -> None:
    """Mask secrets in all that this process prints from here on: messages, logs of libraries, tracebacks.

    Text that a terminal's encoding lacks is written as escapes.
    """
    remember_environment()
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, MaskedStream):
            stream.flush()
            guarded = MaskedStream(
                stream.buffer, _encoding_of(stream), "backslashreplace", line_buffering=stream.line_buffering
            )
            guarded.before = stream  # type: ignore[attr-defined]  # it would close the file as it goes
            setattr(sys, name, guarded)


def open_log(path: Path, mode: str = "w") -> MaskedStream:
    """Return a file that takes what a library prints, without secrets.

    Args:
        path: of the file.
        mode: "w", or "a" to append.
    """
    return MaskedStream(path.open(f"{mode}b"), "utf-8", "backslashreplace", line_buffering=True)


def use_utf8_names() -> None:
    """Start this program again in Python's UTF-8 mode where the locale has another encoding (EUC-KR)."""
    if not other_encoding() or os.environ.get(UTF8) == "1":
        return
    for stream in (sys.stdout, sys.stderr):
        if stream:
            stream.flush()
    os.execve(sys.executable, [os.fsencode(sys.executable), *_words()[1:]], {**os.environ, UTF8: "1"})


def typed_words() -> list[str]:
    """Return the arguments of this process; of one that is not UTF-8 but text in the terminal's encoding, that text."""
    return [_typed(word) for word in sys.argv[1:]]


def _typed(word: str) -> str:
    if word.isprintable() or Path(word).exists():  # bytes that are no UTF-8 are not printable
        return word
    with suppress(UnicodeError, LookupError):
        return os.fsencode(word).decode(locale.nl_langinfo(locale.CODESET))
    return word


def other_encoding() -> str:
    """Return the encoding in which this process takes names of files or text, where it is not UTF-8; else ""."""
    for name in (sys.getfilesystemencoding(), locale.getpreferredencoding(False)):
        if codecs.lookup(name).name != "utf-8":
            return name
    return ""


def _words() -> list[bytes]:
    """Return the words of this process as they were given: what the locale has made of them may be lost."""
    try:
        return Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return [os.fsencode(word) for word in sys.orig_argv]


def _encoding_of(stream: io.TextIOWrapper) -> str:
    if stream.isatty() and sys.flags.utf8_mode and "PYTHONIOENCODING" not in os.environ:
        name = locale.nl_langinfo(locale.CODESET)
        with suppress(LookupError):
            return stream.encoding if codecs.lookup(name).name == "ascii" else name
    return stream.encoding
