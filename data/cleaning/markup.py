"""HTML in a text: tags, comments, scripts and styles go, entities are resolved; a tag that is only named stays."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from data.cleaning.joints import run_together, tag_gap

BLOCK_TAGS = (
    "address|article|aside|blockquote|br|center|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|"
    "nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul"
)
INLINE_TAGS = (
    "a|abbr|acronym|applet|area|audio|b|base|basefont|bdi|bdo|big|body|button|canvas|caption|cite|code|col|colgroup|"
    "data|datalist|del|details|dfn|dialog|dir|em|embed|fieldset|font|frame|frameset|head|html|i|iframe|img|input|ins|"
    "kbd|label|legend|link|map|mark|meta|meter|noframes|noscript|object|optgroup|option|output|param|picture|progress|"
    "q|rp|rt|ruby|s|samp|script|select|small|source|span|strike|strong|style|sub|summary|sup|svg|template|textarea|"
    "time|title|track|tt|u|var|video|wbr|(?:o|v|w|st1|fb|g):[a-z]+"
)
"""Names with a colon are those of word processors and of buttons; others (x:Boolean) are what manuals of XML write."""
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
_BLOCK_NAME = re.compile(BLOCK_TAGS)
_BLOCK_TAG = re.compile(rf"</?(?:{BLOCK_TAGS}){_END}", re.I)
_DOCTYPE = r"<(?<![^\n>]<)!doctype[\s\[][^<>]{0,300}>(?!(?:[을를은는이가과와의]|으?로)(?![가-힣]))"
_DECLARATION = r"<!(?!doctype)[a-z][^<>\n]{0,300}>|<!\[(?:if|endif)[^<>\n]{0,100}\]>"
_INLINE_TAG = rf"(?:</?(?:{INLINE_TAGS}){_END}|{_DOCTYPE}|{_DECLARATION})"
"""A document type stands where a line begins or behind a tag; elsewhere it is spoken of."""
_INLINE_TAGS = re.compile(f"{_INLINE_TAG}{_INLINE_TAG}*", re.I)
_WORDS_FOR_TAGS = "태그|요소|엘리먼트|선언|주석"
_PARTICLES = r"(?:[을를는]|으?로|에서|이?라는)(?![가-힣])"
"""Those that begin no word, so that a text begins with none of them behind a tag that marks it up."""
_NAMED = re.compile(f" ?(?:{_WORDS_FOR_TAGS})")
_PLACES = r" ?(?:바로 )?(?:앞|뒤|위|아래|직전|직후|사이)(?:에|의|으로|쪽|로|,| )"
_SPOKEN = re.compile(
    rf"{_NAMED.pattern}| (?:또는|및|이나|혹은) |[와과나]? ?, ?(?=<[a-z])|[와과나] (?=</?[a-z])|의 (?=[가-힣])"
    rf"|{_PARTICLES}",
    re.I,
)
_SAID_OF = re.compile(_PARTICLES)
_SPOKEN_CLOSING = re.compile(f"{_SPOKEN.pattern}|{_PLACES}", re.I)
_OPENING = r"<(?P<bare>[A-Za-z][A-Za-z0-9]{0,20}(?::[A-Za-z]{1,20})?)\s?>"
_CDATA = "<![CDATA["
"""The marks go, not the text between them."""
_MENTIONS = re.compile(
    rf"{_OPENING}|</(?P<closing>{BLOCK_TAGS}|{INLINE_TAGS})>"
    rf"|<(?:(?P<name>{BLOCK_TAGS}|{INLINE_TAGS}){_END}|!doctype[^<>\n]{{0,300}}>)(?={_SPOKEN.pattern})",
    re.I,
)
_CLOSED = re.compile(r"</([A-Za-z][A-Za-z0-9:]{0,40})")
_OPENED = re.compile(r"<([A-Za-z][A-Za-z0-9:]{0,40})")
_STANDS_ALONE = frozenset(
    ("br", "hr", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "html", "head", "body")
)
"""Tags that stand without attributes and need no end. Others that nothing closes (`<map>`, `<TIME>`, `<address>`) are
names of something: of a header file, a magazine, an argument, a type."""
_IN_SENTENCES = frozenset(("br", "wbr"))
"""Tags that a sentence continues behind."""
_ARGUMENT = re.compile(rf"<(?!(?:{BLOCK_TAGS}|{INLINE_TAGS})\s?>)[a-z][a-z0-9]{{1,20}}\s?>", re.I)
"""What is no tag of HTML; where nothing is closed, <p> beside it is an argument, too."""
_HIDDEN = re.compile(
    r"<!--(?![\"'”’]|[와과을를은는이가]\s)|-->"
    rf"|<(?:script|style)(?=[\s>])(?!>(?:{_SPOKEN.pattern}| ?(?:구역|블록|부분|안|내부|사이)))|</(?:script|style)\s?>",
    re.I,
)
COMMENT_CHARS = 2000
"""Longer Korean prose without a tag is no comment, but what stands between an arrow and a mark that is spoken of."""
_SYLLABLE = re.compile("[가-힣]")
_LATIN = re.compile("[A-Za-z]")
_CODE = re.compile("[{};=]")
SHOWN_SHARE, SHOWN_LINES = 0.15, 0.2
"""The share of markup, and of lines that block tags begin or end, from which a text that names it is written in it."""
PROSE, WRAPPED = 10, 0.3
"""Syllables of a line of prose, and the share of such lines that begin or end with a tag in a text written in it."""
_SUBJECTS = ("HTML", "XML", "XAML", "XUL", "XSLT", "SGML", "CSS", "CDATA", "마크업", "엘리먼트")
_SUBJECT = re.compile(rf"(?<![A-Za-z!/<[-])(?<!DOCTYPE )X?(?:{'|'.join(_SUBJECTS)})(?![A-Za-z-])")
RAISED = "(?:[0-9n.+−–-]|&(?:minus|ndash|#8722|#x2212);){1,10}"
"""An exponent or index: a number, also with n or a decimal point."""
_RAISED = re.compile(rf"<(?P<way>su[pb])(?:\s[^<>]{{0,200}})?>\s?(?P<raised>{RAISED})\s?</(?P=way)>", re.I)
_SUPERSCRIPTS = str.maketrans("0123456789n+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ⁺⁻⁻⁻")
_SUBSCRIPTS = str.maketrans("0123456789n+-−–", "₀₁₂₃₄₅₆₇₈₉ₙ₊₋₋₋")
_RAISED_ALONE = re.compile(RAISED)
_DECIMAL = re.compile(r"[−–-]?[0-9]{1,4}\.[0-9]{1,4}")
_BEGINS = re.compile(r"<[!/a-zA-Z]|&[#a-zA-Z]|\]\]>")
_MARKUP = re.compile(r"<[!/a-zA-Z][^<>]{0,300}>|&[#a-zA-Z0-9]{1,31};")
_BLOCK_LINE = re.compile(
    rf"^[ \t]{{0,40}}</?(?:{BLOCK_TAGS})[\s/>]|<(?:/(?:{BLOCK_TAGS})|br ?/?)>[ \t]{{0,40}}$", re.M | re.I
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def without_html(text: str) -> tuple[str, int]:
    """Return a text without markup, and the characters of its comments, scripts and styles, which are long.

    A text about markup keeps what it shows: one that names HTML, XML or the like and is not written in it.
    """
    if not _BEGINS.search(text):
        return text, 0
    if any(subject in text for subject in _SUBJECTS) and _SUBJECT.search(text) and not _is_written_in_markup(text):
        return text, 0
    shorter = _ENTITY.sub(lambda match: html.unescape(match.group()), text) if "&" in text else text
    hidden = 0
    if "<" in shorter:
        if _CDATA in shorter:
            shorter = shorter.replace(_CDATA, "").replace("]]>", "")
        shown = _remove_hidden(shorter)
        hidden = len(shorter) - len(shown)
        shorter = _without_tags(with_exponents(shown))
    return shorter, hidden


def with_exponents(source: str) -> str:
    """Return a text with the tags of exponents and indices as characters: 10<sup>6</sup> is 10⁶."""
    return _RAISED.sub(
        lambda match: raised(match["raised"], match["way"], source[max(match.start() - 1, 0) : match.start()]), source
    )


def raised(text: str, way: str, before: str = "0") -> str:
    """Return a number as the characters for an exponent or an index, a decimal exponent as ^1.5, other text unchanged.

    Args:
        way: "sup" or "sub", in any case.
        before: the character before it: a decimal behind a word is no exponent.
    """
    above = way.lower() == "sup"
    if not _RAISED_ALONE.fullmatch(text):
        return text
    text = html.unescape(text)
    if "." in text:
        return f"^{text}" if above and re.fullmatch("[0-9)]", before) and _DECIMAL.fullmatch(text) else text
    return text.translate(_SUPERSCRIPTS if above else _SUBSCRIPTS)


def _is_written_in_markup(text: str) -> bool:
    stripped = map(str.strip, text.split("\n"))
    lines = [line for line in stripped if len(_SYLLABLE.findall(_MARKUP.sub("", line))) >= PROSE]
    if len(lines) > 1 and sum(line[0] == "<" or line[-1] == ">" for line in lines) < WRAPPED * len(lines):
        return False  # an example is shown among lines that nothing marks up
    if sum(map(len, _MARKUP.findall(text))) >= SHOWN_SHARE * len(text):
        return True
    return len(_BLOCK_LINE.findall(text)) >= SHOWN_LINES * (text.count("\n") + 1)


def _without_tags(text: str) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in _mentions(text):
        pieces += [_strip_tags(text[position:start]), text[start:end]]
        position = end
    return "".join([*pieces, _strip_tags(text[position:])]) if pieces else _strip_tags(text)


def _strip_tags(text: str) -> str:
    return _INLINE_TAGS.sub(tag_gap, _BLOCK_TAG.sub("\n", text))


def _mentions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places where a tag is shown, is spoken of or is none: one that nothing in the text closes."""
    closed: set[str] | None = None
    opened: set[str] | None = None
    arguments = False
    for match in _MENTIONS.finditer(text):
        bare = match["bare"]
        name = match["name"]
        closing = match["closing"]
        if closing:
            if _SPOKEN_CLOSING.match(text, match.end()):
                opened = set(map(str.lower, _OPENED.findall(text))) if opened is None else opened
                if closing.lower() not in opened:
                    yield match.span()
            continue
        if not (bare or name) or _NAMED.match(text, match.end()):
            yield match.span()
            continue
        if closed is None:
            closed = set(map(str.lower, _CLOSED.findall(text)))
            arguments = not closed and _ARGUMENT.search(text) is not None
        lower = (bare or name).lower()
        if bare and _BLOCK_NAME.fullmatch(lower) and lower != "br" and _SAID_OF.match(text, match.end()):
            yield match.span()  # no paragraph begins with a particle
            continue
        in_sentence = lower in _IN_SENTENCES or (lower == "img" and not bare)
        if not in_sentence and (lower not in closed or match[0].endswith("/>")):
            marks_up = bare and lower in _STANDS_ALONE and not arguments
            if not marks_up or _SPOKEN.match(text, match.end()):
                yield match.span()


