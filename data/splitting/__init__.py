"""Sentence splitting by one compiled pattern: linear in length, deterministic, and no character is lost."""

from data.splitting.scan import split_sentences

__all__ = ["split_sentences"]
