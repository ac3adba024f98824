"""Facts: the settings, inputs and rules that an output depends on, and the differences between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from common.manifest import Manifest
from common.rules import changed_since
from common.settings import changed_keys

UNKNOWN = "remote"
"""Content of a remote input whose store does not tell its version, or cannot be asked now, and of a file that is gone:
no reason to do work again."""
ORDER = "order of the files"
"""Label of the order of input files, where the output has it, too."""


@dataclass(frozen=True)
class Facts:
    """The settings, inputs and rules that an output depends on; its manifest records them.

    Args:
        settings: all that the output depends on; a path counts by the content that is read there.
        inputs: label → digest of a content, with a hash of how it is read; a stage → fingerprint of its output. None
            where they are not known: each of several processes would have to hash them.
        rules: number of the rules (`common.rules`).
    """

    settings: dict[str, Any]
    inputs: dict[str, str] | None
    rules: int

    @classmethod
    def of(cls, manifest: Manifest) -> Facts:
        """Return the facts of a finished folder."""
        return cls(manifest.settings, manifest.inputs, manifest.rules)


@dataclass(frozen=True)
class Differences:
    """The differences between two facts, in lines."""

    settings: tuple[str, ...] = ()
    """Settings as "key: old → new"."""
    inputs: tuple[str, ...] = ()
    """Labels of inputs, and the settings that say where they are."""
    rules: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Return whether anything differs."""
        return self != Differences()


def differences(
    before: Facts, now: Facts, stage: str, model: type[BaseModel] | None = None, section: str = ""
) -> Differences:
    """Return the differences from the facts of earlier work.

    No difference: a setting that the earlier work lacks, at its default; a place whose content is the same; a content
    that is not known now or was not then.

    Args:
        stage: whose rules they are.
        model: class of the settings, which knows defaults and places.
        section: what the settings' keys begin with.
    """
    unknown = before.inputs is None or now.inputs is None
    old, new = before.inputs or {}, now.inputs or {}
    changed = [] if unknown else [label for label in sorted(old | new) if not _is_same(old.get(label), new.get(label))]
    if old.keys() != new.keys() and ORDER in changed:  # that follows from it
        changed.remove(ORDER)
    settings = changed_keys(before.settings, now.settings, section, model)
    # where an input lies says what its change comes from, and counts by itself where contents are not known
    with_places = changed_keys(before.settings, now.settings, section, model, unknown or bool(changed))
    labels = [
        label + ("" if label in old and label in new else " (new)" if label in new else " (gone)") for label in changed
    ]
    places = [line for line in with_places if line not in settings]
    return Differences(tuple(settings), (*labels, *places), rules_since(stage, before.rules, now.rules))


def _is_same(before: str | None, now: str | None) -> bool:
    if before is None or now is None:
        return False
    content, _, read_as = before.partition(" ")
    content_now, _, read_as_now = now.partition(" ")
    return read_as == read_as_now and (content == content_now or UNKNOWN in (content, content_now))


def rules_since(stage: str, before: int, now: int) -> tuple[str, ...]:
    """Return a line on the rules of earlier work, none where they are those of now.

    Args:
        stage: whose rules they are.
        before, now: their numbers.
    """
    if before == now:
        return ()
    since = "; ".join(changed_since(stage, before))
    return (f"rules {before}, " + (f"changed since: {since}" if since else "which are not known here"),)
