"""Sentence splitting by one compiled pattern: linear in length, deterministic, and no character is lost."""
