"""Files that are no text and no table: archives of other files, documents of programs, and stand-ins for a file.

Told by their first bytes, whatever they are called; parts of archives by their names, too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from common.compressed import COMPRESSED, compression_of
from common.errors import UserError
from common.files import is_remote, open_bytes, open_file, store_of, stored, suffix_of
from data.readers.damage import DamagedInputError
from data.readers.encoding import read_full

NOT_READ = {
    *(".zip", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst", ".7z", ".rar", ".egg", ".alz", ".cab", ".iso", ".lz4"),
    *(".lzma", ".pdf", ".hwp", ".hwpx", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".rtf", ".odt", ".ods"),
    *(".epub", ".pkl", ".pickle", ".npy", ".npz", ".arrow", ".feather", ".orc", ".avro", ".h5", ".hdf5"),
}
"""Endings of names of files that are not read."""
HEAD_BYTES = 512
"""First bytes that tell what a file is."""
_ARCHIVES: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"PK(?:\x03\x04|\x05\x06|\x07\x08)",
        "a ZIP archive (or a document that is one, such as .docx, .hwpx)",
        "unzip it",
    ),
    (rb"ALZ\x01", "an ALZip archive", "unpack it (unalz)"),
    (rb"EGGA[\0-\x08]", "an EGG archive", "unpack it"),
    (rb"Rar!\x1a\x07", "a RAR archive", "unpack it (unrar x)"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it (7z x)"),
    (rb"(?s:.{257}ustar[\0 ])", "a tar archive", "unpack it (tar xf)"),
    (rb"MSCF\0\0\0\0", "a cabinet archive", "unpack it"),
    (rb"\x1f\x8b\x08", "compressed with gzip", "give its name the ending .gz"),
    (rb"BZh[1-9]1AY&SY", "compressed with bzip2", "give its name the ending .bz2"),
    (rb"\xfd7zXZ\0", "compressed with xz", "give its name the ending .xz"),
    (rb"\x28\xb5\x2f\xfd", "compressed with zstd", "give its name the ending .zst"),
    (
        rb"\x5d\x2a\x4d\x18",
        "compressed with zstd and a dictionary of its own",
        "compress it anew, without a dictionary",
    ),
    (rb"\x04\x22\x4d\x18", "compressed with lz4", "decompress it (lz4 -d)"),
    (rb"\x1f[\x9d\xa0]", "compressed by an old program", "decompress it (uncompress)"),
    (rb"filedesc://[^\n]{1,200}\n\d ", "a web archive in the ARC format", "convert it to WARC (warcio recompress)"),
    (rb"%PDF-", "a PDF document", "convert it to text"),
    (rb"HWP Document File", "an HWP document", "convert it to text"),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of HWP or of an old office program", "convert it to text"),
    (rb"\{\\rtf1?[\\\s]", "an RTF document", "convert it to text"),
    (rb"%!PS-", "a PostScript document", "convert it to text"),
    (rb"ARROW1\0\0", "an Arrow file", "convert it to Parquet"),
    (rb"Obj\x01", "an Avro file", "convert it to Parquet"),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", "convert it to Parquet"),
    (rb"\x93NUMPY", "a NumPy file", "convert it to Parquet"),
)
"""First bytes of files that hold texts which would be missed, what they are, and what to do."""
_MEDIA: tuple[tuple[bytes, str], ...] = (
    (rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II\*\0|MM\0\*|(?s:RIFF.{4}WEBP)", "is not text but a picture"),
    (
        rb"ID3[\2-\4]|OggS\0|fLaC\0|(?s:RIFF.{4}(?:WAVE|AVI ))|(?s:\0\0\0.ftyp)|\x1aE\xdf\xa3",
        "is no text but sound or film",
    ),
    (rb"\x7fELF|MZ\x90\0", "is not text but a program"),
)
_STAND_INS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/",
        "is a pointer of git-lfs, which stands for a file that was not fetched",
        "run `git lfs pull` in the clone, or download the file itself",
    ),
    (
        rb"/annex/objects/",
        "is a pointer of git-annex, which stands for a file that was not fetched",
        "run `git annex get` in the clone, or download the file itself",
    ),
)
_TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".pq", ".db", ".sqlite", ".sqlite3")
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.I)
"""What a server answers in place of a table: that it is not there, or asks for a login."""
_WHOLE = r"(?P<whole>.+\.(?:zip|7z|rar|alz|egg|tar|tgz|tbz2?|txz|tzst|gz|bz2|xz|zst))"
_PART = re.compile(_WHOLE + r"(?P<begin>\.(?:part[._-]?)?)(?P<number>\d{1,12}|(?!gz|xz|bz|md|db|pq|po)[a-z]{2})", re.I)
"""Names of parts: x.zip.part0, x.7z.001, x.tar.gz.aa."""
_ZIP_PART = re.compile(r"(?P<base>.+)\.z\d\d", re.I)
_BEGIN = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ", ".zst": b"\x28\xb5\x2f\xfd"}
"""What files with the endings of `COMPRESSED` begin with."""
_MANY = "for ten or more, in the order of `ls -v`"


class ContainerError(DamagedInputError):
    """A file that holds other files, is a document of a program, or is compressed without saying so by its name."""


class StandInError(DamagedInputError):
    """A small file that stands in a clone for a large one that was not fetched."""


def refuse_name(path: str, suffix: str) -> None:
    """Raise UserError where a name's ending is one of `NOT_READ`, or the file is a part of an archive."""
    name = path.rsplit("/", 1)[-1]
    if join := _how_to_join(name):
        raise UserError(f"{path} is a part of an archive", "archives and parts of them are not read", join)
    if suffix in NOT_READ:
        raise UserError(
            f"{path}: {suffix} files are not read",
            "inputs are text in one of the formats that `format` names, compressed with gz, bz2, xz or zst or not",
            "unpack or convert the file, name the files to read with a glob, or give the source's format",
        )


