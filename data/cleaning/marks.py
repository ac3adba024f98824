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
_COMPLETED = re.compile(r"[:=→]\Z|[가-힣](?:[은는이가을를]|건|란)\Z")
"""What hashtags complete: 오늘의 키워드: #반도체 #금리."""
_TOPIC = ("은", "는", ":")
_LINE_ENDS = re.compile(r"[ \t\u00a0\u3000]*$", re.M)
_SAID = tuple(".!?~…)]”\"’'♥♡^;ㅋㅎㅠㅜ")
"""What ends a sentence or a comment, before the hashtags that follow it."""
_EMPTY_BRACKETS = re.compile(
    r"\((?:[,;·]+\s[\s,;·]*|\s+[,;·][\s,;·]*)?\)|（(?:\s*[,;·][\s,;·]*)?）|「」|『』|【】|〈〉|《》|［］|〔〕"
)
"""Commas are left of what stood there; blanks alone are to be filled in: 수도는 (    )이다. A sign between brackets is
spoken of (콜론(:)); braces and square brackets are code, and so is what stands in or beside other brackets."""
_HANGS_ON = re.compile(r"(?:[가-힣ㄱ-ㅣ㐀-鿿豈-﫿]|(?<![0-9A-Za-z_])[0-9]{1,7})[\"'”’」』.!?~^]{0,3} ?\Z")
"""What an empty bracket behind it is left over from: 훈민정음(); behind a Latin letter it is a function's."""
_NAMES_IT = re.compile(
    r"(?:객체|공백|괄호|꺾쇠|낫표|리스트|생성자|기호|브래킷|문자|배열|튜플|함수|메서드|연산자|콜론|쉼표|구문|인수) *\Z"
)
"""Words after which an empty bracket is shown rather than left over."""
_CONTINUES = re.compile(r" ?[0-9A-Za-z가-힣]")
_CODE_BEFORE = ("(", "[", "&", "!")
_CODE_BEHIND = re.compile(r"[()\[\]`]| \( ?\)| ?(?:함수|메서드|=>)")
_BRACKET_ENDS = (")", "）", "」", "』", "】", "〉", "》", "］", "〕")


def remove_hashtags(text: str) -> str:
    """Return a text without hashtags that end a line: behind what it says, alone, or several of them.

    One that is a word of its sentence stays: #을 붙이면, #default 슬롯, 채널 #help에서.
    """
    return _HASHTAGS.sub(_without_hashtags, text)


def _without_hashtags(match: re.Match[str]) -> str:
    text = match.string
    start, end = match.span()
    tags = match[0]
    if not _LINE_ENDS.match(text, end):
        return tags
    before = text[max(text.rfind("\n", 0, start) + 1, start - 200) : start].rstrip(" \t\u00a0\u3000")
    if tags[0] == "{":
        return tags if before.endswith(_TOPIC) else ""
    if _COMPLETED.search(before) or (not before and tags.count("#") == 1):
        return tags  # what the line says, or a heading
    apart = not before or before.endswith(_SAID)
    # where another hashtag is a word of the line, these may be its words, too
    return "" if apart or (tags.count("#") > 1 and "#" not in before) else tags


def has_bracket_end(text: str) -> bool:
    """Return whether a text holds the end of a bracket, without which `remove_empty_brackets` has nothing to do."""
    return any(end in text for end in _BRACKET_ENDS)


def remove_empty_brackets(text: str) -> str:
    """Return a text without the brackets that hold nothing, but for those of code and those that it speaks of."""
    return _EMPTY_BRACKETS.sub(_without_bracket, text)


def _without_bracket(match: re.Match[str]) -> str:
    """Return what replaces an empty bracket: itself, where a sentence speaks of it (괄호(), 빈 () 튜플)."""
    text = match.string
    start, end = match.span()
    before = text[max(start - 8, 0) : start]
    if _NAMES_IT.search(before):
        return match[0]
    if match[0][0] != "(":
        return match[0] if text.startswith(")", end) else gap(match)
    if before.endswith(_CODE_BEFORE) or _CODE_BEHIND.match(text, end):
        return match[0]
    if before.endswith(" ") and _CONTINUES.match(text, end):
        return match[0]
    return gap(match) if _HANGS_ON.search(before) else match[0]
