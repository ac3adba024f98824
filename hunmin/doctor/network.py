"""Checks of what lies outside of the machine: the hub, and the keys by which services are used."""

from __future__ import annotations

import netrc
import os
from pathlib import Path

from common.secrets import masked_urls
from hunmin.doctor.ask import Answer
from hunmin.doctor.check import Check

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
"""Variables that keep the libraries from asking the hub."""
NO = ("", "0", "false", "off", "no")


def offline_variables() -> list[str]:
    """Return which of the variables are set that keep the libraries off the hub."""
    return [name for name in OFFLINE if os.environ.get(name, "").lower() not in NO]


def network_check(answer: Answer | None) -> Check:
    """Return whether the hub can be reached; a run on local files needs it not.

    Args:
        answer: of the probe; None where it was not asked.
    """
    if variables := offline_variables():
        stated = ", ".join(f"{name}={os.environ[name]}" for name in variables)
        return Check("network", "ok", f"not asked: {stated}; only local files are used")
    if answer is None or "error" in answer:
        why = f" ({answer['error']})" if answer else ""
        return Check("network", "note", f"the hub cannot be reached{why}; runs on local files do not need it",
                     "export HF_HUB_OFFLINE=1, so that nothing waits for it; HTTPS_PROXY where there is a proxy, "
                     "HF_ENDPOINT where there is a mirror")  # fmt: skip
    return Check("network", "ok", f"{masked_urls(answer['found']['address'])} answers")


def keys_check() -> Check:
    """Return which keys are set; never one's value."""
    there = {
        "HF_TOKEN": bool(os.environ.get("HF_TOKEN")) or _hub_file().is_file(),
        "WANDB_API_KEY": bool(os.environ.get("WANDB_API_KEY")) or _has_netrc("api.wandb.ai"),
        "HUNMIN_PII_KEY": bool(os.environ.get("HUNMIN_PII_KEY")),
    }
    found = ", ".join(f"{name}: {'set' if is_set else 'not set'}" for name, is_set in there.items())
    if there["HUNMIN_PII_KEY"]:
        return Check("keys", "ok", found)
    return Check("keys", "note", f"{found}; pseudonyms in a corpus of yours need HUNMIN_PII_KEY",
                 "(umask 077; openssl rand -hex 32 > ~/.hunmin-pii-key), once; "
                 "export HUNMIN_PII_KEY=$(cat ~/.hunmin-pii-key)")  # fmt: skip


def _hub_file() -> Path:
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    return Path(os.environ.get("HF_TOKEN_PATH", home / "token"))


def _has_netrc(host: str) -> bool:
    try:
        return netrc.netrc().authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
