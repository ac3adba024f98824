"""Sentence splitting by one compiled pattern: linear in length, deterministic, and no character is lost.

`endings` knows which Korean endings close a sentence without a stop and what shows that one did not; `scan` finds
stops, endings, quotations and brackets in a line and decides at each; `split_sentences` cuts a text.
"""

from data.splitting.scan import split_sentences

__all__ = ["split_sentences"]
