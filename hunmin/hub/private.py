"""What may not leave for the hub: secrets of this environment, services' keys, personal data, this machine's paths."""

from __future__ import annotations

import mmap
import netrc
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import re2

from common.errors import UserError
from common.secrets import LONG_ENOUGH, SECRET_NAMES, SERVICE_KEYS, masked_urls

PUBLIC = ("URL", "MENTION")
"""Types of personal data that a card may hold."""
READ = (".md", ".yaml", ".jsonl", ".txt")
"""Ends of the names of files that are looked through for personal data: what else is sent holds no sentences."""
FIX = "take it out of the recipe or of the card's note, and push again"


def refuse_private(files: Mapping[str, str | Path], key_variable: str | None = None) -> None:
    """Refuse files that hold a secret of this environment, a service's key, a path of this machine, or personal data.

    Args:
        files: name that a file will have → its text, or where it lies.
        key_variable: of the environment, with the key of the pseudonyms.

    Raises:
        UserError: one holds something of the kind; the message says which and where, not what.
    """
    unwanted = dict(_unwanted(key_variable))
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes, not characters
    options.max_mem = 256 << 20  # of secrets as long as a certificate
    pattern = re2.compile(b"|".join(b"(%s)" % shape for shape in unwanted), options)
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else _mapped(content)
        text = isinstance(content, str) or name.endswith(READ)
        if match := pattern.search(data):
            at = match.start()
            line = data[:at].count(b"\n") + 1
            place = f"line {line}," if text else f"byte {at:,},"
            raise _error(f"{name}, {place}", list(unwanted.values())[match.lastindex - 1], FIX)
        if name.endswith(READ):
            _refuse_logins(name, bytes(data).decode("utf-8", "replace"))
            _refuse_personal(name, bytes(data).decode("utf-8", "replace"))


def _mapped(path: Path) -> bytes | mmap.mmap:
    """Return the bytes of a file, mapped: weights can be larger than the memory."""
    with path.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


def _unwanted(key_variable: str | None) -> Iterator[tuple[bytes, str]]:
    """Yield the shape of what no file may hold, and what to call it."""
    from huggingface_hub import get_token

    secrets = [
        (value, f"the value of {name}")
        for name, value in os.environ.items()
        if name == key_variable or SECRET_NAMES.search(name)
    ]
    secrets += [(password, f"the password for {machine} in netrc") for machine, password in _netrc_passwords()]
    secrets.append((get_token() or "", "the token of the model hub"))
    yield from ((re.escape(os.fsencode(value)), what) for value, what in secrets if len(value) >= LONG_ENOUGH)
    for folder in (Path.home(), Path(__file__).parents[2]):
        if len(folder.parts) > 1:
            yield re.escape(os.fsencode(f"{folder}/")), "a path of this machine"
    yield SERVICE_KEYS.encode(), "what looks like a service's key"


def _netrc_passwords() -> Iterator[tuple[str, str]]:
    path = os.environ.get("NETRC") or Path.home() / ".netrc"
    try:
        hosts = netrc.netrc(path).hosts
    except (OSError, netrc.NetrcParseError, ValueError):
        return
    for machine, (_, _, password) in hosts.items():
        yield machine, password or ""


def _refuse_logins(name: str, text: str) -> None:
    for number, line in enumerate(text.split("\n") if name.endswith((".md", ".yaml")) else (), 1):
        if masked_urls(line) != line:
            raise _error(f"{name}, line {number},", "what looks like a password or a signature", FIX)


def _refuse_personal(name: str, text: str) -> None:
    """Refuse a text that holds personal data; a vocabulary is looked at entry by entry, results row by row."""
    from data.pii.detect import find_many

    parts = text.split("\n") if name.endswith((".txt", ".jsonl")) else [text]
    for number, (part, spans) in enumerate(zip(parts, find_many(parts), strict=True)):
        for span in spans:
            if span.type not in PUBLIC:
                line = number + part.count("\n", 0, span.start) + 1
                fix = FIX
                if name.endswith(".txt"):
                    fix = "a vocabulary is made of the corpus: have corpus.pii replace it there, and train again"
                raise _error(f"{name}, line {line},", f"what looks like personal data ({span.type})", fix)


def _error(where: str, what: str, fix: str) -> UserError:
    return UserError(f"{where} holds {what}", "nothing with secrets or personal data leaves for the hub", fix)
