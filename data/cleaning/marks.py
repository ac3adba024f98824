"""Hashtags and brackets with nothing inside: those that say nothing go, those that a sentence speaks of stay."""

from __future__ import annotations

import re

from data.cleaning.joints import gap

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
"""A number is the name of an entry, and three, four, six or eight hexadecimal digits are a colour."""
_TAG = rf"#(?<![\w&/#]#)(?<![0-9]\.#){_TAGGED}(?:#{_TAGGED})*"
_HASHTAGS = re.compile(rf"\{{ ?#[\w.-]{{1,100}} ?\}}|{_TAG}(?:[ \t\u00a0\u3000]+{_TAG})*", re.M)
"""The anchor of a heading, or hashtags side by side."""
_LINE_ENDS = re.compile(r"[ \t\u00a0\u3000]*$", re.M)
_SAID = tuple(".!?~…)]”\"’'♥♡^;ㅋㅎㅠㅜ")
"""What ends a sentence or a comment, before the hashtags that follow it."""
_EMPTY_BRACKETS = re.compile(
    r"\((?:[,;·]*\s[\s,;·]*)?\)|\[(?:[,;·]*\s[\s,;·]*)?\]|（[\s,;:·]*）"
    r"|「\s*」|『\s*』|【\s*】|〈\s*〉|《\s*》|［\s*］|〔\s*〕"
)
"""A sign between brackets is spoken of (콜론(:)); blanks and commas are left of what stood there; braces are code."""
_CALLED = re.compile(r"(?<![0-9A-Za-z_])[A-Za-z_][0-9A-Za-z_]{0,60}(?:\(\)|\[\])?\Z")
"""What an empty bracket behind it belongs to: the name of a function or an array."""
_NAMES_IT = ("공백", "괄호", "기호", "브래킷", "문자", "배열", "함수", "메서드", "연산자", "콜론", "쉼표")
"""Words after which an empty bracket is shown rather than left over."""
_SIGNS = frozenset("!\"#$%&'*+,-./:;<=>?@\\^_`{|}~")
_STOPS = frozenset(".!?,;'\"")
_CLOSING = tuple(",.;'\"”’)")
_BRACKET_ENDS = (")", "]", "）", "」", "』", "】", "〉", "》", "］", "〕")


def remove_hashtags(text: str) -> str:
    """Return a text without hashtags that stand beside what it says: at the end of a line, or several after a sentence.

    One that is a word of its sentence stays: #을 붙이면, #default 슬롯, 채널 #help에서.
    """
    return _HASHTAGS.sub(_without_hashtags, text)


def _without_hashtags(match: re.Match[str]) -> str:
    text, (start, end) = match.string, match.span()
    tags = match[0]
    ends_line = _LINE_ENDS.match(text, end) is not None
    if tags[0] == "{":
        return "" if ends_line else tags
    before = text[max(start - 8, 0) : start].rstrip(" \t\u00a0\u3000")
    apart = not before or before.endswith(("\n", *_SAID))
    several = tags.count("#") > 1
    noted = text[end : end + 2].lstrip(" ").startswith(("[", "(", "<"))  # what follows is no part of the sentence
    return "" if (ends_line and (apart or several)) or (noted and apart and several) else tags


def has_bracket_end(text: str) -> bool:
    """Return whether a text holds the end of a bracket."""
    return any(end in text for end in _BRACKET_ENDS)


def remove_empty_brackets(text: str) -> str:
    """Return a text without the brackets that hold nothing, but for those of code and those that it speaks of."""
    for _ in range(3):  # brackets in brackets; deeper nests of nothing do not occur
        shorter = _EMPTY_BRACKETS.sub(_without_bracket, text)
        if shorter == text:
            break
        text = shorter
    return text


def _without_bracket(match: re.Match[str]) -> str:
    """Return what replaces an empty bracket: itself where it belongs to code or is spoken of."""
    bracket = match[0]
    return bracket if bracket[0] in "([" and (_is_code(match) or _is_shown(match)) else gap(match)


def _is_code(match: re.Match[str]) -> bool:
    """Return whether an empty bracket is that of f(), arr[], () =>, []byte, x = () or f([])."""
    text, (start, end) = match.string, match.span()
    bracket, before, after = match[0], text[max(start - 64, 0) : start], text[end : end + 4]
    if bracket in ("()", "[]") and (_CALLED.search(before) or after.startswith((" =>", "=>"))):
        return True
    if before.endswith("(") and after.startswith(","):
        return True
    if bracket[0] == "[" and before.endswith(")"):
        return True
    if after.startswith(")") and (before.rstrip(" ").endswith(",") or (bracket[0] == "[" and before.endswith("("))):
        return True
    if before.endswith(("}", ">")) or before.rstrip(" ").endswith(("=", ":")):
        return True
    return len(bracket) == 2 and after[:1].isascii() and after[:1].isalpha()


def _is_shown(match: re.Match[str]) -> bool:
    """Return whether an empty bracket is a word of a sentence ([]를 쓴다, 괄호()) or one of a list of signs.

    What is left over hangs on a word, 훈민정음(), or ends a line.
    """
    text, (start, end) = match.string, match.span()
    before, after = text[max(start - 8, 0) : start], text[end : end + 4].lstrip(" ")
    left = before.rstrip(" ")[-1:]
    listed = left in _SIGNS and (after[:1] in _SIGNS or (after[:1] in ("", "\n") and left not in _STOPS))
    if listed or before.rstrip(" ").endswith(_NAMES_IT):
        return True
    if match[0][1:-1].strip():
        return False  # commas of a list that is gone
    free = not before or before[-1].isspace() or before[-1] in _SIGNS or before[-1] in "(["
    return free and not (not after or after.startswith(("\n", *_CLOSING)))
