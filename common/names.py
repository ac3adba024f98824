"""What a name stands for: a folder, a run's folder, or a repository of the model hub in its cache, fetched if need be.

A path that exists is that path, as for transformers; otherwise OWNER/NAME[@REVISION] is a repository of the hub.
`hf:OWNER/NAME[@REVISION]` always is one, and hf:OWNER/NAME/FILE[@REVISION] a file of a data set. A name is of one
commit: the recorded one, else the cache's, else the hub's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

from common.errors import HunminError, UserError, nearest
from common.files import HUB, atomic_write, other_locale, read_bytes, stored
from common.hub_limits import limit_calls
from common.progress import say
from common.stage_folders import folder_of, run_and_stage

Part = Literal["model", "tokenizer", "dataset"]
Commits = MutableMapping[str, str]
"""Names as `HubName.key` gives them → commits."""
COMMIT = re.compile(r"[0-9a-f]{40}")
_NAME = re.compile(
    r"(?P<prefix>hf:)?(?P<repository>[\w-][\w.-]*/[\w-][\w.-]*)"  # hf:someone/complaints
    r"(?(prefix)(?:/(?P<file>[^@\s]+))?)(?:@(?P<revision>[^@\s]+))?"  # /data/train.csv@main
)
_CACHED = re.compile(r"/(models|datasets)--(?P<owner_name>[^/]+)/snapshots/(?P<commit>[0-9a-f]{40})(/(?P<file>.+))?$")
_ALONE = re.compile(r"(?P<prefix>hf:)(?P<repository>[\w-][\w.-]*)(?:@(?P<revision>[^@\s]+))?")
"""A model of the hub's first years, which has no owner: only `hf:` tells its name from a folder's."""
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
"""Files of which a tokenizer has one."""
WEIGHTS = (
    ("model.safetensors", "model.safetensors.index.json", "model-*.safetensors", "head.safetensors"),
    ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*.bin"),
)
"""Files of weights by format, the better one first: whole, or an index and its parts; a fine-tuned model's head."""
SMALL = ("*.json", "*.txt", "*.model", "README.md")
"""Files of configuration and tokenizer, at the top of a repository."""
IN_RUN: dict[Part, str] = {"model": "export", "tokenizer": "tokenizer"}
"""Part → stage of a run whose folder a run's name stands for."""
RECORD = "hub.json"
"""File with the commits that a command outside a run has read."""
HUB_SECONDS = 10.0
"""How long the hub may take to say what it has."""


@dataclass(frozen=True)
class HubName:
    """A repository of the hub, at a revision where one is named, or a file of it."""

    repository: str
    revision: str | None = None
    file: str = ""

    @property
    def key(self) -> str:
        """Return the key under which the name's commit is recorded."""
        return self.repository + (f"@{self.revision}" if self.revision else "")

    @property
    def name(self) -> str:
        """Return the name with `hf:`, which never is a path."""
        return f"{HUB}{self.repository}" + f"/{self.file}" * bool(self.file) + f"@{self.revision}" * bool(self.revision)

    @property
    def commit(self) -> str | None:
        """Return the commit that the name states in full; None for a branch, a tag or nothing."""
        return self.revision if COMMIT.fullmatch(self.revision or "") else None

    def at(self, commit: str) -> str:
        """Return the name of the repository at a commit."""
        return f"{HUB}{self.repository}@{commit}"


def hub_name(name: str | Path, part: Part | None = None) -> HubName | None:
    """Return the repository that a name stands for; None where it is a path.

    Args:
        name: a path or a name on the hub.
        part: "dataset": the name may be one of a file.

    Raises:
        UserError: it begins with `hf:` and names no repository.
    """
    text = str(name)
    if not text.startswith(HUB) and _exists(text):
        return None
    match = _NAME.fullmatch(text) or _ALONE.fullmatch(text)
    file = (match and match.groupdict().get("file")) or ""
    unfit = ".." in file.split("/") or (file and part != "dataset")
    if match and not unfit and not any(bad in match["repository"] for bad in ("--", "..")):
        return HubName(match["repository"], match["revision"], file)
    if text.startswith(HUB):
        raise UserError(
            f"'{text}' is no name on the hub",
            f"such a name is {HUB}OWNER/NAME or {HUB}OWNER/NAME@REVISION",
            "fix the name",
        )
    return None


def find(name: str | Path, part: Part, commits: Commits | None = None) -> Path:
    """Return the folder or file that a name stands for; what the hub's cache does not hold is fetched.

    Args:
        name: a path, a run's folder, OWNER/NAME[@REVISION] with or without `hf:`, or a data set's file with it.
        part: what is needed of it.
        commits: recorded ones, which are kept to; the commit of the name is added.

    Raises:
        UserError: the run has not made it yet, or the name is not in the cache and cannot be fetched.
    """
    hub = hub_name(name, part)
    if hub is None:
        return _in_run(_path(name), part)
    folder = _cached(hub, part, commits) or _fetched(hub, part, _known(hub, commits))
    if commits is not None:
        commits[hub.key] = folder.name
    return folder / hub.file


