"""IFEval's rules for Korean answers, by this project's own reading of their names and arguments.

Answers and arguments are compared in NFC. As in lm-eval, the first word of a paragraph is compared whole ("다음에" is
not "다음"), and paragraphs are parted by an empty line without blanks. Unlike lm-eval's, JSON has no
NaN and no Infinity.
"""

import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unicodedata import normalize

from common.errors import nearest
from data.nfc import nfc
from data.splitting.scan import split_sentences

Arguments = dict[str, Any]
BELOW, AT_LEAST = ("미만", "less than"), ("이상", "at least")
CONSTRAINED = ("네", "아니요", "아마도요", "My answer is yes", "My answer is no", "My answer is maybe")
INITIALS, FINALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ", "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
JAMO = (  # of decomposed text → as people type them: initials and finals are the same
    {0x1100 + index: letter for index, letter in enumerate(INITIALS)}
    | {0x1161 + index: chr(0x314F + index) for index in range(21)}
    | {0x11A8 + index: letter for index, letter in enumerate(FINALS)}
)


def check_rule(rule: Any, arguments: Arguments) -> None:
    """Raise a ValueError for a rule that is unknown, lacks an argument, has one of another kind, or can never hold."""
    if rule not in RULES:
        raise ValueError(f"unknown IFEval rule {rule!r}{nearest(str(rule), list(RULES))}")
    for name in TAKES[rule]:
        value = arguments.get(name)
        if name.endswith("relation"):
            fits = value in BELOW + AT_LEAST
        elif name.startswith(("num_", "nth_")) or name.endswith("frequency"):
            fits = isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)
        else:
            words = value if name in ("keywords", "forbidden_words") else [value]
            fits = isinstance(words, list) and bool(words) and all(isinstance(w, str) and w.strip() for w in words)
            fits = fits and (name != "language" or value in ("ko", "en"))
        if not fits:
            raise ValueError(f"rule {rule} cannot use {value!r} as its {name!r}")
    if not _can_hold(rule, arguments):
        raise ValueError(
            f"no answer follows rule {rule} with {', '.join(repr(arguments[name]) for name in TAKES[rule])}"
        )


def follows(rule: str, arguments: Arguments, answer: str) -> bool:
    """Return whether an answer follows a rule with its arguments; an empty one follows none."""
    answer = nfc(answer).strip()
    return bool(answer and RULES[rule](answer, *(_composed(arguments[name]) for name in TAKES[rule])))


def follows_loosely(rule: str, arguments: Arguments, answer: str) -> bool:
    """Return whether one of eight variants follows a rule: without first or last line or both, without stars."""
    lines = answer.split("\n")
    cut = ["\n".join(part) for part in (lines, lines[1:], lines[:-1], lines[1:-1])]
    return any(follows(rule, arguments, variant) for text in cut for variant in (text, text.replace("*", "")))


def _composed(value: Any) -> Any:
    return nfc(value) if isinstance(value, str) else [*map(nfc, value)] if isinstance(value, list) else value


def _can_hold(rule: str, arguments: Arguments) -> bool:
    kind = rule.split(":")[0]
    values = {name: _composed(arguments[name]) for name in TAKES[rule]}
    number = next((value for name, value in values.items() if name.startswith("num_") or name.endswith("frequency")), 1)
    below = any(values.get(name) in BELOW for name in ("relation", "let_relation", "capital_relation"))
    if number < (0 if "bullet" in rule else 1 if "paragraph" in rule else -math.inf):
        return False  # exactly so many
    if below and number <= (kind == "length_constraints"):  # an answer has a character, a word and a sentence
        return False
    if rule == "length_constraints:nth_paragraph_first_word":
        word = values["first_word"]
        return 1 <= values["nth_paragraph"] <= number and _first_word(word) == word.casefold()
    if rule == "keywords:ko_letter_frequency":
        return values["letter"].translate(JAMO) in JAMO.values()
    return rule != "keywords:letter_frequency" or len(values["letter"]) == 1


def _satisfies(count: int, bound: float, relation: str) -> bool:
    return count < bound if relation in BELOW else count >= bound


def _times(answer: str, word: str) -> int:
    return answer.casefold().count(word.casefold())


def _matches(pattern: str, answer: str) -> int:
    """Return how often a pattern is found with more than blanks in its group."""
    return sum(bool(m[m.lastindex or 0].strip()) for m in re.finditer(pattern, answer))


def _most_are(answer: str, language: str) -> bool:
    letters = re.findall("[가-힣ㄱ-ㆎᄀ-ᇿ]" if language == "ko" else "[A-Za-z]", answer)
    return 2 * len(letters) > sum(map(str.isalpha, answer))


def _parts(answer: str, mark: str) -> list[str]:
    parts = [part.strip() for part in re.split(mark, answer, flags=re.MULTILINE)]
    return parts[not parts[0] : len(parts) - (not parts[-1])]


