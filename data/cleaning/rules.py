"""Cleaning: the noise rules of KLUE section 2.3, each named, switchable and counted.

Every rule looks for a cheap sign of its noise (`in`) before a pattern runs, and every pattern is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

import numpy as np

from data.cleaning.joints import gap
from data.cleaning.marks import has_bracket_end, remove_empty_brackets, remove_hashtags
from data.cleaning.markup import without_html
from data.cleaning.news import RULES as NEWS
from data.cleaning.news import remove_news
from data.cleaning.old_hangul import map_old_hangul
from data.cleaning.settings import CleanSettings
from data.nfc import nfc

Counts = dict[str, dict[str, int]]
"""Rule → {"hits": documents or sentences it touched, "characters": characters it took away}."""

_LINE_END = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile(
    "(?:[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e007f\U000f0000-\U0010ffff]"
    "|\u115f(?![\u1161-\u11a7\ud7b0-\ud7c6])|\u1160(?![\u11a8-\u11ff\ud7cb-\ud7fb]))+"
)
"""A filler stays where it holds the place of a missing letter of an old syllable."""
_SHOWN = ("\ufffd", "\u00ad")
_QUOTES = tuple("'\"‘’“”()`")
_NAMED_BEHIND = re.compile(" ?[을를는로]")
_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_PRINTABLE_CONTROLS = "\u115f\u1160\ufe0f\uffa0\ufffc\ufffd"
"""The characters of `_CONTROL` that `str.isprintable` takes for printable: fillers, a selector, the replacement."""
_ODD_BLANK = re.compile("[\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u3164]")
"""The Hangul filler is typed where a blank is not allowed."""
STANDS = 12
"""How often a line may stand in a document: refrains, questions and the names of speakers come again on purpose, the
lines of menus, forms and templates dozens of times."""
REPEATED_LABEL, REPEATED_LINE = 10, 40
"""Characters from which a label (no sentence, but a menu's entry, a caption, a cell) and any other line count: shorter
ones are addresses to the audience, steps of a manual, answers, marks between scenes."""
LABEL_WORDS = 3
"""The most words of a label."""
_SENTENCE_ENDS = (".", "!", "?", "…", "~", ",", '"', "'", "”", "’", "」", "』", "다", "요", "죠", "며", "니라", "더라")

_SAID = re.compile(r"[\"'“‘「『(] ?[.…·?!~]+ ?[\"'”’」』)]|[.…·?!~]*(?:…|[.·]{3})[.…·?!~]*|[?!]{1,3}")
"""Silence, surprise or a question as somebody's answer: "…", ?, …!"""
_LINK = re.compile(r"(?:https?://|www\.)\S+")
_RUN = re.compile(r"([^\w\s])\1+")
_SAID_BEGINS = frozenset("\"'“‘「『(.…·?!~")
SAID_CHARS = 12

CLEANED_TOGETHER = 64
"""Sentences looked at together: enough to make calls cheap, few enough to go through again when one changes."""


def clean(text: str, settings: CleanSettings, counts: Counts) -> str:
    """Return a document without the noise that `settings` names, adding what each rule removed to `counts`."""
    if settings.html and ("<" in text or "&" in text):
        shorter, hidden = without_html(text)
        if hidden:
            _add("html_hidden", 1, hidden, counts)
        if shorter != text:
            _add("html", 1, max(len(text) - len(shorter) - hidden, 0), counts)
        text = shorter
    for name, present, rule in _RULES:
        if getattr(settings, name) and present(text):
            if name == "control" and (private := len(_PRIVATE_USE.findall(text))):
                _add("private_use", 1, private, counts)
            text = _count(name, text, rule(text), counts)
    if settings.blanks:
        text = _count("blanks", text, _collapse(text), counts)
    if settings.news:
        text, taken = remove_news(text)
        for name, characters in taken.items():
            _add(name, 1, characters, counts)
    if settings.repeated_lines and "\n" in text:
        text = _count("repeated_lines", text, _remove_repeated_lines(text), counts)
    return text


def cleaning_steps(text: str, settings: CleanSettings) -> Iterator[tuple[str, str, str]]:
    """Yield (rule, text before it, text after it) of each rule that changes a document, in the order of `clean`."""
    off = settings.model_copy(update=dict.fromkeys(_DOCUMENT_RULES, False))
    for name in _DOCUMENT_RULES:
        if name == "news" and settings.news:
            for rule in NEWS:
                after, taken = remove_news(text, (rule,))
                yield from ((part, text, after) for part in taken)
                text = after
        elif getattr(settings, name):
            counts: Counts = {}
            after = clean(text, off.model_copy(update={name: True}), counts)
            yield from ((rule, text, after) for rule in counts)
            text = after


def clean_sentences(sentences: list[str], settings: CleanSettings) -> list[str]:
    """Return `clean` of each sentence by itself, without the rules on news (they need the document around it).

    Much faster than one by one where few change: every rule works within a line, or over several and then still finds
    what it finds in one of them. So sentences that change nothing when they stand together, change nothing alone.
    """
    rules = settings.model_copy(update={"news": False})
    starts = range(0, len(sentences), CLEANED_TOGETHER)
    return [clear for start in starts for clear in _together(sentences[start : start + CLEANED_TOGETHER], rules)]


def _together(sentences: list[str], rules: CleanSettings) -> list[str]:
    text = "\n".join(sentences)
    cleaned = clean(text, rules, {})
    if cleaned == text or len(sentences) == 1:
        return sentences if cleaned == text else [cleaned]
    middle = len(sentences) // 2
    return _together(sentences[:middle], rules) + _together(sentences[middle:], rules)


def _count(name: str, before: str, after: str, counts: Counts) -> str:
    if after != before:
        _add(name, 1, max(len(before) - len(after), 0), counts)
    return after


def _add(name: str, hits: int, characters: int, counts: Counts) -> None:
    entry = counts.setdefault(name, {"hits": 0, "characters": 0})
    entry["hits"] += hits
    entry["characters"] += characters


def _is_plain(text: str) -> bool:
    """Return whether a text holds only printable characters, spaces and line ends: no control, no odd blank."""
    return text.replace("\n", "").isprintable()


def _has_odd_character(text: str) -> bool:
    if _is_plain(text) and not any(character in text for character in _PRINTABLE_CONTROLS):
        return False
    return _CONTROL.search(text) is not None


def _remove_control(text: str) -> str:
    return _CONTROL.sub(_without_control, _LINE_END.sub("\n", text))


def _without_control(match: re.Match[str]) -> str:
    """Return what replaces control characters: a replacement character or a soft hyphen that is shown stays."""
    text = match.string
    start, end = match.span()
    if match[0] in _SHOWN:
        before = text[max(start - 1, 0) : start]
        after = text[end : end + 2]
        if (before in _QUOTES and after[:1] in _QUOTES) or (before == " " and _NAMED_BEHIND.match(after)):
            return match[0]
    return gap(match)


def _collapse(text: str) -> str:
    if (not _is_plain(text) or "\u3164" in text) and _ODD_BLANK.search(text):
        text = _ODD_BLANK.sub(" ", text)
    while "  " in text:  # each round halves a run
        text = text.replace("  ", " ")
    if "\n" in text:
        text = text.replace(" \n", "\n").replace("\n ", "\n")
        while "\n\n" in text:
            text = text.replace("\n\n", "\n")
    return text.strip()


def _remove_repeated_lines(text: str) -> str:
    """Return `text` without long lines and labels that stood in it as often as they may."""
    lines = text.split("\n")
    if len(set(lines)) == len(lines):
        return text
    stood: dict[str, int] = {}
    kept_lines: list[str] = []
    for line in lines:
        times = stood.get(line, 0)
        if times < STANDS or not _counts(line):
            stood[line] = times + 1
            kept_lines.append(line)
    return "\n".join(kept_lines)


def _counts(line: str) -> bool:
    label = line.count(" ") < LABEL_WORDS and not line.endswith(_SENTENCE_ENDS)
    return len(line) >= (REPEATED_LABEL if label else REPEATED_LINE)


_RULES: tuple[tuple[str, Callable[[str], bool], Callable[[str], str]], ...] = (
    ("old_hangul", lambda text: not text.isascii(), map_old_hangul),
    ("control", _has_odd_character, _remove_control),
    ("nfc", lambda text: not unicodedata.is_normalized("NFC", text), nfc),
    ("hashtags", lambda text: "#" in text, remove_hashtags),
    ("empty_brackets", has_bracket_end, remove_empty_brackets),
)
"""The document rules in the order they apply, after HTML: they see what entities and tags hid."""

_DOCUMENT_RULES = ("html", *(name for name, _, _ in _RULES), "blanks", "news", "repeated_lines")
"""All of them, in the order they apply."""

HANGUL = 1
HAN_KANA = 2
OTHER = 4


def _character_classes() -> np.ndarray:
    table = np.full(65536, OTHER, np.uint8)
    for first, last in ((0xAC00, 0xD7A3), (0x3131, 0x318E), (0x1100, 0x11FF), (0xA960, 0xA97F), (0xD7B0, 0xD7FF)):
        table[first : last + 1] = HANGUL
    for first, last in ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x3041, 0x30FF), (0x31F0, 0x31FF)):
        table[first : last + 1] = HAN_KANA
    table[0xFF66 : 0xFF9F + 1] = HAN_KANA
    table[0xDC00 : 0xDFFF + 1] = 0  # the second half of a character beyond the basic plane
    for code in (*range(0x21), 0xA0, 0x3000, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x1680, 0x85, 0x2028, 0x2029):
        table[code] = 0
    return table


