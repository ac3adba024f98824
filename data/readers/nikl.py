"""The JSON of the NIKL's MODU corpora: written texts, newspapers, speech, messengers, and what is shaped like them.

One object a file with the documents under `document` (an array; one object in the minutes of parliament); a document's
text is the `form` of its paragraphs, utterances or sentences, a line each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from common.bounded import UnreadableError, load_json
from data.readers.records import InputFile, Item, made_document

UNITS = ("paragraph", "utterance", "sentence")
_MARKS = re.compile(r"\{[A-Za-z][A-Za-z_ :0-9-]*\}")
"""Marks of what was no text: {emoji}, {share:photo}, {system: gift}, {laughing}."""
_GUESSED = re.compile(r"\(\(([^()]*)\)\)")
"""What was hard to hear, written ((so)); kept without the brackets."""


def parse_document(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    """Yield a document, with the id that the corpus gives it; UnreadableError where there is none."""
    record = load_json(raw)
    units = next((record[name] for name in UNITS if name in record), None) if isinstance(record, dict) else None
    if not isinstance(units, list):
        raise UnreadableError("no paragraph, utterance or sentence")
    document = made_document(file, number, "\n".join(filter(None, map(_form, units))))
    identity = record.get("id")
    yield document._replace(id=identity) if isinstance(identity, str) and identity else document


def _form(unit: Any) -> str:
    form = unit.get("form") if isinstance(unit, dict) else None
    if form is None and isinstance(unit, dict):
        form = unit.get("original_form")
    if not isinstance(form, str):
        raise UnreadableError("a paragraph or utterance without form")
    if "{" in form:
        form = _MARKS.sub("", form)
    if "((" in form:
        form = _GUESSED.sub(r"\1", form)
    return form.strip()
