"""IFEval's rules for Korean answers, by this project's own reading of their names and arguments."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from common.errors import nearest
from data.splitting import split_sentences

Given = dict[str, Any]
Rule = Callable[[str, Given], bool]
BELOW, AT_LEAST = {"미만", "less than"}, {"이상", "at least"}
CONSTRAINED = {"네", "아니요", "아마도요", "My answer is yes", "My answer is no", "My answer is maybe"}
"""Answers of `constrained_response`, without a stop at the end."""
INITIALS, FINALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ", "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
JAMO = (
    {0x1100 + index: letter for index, letter in enumerate(INITIALS)}
    | {0x1161 + index: chr(0x314F + index) for index in range(21)}
    | {0x11A8 + index: letter for index, letter in enumerate(FINALS)}
)
"""Letters of decomposed text → the letters that people type: initials and finals are the same."""
HANGUL, LATIN = re.compile(r"[가-힣ㄱ-ㆎᄀ-ᇿ]"), re.compile(r"[A-Za-z]")


def check_rule(rule: Any, given: Given) -> None:
    """Check that a rule is known and has its arguments.

    Args:
        rule: its id ("punctuation:no_comma").
        given: its arguments by name.

    Raises:
        ValueError: it is unknown, or an argument is missing or unknown.
    """
    if rule not in RULES:
        raise ValueError(f"unknown IFEval rule {rule!r}{nearest(str(rule), list(RULES))}")
    for name in RULES[rule][0]:
        value = given.get(name)
        if value is None or value == [] or value == "":
            raise ValueError(f"rule {rule} lacks {name!r}")
        if name.endswith("relation") and value not in BELOW | AT_LEAST:
            raise ValueError(f"rule {rule} has the unknown relation {value!r}")
        if name.startswith(("num_", "nth_")) or name.endswith("frequency"):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
                raise ValueError(f"rule {rule} has {value!r} where {name!r} is a number")
        elif name in ("keywords", "forbidden_words"):
            if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
                raise ValueError(f"rule {rule} has {value!r} where {name!r} is a list of words")
        elif not isinstance(value, str):
            raise ValueError(f"rule {rule} has {value!r} where {name!r} is text")
    if "language" in RULES[rule][0] and given["language"] not in ("ko", "en"):
        raise ValueError(f"rule {rule} knows the languages ko and en, not {given['language']!r}")


def follows(rule: str, given: Given, answer: str) -> bool:
    """Return whether an answer follows a rule; an empty one follows none.

    Args:
        rule: its id.
        given: its arguments by name.
        answer: a model's.
    """
    return bool(answer.strip()) and RULES[rule][1](answer.strip(), given)


def follows_loosely(rule: str, given: Given, answer: str) -> bool:
    """Return whether a variant of an answer follows a rule: first line gone, last line, both, neither; * gone or not.

    Args:
        rule: its id.
        given: its arguments by name.
        answer: a model's.
    """
    lines = answer.split("\n")
    cut = ["\n".join(part) for part in (lines, lines[1:], lines[:-1], lines[1:-1])]
    return any(follows(rule, given, variant) for text in cut for variant in (text, text.replace("*", "")))


def _related(count: int, wanted: float, relation: str) -> bool:
    return count < wanted if relation in BELOW else count >= wanted


def _times(count: Callable[[str, Given], int], number: str, relation: str = "relation") -> Rule:
    """Return the rule that something occurs so often."""
    return lambda answer, given: _related(count(answer, given), given[number], given[relation])


def _at_least(pattern: str, number: str) -> Rule:
    """Return the rule that a pattern, with more than blanks in its group, is found so often at least."""
    found = re.compile(pattern)
    return lambda answer, given: sum(bool(m[m.lastindex or 0].strip()) for m in found.finditer(answer)) >= given[number]


def _jamo(text: str) -> str:
    return unicodedata.normalize("NFD", text).translate(JAMO)


def _has(answer: str, word: str) -> bool:
    return word.casefold() in answer.casefold()


def _most_are(answer: str, language: str) -> bool:
    letters = [sign for sign in answer if sign.isalpha()]
    own = (HANGUL if language == "ko" else LATIN).findall(answer)
    return 2 * len(own) > len(letters)


def _parts(answer: str, mark: str) -> list[str]:
    """Return the parts between marks, without empty ones at the ends."""
    parts = [part.strip() for part in re.split(mark, answer, flags=re.MULTILINE)]
    return parts[not parts[0] : len(parts) - (not parts[-1])]


def _paragraphs(answer: str, given: Given) -> bool:
    parts = _parts(answer, r"^[ \t]*\*\*\*[ \t]*$")
    return all(parts) and len(parts) == given["num_paragraphs"]


def _first_word(answer: str, given: Given) -> bool:
    parts, nth = re.split(r"\n\s*\n", answer), int(given["nth_paragraph"])
    if len(parts) != given["num_paragraphs"] or not 1 <= nth <= len(parts):
        return False
    return parts[nth - 1].strip().lstrip("\"'“‘*# ").casefold().startswith(given["first_word"].casefold())


def _postscript(answer: str, given: Given) -> bool:
    _, marked, after = answer.casefold().partition(given["postscript_marker"].casefold())
    return bool(marked and after.strip())


def _json(answer: str, given: Given) -> bool:
    fenced = re.fullmatch(r"```\w*\s*\n(.*?)\n?\s*```", answer, re.DOTALL)
    try:
        json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError):
        return False
    return True


def _two_responses(answer: str, given: Given) -> bool:
    parts = _parts(answer, r"\*{6}")
    return len(parts) == 2 and all(parts) and parts[0] != parts[1]


def _sections(answer: str, given: Given) -> bool:
    found = re.findall(rf"{re.escape(given['section_spliter'].strip())}\s*\d+", answer, re.IGNORECASE)
    return len(found) >= given["num_sections"]


RULES: dict[str, tuple[tuple[str, ...], Rule]] = {
    "keywords:existence": (("keywords",), lambda a, g: all(_has(a, word) for word in g["keywords"])),
    "keywords:frequency": (
        ("keyword", "frequency", "relation"),
        _times(lambda a, g: a.casefold().count(g["keyword"].casefold()), "frequency"),
    ),
    "keywords:forbidden_words": (
        ("forbidden_words",),
        lambda a, g: not any(_has(a, word) for word in g["forbidden_words"]),
    ),
    "keywords:letter_frequency": (
        ("letter", "let_frequency", "let_relation"),
        _times(lambda a, g: a.lower().count(g["letter"].lower()), "let_frequency", "let_relation"),
    ),
    "keywords:ko_letter_frequency": (
        ("letter", "let_frequency", "let_relation"),
        _times(lambda a, g: _jamo(a).count(_jamo(g["letter"])), "let_frequency", "let_relation"),
    ),
    "keywords:change_keyword": (
        ("prompt_to_change", "keyword_from", "keyword_to"),
        lambda a, g: a == g["prompt_to_change"].replace(g["keyword_from"], g["keyword_to"]).strip(),
    ),
    "language:response_language": (("language",), lambda a, g: _most_are(a, g["language"])),
    "length_constraints:number_sentences": (
        ("num_sentences", "relation"),
        _times(lambda a, g: sum(bool(one.strip()) for one in split_sentences(a)), "num_sentences"),
    ),
    "length_constraints:number_paragraphs": (("num_paragraphs",), _paragraphs),
    "length_constraints:number_words": (("num_words", "relation"), _times(lambda a, g: len(a.split()), "num_words")),
    "length_constraints:number_letter_included": (
        ("num_letters", "relation"),
        _times(lambda a, g: len(a), "num_letters"),
    ),
    "length_constraints:number_letter_excluded": (
        ("num_letters", "relation"),
        _times(lambda a, g: len("".join(a.split())), "num_letters"),
    ),
    "length_constraints:nth_paragraph_first_word": (("num_paragraphs", "nth_paragraph", "first_word"), _first_word),
    "detectable_content:number_placeholders": (("num_placeholders",), _at_least(r"\[([^\[\]]+)\]", "num_placeholders")),
    "detectable_content:postscript": (("postscript_marker",), _postscript),
    "detectable_format:number_bullet_lists": (
        ("num_bullets",),
        lambda a, g: len(re.findall(r"^[ \t]*[*-](?![*-])[ \t]*\S", a, re.MULTILINE)) == g["num_bullets"],
    ),
    "detectable_format:constrained_response": ((), lambda a, g: a.rstrip(".") in CONSTRAINED),
    "detectable_format:multiple_choice": ((), lambda a, g: a in ("A", "B", "C", "D")),
    "detectable_format:number_highlighted_sections": (
        ("num_highlights",),
        _at_least(r"\*\*([^\n*]+)\*\*|\*([^\n*]+)\*", "num_highlights"),
    ),
    "detectable_format:multiple_sections": (("section_spliter", "num_sections"), _sections),
    "detectable_format:json_format": ((), _json),
    "detectable_format:title": ((), lambda a, g: any(t.strip() for t in re.findall(r"<<([^\n<>]+)>>", a))),
    "combination:two_responses": ((), _two_responses),
    "combination:repeat_prompt": (
        ("prompt_to_repeat",),
        lambda a, g: a.casefold().startswith(g["prompt_to_repeat"].strip().casefold()),
    ),
    "startend:end_checker": (
        ("end_phrase",),
        lambda a, g: a.casefold().endswith(g["end_phrase"].strip().casefold()),
    ),
    "startend:quotation": ((), lambda a, g: len(a) > 1 and a[0] == a[-1] == '"'),
    "change_case:capital_word_frequency": (
        ("capital_frequency", "capital_relation"),
        _times(
            lambda a, g: sum(word.isupper() for word in re.findall("[A-Za-z]+", a)),
            "capital_frequency",
            "capital_relation",
        ),
    ),
    "change_case:english_capital": ((), lambda a, g: bool(LATIN.search(a)) and not re.search("[a-z]", a)),
    "change_case:english_lowercase": ((), lambda a, g: bool(LATIN.search(a)) and not re.search("[A-Z]", a)),
    "punctuation:no_comma": ((), lambda a, g: not re.search("[,，、]", a)),
}
"""Rule → the arguments it takes, and the rule itself, of an answer without blanks around it."""
