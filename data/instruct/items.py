"""Records as items: the fields that templates name, the texts, the label that is balanced, the answer; and as rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from data.instruct.draw import draw, drawn_order
from data.instruct.rows import Row
from data.instruct.spec import Column, Use
from data.nfc import nfc
from data.readers.records import NOT_UTF8
from data.splitting import split_sentences

SHOWN_CHARS = 10
"""A longer value where a label should stand is a text, and is not told."""


class BadRecordError(ValueError):
    """A record gives no item; the message says why, and holds no text of it."""


class Item(NamedTuple):
    """What a record gives."""

    use: str
    number: int
    """Of the record among the use's, from 1."""
    place: tuple[str, int]
    """File and line."""
    fields: dict[str, str]
    texts: tuple[str, ...]
    """What is looked for in test sets, and kept apart from held-out rows."""
    label: str
    """What is balanced; "" where nothing is."""
    answer: str
    """The label, the right choice, or the text."""
    choices: tuple[str, ...]
    """Choices of this row, in their drawn order; empty where there are none."""
    drawn: int

    @property
    def sentences(self) -> list[str]:
        """Return the sentences of the texts, as the corpus' splitter cuts them."""
        return [sentence for text in self.texts for sentence in split_sentences(text)]


def item_of(name: str, use: Use, record: Mapping[str, Any], number: int, place: tuple[str, int], seed: int) -> Item:
    """Return the item of a record.

    Args:
        name: the use's name.
        use: its spec.
        record: columns → values.
        number: of the record.
        place: file and line.
        seed: of the draws.

    Raises:
        BadRecordError: a label is unknown, a text empty, an answer beyond the choices, or choices are equal.
    """
    fields = {field: _field(record, column, use) for field, column in use.fields.items()}
    texts = [fields[field] for field, column in use.fields.items() if column.compared and column.values is None]
    if use.pair:
        texts.sort()
        one, other = use.pair
        if draw(seed, name, number, "pair") % 2:
            fields[one], fields[other] = fields[other], fields[one]
    answer, label, choices = _answered(name, use, record, number, seed)
    texts += sorted(choices)
    if not (use.answer.labels or use.answer.choices or use.answer.kinds) and use.answer.compared:
        texts.append(answer)
    drawn = draw(seed, name, number, "row")
    return Item(name, number, place, fields, tuple(texts), label, answer, choices, drawn)


def _answered(
    name: str, use: Use, record: Mapping[str, Any], number: int, seed: int
) -> tuple[str, str, tuple[str, ...]]:
    """Return a record's answer, the label that is balanced, and its choices in their drawn order."""
    answer = use.answer
    if answer.kinds:
        kinds = [kind for kind in answer.kinds if _flag(record, kind)]
        if _flag(record, answer.none[0]) == bool(kinds):
            raise BadRecordError(f"'{answer.none[0]}' beside a kind, or neither")
        told = ", ".join(kinds) or answer.none[1]
        return told, told, ()
    value = _text(record, answer.column, use.missing)
    if answer.choices:
        choices = [_text(record, column, use.missing) for column in answer.choices]
        if len(set(choices)) < len(choices):
            raise BadRecordError("two choices are equal")
        right = int(value) - answer.first if value.isdecimal() else None
        if right is None or not 0 <= right < len(choices):
            raise BadRecordError(f"answer {_told(value)} is beyond the {len(choices)} choices")
        order = drawn_order(len(choices), seed, name, number, "choices")
        return choices[right], str(order.index(right)), tuple(choices[n] for n in order)
    if answer.threshold is not None:
        least, most = answer.range
        score = _number(value)
        if not least <= score <= most:
            raise BadRecordError(f"a number {value[:SHOWN_CHARS]} beyond {least:g}-{most:g}")
        value = str(score >= answer.threshold)
    if answer.labels:
        value = _known(value, answer.labels)
        return value, value, ()
    return value, "", ()


def row_of_item(use: Use, item: Item, template: int) -> Row:
    """Return an item under one of its use's templates."""
    chosen = use.templates[template]
    words = use.words(template)
    listed = "\n".join(f"{n}. {choice}" for n, choice in enumerate(item.choices, 1))
    fields = {**item.fields, "choices": listed}
    answers = item.choices or tuple(words)

    def told(answer: str) -> str:
        number = item.choices.index(answer) + 1 if item.choices else 0
        return chosen.output.format_map({**fields, "answer": words.get(answer, answer), "number": str(number)}).strip()

    output, choices = told(item.answer), tuple(dict.fromkeys(map(told, answers)))
    return Row(
        id=f"{item.use}-{item.number:06d}-{template}",
        task=item.use,
        dataset=use.dataset,
        split=use.split,
        template=template,
        instruction=chosen.instruction.format_map(fields),
        input=chosen.input.format_map(fields),
        output=output,
        choices=choices if len(choices) > 1 else None,
        licence=use.licence,
    )


def _field(record: Mapping[str, Any], column: Column, use: Use) -> str:
    value = _text(record, column.column, use.missing)
    if column.decimals is not None:
        return f"{_number(value):.{column.decimals}f}"
    return value if column.values is None else column.values[_known(value, column.values)]


def _text(record: Mapping[str, Any], name: str, missing: list[str]) -> str:
    value = record.get(name)
    if value is None:
        raise BadRecordError(f"no '{name}'")
    if not isinstance(value, (str, int, float)):
        raise BadRecordError(f"'{name}' is no text")
    text = nfc(str(value)).replace("\r\n", "\n").strip()
    if not text or text in missing:
        raise BadRecordError(f"empty '{name}'" if not text else f"missing '{name}' ({text})")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise BadRecordError(NOT_UTF8)
    return text


def _flag(record: Mapping[str, Any], name: str) -> bool:
    return _known(_text(record, name, []), {"0": "", "1": ""}) == "1"


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise BadRecordError(f"{_told(value)} where a number belongs") from None


def _known(value: str, known: Mapping[str, str]) -> str:
    if (label := value.casefold()) not in known:
        raise BadRecordError(f"unknown label: {_told(value)} is none of {', '.join(known)}")
    return label


def _told(value: str) -> str:
    return repr(value) if len(value) <= SHOWN_CHARS else f"a text of {len(value)} characters"
