"""Examples of what a finished corpus left out, by rule: as its lists name it (`lists`), and with texts (`replay`)."""

from data.dropped.lists import Row, listed_examples
from data.dropped.replay import with_texts

__all__ = ["Row", "listed_examples", "with_texts"]