def find_here(name: str | Path, part: Part, commits: Commits | None = None) -> Path | None:
    """Return the folder or file that a name stands for, as `find`; None where it would have to be fetched.

    Raises:
        UserError: as `find`.
    """
    hub = hub_name(name, part)
    if hub is None:
        return _in_run(_path(name), part)
    folder = _cached(hub, part, commits)
    if folder and commits is not None:
        commits[hub.key] = folder.name
    return folder and folder / hub.file


def commit_of(hub: HubName, part: Part, commits: Commits | None = None) -> str:
    """Return the commit that a name stands for: the recorded one, else the cache's, else the hub's; nothing is fetched.

    Raises:
        UserError: the hub does not know it, or is not reached.
    """
    commit = _known(hub, commits)
    if commit is None:
        folder = _snapshot(hub, part)
        commit = folder.name if folder else str(_ask(hub, part, hub.revision).sha)
    if commits is not None:
        commits[hub.key] = commit
    return commit


def shown_name(folder: str | Path) -> str:
    """Return a folder's name for people: OWNER/NAME in the hub's cache, the run's name of a run's model, else the last
    part of its path."""
    whole = Path(folder).resolve()
    if whole.parent.name == "snapshots":  # models--OWNER--NAME/snapshots/COMMIT
        return re.sub(r"^(models|datasets)--", "", whole.parent.parent.name).replace("--", "/")
    if whole.name == "model" and run_and_stage(whole.parent)[1] == "embed":
        whole = run_and_stage(whole.parent)[0]
    elif run_and_stage(whole)[1] == "export":
        whole = run_and_stage(whole)[0]
    return normalize("NFC", whole.name)


def with_prefix(name: str) -> str:
    """Return `hf:NAME` for a model without an owner (roberta-base) where no path is called so; else the name itself."""
    return f"{HUB}{name}" if _ALONE.fullmatch(f"{HUB}{name}") and not _exists(name) else name


def pinned_name(path: str | Path) -> str | None:
    """Return `hf:OWNER/NAME[/FILE]@COMMIT` of a folder or file in the hub's cache, None of any other."""
    match = _CACHED.search(Path(path).as_posix())
    return HubName(match["owner_name"].replace("--", "/"), match["commit"], match["file"] or "").name if match else None


def read_commits(folder: Path) -> dict[str, str]:
    """Return the commits that a command has recorded in the folder that it writes; {} where it has not."""
    try:
        commits = json.loads(read_bytes(folder / RECORD))
    except (OSError, ValueError):
        return {}
    return {str(name): str(commit) for name, commit in commits.items()} if isinstance(commits, dict) else {}


def write_commits(folder: Path, commits: Commits) -> None:
    """Record commits in a folder, unless there are none or they are recorded already."""
    if commits and commits != read_commits(folder):
        with atomic_write(folder / RECORD) as stream:
            json.dump(dict(commits), stream, indent=1, sort_keys=True)
            stream.write("\n")


def _exists(text: str) -> bool:
    try:
        return Path(text).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _path(name: str | Path) -> Path:
    """Return a path with its names as the file system has them; raise a UserError where a URL stands for one."""
    path = stored(name)
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(name), re.IGNORECASE) and not path.exists():  # Path() leaves one slash
        raise UserError(
            f"'{name}' is a URL",
            "a model, tokenizer or benchmark is a path here, or a name on the hub",
            "download it, and name the path",
        )
    return path


def _in_run(path: Path, part: Part) -> Path:
    """Return the folder of a part where a path is a run's, else the path.

    Raises:
        UserError: the run has not made the part yet.
    """
    inner = IN_RUN.get(part)
    alone = any((path / name).is_file() for name in ("config.json", "tokenizer.json"))
    if inner is None or alone or not (path / "recipe.yaml").is_file():
        return path
    folder = folder_of(path, inner)
    if not (folder / "manifest.json").is_file():
        raise UserError(
            f"{path} is a run whose stage '{inner}' is not finished",
            f"a run's folder stands for its {inner} folder",
            f"finish the run (hunmin run {path}/recipe.yaml out={path})"
            + (
                ", or export a checkpoint: hunmin export RUN/pretrain.partial/checkpoints/step-… --out model"
                if part == "model"
                else ""
            ),
        )
    return folder


def _known(hub: HubName, commits: Commits | None) -> str | None:
    return hub.commit or (commits or {}).get(hub.key)


def _kind(part: Part) -> str:
    return "dataset" if part == "dataset" else "model"


