"""Names of input files: they stand in manifests, ids and messages, so they must not be personal data themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError
from common.files import HUB, is_remote, stem
from data.pii.detect import find_spans

PERSONAL = frozenset(("EMAIL", "RRN", "FRN", "TEL"))
"""Types by which files of one person are named (messenger exports); addresses of sites and versions say nothing."""
_WILD = re.compile(r"[*?\[]")


def refuse_personal_names(paths: Sequence[str], inputs: Sequence[str] | None = None) -> None:
    """Return when no name holds an e-mail address, a registration number or a telephone number.

    A file's own name is looked at, and those of the folders below its input: they stand in manifests and labels. What
    the recipe itself names as the input is its writer's choice, but for the folder of a file named there.

    Args:
        inputs: for each file the input (a path, a folder, a glob or a URL) that stands for it; none: the file itself.

    Raises:
        UserError: a name does; the message gives its place among the files and not the name.
    """
    seen: set[str] = set()
    for number, path in enumerate(paths, 1):
        *folders, name = _names(path, path if inputs is None else inputs[number - 1])
        # the whole name too: of an address the stem takes ".com" for a format, and of a number behind dots its end
        if types := _personal([name, stem(path)]):
            raise _refused(f"the name of input file {number} of {len(paths)}", types, "the file")
        if new := [folder for folder in folders if folder not in seen]:
            seen.update(new)
            if types := _personal(new):
                raise _refused(f"the name of a folder of input file {number} of {len(paths)}", types, "the folder")


def refuse_personal_labels(labels: Sequence[str]) -> None:
    """Return when no label of an input holds an e-mail address, a registration number or a telephone number.

    A label begins the ids of documents and stands in the lists of rejects. It is made of the source's name or the
    file's, and, where files of several inputs have one name, of the folders that tell them apart, the inputs' own too.

    Raises:
        UserError: a label does; the message gives its place among the files and not the label.
    """
    for number, label in enumerate(labels, 1):
        if types := _personal([label, *label.split("/")]):
            raise UserError(
                f"the label of input file {number} of {len(labels)} holds personal data ({', '.join(types)})",
                "a label is the source's name, or the file's with the folders that tell it from others of its name; it "
                "stands in document ids and in the lists of rejects",
                "give each of these inputs a `name` without personal data, or leave personal data in with "
                "corpus.pii.enabled=false",
            )


def _names(path: str, input: str) -> list[str]:
    if path.startswith(HUB):
        path = input = path.partition("@")[0]  # the digits of a commit name nobody
    wild = _WILD.search(input)
    root = input[: wild.start()].rpartition("/")[0] if wild else input
    apart = is_remote(input) or input.startswith(HUB)
    root = root.rstrip("/") if apart else str(Path(root).expanduser()).rstrip("/") + "/"
    below = _parts(path[len(root) :]) if path.startswith(root) else []
    return below or _parts(path)[-1 if apart else -2 :]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _personal(names: list[str]) -> list[str]:
    """Return the types of personal data in names; underscores are what blanks become in them."""
    return sorted({span.type for name in names for span in find_spans(name.replace("_", " "))} & PERSONAL)


def _refused(place: str, types: list[str], renamed: str) -> UserError:
    return UserError(
        f"{place} holds personal data ({', '.join(types)})",
        "names of files, and of folders below an input, are kept in manifests, document ids and messages",
        f"rename {renamed}, or leave personal data in with corpus.pii.enabled=false",
    )
