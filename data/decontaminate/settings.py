"""Settings of decontamination: what is compared, and from which share on a sentence counts as benchmark text."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from common.settings import Settings

Rule = Literal["exact", "embedded", "words", "bigrams", "fragment"]
RULES: tuple[Rule, ...] = ("exact", "embedded", "words", "bigrams", "fragment")
"""All rules, in the order in which a tie between them is broken."""


NOT_DECONTAMINATED = (
    "nothing is decontaminated: the recipe names no benchmark; set corpus.decontaminate.benchmark, or klue.data"
)
"""Said where decontamination is on and has nothing to compare with."""


class DecontaminateSettings(Settings):
    """How sentences of the benchmark are found in the corpus (paper section 2.3).

    The paper names BM25 and gives no threshold, no terms and no floor: those below are choices, made so that copies
    with a changed blank are found (`scripts/check_decontamination.py` prints recall for each kind of change) and text
    that cannot hold the benchmark is left alone. False alarms are given as shares of 600,000 sentences of manuals,
    fairy tales, petitions and comments.
    """

    enabled: bool = True
    """Whether benchmark sentences are removed at all."""
    benchmark: str | list[str] | None = None
    """Folders, files or globs of the benchmarks; None = what the recipe scores: klue.data, the folders of the tasks of
    other suites, and embed.sources with embed.score. Without any, nothing is decontaminated, and a warning says so."""

    @property
    def benchmarks(self) -> list[str]:
        """Return the benchmarks' folders, files or globs."""
        return [self.benchmark] if isinstance(self.benchmark, str) else list(self.benchmark or [])

    @property
    def applies(self) -> bool:
        """Return whether there is anything to remove: a benchmark is named, and removal is not turned off."""
        return self.enabled and bool(self.benchmarks)

    rules: list[Rule] = Field(default=list(RULES))
    """Which rules apply; a sentence is removed if any of them finds it."""
    threshold: float = Field(default=0.8, gt=0, le=1)
    """Words: a hit when BM25(corpus sentence, d) / BM25(d, d) reaches this for a benchmark sentence d. 0.8 still finds
    78% of the copies with one word replaced, at 0.0015% false alarms; 0.7 finds 94%, at 0.023%; 0.9 finds 23%."""
    bigram_threshold: float = Field(default=0.85, gt=0, le=1)
    """Character bigrams: the same ratio. Higher than for words, since unrelated sentences share many bigrams. From 0.9
    to 0.85 copies with one particle changed are found in 95% instead of 86%, at 0.003% false alarms. 0.8 gains half
    a point more, doubles the false alarms and costs a fifth of the speed."""
    min_words: int = Field(default=4, ge=1)
    """Benchmark sentences with fewer distinct words are not compared by words: two or three common words occur in
    unrelated sentences (3: 0.004% false alarms), and rule embedded finds whole copies of them."""
    min_bigrams: int = Field(default=8, ge=1)
    """Benchmark sentences of a single word, or with fewer distinct bigrams, are not compared by bigrams. With 6 there
    are eight times as many false alarms; 12 loses a fifth of the short sentences with a changed particle."""
    spread: float = Field(default=1.5, ge=1)
    """Words and bigrams: the ratio must be reached within a window of the corpus sentence that is this many times as
    long (in words, in bigrams) as the benchmark sentence. Long sentences contain almost any words somewhere."""
    short_syllables: int = Field(default=18, ge=0)
    """Words and bigrams: benchmark sentences with fewer syllables must make up the corpus sentence. It is then no
    longer than that window, and its words or bigrams reach the same threshold the other way. Three Latin letters or
    digits count as one syllable. "이해하기가 매우 어렵습니다." is in many sentences but for one word. On 210 hits
    read by hand, 18 leaves 5 of 177 false ones and 26 of 33 copies. 0 asks it of none."""
    exact_min_characters: int = Field(default=1, ge=1)
    """Shortest benchmark sentence, in letters and digits, that an exact match removes."""
    exact_min_passage_characters: int = Field(default=8, ge=1)
    """The same for the sentences of passages, and for those embedded in longer ones: list marks and greetings ("1.",
    "네, 감사합니다.") in contexts and dialogues say nothing about the benchmark, and are everywhere."""
    embedded_min_characters: int = Field(default=10, ge=1)
    """Shortest benchmark sentence, in letters and digits, that is found word for word inside a longer one; it has two
    words or more. Shorter ones are phrases of everyday use ("효과가 없습니다.")."""
    fragment_threshold: float = Field(default=0.8, gt=0, le=1)
    """Fragments: a hit when one unbroken run of characters, shared with a benchmark passage, makes up this share of
    the corpus sentence (blanks and punctuation not counted)."""
    fragment_min_characters: int = Field(default=20, ge=19)
    """Fragments: shortest such run, in letters and digits. At least 19: the index looks up runs of 8 characters at
    every 12th place of a passage, so a run of 19 is never missed."""
    fragment_min_syllables: int = Field(default=8, ge=0)
    """Fragments: minimum length of that run in syllables. Three Latin letters or digits count as one syllable, and a
    pair of neighbouring letters that repeats counts once. So laughter ("ㅋㅋㅋㅋㅋ"), rows of zeros and names ("Red Hat
    Enterprise Linux") are not copies. 0 turns this off."""
    fragment_scope: Literal["passages", "all"] = "all"
    """Which benchmark text a corpus sentence may be a fragment of: running text only (MRC contexts, dialogues), or
    every benchmark sentence as well (a pair's premise that the corpus has in two sentences)."""
