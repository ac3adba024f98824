"""Thresholds from which a sentence counts as benchmark text.

The KLUE paper (section 2.3) names BM25 and gives no threshold, no terms and no floor. These are choices, made so that
copies with a changed blank are found (`scripts/check_decontamination.py` prints recall for each kind of change) and
text that cannot hold the benchmark is left alone. False alarms are given as shares of 600,000 sentences of manuals,
fairy tales, petitions and comments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rule = Literal["exact", "embedded", "words", "bigrams", "fragment"]
Scope = Literal["passages", "all"]
RULES: tuple[Rule, ...] = ("exact", "embedded", "words", "bigrams", "fragment")
"""All rules, in the order in which a tie between them is broken."""


@dataclass(frozen=True)
class Criteria:
    """Rules and thresholds of the search; the corpus takes these defaults, and tests and measurements take others."""

    rules: tuple[Rule, ...] = RULES
    """Which rules apply; a sentence is removed if any of them finds it."""
    threshold: float = 0.8
    """Words: a hit when BM25(corpus sentence, d) / BM25(d, d) reaches this for a benchmark sentence d. 0.8 still finds
    78% of the copies with one word replaced, at 0.0015% false alarms; 0.7 finds 94%, at 0.023%; 0.9 finds 23%."""
    bigram_threshold: float = 0.85
    """Character bigrams: the same ratio. Higher than for words, since unrelated sentences share many bigrams. From 0.9
    to 0.85 copies with one particle changed are found in 95% instead of 86%, at 0.003% false alarms. 0.8 gains half
    a point more, doubles the false alarms and costs a fifth of the speed."""
    min_words: int = 4
    """Benchmark sentences with fewer distinct words are not compared by words: two or three common words occur in
    unrelated sentences (3: 0.004% false alarms), and rule embedded finds whole copies of them."""
    min_bigrams: int = 8
    """Benchmark sentences of a single word, or with fewer distinct bigrams, are not compared by bigrams. With 6 there
    are eight times as many false alarms; 12 loses a fifth of the short sentences with a changed particle."""
    spread: float = 1.5
    """Words and bigrams: the ratio must be reached within a window of the corpus sentence that is this many times as
    long (in words, in bigrams) as the benchmark sentence. Long sentences contain almost any words somewhere."""
    short_syllables: int = 18
    """Words and bigrams: benchmark sentences with fewer syllables must make up the corpus sentence. It is then no
    longer than that window, and its words or bigrams reach the same threshold the other way. Three Latin letters or
    digits count as one syllable. "이해하기가 매우 어렵습니다." is in many sentences but for one word. On 210 hits
    read by hand, 18 leaves 5 of 177 false ones and 26 of 33 copies."""
    exact_min_characters: int = 1
    """Shortest benchmark sentence, in letters and digits, that an exact match removes."""
    exact_min_passage_characters: int = 8
    """The same for the sentences of passages, and for those embedded in longer ones: list marks and greetings ("1.",
    "네, 감사합니다.") in contexts and dialogues say nothing about the benchmark, and are everywhere."""
    embedded_min_characters: int = 10
    """Shortest benchmark sentence, in letters and digits, that is found word for word inside a longer one; it has two
    words or more. Shorter ones are phrases of everyday use ("효과가 없습니다.")."""
    fragment_threshold: float = 0.8
    """Fragments: a hit when one unbroken run of characters, shared with a benchmark passage, makes up this share of
    the corpus sentence (blanks and punctuation not counted)."""
    fragment_min_characters: int = 20
    """Fragments: shortest such run, in letters and digits. At least 19: the index looks up runs of 8 characters at
    every 12th place of a passage, so a run of 19 is never missed."""
    fragment_min_syllables: int = 8
    """Fragments: minimum length of that run in syllables. Three Latin letters or digits count as one syllable, and a
    pair of neighbouring letters that repeats counts once. So laughter ("ㅋㅋㅋㅋㅋ"), rows of zeros and names ("Red Hat
    Enterprise Linux") are not copies."""
    fragment_scope: Scope = "all"
    """Which benchmark text a corpus sentence may be a fragment of: running text only (MRC contexts, dialogues), or
    every benchmark sentence as well (a pair's premise that the corpus has in two sentences)."""
