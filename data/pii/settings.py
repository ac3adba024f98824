"""Settings of the pseudonymisation step, and where its key comes from."""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
import re
from typing import Any

from pydantic import Field, field_validator

from common.errors import UserError, nearest
from common.progress import say
from common.settings import Settings, runtime, secret
from data.pii.type_names import ON_REQUEST, PII_TYPES

MAKE_KEY = "[ -s ~/.hunmin-pii-key ] || (umask 077; openssl rand -hex 32 > ~/.hunmin-pii-key)"
"""Makes a key where there is none: another one gives other pseudonyms, so the one that is there stays."""
DEFAULT = "default"
"""Stands in `types` for all types that are replaced by default."""
MIN_KEY_CHARACTERS = 16
"""A shorter key could be found by trying all of them against one known original."""


class PiiSettings(Settings):
    """Which personal data is replaced, and by which key."""

    enabled: bool = True
    """Replace personal data by pseudonyms. On by default: about 1% of the sentences in web text contain some."""

    types: list[str] = Field(default_factory=lambda: list(PII_TYPES))
    """Types to replace, by name; `default` stands for all 16 default types. Types left out are still recognised (a
    telephone number left out is not taken for an account) but stay in the text. NAME (of people, next to a label or a
    title) and NICKNAME (next to a label, or in a messenger) are replaced only if they are listed here: `[default,
    NAME]`."""

    key_env: str = runtime("HUNMIN_PII_KEY")
    """Name of the environment variable that contains the key. It takes precedence over `key`. With
    another key the run stops, unless `--restart corpus` asks for a new corpus."""

    key: str | None = secret(None)
    """A key written in the recipe. Only for samples and tests: who has the recipe can then test guesses against the
    pseudonyms. Default none."""

    @field_validator("key_env")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) or re.fullmatch("[0-9a-f]{32,}", value):
            raise ValueError("it is the name of the environment variable that holds the key, not the key")
        return value

    @field_validator("types", mode="before")
    @classmethod
    def _with_default(cls, value: Any) -> Any:
        if not isinstance(value, list) or DEFAULT not in value:
            return value
        return [name for entry in value for name in (PII_TYPES if entry == DEFAULT else [entry])]

    @property
    def left_out(self) -> str:
        """Return a sentence on default types that stay in the text, "" where none does."""
        names = [name for name in PII_TYPES if name not in self.types] if self.enabled else []
        if not names:
            return ""
        few = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        return (
            f"corpus.pii.types leaves out {len(names)} of {len(PII_TYPES)} default types ({few}): such personal data "
            f"stays in the text; [{DEFAULT}, NAME] replaces the default types and names"
        )

    @field_validator("types")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        known = (*PII_TYPES, *ON_REQUEST)
        for name in value:
            if name not in known:
                close = nearest(name, list(known))
                raise ValueError(f"'{name}' is no PII type{close}; types: {', '.join(known)}")
        if len(set(value)) != len(value):
            raise ValueError("a type stands twice")
        return value


def resolve_key(settings: PiiSettings, of_recipe: bool = True) -> bytes:
    """Return the key: the environment variable named by `key_env`, else `settings.key` (with a warning on stderr).

    Args:
        of_recipe: whether the settings stand in a recipe, whose keys a message may name.

    Raises:
        UserError: there is no key, or it has fewer than 16 characters.
    """
    key = os.environ.get(settings.key_env, "")
    origin = f"the environment variable {settings.key_env}"
    if not key and settings.key is not None:
        key, origin = settings.key, "corpus.pii.key of the recipe"
    fix = (
        f"make one, unless you have one, and keep it secret: {MAKE_KEY}; then "
        f"export {settings.key_env}=$(cat ~/.hunmin-pii-key)"
    )
    if not key:
        raise UserError(
            f"no key for pseudonymisation: {settings.key_env} is not set"
            + " and the recipe has no corpus.pii.key" * of_recipe,
            "pseudonyms are keyed, so that nobody can recompute them from a guess",
            fix + "\n          (or leave personal data in with corpus.pii.enabled=false)" * of_recipe,
        )
    if len(key) < MIN_KEY_CHARACTERS:
        raise UserError(
            f"{origin} holds {len(key)} characters",
            f"a key has at least {MIN_KEY_CHARACTERS} characters",
            fix,
        )
    if origin.startswith("corpus.pii.key"):
        _warn_once(settings.key_env)
    return key.encode()


@functools.cache
def _warn_once(key_env: str) -> None:
    say(f"warning: the pseudonymisation key stands in the recipe; for real data use {key_env} instead", style="yellow")


def key_fingerprint(key: bytes) -> str:
    """Return 16 hex digits that tell two keys apart and do not give the key away (for manifests)."""
    return hmac.new(key, b"hunmin key fingerprint", hashlib.sha256).hexdigest()[:16]
