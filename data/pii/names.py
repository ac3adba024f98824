"""Names of input files: they stand in manifests, ids and messages, so they must not be personal data themselves."""

from __future__ import annotations

from common.errors import UserError
from data.pii.detect import find_spans
from data.readers import stem

PERSONAL = frozenset(("EMAIL", "RRN", "FRN", "TEL"))
"""Types by which files of one person are named (messenger exports); addresses of sites and versions say nothing."""


def refuse_personal_names(paths: list[str]) -> None:
    """Return when no file name holds an e-mail address, a registration number or a telephone number.

    Args:
        paths: files; their folders are not looked at.

    Raises:
        UserError: a name does; the message gives its place among the files and not the name.
    """
    for number, path in enumerate(paths, 1):
        # the whole name too: of an address the stem takes ".com" for a format, and of a number behind dots its end
        names = f"{path.rstrip('/').rsplit('/', 1)[-1]}\n{stem(path)}".replace("_", " ")
        found = sorted({span.type for span in find_spans(names)} & PERSONAL)
        if found:
            raise UserError(
                f"the name of input file {number} of {len(paths)} holds personal data ({', '.join(found)})",
                "file names are kept in manifests, document ids and messages",
                "rename the file, or leave personal data in with pii.enabled=false",
            )