def _first_word(paragraph: str) -> str:
    return re.split("[.,?!'\"]", (paragraph.split() or [""])[0].lstrip("'").lstrip('"'))[0].casefold()


def _begins(answer: str, count: int, nth: int, word: str) -> bool:
    parts = answer.split("\n\n")
    return sum(map(bool, map(str.strip, parts))) == count >= nth and _first_word(parts[int(nth) - 1]) == word.casefold()


def _is_json(answer: str) -> bool:
    fenced = re.fullmatch(r"```\w*\s*\n(.*?)\n?\s*```", answer, re.DOTALL)
    with suppress(ValueError, RecursionError):
        json.loads(fenced[1] if fenced else answer, parse_constant=int)  # which refuses NaN and Infinity
        return True
    return False


_RULES: dict[str, Callable[..., Any]] = {
    "keywords:existence keywords": lambda a, words: all(_times(a, word) for word in words),
    "keywords:frequency keyword frequency relation": lambda a, word, n, r: _satisfies(_times(a, word), n, r),
    "keywords:forbidden_words forbidden_words": lambda a, words: not any(_times(a, word) for word in words),
    "keywords:letter_frequency letter let_frequency let_relation":
        lambda a, c, n, r: _satisfies(a.lower().count(c.lower()), n, r),
    "keywords:ko_letter_frequency letter let_frequency let_relation":
        lambda a, c, n, r: _satisfies(normalize("NFD", a).translate(JAMO).count(c), n, r),
    "keywords:change_keyword prompt_to_change keyword_from keyword_to":
        lambda a, text, old, new: a == text.replace(old, new).strip(),
    "language:response_language language": _most_are,
    "length_constraints:number_sentences num_sentences relation":
        lambda a, n, r: _satisfies(len(split_sentences(a)), n, r),
    "length_constraints:number_paragraphs num_paragraphs":
        lambda a, n: len(p := _parts(a, r"^[ \t]*\*\*\*[ \t]*$")) == n and all(p),
    "length_constraints:number_words num_words relation": lambda a, n, r: _satisfies(len(a.split()), n, r),
    "length_constraints:number_letter_included num_letters relation": lambda a, n, r: _satisfies(len(a), n, r),
    "length_constraints:number_letter_excluded num_letters relation":
        lambda a, n, r: _satisfies(len("".join(a.split())), n, r),
    "length_constraints:nth_paragraph_first_word num_paragraphs nth_paragraph first_word": _begins,
    "detectable_content:number_placeholders num_placeholders": lambda a, n: _matches(r"\[([^\[\]]+)\]", a) >= n,
    "detectable_content:postscript postscript_marker":
        lambda a, mark: a.casefold().partition(mark.casefold())[2].strip(),
    "detectable_format:number_bullet_lists num_bullets":
        lambda a, n: len(re.findall(r"(?m)^[ \t]*[*-](?![*-])[ \t]*\S", a)) == n,
    "detectable_format:constrained_response": lambda a: a.removesuffix(".") in CONSTRAINED,
    "detectable_format:multiple_choice": lambda a: a in ("A", "B", "C", "D"),
    "detectable_format:number_highlighted_sections num_highlights":
        lambda a, n: _matches(r"\*\*([^\n*]+)\*\*|\*([^\n*]+)\*", a) >= n,
    "detectable_format:multiple_sections section_spliter num_sections":
        lambda a, word, n: _matches(rf"(?i){re.escape(word.strip())}\s*\d+", a) >= n,
    "detectable_format:json_format": _is_json,
    "detectable_format:title": lambda a: _matches(r"<<([^\n<>]+)>>", a),
    "combination:two_responses": lambda a: len(p := _parts(a, r"\*{6}")) == 2 == len(set(p)) and all(p),
    "combination:repeat_prompt prompt_to_repeat": lambda a, text: a.casefold().startswith(text.strip().casefold()),
    "startend:end_checker end_phrase": lambda a, text: a.casefold().endswith(text.strip().casefold()),
    "startend:quotation": lambda a: len(a) > 1 and a[0] == a[-1] == '"',
    "change_case:capital_word_frequency capital_frequency capital_relation":
        lambda a, n, r: _satisfies(sum(map(str.isupper, re.findall("[A-Za-z]+", a))), n, r),
    "change_case:english_capital": lambda a: re.search("[A-Z]", a) and not re.search("[a-z]", a),
    "change_case:english_lowercase": lambda a: re.search("[a-z]", a) and not re.search("[A-Z]", a),
    "punctuation:no_comma": lambda a: not re.search("[,，、]", a),
}  # fmt: skip
"""Rule with its arguments → whether an answer, without blanks around it, follows it with them."""
RULES = {key.split()[0]: function for key, function in _RULES.items()}
TAKES = {rule: arguments for rule, *arguments in map(str.split, _RULES)}
"""Rule → its arguments."""
