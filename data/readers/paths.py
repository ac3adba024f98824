"""Input paths: which files the inputs stand for, their labels, and what their names say of the format."""

from __future__ import annotations

from pathlib import Path

from common.errors import UserError
from common.files import COMPRESSED, expand
from data.readers.records import InputFile
from data.readers.settings import Format, SourceSettings

HUB = "hf:"
BY_SUFFIX: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".po": "po",
    ".conllu": "conllu",
}
NOT_READ = {
    *(".zip", ".tar", ".tgz", ".7z", ".rar", ".egg", ".pdf", ".hwp", ".hwpx", ".doc", ".docx", ".xls", ".xlsx"),
    *(".ppt", ".pptx", ".epub", ".pkl", ".pickle", ".npy", ".npz", ".arrow", ".feather", ".orc", ".avro"),
}


def list_files(inputs: list[str | SourceSettings]) -> list[InputFile]:
    """Return the files of all inputs, in the order given and sorted within an input; a data set counts as a file.

    Raises:
        UserError: an input stands for no file, or for a file of a format that is not read.
    """
    found: list[InputFile] = []
    taken: dict[str, int] = {}
    for entry in inputs:
        source = SourceSettings(path=entry) if isinstance(entry, str) else entry
        for path in [source.path] if source.path.startswith(HUB) else expand(source.path):
            _refuse_unread(path, source)
            label = source.name or stem(path)
            taken[label] = taken.get(label, 0) + 1
            label = label if taken[label] == 1 else f"{label}~{taken[label]}"
            found.append(InputFile(path, label, source))
    return found


def stem(path: str) -> str:
    """Return a file's name without its folder, compression suffix and format suffix."""
    if path.startswith(HUB):
        return path.removeprefix(HUB).split("@", 1)[0].replace("/", "-")
    name = path.rstrip("/").rsplit("/", 1)[-1]
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return name.rsplit(".", 1)[0] if "." in name[1:] else name


def suffix_of(path: str) -> str:
    """Return a file's format suffix in lower case, without the compression suffix."""
    name = path.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return Path(name).suffix


def _refuse_unread(path: str, source: SourceSettings) -> None:
    suffix = suffix_of(path)
    if source.format == "auto" and suffix in NOT_READ:
        raise UserError(
            f"{path}: {suffix} files are not read",
            "inputs are text in one of the formats that `format` names, compressed with gz, bz2, xz or zst or not",
            "unpack or convert the file, name the files to read with a glob, or give the source's format",
        )
