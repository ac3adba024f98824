"""Records as items: the fields that templates name, texts, answer, the label that is balanced; items as rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import xxhash

from data.instruct.rows import Row
from data.instruct.spec import Use
from data.nfc import nfc
from data.readers import UnreadableError
from data.readers.records import NOT_UTF8

SHOWN_CHARS = 10
"""A longer value where a label should stand is a text, and is not told."""


class Item(NamedTuple):
    """What a record gives: its number from 1; file and line; texts that are looked for in test sets and held-out rows;
    the label that is balanced; the label, right choice or text that is the answer; choices in their drawn order; the
    row, where the record is one."""

    number: int
    place: tuple[str, int]
    texts: tuple[str, ...]
    drawn: int
    label: str = ""
    answer: str = ""
    choices: tuple[str, ...] = ()
    fields: Mapping[str, str] = {}
    ready: Row | None = None


def draw(seed: int, use: str, row: int, purpose: str) -> int:
    """Return a number of 64 bits, as if drawn evenly; it depends on nothing else."""
    return xxhash.xxh3_64_intdigest(f"{use}\0{row}\0{purpose}".encode(), seed)


def drawn_order(count: int, seed: int, use: str, row: int, purpose: str) -> list[int]:
    """Return the numbers below `count` in a drawn order."""
    return sorted(range(count), key=lambda n: draw(seed, use, row, f"{purpose} {n}"))


def item_of(name: str, use: Use, record: Any, number: int, place: tuple[str, int], seed: int) -> Item:
    """Return the item of a record of the use called `name`.

    Raises:
        UnreadableError: a label is unknown, a text empty, an answer beyond the choices, or choices are equal.
    """

    def text(column: str) -> str:
        return _text(record, column, use.missing)

    def flag(column: str) -> bool:
        return _known(text(column), ("0", "1")) == "1"

    fields, texts = {}, []
    for field, column in use.fields.items():
        fields[field] = value = text(column.column)
        if column.values:
            fields[field] = column.values[_known(value, column.values)]
        elif column.decimals is not None:
            fields[field] = f"{_number(value, -1e9, 1e9):.{column.decimals}f}"
        elif column.compared:
            texts.append(value)
    if use.pair:
        texts.sort()
        if draw(seed, name, number, "pair") % 2:
            one, other = use.pair
            fields[one], fields[other] = fields[other], fields[one]
    spec, label, choices = use.answer, "", list[str]()
    if spec.kinds:
        kinds = [kind for kind in spec.kinds if flag(kind)]
        answer = label = ", ".join(kinds) or spec.none[1]
        if flag(spec.none[0]) == bool(kinds):
            raise UnreadableError(f"'{spec.none[0]}' beside a kind, or neither")
    elif spec.choices:
        choices = [text(column) for column in spec.choices]
        if len(set(choices)) < len(choices):
            raise UnreadableError("two choices are equal")
        texts += sorted(choices)
        answer = choices[int(_number(text(spec.column), spec.first, spec.first + len(choices) - 1)) - spec.first]
        choices = [choices[n] for n in drawn_order(len(choices), seed, name, number, "choices")]
        label = str(choices.index(answer))
    else:
        answer = text(spec.column)
        if spec.labels:
            above = spec.threshold is None or _number(answer, *spec.range) >= spec.threshold
            answer = label = _known(answer if spec.threshold is None else str(above), spec.labels)
        elif spec.compared:
            texts.append(answer)
    return Item(number, place, tuple(texts), draw(seed, name, number, "row"), label, answer, tuple(choices), fields)


def row_of_item(name: str, use: Use, item: Item, template: int) -> Row:
    """Return an item of the use called `name` under one of its templates."""
    chosen = use.templates[template]
    words = use.answer.labels if chosen.words is None else chosen.words
    fields = {**item.fields, "choices": "\n".join(f"{n}. {one}" for n, one in enumerate(item.choices, 1))}

    def told(answer: str) -> str:
        number = item.choices.index(answer) + 1 if item.choices else 0
        return chosen.output.format_map({**fields, "answer": words.get(answer, answer), "number": number}).strip()

    choices = tuple(dict.fromkeys(map(told, item.choices or words)))
    texts = chosen.instruction.format_map(fields), chosen.input.format_map(fields), told(item.answer)
    made = f"{name}-{item.number:06d}-{template}", name, use.dataset, use.split, template
    return Row(*made, *texts, choices if len(choices) > 1 else None, use.licence)


def _text(record: Any, name: str, missing: Collection[str]) -> str:
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, (str, int, float)):
        raise UnreadableError(f"no text in '{name}'")
    text = nfc(str(value)).replace("\r\n", "\n").strip()
    if not text or text in missing:
        raise UnreadableError(f"empty '{name}'" if not text else f"missing '{name}' ({text})")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UnreadableError(NOT_UTF8)
    return text


def _number(value: str, least: float, most: float) -> float:
    try:
        number = float(value)
    except ValueError:
        raise UnreadableError(f"{_told(value)} where a number belongs") from None
    if not least <= number <= most:
        raise UnreadableError(f"{_told(value)} is beyond {least:g} to {most:g}")
    return number


def _known(value: str, known: Collection[str]) -> str:
    if (label := value.casefold()) not in known:
        raise UnreadableError(f"unknown label: {_told(value)} is none of {', '.join(known)}")
    return label


def _told(value: str) -> str:
    return repr(value) if len(value) <= SHOWN_CHARS else f"a text of {len(value)} characters"
