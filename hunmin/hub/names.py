"""Models and data sets named as on the hub: `hf:OWNER/NAME@COMMIT` stands for a folder of the hub's cache."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from common.errors import UserError

PREFIX = "hf:"
_NAME = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^@\s]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def local_folder(name: str, kind: Literal["model", "dataset"]) -> Path:
    """Return the folder that a name stands for: itself, or of `hf:OWNER/NAME@COMMIT` the one in the hub's cache.

    Nothing is fetched: `hf download` does that, and what a score is of does not change while nobody looks.

    Args:
        name: a path, or `hf:`, a repository and the 40 digits of a commit of it.
        kind: what the repository holds.

    Raises:
        UserError: the name is no such one, is of no commit, or is not in the cache.
    """
    if not name.startswith(PREFIX):
        return Path(name)
    found = _NAME.fullmatch(name)
    if not found:
        raise UserError(f"'{name}' is no name on the hub", f"such a name is {PREFIX}OWNER/NAME@COMMIT", "mend the name")
    repository, revision = found["repository"], found["revision"]
    fetch = f"hf download {repository}" + (" --repo-type dataset" if kind == "dataset" else "")
    if not _COMMIT.fullmatch(revision or ""):
        raise UserError(
            f"{name} names no commit" + (f" ('{revision}' may be another one tomorrow)" if revision else ""),
            "a score is of one state of a repository, so its commit is named, all 40 digits of it",
            _pinned(repository, revision or "main", kind) or f"{fetch}; the folder that it prints ends with the commit",
        )
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = snapshot_download(
            repository, repo_type=kind, revision=revision, cache_dir=constants.HF_HUB_CACHE, local_files_only=True
        )
    except HFValidationError as error:
        raise UserError(f"'{name}' is no name on the hub", str(error), "mend the name") from None
    except LocalEntryNotFoundError:
        raise UserError(
            f"{name} is not in the hub's cache ({constants.HF_HUB_CACHE})",
            "nothing is fetched without being asked for",
            f"{fetch} --revision {revision}",
        ) from None
    return Path(folder)


def _pinned(repository: str, revision: str, kind: str) -> str:
    """Return how to name the commit that the cache has under a branch or tag; "" where it has none."""
    from huggingface_hub import constants

    stored = Path(constants.HF_HUB_CACHE) / f"{kind}s--{repository.replace('/', '--')}" / "refs" / revision
    commit = stored.read_text(encoding="utf-8").strip() if stored.is_file() else ""
    return f"the cache has {PREFIX}{repository}@{commit}" if _COMMIT.fullmatch(commit) else ""