def _remove_hidden(text: str) -> str:
    """Return `text` without closed comments, scripts and styles; those between the names of two tags stay."""
    pieces: list[str] = []
    position = 0
    opened: re.Match[str] | None = None
    for match in _HIDDEN.finditer(text):
        mark = match.group().lower()
        if opened is None or _is_opened_again(opened, match):
            opened = None if mark.startswith(("</", "-->")) else match
        elif _closes(opened.group().lower(), mark):
            content = text[opened.end() : match.start()]
            if _is_prose(content) and (mark != "-->" or (len(content) > COMMENT_CHARS and "<" not in content)):
                opened = None
                continue
            pieces.append(text[position : opened.start()])
            position, opened = match.end(), None
            if run_together(pieces[-1], text[position : position + 1]):
                pieces.append(" ")
    return "".join([*pieces, text[position:]]) if pieces else text


def _is_opened_again(opened: re.Match[str], match: re.Match[str]) -> bool:
    """Return whether an opening is the real one, after one that was only named: prose stands between them."""
    if match.group() == "<!--" or match.group().lower() != opened.group().lower():
        return False
    start, end = opened.end(), match.start()
    return end - start <= COMMENT_CHARS and _is_prose(opened.string[start:end])


def _is_prose(content: str) -> bool:
    hangul = len(_SYLLABLE.findall(content))
    return hangul > 4 and hangul > len(_LATIN.findall(content)) and hangul > 10 * len(_CODE.findall(content))


def _closes(opening: str, mark: str) -> bool:
    return mark == "-->" if opening == "<!--" else mark.startswith("</" + opening[1:])
