"""What may not leave for the hub: secrets of this environment, services' keys, personal data, this machine's paths."""

from __future__ import annotations

import netrc
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from common.errors import UserError
from common.secrets import SERVICE_KEYS

SECRET_NAMES = re.compile(r"(TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?(?=$|[_\d])", re.IGNORECASE)
"""Of the environment's variables whose values never leave; with them the variable of the pseudonyms' key."""
TOKEN_SHAPES = re.compile(SERVICE_KEYS.encode())
"""Of keys that services give out."""
PREFIXES = (b"hf_", b"ghp_", b"gho_", b"github_pat_", b"AKIA", b"sk-")
"""One of which each of them begins with: weights are looked through for these alone, at the speed of the disk."""
PUBLIC = ("URL", "MENTION")
"""Types of personal data that a card may hold."""
LONG_ENOUGH = 8
"""Characters from which a secret is looked for: a shorter one would be found in any text."""
CHUNK, OVERLAP = 16 << 20, 4096
"""Bytes of a file that are read at a time, and those that are looked at twice: longer than any secret."""
READ = (".md", ".yaml", ".jsonl", ".txt")
"""Ends of the names of files that are looked through for personal data: what else is sent holds no sentences."""
REMEDY = "take it out of the recipe or of the card's note, and push again"


def refuse_private(files: Mapping[str, str | Path], key_variable: str | None = None) -> None:
    """Refuse files that hold a secret of this environment, a service's key, a path of this machine, or personal data.

    Args:
        files: name that a file will have → its text, or where it lies.
        key_variable: of the environment, with the key of the pseudonyms.

    Raises:
        UserError: one holds something of the kind; the message says which and where, not what.
    """
    unwanted = dict(_unwanted(key_variable))
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else b""
        for start, chunk in [(0, data)] if isinstance(content, str) else _chunks(content):
            for value, what in unwanted.items():
                if (at := chunk.find(value)) >= 0:
                    raise _private(name, content, start + at, what)
            if (at := _key_at(chunk)) >= 0:
                raise _private(name, content, start + at, "what looks like a service's key")
        if name.endswith(READ):
            _refuse_personal(name, content if isinstance(content, str) else content.read_text("utf-8", "replace"))


def _unwanted(key_variable: str | None) -> Iterator[tuple[bytes, str]]:
    """Yield what no file may hold, and what to call it."""
    from huggingface_hub import get_token

    secrets = [
        (value, f"the value of {name}")
        for name, value in os.environ.items()
        if name == key_variable or SECRET_NAMES.search(name)
    ]
    secrets += [(password, f"the password for {machine} in netrc") for machine, password in _netrc_passwords()]
    secrets.append((get_token() or "", "the token of the model hub"))
    yield from ((os.fsencode(value), what) for value, what in secrets if len(value) >= LONG_ENOUGH)
    for folder in (Path.home(), Path(__file__).parents[2]):
        if len(folder.parts) > 1:
            yield os.fsencode(f"{folder}/"), "a path of this machine"


def _netrc_passwords() -> Iterator[tuple[str, str]]:
    """Yield (host, password) of the user's netrc; of one that cannot be read, nothing."""
    path = os.environ.get("NETRC") or Path.home() / ".netrc"
    try:
        hosts = netrc.netrc(path).hosts
    except (OSError, netrc.NetrcParseError, ValueError):
        return
    for machine, (_, _, password) in hosts.items():
        yield machine, password or ""


def _chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (place, bytes) of a file, each with the end of the one before."""
    with path.open("rb") as stream:
        start, kept = 0, b""
        while block := stream.read(CHUNK):
            yield start - len(kept), kept + block
            start, kept = start + len(block), block[-OVERLAP:]


def _key_at(chunk: bytes) -> int:
    """Return where a service's key stands, -1 where there is none."""
    for prefix in PREFIXES:
        at = chunk.find(prefix)
        while at >= 0:
            if TOKEN_SHAPES.match(chunk, at):
                return at
            at = chunk.find(prefix, at + 1)
    return -1


def _refuse_personal(name: str, text: str) -> None:
    """Refuse a text that holds personal data; a vocabulary is looked at entry by entry, results row by row."""
    from data.pii import find_many

    parts = text.split("\n") if name.endswith((".txt", ".jsonl")) else [text]
    for number, (part, spans) in enumerate(zip(parts, find_many(parts), strict=True)):
        for span in spans:
            if span.type not in PUBLIC:
                line = number + part.count("\n", 0, span.start) + 1
                remedy = REMEDY
                if name.endswith(".txt"):
                    remedy = "a vocabulary is made of the corpus: have corpus.pii replace it there, and train again"
                raise _error(f"{name}, line {line},", f"what looks like personal data ({span.type})", remedy)


def _private(name: str, content: str | Path, at: int, what: str) -> UserError:
    data = content.encode() if isinstance(content, str) else b""
    if isinstance(content, Path) and name.endswith(READ):
        data = content.read_bytes()
    line = data.count(b"\n", 0, at) + 1
    place = f", line {line}," if data else f", byte {at:,},"
    return _error(name + place, what, REMEDY)


def _error(where: str, what: str, remedy: str) -> UserError:
    return UserError(f"{where} holds {what}", "nothing with secrets or personal data leaves for the hub", remedy)
