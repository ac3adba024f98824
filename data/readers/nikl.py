"""The JSON of the NIKL's MODU corpora: written texts, newspapers, speech, messengers, and what is shaped like them.

One object a file with the documents under `document` (an array; one object in the minutes of parliament); a document's
text is the `form` of its paragraphs, utterances or sentences, a line each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from data.readers.lines import UnreadableError, load_json
from data.readers.records import InputFile, Item, Reject, made_document

UNITS = ("paragraph", "utterance", "sentence")
_MARKS = re.compile(r"\{[A-Za-z][A-Za-z_ :0-9-]*\}")
"""Marks of what was no text: {emoji}, {share:photo}, {system: gift}, {laughing}."""
_GUESSED = re.compile(r"\(\(([^()]*)\)\)")
"""What was hard to hear, written ((so)); kept without the brackets."""


def parse_document(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    """Yield a document, with the id that the corpus gives it, or why there is none."""
    yield _document(file, number, raw)


def _document(file: InputFile, number: int, raw: bytes) -> Item:
    try:
        record = load_json(raw)
    except UnreadableError as error:
        return Reject(number, str(error))
    units = next((record[name] for name in UNITS if name in record), None) if isinstance(record, dict) else None
    if not isinstance(units, list):
        return Reject(number, "no paragraph, utterance or sentence")
    forms = [_form(unit) for unit in units]
    if any(form is None for form in forms):
        return Reject(number, "a paragraph or utterance without form")
    identity = record.get("id")
    document = made_document(file, number, "\n".join(form for form in forms if form))
    return document._replace(id=identity) if isinstance(identity, str) and identity else document


def _form(unit: Any) -> str | None:
    form = unit.get("form") if isinstance(unit, dict) else None
    if form is None and isinstance(unit, dict):
        form = unit.get("original_form")
    if not isinstance(form, str):
        return None
    if "{" in form:
        form = _MARKS.sub("", form)
    if "((" in form:
        form = _GUESSED.sub(r"\1", form)
    return form.strip()
