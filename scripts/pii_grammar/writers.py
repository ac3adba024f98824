"""What all numbers share: separators, digits of other shapes, and forms made of groups of digits and these."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from .marks import Kind, Page, Value
from .values import digits

Groups = Callable[[random.Random], list[str]]


class Form(NamedTuple):
    """One way to write a type: `labelled` where only a word next to the value says what it is."""

    kind: Kind
    write: Callable[[Page], Value]
    labelled: bool
    labels: tuple[str, ...] = ()


HANGUL = str.maketrans("0123456789", "공일이삼사오육칠팔구")
FULL = str.maketrans("0123456789-() .", "０１２３４５６７８９－（）　．")
CIRCLED = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")
BOLD = str.maketrans("0123456789", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗")


def full_width(groups: list[str], rng: random.Random) -> str:
    return "-".join(groups).translate(FULL)


def letters(groups: list[str], rng: random.Random) -> str:
    """Write letters for the zeros and ones of the first group."""
    zero_letter = rng.choice(("O0", "o0", "ㅇ0", "O0", "OO"))[0]
    one_letter = rng.choice("1lI1")
    return "-".join([groups[0].replace("0", zero_letter).replace("1", one_letter), *groups[1:]])


def zeros(groups: list[str], rng: random.Random) -> str:
    return "-".join(groups).replace("0", "O")


def hangul(groups: list[str], rng: random.Random) -> str:
    return rng.choice((" ", "-", " 다시 ", " - ")).join(groups).translate(HANGUL)


def mixed(groups: list[str], rng: random.Random) -> str:
    """Spell one group in Hangul."""
    at = rng.randrange(len(groups))
    return "-".join(g.translate(HANGUL) if n == at else g for n, g in enumerate(groups))


def half_mixed(groups: list[str], rng: random.Random) -> str:
    """Spell single digits in Hangul."""
    text = "-".join(groups)
    places = rng.sample([n for n, c in enumerate(text) if c.isdigit()], 3)
    return "".join(c.translate(HANGUL) if n in places else c for n, c in enumerate(text))


def spaced(groups: list[str], rng: random.Random) -> str:
    """Put a blank between digits and more between groups."""
    return rng.choice(("  ", " - ", " ")).join(" ".join(group) for group in groups)


def boxed(groups: list[str], rng: random.Random) -> str:
    """Put each digit in a box, as forms on paper have it."""
    return "-".join("".join(f"[{d}]" for d in group) for group in groups)


def shaped(table: dict[int, str]) -> Callable[[list[str], random.Random], str]:
    """Return a writer with hyphens and digits of another shape."""
    return lambda groups, rng: "-".join(groups).translate(table)


def joined(*separators: str) -> Callable[[list[str], random.Random], str]:
    """Return a writer with one of these separators between groups."""
    return lambda groups, rng: rng.choice(separators).join(groups)


def wrapped(end: str) -> Callable[[list[str], random.Random], str]:
    """Return a writer with hyphens and a line's end behind one of them."""

    def write(groups: list[str], rng: random.Random) -> str:
        at = rng.randrange(1, len(groups))
        return "-".join(groups[:at]) + end + "-".join(groups[at:])

    return write


WRITERS: dict[str, Callable[[list[str], random.Random], str]] = {
    "hyphen": joined("-"),
    "none": joined(""),
    "dot": joined("."),
    "blank": joined(" "),
    "two blanks": joined("  "),
    "tilde": joined("~"),
    "middle dot": joined("·", "ㆍ"),
    "slash": joined("/"),
    "underscore": joined("_"),
    "spaced hyphen": joined(" - ", "- ", " -"),
    "dash": joined("–", "—", "―", "‐", "−"),
    "vowel dash": joined("ㅡ"),
    "line end": wrapped("-\n"),
    "break": wrapped("-<br>"),
    "zero width": joined("-\u200b", "\u200b-", "\u00ad-"),
    "no-break blank": joined("\u00a0", "\u2009"),
    "no-break hyphen": joined("\u2011"),
    "percent": joined("%2D"),
    "full width": full_width,
    "bold": shaped(BOLD),
    "circled": shaped(CIRCLED),
    "letters": letters,
    "zeros as O": zeros,
    "hangul": hangul,
    "hangul group": mixed,
    "hangul digits": half_mixed,
    "spaced": spaced,
    "boxed": boxed,
}


def in_groups(
    kind: str, name: str, groups: Groups, free: str, labelled: str = "", labels: tuple[str, ...] = ()
) -> list[Form]:
    """Return the forms of a number: writers that need no label, and those that do."""

    def write(writer: str) -> Callable[[Page], Value]:
        whole = Kind(kind, f"{name} {writer}".strip())
        return lambda page: page.mark(whole, WRITERS[writer](groups(page.rng), page.rng))

    return [
        Form(Kind(kind, f"{name} {writer}".strip()), write(writer), needs, labels)
        for needs, names in ((False, free), (True, labelled))
        for writer in filter(None, names.split(", "))
    ]


def shape(
    kind: str, name: str, write: Callable[[Page, Kind], Value], labelled: bool = False, labels: tuple[str, ...] = ()
) -> Form:
    """Return a form with a writer of its own."""
    whole = Kind(kind, name)
    return Form(whole, lambda page: write(page, whole), labelled, labels)


def pattern(groups: Groups, *templates: str) -> Callable[[Page, Kind], Value]:
    """Return a writer that fills groups into one of the templates; what stands outside ⟨⟩ may be in the span or not."""

    def write(page: Page, kind: Kind) -> Value:
        template = page.rng.choice(templates)
        if "⟨" not in template:
            template = f"⟨{template}⟩"
        filled = template.format(*groups(page.rng), n=digits(page.rng, 3), s=page.rng.choice("23456789"))
        before, marked = filled.split("⟨")
        core, after = marked.split("⟩")
        return page.mark(kind, core, before, after)

    return write
