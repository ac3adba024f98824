"""Records as items: the fields that templates name, texts, answer, the label that is balanced; items as rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import xxhash

from common.bounded import NOT_UTF8, UnreadableError
from data.instruct.rows import Row
from data.instruct.spec import Use
from data.nfc import nfc


class Item(NamedTuple):
    """A record: its number from 1; file and line; texts that are looked for in test sets and held-out rows;
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
    """Return a number of 64 bits, as if drawn evenly, that depends on these alone."""
    return xxhash.xxh3_64_intdigest(f"{use}\0{row}\0{purpose}".encode(), seed)


def drawn_order(count: int, seed: int, use: str, row: int, purpose: str) -> list[int]:
    """Return the numbers below `count` in a drawn order."""
    return sorted(range(count), key=lambda n: draw(seed, use, row, f"{purpose} {n}"))


def item_of(name: str, use: Use, record: Any, number: int, place: tuple[str, int], seed: int) -> Item:
    """Return the item of a record; raises UnreadableError for an unknown label, an empty text, unfit choices."""

    def text(column: str) -> str:
        value = record.get(column)
        if not isinstance(value, (str, int, float)):
            raise UnreadableError(f"no text in '{column}'")
        cleaned = nfc(str(value)).replace("\r\n", "\n").strip()
        if not cleaned or cleaned in use.missing:
            raise UnreadableError(f"'{column}' is missing" if cleaned else f"'{column}' is empty")
        if "\ufffd" in cleaned:  # what bytes that are no text were read as
            raise UnreadableError(NOT_UTF8)
        return cleaned

    def known(column: str, values: Collection[str]) -> str:
        if (value := text(column).casefold()) not in values:  # which may be a text, and is not told
            raise UnreadableError(f"unknown label: '{column}' is none of {', '.join(values)}")
        return value

    def number_in(column: str, least: float, most: float) -> float:
        try:
            parsed = float(text(column))
        except ValueError:
            raise UnreadableError(f"'{column}' is no number") from None
        if not least <= parsed <= most or (spec.choices and not parsed.is_integer()):
            raise UnreadableError(f"'{column}' is beyond {least:g} to {most:g}")
        return parsed

    spec = use.answer
    label = ""
    choices = list[str]()
    fields, texts = {}, []
    for field, column in use.fields.items():
        if column.values:
            fields[field] = column.values[known(column.column, column.values)]
        elif column.decimals is not None:
            fields[field] = f"{number_in(column.column, -1e9, 1e9):.{column.decimals}f}"
        else:
            fields[field] = text(column.column)
            texts += [fields[field]] if column.compared else []
    if use.pair:
        texts.sort()
        if draw(seed, name, number, "pair") % 2:
            left, right = use.pair
            fields[left], fields[right] = fields[right], fields[left]
    if spec.kinds:
        kinds = [kind for kind in spec.kinds if known(kind, ("0", "1")) == "1"]
        answer = label = ", ".join(kinds) or spec.none[1]
        if known(spec.none[0], ("0", "1")) == str(int(bool(kinds))):
            raise UnreadableError(f"'{spec.none[0]}' beside a kind, or neither")
    elif spec.choices:
        choices = [text(column) for column in spec.choices]
        if len(set(choices)) < len(choices):
            raise UnreadableError("two choices are equal")
        texts += sorted(choices)
        answer = choices[int(number_in(spec.column, spec.first, spec.first + len(choices) - 1)) - spec.first]
        choices = [choices[n] for n in drawn_order(len(choices), seed, name, number, "choices")]
        label = str(choices.index(answer))
    elif spec.threshold is not None:
        answer = label = str(number_in(spec.column, *spec.range) >= spec.threshold).casefold()
    elif spec.labels:
        answer = label = known(spec.column, spec.labels)
    else:
        answer = text(spec.column)
        texts += [answer] if spec.compared else []
    return Item(number, place, tuple(texts), draw(seed, name, number, "row"), label, answer, tuple(choices), fields)


def row_of_item(name: str, use: Use, item: Item, template: int) -> Row:
    """Return an item of the use called `name` under one of its templates."""
    chosen = use.templates[template]
    words = use.answer.labels if chosen.words is None else chosen.words
    fields = {**item.fields, "choices": "\n".join(f"{n}. {choice}" for n, choice in enumerate(item.choices, 1))}

    def in_words(answer: str) -> str:
        number = item.choices.index(answer) + 1 if item.choices else 0
        return chosen.output.format_map({**fields, "answer": words.get(answer, answer), "number": number}).strip()

    choices = tuple(dict.fromkeys(map(in_words, item.choices or words)))
    texts = chosen.instruction.format_map(fields), chosen.input.format_map(fields), in_words(item.answer)
    made = f"{name}-{item.number:06d}-{template}", name, use.dataset, use.split, template
    return Row(*made, *texts, choices if len(choices) > 1 else None, use.licence)
