"""Input paths: which files the inputs stand for, and their labels."""

from __future__ import annotations

from itertools import chain, count

from common.errors import UserError, raise_together
from common.files import HUB, stem, suffix_of
from common.globs import expand
from common.secrets import masked_urls
from data.nfc import nfc
from data.readers.containers import refuse_name
from data.readers.records import InputFile
from data.readers.settings import SourceSettings


def list_files(inputs: list[str | SourceSettings]) -> list[InputFile]:
    """Return the files of all inputs, in the order given and sorted within an input; a data set counts as a file.

    A file's label is its source's name (NAME/STEM where it stands for several files) or its stem, with the folders
    before it that tell files of one stem apart.

    Raises:
        UserError: inputs stand for no file, or for a file of a format that is not read; all of them are named.
    """
    files: list[tuple[str, SourceSettings, str]] = []
    refused: list[UserError] = []
    for entry in inputs:
        source = SourceSettings(path=entry) if isinstance(entry, str) else entry
        try:
            paths = [source.path] if source.path.startswith(HUB) else expand(source.path)
            for path in paths:
                if source.format == "auto":
                    refuse_name(path, suffix_of(path))
                files.append((path, source, f"{source.name}/" if source.name and len(paths) > 1 else source.name or ""))
        except UserError as error:
            refused.append(error)
    raise_together(refused, "inputs cannot be read")
    labels = _labels([(masked_urls(path), source, begin) for path, source, begin in files])  # they stand in ids
    return [InputFile(path, label, source) for (path, source, _), label in zip(files, labels, strict=True)]


def _labels(files: list[tuple[str, SourceSettings, str]]) -> list[str]:
    """Return a unique label for each (path, source, beginning) by the file alone: ids stay when files come or go."""
    alike: dict[str, dict[str, str]] = {}
    bases = [begin if begin and not begin.endswith("/") else begin + stem(path) for path, _, begin in files]
    for base, (path, _, begin) in zip(bases, files, strict=True):
        alike.setdefault(base, {})[path] = begin
    labels_apart = {base: _told_apart(paths) for base, paths in alike.items()}
    labels: dict[str, None] = {}
    for base, (path, _, _) in zip(bases, files, strict=True):
        label = nfc(labels_apart[base].get(path, base))
        numbered = (f"{label}~{number}" for number in count(2))
        labels[next(candidate for candidate in chain([label], numbered) if candidate not in labels)] = None
    return list(labels)


def _told_apart(paths: dict[str, str]) -> dict[str, str]:
    if len(paths) == 1:
        return {}
    deepest = max(path.count("/") for path in paths)
    for name_of in (stem, lambda path: path.rsplit("/", 1)[-1]):
        for depth in range(deepest + 1):
            labels = {
                path: begin.removesuffix("/") + "/" * bool(begin) + "/".join([*_folders(path, depth), name_of(path)])
                for path, begin in paths.items()
            }
            if len(set(labels.values())) == len(paths):
                return labels
    return {}


def _folders(path: str, depth: int) -> list[str]:
    return [part for part in path.split("/")[:-1] if part][-depth:] if depth else []