_CLASSES = _character_classes()


def keep_sentences(sentences: list[str], settings: CleanSettings, counts: Counts) -> list[bool]:
    """Return for each sentence whether the sentence rules keep it, adding what each rule dropped to `counts`.

    A sentence is counted under the first rule that drops it. Thousands of sentences at once are fastest.
    """
    if not sentences:
        return []
    units = np.frombuffer("\n".join(sentences).encode("utf-16-le", "surrogatepass"), np.uint16)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    classes = _CLASSES[units]
    ends = np.append(np.flatnonzero(units == 10), len(units)) if len(sentences) > 1 else np.array([len(units)])
    if len(ends) != len(sentences):
        return [keep for text in sentences for keep in keep_sentences([text.replace("\n", " ")], settings, counts)]
    hangul, han_kana, solid = (
        _counts_between(mask, ends) for mask in (classes == HANGUL, classes == HAN_KANA, classes != 0)
    )
    keep = np.ones(len(sentences), bool)
    for name, bad in _sentence_rules(settings, sentences, lengths, hangul, han_kana, solid):
        dropped = keep & bad
        if dropped.any():
            _add(name, int(dropped.sum()), int(lengths[dropped].sum()), counts)
            keep &= ~bad
    return keep.tolist()


def _counts_between(mask: np.ndarray, ends: np.ndarray) -> np.ndarray:
    total = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))[ends]
    return np.diff(total, prepend=0)