def _snapshot(hub: HubName, part: Part, commit: str | None = None, whole: bool = False) -> Path | None:
    """Return the folder that the hub's cache has of a commit, else of a branch or tag ("main" where none is named).

    `whole` refuses one that lacks files of the repository, as far as the version of the library knows.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        snapshot = snapshot_download(
            hub.repository, repo_type=_kind(part), revision=commit or hub.revision, local_files_only=True,
            allow_patterns=None if whole else [],
        )  # fmt: skip
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    folder = Path(constants.HF_HUB_CACHE).joinpath(*Path(snapshot).parts[-3:])  # the library follows links to the cache
    return folder if COMMIT.fullmatch(folder.name) else None


def _cached(hub: HubName, part: Part, commits: Commits | None) -> Path | None:
    folder = _snapshot(hub, part, _known(hub, commits), whole=part == "dataset" and not hub.file)
    if folder is None:
        return None
    names = [path.name for path in folder.iterdir()]
    return folder if ((folder / hub.file).exists() if part == "dataset" else _is_whole(names, part)) else None


def _is_whole(names: list[str], part: Part) -> bool:
    tokenizer = any(fnmatchcase(name, pattern) for name in names for pattern in TOKENIZERS)
    if part == "tokenizer":
        return tokenizer
    return tokenizer and "config.json" in names and bool(_weights(names))


def _weights(names: list[str]) -> list[str]:
    """Return the files of weights among a repository's, of the better format."""
    for patterns in WEIGHTS:
        if weights := [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]:
            return weights
    return []


def _fetched(hub: HubName, part: Part, commit: str | None) -> Path:
    # what the cache has of it, a tokenizer say, is of the commit that is fetched
    cached = None if commit else _snapshot(hub, part)
    revision = commit or (cached.name if cached else hub.revision)
    facts = _ask(hub, part, revision)
    names = [file.rfilename for file in facts.siblings or []]
    patterns = [hub.file] if hub.file else None
    if hub.file and hub.file not in names:
        raise UserError(
            f"{hub.repository} on the hub has no file '{hub.file}'{nearest(hub.file, names)}",
            f"a data set's file is written {HUB}OWNER/NAME/FILE, as its page lists it",
            "fix the name",
        )
    if part != "dataset":
        top = [name for name in names if "/" not in name]
        patterns = [name for name in top if any(fnmatchcase(name, pattern) for pattern in SMALL)]
        patterns += _weights(top) if part == "model" else []
    say(f"fetching {_kind(part)} {hub.repository} (commit {str(facts.sha)[:12]}) from the hub")
    from huggingface_hub import snapshot_download

    limit_calls()
    try:
        with _bars_on_a_terminal():
            folder = snapshot_download(
                hub.repository, repo_type=_kind(part), revision=revision, allow_patterns=patterns
            )
    except Exception as error:  # of many kinds, by version and network
        raise _unreachable(hub, part, error) from None
    if part != "dataset" and not _is_whole([path.name for path in Path(folder).iterdir()], part):
        lacking = "config.json, weights and a tokenizer" if part == "model" else "a tokenizer"
        raise UserError(
            f"{hub.repository} on the hub does not hold {lacking}",
            f"a {part} is read from these files",
            "name another repository",
        )
    return Path(folder)


@contextmanager
def _bars_on_a_terminal() -> Iterator[None]:
    """Turn off the progress bars of the hub's library away from a terminal."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    quiet = not sys.stderr.isatty() and not are_progress_bars_disabled()
    if quiet:
        disable_progress_bars()
    try:
        yield
    finally:
        if quiet:
            enable_progress_bars()


def _ask(hub: HubName, part: Part, revision: str | None) -> Any:
    from huggingface_hub import HfApi

    try:
        return HfApi().repo_info(hub.repository, repo_type=_kind(part), revision=revision, timeout=HUB_SECONDS)
    except Exception as error:  # of many kinds, by version and network
        refused = _unreachable(hub, part, error)
        refused.path = hub.key
        raise refused from None


def _unreachable(hub: HubName, part: Part, error: Exception) -> HunminError:
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    kind = "data set" if part == "dataset" else "model"
    if isinstance(error, GatedRepoError):
        return UserError(
            f"{hub.repository} on the hub is gated",
            "its owner lets in whom they know",
            f"ask for access at its page, log in (hf auth login), then: {fetch_command(hub, part)}",
        )
    if isinstance(error, RevisionNotFoundError):
        return UserError(
            f"{hub.repository} on the hub has no revision '{hub.revision}'",
            "a revision is a branch, tag or commit",
            "fix the part after the @",
        )
    if isinstance(error, (RepositoryNotFoundError, HFValidationError)):
        return UserError(
            f"{hub.key} is neither a folder here nor a {kind} on the hub that you may read",
            f"a name is a path that exists, or OWNER/NAME of a {kind}",
            other_locale(hub.key) or "fix the name; a private repository needs a login (hf auth login)",
        )
    return UserError(
        f"{hub.key} is no folder here and not in the hub's cache ({constants.HF_HUB_CACHE}), and the hub is not "
        f"reached ({type(error).__name__})",
        f"a name OWNER/NAME is a {kind} on the hub",
        other_locale(hub.key) or f"with a connection: {fetch_command(hub, part)}; then run the same command again",
    )


def fetch_command(hub: HubName, part: Part) -> str:
    """Return the command that fetches a repository into the hub's cache."""
    kind = " --repo-type dataset" if part == "dataset" else ""
    file = f" {hub.file}" * bool(hub.file)
    return f"hf download {hub.repository}{file}{kind}" + (f" --revision {hub.revision}" if hub.revision else "")
