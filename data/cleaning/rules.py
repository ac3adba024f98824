"""Cleaning: the noise rules of KLUE section 2.3, each named, switchable and counted.

`clean` applies the rules that change a document, `keep_sentences` those that drop whole sentences after splitting.
Every rule looks for a cheap sign of its noise (`in`) before a pattern runs, and every pattern is linear in the text.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator

import numpy as np

from data.cleaning.joints import gap, run_together, tag_gap
from data.cleaning.news import RULES as NEWS_RULES
from data.cleaning.news import remove_news
from data.cleaning.old_hangul import map_old_hangul
from data.cleaning.settings import CleanSettings
from data.nfc import nfc

Counts = dict[str, dict[str, int]]
"""Rule → {"hits": documents or sentences it touched, "characters": characters it took away}."""

BLOCK_TAGS = (
    "address|article|aside|blockquote|br|center|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|"
    "nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul"
)
INLINE_TAGS = (
    "a|abbr|acronym|applet|area|audio|b|base|basefont|bdi|bdo|big|body|button|canvas|caption|cite|code|col|colgroup|"
    "data|datalist|del|details|dfn|dialog|dir|em|embed|fieldset|font|frame|frameset|head|html|i|iframe|img|input|ins|"
    "kbd|label|legend|link|map|mark|meta|meter|noframes|noscript|object|optgroup|option|output|param|picture|progress|"
    "q|rp|rt|ruby|s|samp|script|select|small|source|span|strike|strong|style|sub|summary|sup|svg|template|textarea|"
    "time|title|track|tt|u|var|video|wbr|[a-z]+:[a-z]+"
)
_VALUE = r"""(?:"[^"<>]{0,2000}"|'[^'<>]{0,2000}'|\{[^{}<>\n]{0,200}\}|[^\s"'<>`=]{1,2000})"""
_SWITCHES = (
    "allowfullscreen|async|autofocus|autoplay|checked|compact|controls|declare|default|defer|disabled|download|hidden|"
    "ismap|itemscope|loop|multiple|muted|nohref|noresize|noshade|novalidate|nowrap|open|playsinline|readonly|required|"
    "reversed|scoped|selected"
)
"""Attributes that stand without a value."""
_ATTRIBUTE = rf"(?:[a-z_:@*#(\[][a-z0-9_:.()\[\]-]{{0,60}}\s{{0,3}}=\s{{0,3}}{_VALUE}|(?:{_SWITCHES})(?=[\s/>]))"
_GAP = r"""(?:\s{1,200}|(?<=["']))/?"""
_END = (
    rf"(?:(?:{_GAP}{_ATTRIBUTE}){{0,40}}\s{{0,200}}/?\s{{0,3}}>"
    r"""|\s{1,20}(?:[!-;=?-~]{1,60}\s){0,10}[a-z:-]{1,30}\s?=\s?["'][^<>\n]{0,1000}>)"""
)
"""The rest of a tag: attributes, each with its value, over as many lines as they take; or, where quotes are broken, to
the end of the tag in the line. Words that are no attributes are prose, between two signs of comparison, say."""
_BLOCK_TAG = re.compile(rf"</?(?:{BLOCK_TAGS}){_END}", re.I)
_INLINE_TAG = rf"(?:</?(?:{INLINE_TAGS}){_END}|<!doctype[\s\[][^<>]{{0,300}}>|<![a-z\[][^<>\n]{{0,300}}>)"
_INLINE_TAGS = re.compile(f"{_INLINE_TAG}{_INLINE_TAG}*", re.I)
_HIDDEN = re.compile(r"<!--|-->|<(?:script|style)(?=[\s>])|</(?:script|style)\s?>", re.I)
_SYLLABLE, _LATIN, _CODE = re.compile("[가-힣]"), re.compile("[A-Za-z]"), re.compile("[{};=]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(
    "(?:[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ue000-\uf8ff\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffd-\uffff]"
    "|\u115f(?![\u1161-\u11a7\ud7b0-\ud7c6])|\u1160(?![\u11a8-\u11ff\ud7cb-\ud7fb]))+"
)
"""A filler stays where it holds the place of a missing letter of an old syllable."""
_PRIVATE_USE = re.compile("[\ue000-\uf8ff]")
_PRINTABLE_CONTROLS = "\u115f\u1160\u3164\ufe0f\uffa0\ufffd"
"""The characters of `_CONTROL` that `str.isprintable` takes for printable: fillers, a selector, the replacement."""
_HEX = "[0-9a-fA-F]"
_SAME = "|".join(f"[{letter}{letter.upper()}]{{3}}" for letter in "abcdef")
_WORDS = "ace|add|bad|bed|bee|cab|dad|fab|fad|fed|fee|babe|bead|beef|cafe|dead|deaf|deed|face|fade|feed"
"""Lower-case words that are hexadecimal digits, too: hashtags rather than colours."""
_COLOUR = (
    rf"(?!(?:{_WORDS})(?![0-9A-Za-z_]))(?:{_HEX}{{8}}|{_HEX}{{6}}|(?=[a-fA-F]{{0,3}}[0-9]){_HEX}{{3,4}}|{_SAME}"
    r"|[A-F]{3,4}|[a-f]{3,4})(?![0-9A-Za-z_])"
)
_DIRECTIVE = (
    "(?:(?:define|include|ifdef|ifndef|endif|undef|pragma|elif|endregion)(?![0-9A-Za-z_])"
    "|(?<=^#)(?:if|else|error|warning|line|region|import|using|nullable)(?![0-9A-Za-z_가-힣]))"
)
"""Lines of a preprocessor; those that are words of every day only where a line begins."""
_TAGGED = rf"(?!{_COLOUR})(?!{_DIRECTIVE})[^\W\d_]\w*"
_HASHTAG = re.compile(rf"#(?<![\w&/#]#){_TAGGED}(?:#{_TAGGED})*", re.M)
"""A number is the name of an entry, and three, four, six or eight hexadecimal digits are a colour."""
_EMPTY_BRACKETS = re.compile(
    r"\([\s,;:·/]*\)|\[[\s,;:·/]*\]|\{[\s,;:·/]*\}|（[\s,;:·/]*）|「\s*」|『\s*』|【\s*】|〈\s*〉|《\s*》|［\s*］|〔\s*〕"
)
_CALLED = re.compile(r"(?<![0-9A-Za-z_])[A-Za-z_][0-9A-Za-z_]{0,60}(?:\(\)|\[\])?\Z")
"""What an empty bracket behind it belongs to: the name of a function or an array."""
_BRACKET_ENDS = (")", "]", "}", "）", "」", "』", "】", "〉", "》", "］", "〕")
_ODD_BLANK = re.compile("[\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
REPEATED_LINE = 10
"""Characters from which a line counts as repeated wherever it stood before; shorter ones are answers, headings of a
manual, marks between scenes, and go only when they follow themselves."""

CLEANED_TOGETHER = 64
"""Sentences looked at together: enough to make calls cheap, few enough to go through again when one changes."""


def clean(text: str, settings: CleanSettings, counts: Counts) -> str:
    """Return a document without the noise that `settings` names, adding what each rule removed to `counts`.

    Args:
        text: a document, lines separated by any line end.
        settings: the rules to apply.
        counts: rule → {"hits", "characters"}; changed in place.
    """
    if settings.html and ("<" in text or "&" in text):
        text = _without_html(text, counts)
    for name, present, rule in _RULES:
        if getattr(settings, name) and present(text):
            if name == "control" and (private := len(_PRIVATE_USE.findall(text))):
                _add("private_use", 1, private, counts)
            text = _count(name, text, rule(text), counts)
    if settings.blanks:
        text = _count("blanks", text, _collapse(text), counts)
    text, taken = remove_news(text, settings)
    for name, characters in taken.items():
        _add(name, 1, characters, counts)
    if settings.repeated_lines and "\n" in text:
        text = _count("repeated_lines", text, _remove_repeated_lines(text), counts)
    return text


def clean_sentences(sentences: list[str], settings: CleanSettings) -> list[str]:
    """Return `clean` of each sentence by itself, without the rules on news (they need the document around it).

    Much faster than one by one where few change: every rule works within a line, or over several and then still finds
    what it finds in one of them. So sentences that change nothing when they stand together, change nothing alone.
    """
    rules = settings.model_copy(update={name: False for name in CleanSettings.model_fields if name.startswith("news_")})
    cleaned: list[str] = []
    for start in range(0, len(sentences), CLEANED_TOGETHER):
        some = sentences[start : start + CLEANED_TOGETHER]
        text = "\n".join(some)
        cleaned += some if clean(text, rules, {}) == text else [clean(one, rules, {}) for one in some]
    return cleaned


def _count(name: str, before: str, after: str, counts: Counts) -> str:
    if after != before:
        _add(name, 1, max(len(before) - len(after), 0), counts)
    return after


def _add(name: str, hits: int, characters: int, counts: Counts) -> None:
    entry = counts.setdefault(name, {"hits": 0, "characters": 0})
    entry["hits"] += hits
    entry["characters"] += characters


def _without_html(text: str, counts: Counts) -> str:
    """Return `text` without markup; what is long, comments, scripts and styles, is counted as `html_hidden`."""
    shorter = _ENTITY.sub(lambda match: html.unescape(match.group()), text) if "&" in text else text
    hidden = 0
    if "<" in shorter:
        shown = _remove_hidden(shorter)
        hidden = len(shorter) - len(shown)
        shorter = _INLINE_TAGS.sub(tag_gap, _BLOCK_TAG.sub("\n", shown))
    if hidden:
        _add("html_hidden", 1, hidden, counts)
    if shorter != text:
        _add("html", 1, max(len(text) - len(shorter) - hidden, 0), counts)
    return shorter


def _remove_hidden(text: str) -> str:
    """Return `text` without comments, scripts and styles that are closed; an opening without its end stays.

    So does what a text about pages says between the names of two tags.
    """
    kept: list[str] = []
    position = 0
    opened: re.Match[str] | None = None
    for match in _HIDDEN.finditer(text):
        mark = match.group().lower()
        if opened is None:
            opened = None if mark.startswith(("</", "-->")) else match
        elif _closes(opened.group().lower(), mark):
            if mark != "-->" and _is_prose(text[opened.end() : match.start()]):
                opened = None
                continue
            kept.append(text[position : opened.start()])
            position, opened = match.end(), None
            if run_together(kept[-1], text[position : position + 1]):
                kept.append(" ")
    return "".join([*kept, text[position:]]) if kept else text


def _is_prose(content: str) -> bool:
    """Return whether what stands between tags of a script or a style is Korean prose and no code."""
    hangul = len(_SYLLABLE.findall(content))
    return hangul > 4 and hangul > len(_LATIN.findall(content)) and hangul > 10 * len(_CODE.findall(content))


def _closes(opening: str, mark: str) -> bool:
    return mark == "-->" if opening == "<!--" else mark.startswith("</" + opening[1:])


def _is_plain(text: str) -> bool:
    """Return whether a text holds only printable characters, spaces and line ends: no control, no odd blank."""
    return text.replace("\n", "").isprintable()


def _has_odd_character(text: str) -> bool:
    if _is_plain(text) and not any(character in text for character in _PRINTABLE_CONTROLS):
        return False
    return _CONTROL.search(text) is not None


def _remove_control(text: str) -> str:
    return _CONTROL.sub(gap, _LINE_END.sub("\n", text))


def _remove_empty_brackets(text: str) -> str:
    for _ in range(3):  # brackets in brackets; deeper nests of nothing do not occur
        shorter = _EMPTY_BRACKETS.sub(_without_bracket, text)
        if shorter == text:
            break
        text = shorter
    return text


def _without_bracket(match: re.Match[str]) -> str:
    """Return what replaces an empty bracket: itself where it belongs to code (f(), arr[], () =>)."""
    text, (start, end) = match.string, match.span()
    called = _CALLED.search(text, max(0, start - 64), start) or text.startswith((" =>", "=>"), end)
    return match[0] if called and match[0] in ("()", "[]", "{}") else gap(match)


def _collapse(text: str) -> str:
    if not _is_plain(text) and _ODD_BLANK.search(text):
        text = _ODD_BLANK.sub(" ", text)
    while "  " in text:  # each round halves a run
        text = text.replace("  ", " ")
    if "\n" in text:
        if " \n" in text:
            text = text.replace(" \n", "\n")
        if "\n " in text:
            text = text.replace("\n ", "\n")
        while "\n\n" in text:
            text = text.replace("\n\n", "\n")
    return text.strip()


def _remove_repeated_lines(text: str) -> str:
    """Return `text` without the lines that repeat an earlier one (long ones) or the one before them (any)."""
    lines = text.split("\n")
    if len(set(lines)) == len(lines):
        return text
    seen: set[str] = set()
    kept: list[str] = []
    for line in lines:
        if line in seen and (len(line) >= REPEATED_LINE or (kept and kept[-1] == line)):
            continue
        seen.add(line)
        kept.append(line)
    return "\n".join(kept)


def _has_bracket_pair(text: str) -> bool:
    return any(end in text for end in _BRACKET_ENDS)


_RULES: tuple[tuple[str, Callable[[str], bool], Callable[[str], str]], ...] = (
    ("old_hangul", lambda text: not text.isascii(), map_old_hangul),
    ("control", _has_odd_character, _remove_control),
    (
        "nfc",
        lambda text: not unicodedata.is_normalized("NFC", text),
        nfc,
    ),
    ("hashtags", lambda text: "#" in text, lambda text: _HASHTAG.sub("", text)),
    ("empty_brackets", _has_bracket_pair, _remove_empty_brackets),
)
"""The document rules in the order they apply, after HTML: they see what entities and tags hid."""

DOCUMENT_RULES = (
    *("html", *(name for name, _, _ in _RULES), "blanks"),
    *(*(name for name, _, _ in NEWS_RULES), "repeated_lines"),
)
"""All rules of `clean` in the order they apply: one after the other they do what they do in one call."""

HANGUL, HAN_KANA, OTHER = 1, 2, 4


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

    Args:
        sentences: any number of sentences, of any documents, best thousands at once.
        settings: the rules; a sentence is counted under the first rule that drops it.
        counts: rule → {"hits", "characters"}; changed in place.
    """
    if not sentences:
        return []
    units = np.frombuffer("\n".join(sentences).encode("utf-16-le", "surrogatepass"), np.uint16)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    classes = _CLASSES[units]
    ends = np.append(np.flatnonzero(units == 10), len(units)) if len(sentences) > 1 else np.array([len(units)])
    if len(ends) != len(sentences):
        return [keep for one in sentences for keep in keep_sentences([one.replace("\n", " ")], settings, counts)]
    hangul, han_kana, solid = (_counts_between(mask, ends) for mask in _masks(classes))
    keep = np.ones(len(sentences), bool)
    for name, bad in _sentence_rules(settings, sentences, lengths, hangul, han_kana, solid):
        dropped = keep & bad
        if dropped.any():
            _add(name, int(dropped.sum()), int(lengths[dropped].sum()), counts)
            keep &= ~bad
    return keep.tolist()


def _masks(classes: np.ndarray) -> Iterator[np.ndarray]:
    yield classes == HANGUL
    yield classes == HAN_KANA
    yield classes != 0


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
        yield "min_hangul_share", hangul < settings.min_hangul_share * solid
    if settings.min_sentence_chars > 1:
        yield "min_sentence_chars", lengths < settings.min_sentence_chars