def _sentence_rules(
    settings: CleanSettings,
    sentences: list[str],
    lengths: np.ndarray,
    hangul: np.ndarray,
    han_kana: np.ndarray,
    solid: np.ndarray,
) -> Iterator[tuple[str, np.ndarray]]:
    if settings.max_word_chars is not None and (lengths > settings.max_word_chars).any():
        bad = lengths > settings.max_word_chars
        for index in np.flatnonzero(bad):
            bad[index] = max(map(len, sentences[index].split()), default=0) > settings.max_word_chars
        yield "max_word_chars", bad
    if settings.max_han_kana is not None:
        yield "max_han_kana", han_kana > settings.max_han_kana
    if settings.min_hangul_share > 0:
        bad = hangul < settings.min_hangul_share * solid
        for short in np.flatnonzero(bad & (solid <= SAID_CHARS)).tolist():
            if sentences[short][:1] in _SAID_BEGINS and _SAID.fullmatch(sentences[short]):
                bad[short] = False
        # a link, or a row of one sign, is one sign (최고!!!!!!!!, 자세한 내용: https://…)
        for poor in np.flatnonzero(bad & (hangul > 0)).tolist():
            said = "".join(_RUN.sub(r"\1", _LINK.sub("·", sentences[poor])).split())
            bad[poor] = hangul[poor] < settings.min_hangul_share * len(said)
        yield "min_hangul_share", bad
    if settings.min_sentence_chars > 1:
        yield "min_sentence_chars", lengths < settings.min_sentence_chars