def refuse_content(path: str, head: bytes) -> None:
    """Refuse a file whose first bytes say that it is no text and no table.

    Args:
        head: at least `HEAD_BYTES` of it, fewer only where it is shorter; as they are stored, or decompressed.

    Raises:
        StandInError: it stands for a file that was not fetched.
        ContainerError: it is an archive, or a document of a program.
        DamagedInputError: it is a picture, sound, film or program.
    """
    head = head[:HEAD_BYTES]
    for first, problem, fetch in _STAND_INS:
        if re.match(first, head):
            raise StandInError(path, problem, fetch, "an input is the file itself")
    if _PAGE.match(head) and suffix_of(path) in _TABLES:
        raise StandInError(
            path,
            "is a web page in place of the file",
            "open it to see what the server answered, and download the file again",
            "an input is the file itself",
        )
    for first, kind, unpack in _ARCHIVES:
        if re.match(first, head):
            joined = _how_to_join(path.rsplit("/", 1)[-1])
            fix = joined or f"{unpack}, or name the files to read with a glob"
            if not joined and first.startswith((b"PK", b"7z")):
                fix += "; join it first (cat X.zip.part* > X.zip) where it is a part of an archive"
            raise ContainerError(path, f"is {kind}", fix, "archives and documents of other programs are not read")
    for first, problem in _MEDIA:
        if re.match(first, head):
            raise DamagedInputError(path, problem, "name the files to read with a glob", "inputs hold text")


def refuse_dangling(path: str) -> None:
    """Raise StandInError for a local link to a file that is not there, as git-annex and copies of caches leave."""
    if not is_remote(path) and Path(path).is_symlink() and not Path(path).exists():
        raise StandInError(
            path,
            "is a link to a file that is not there",
            "fetch the file (`git annex get` in a clone), or copy what the link leads to",
            "an input is the file itself",
        )


def first_bytes(path: str) -> bytes:
    """Return the first bytes of a file that tell what it is, of its content or else as stored; none if unreadable."""
    compression = compression_of(path)
    try:
        with open_bytes(path) as stream:
            return read_full(stream, HEAD_BYTES)
    except Exception:  # whoever reads it for its documents says so; stores and decompressors raise what they like
        if compression is None:
            return b""
    try:
        opened: Any = store_of(path)[0].open(store_of(path)[1], "rb") if is_remote(path) else open_file(stored(path))
        with opened as stream:
            head = read_full(stream, HEAD_BYTES)
    except Exception:
        return b""
    return b"" if head.startswith(_BEGIN[compression]) else head


def _how_to_join(name: str) -> str:
    if part := _ZIP_PART.fullmatch(name):
        return f"join the parts and unpack them: zip -s 0 {part['base']}.zip --out whole.zip && unzip whole.zip"
    part = _PART.fullmatch(name)
    if part is None:
        return ""
    whole = part["whole"]
    then = "read it" if whole.lower().endswith(COMPRESSED) and ".tar" not in whole.lower() else "unpack it"
    return f"join the parts (cat {whole}{part['begin']}* > {whole}; {_MANY}) and {then}"
