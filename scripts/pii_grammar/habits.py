"""What writers put right around a value: quotes, brackets, signs, blanks, a second value, the same value again."""

from __future__ import annotations

import random
from collections.abc import Callable

Habit = Callable[[str, str, random.Random], str]
"""From a value, another value of the same form and random numbers to what is written."""
PAIRS = {
    "quotes": ('""', "''", "“”", "‘’", "「」", "『』"),
    "brackets": ("()", "[]", "【】", "〈〉", "（）"),
    "emphasis": ("****", "``", "**", "____"),
}


def around(name: str) -> Habit:
    def write(value: str, _: str, rng: random.Random) -> str:
        pair = rng.choice(PAIRS[name])
        half = len(pair) // 2
        return f"{pair[:half]}{value}{pair[half:]}"

    return write


def filled(*templates: str) -> Habit:
    """Return a habit that fills the value, and another of its form, into one of the templates."""
    return lambda value, second_value, rng: rng.choice(templates).format(value, second_value)


HABITS: dict[str, Habit] = {
    "quotes": around("quotes"),
    "brackets": around("brackets"),
    "emphasis": around("emphasis"),
    "sign before": filled(*(f"{sign}{{0}}" for sign in ("→", "▶", "▷ ", "☞ ", "※", "· ", "- ", "★", "● "))),
    "mark behind": filled(
        *(f"{{0}}{sign}" for sign in ("!", "!!", "…", "...", ".", "?", ";", " ^^", "ㅎㅎ", "ㅠㅠ", " ㅋㅋ", "★", "←"))
    ),
    "blanks around": filled("  {0}  "),
    "tab before": filled("\t{0}"),
    "no-break blank": filled("\u00a0{0}\u00a0"),
    "repeated": filled("{0}, {0}", "{0} / {0}", "{0} (다시 한번 {0})", "{0} → {0}"),
    "two values": filled("{0}, {1}", "{0} / {1}", "{0} 또는 {1}", "{0} 및 {1}", "{0} · {1}"),
    "two values glued": filled("{0}/{1}", "{0},{1}", "{0}·{1}"),
}
