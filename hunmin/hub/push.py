"""Uploads to the model hub, through huggingface_hub: a commit and a tag, tried again where that helps."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from common.errors import UserError
from common.files import human_size
from common.progress import say
from hunmin.hub.calls import again

T = TypeVar("T")
STEP = re.compile(r"step-(\d+)")
"""A tag of a checkpoint."""


@dataclass(frozen=True)
class Item:
    """A file of a commit."""

    name: str
    """Its path in the repository."""
    content: Path | bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


class Hub:
    """A repository of the hub, in which calls are made again while the hub is busy or not reached.

    Args:
        repository: OWNER/NAME.
        sleep: waits so many seconds between attempts.

    Raises:
        UserError: the name is none, or there is no network or no token.
    """

    def __init__(self, repository: str, sleep: Callable[[float], None] = time.sleep) -> None:
        from huggingface_hub import HfApi

        check_name(repository)
        _refuse_without_way(repository)
        self.api = HfApi()
        self.repository = repository
        self._sleep = sleep

    def call(self, what: str, function: Callable[[], T]) -> T:
        """Return what a call returns; see `again`."""
        return again(what, self.repository, function, self._sleep)

    def tags(self) -> dict[str, str]:
        """Return tag → commit."""
        refs = self.call("look at the tags of", lambda: self.api.list_repo_refs(self.repository))
        return {ref.name: ref.target_commit for ref in refs.tags}

    def files(self, revision: str) -> set[str]:
        """Return the names of the files in a revision."""
        listed = self.call("look at the files of", lambda: self.api.list_repo_files(self.repository, revision=revision))
        return set(listed)


def prepare(repository: str, private: bool = True, sleep: Callable[[float], None] = time.sleep) -> str:
    """Make a repository where there is none, and return its address: what an upload would be refused for shows here,
    before any work.

    Args:
        repository: OWNER/NAME.
        private: whether it is seen by its owner alone.
        sleep: waits so many seconds between attempts.

    Raises:
        UserError: there is no network or no token, the token may not write there, or the repository is public while
            a private one is wanted.
        HunminError: the hub did not answer, or not as it should.
    """
    hub = Hub(repository, sleep)
    url = hub.call("make the repository", lambda: hub.api.create_repo(repository, private=private, exist_ok=True))
    if private and not hub.call("look at the repository", lambda: hub.api.model_info(repository)).private:
        raise UserError(
            f"{repository} is there already and is public",
            "an upload is private unless a public one is asked for",
            "--public (in a recipe hub.private=false), another repository, or make this one private on its page",
        )
    return str(url)


def steps_pushed(repository: str, sleep: Callable[[float], None] = time.sleep) -> set[int]:
    """Return the steps whose checkpoints a repository has, by its tags; none of one that is not there.

    Raises:
        HunminError: as `prepare`.
    """
    from huggingface_hub.errors import RepositoryNotFoundError

    hub = Hub(repository, sleep)

    def tags() -> list[str]:
        try:
            return [ref.name for ref in hub.api.list_repo_refs(repository).tags]
        except RepositoryNotFoundError:
            return []

    return {int(found[1]) for tag in hub.call("look at the tags of", tags) if (found := STEP.fullmatch(tag))}


def push(
    items: Sequence[Item],
    repository: str,
    message: str,
    tag: str | None = None,
    private: bool = True,
    ours: Collection[str] = (),
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Upload files as one commit, tag it, and return the address of the repository.

    The repository is made if there is none. Large files that an earlier attempt has brought there are not sent again,
    and files that have not changed make no commit. A tag that stands elsewhere is moved. `main` never goes back: a
    checkpoint older than the newest one that is tagged is committed beside it, and has its tag alone.

    Args:
        items: the files.
        repository: OWNER/NAME.
        message: of the commit.
        tag: name for the commit, or None; `step-N` of a checkpoint.
        private: see `prepare`.
        ours: names of files that are removed where this commit does not bring them.
        sleep: waits so many seconds between attempts.

    Raises:
        UserError, HunminError: as `prepare`.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    url = prepare(repository, private, sleep)
    hub = Hub(repository, sleep)
    tags = hub.tags() if tag else {}
    newest = max((int(found[1]) for name in tags if (found := STEP.fullmatch(name))), default=-1)
    branch = None
    if tag and (found := STEP.fullmatch(tag)) and int(found[1]) < newest:
        branch, begin = f"hunmin-{tag}", tags.get(tag)
        hub.call(
            "make a branch in",
            lambda: hub.api.create_branch(repository, branch=str(branch), revision=begin, exist_ok=True),
        )
        say(f"{repository}: main stays at step {newest:,}; {tag} is its tag alone")
    there = hub.files(branch or "main") if ours else set()
    gone = sorted((there & set(ours)) - {item.name for item in items})
    # a fresh list for each attempt: huggingface_hub notes in it what it has sent
    commit = hub.call(
        "upload",
        lambda: hub.api.create_commit(
            repository,
            [
                *(CommitOperationAdd(item.name, item.content) for item in items),
                *(CommitOperationDelete(name) for name in gone),
            ],
            commit_message=message,
            revision=branch,
        ),
    )
    if tag:
        hub.call(f"set the tag {tag}", lambda: _set_tag(hub.api, repository, tag, commit.oid))
    if branch:
        hub.call("remove a branch of", lambda: _remove_branch(hub.api, repository, branch))
    return url


def _refuse_without_way(repository: str) -> None:
    """Refuse an upload without network or token."""
    from huggingface_hub import get_token

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON"):
        raise UserError(
            "HF_HUB_OFFLINE is set",
            "an upload needs the network",
            f"unset HF_HUB_OFFLINE, then push {repository} again",
        )
    if get_token() is None:
        raise UserError(
            f"there is no token to push to {repository} with",
            "the model hub takes uploads of known users alone; tokens come from the environment or a login",
            "set HF_TOKEN to a token with write access, or run: hf auth login",
        )


def check_name(repository: str) -> None:
    """Refuse what is no name of a repository.

    Raises:
        UserError: it is not OWNER/NAME in the hub's characters.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repository)
    except HFValidationError:
        pass
    else:
        if repository.count("/") == 1:
            return
    raise UserError(
        f"'{repository}' is no name of a repository",
        "a repository is OWNER/NAME: letters, digits, - . _, none of them at an end",
        "name the owner too: --push-to-hub OWNER/NAME",
    )


def _set_tag(api: Any, repository: str, tag: str, commit: str) -> None:
    """Have a tag name a commit."""
    there = {ref.name: ref.target_commit for ref in api.list_repo_refs(repository).tags}
    if there.get(tag) == commit:
        return
    if tag in there:
        api.delete_tag(repository, tag=tag)
    api.create_tag(repository, tag=tag, revision=commit)


def _remove_branch(api: Any, repository: str, branch: str) -> None:
    """Remove a branch, unless an attempt before has."""
    if branch in {ref.name for ref in api.list_repo_refs(repository).branches}:
        api.delete_branch(repository, branch=branch)


def describe(items: Sequence[Item], repository: str, tag: str | None, private: bool) -> str:
    """Return what `push` would do, for a person to read."""
    total = sum(item.size for item in items)
    lines = [f"{repository} ({'private' if private else 'public'})" + (f", tag {tag}" if tag else "")]
    lines += [f"  {human_size(item.size):>10}  {item.name}" for item in items]
    return "\n".join([*lines, f"  {human_size(total):>10}  in all"])
