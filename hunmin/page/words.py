"""The words of a page in English and Korean: its sentences, names for people, durations.

The key of a sentence is its English, with fields for values (`common.message.filled`). Its Korean stands beside it in
words.yaml; names of settings and types stand in names.yaml.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from common.message import Message, filled
from common.progress import duration

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@lru_cache
def _table(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return loaded


class Words:
    """The words of one language.

    Args:
        language: "en" or "ko".
    """

    def __init__(self, language: Language) -> None:
        self.language = language

    def __call__(self, text: str, **values: Any) -> str:
        """Return a sentence of the page in the language; one without a translation stays English.

        Args:
            text: English template, or a message of another module with its own values, which are said likewise.
            values: of the template, in the language.
        """
        if isinstance(text, Message):
            values = {name: self._value(value) for name, value in text.values.items()}
            text = text.template
        translated = str(_table("words.yaml").get(text, text)) if self.language == "ko" else text
        return filled(translated, values) if values else translated

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self(part) for part in value]
        return self(value) if isinstance(value, str) else value

    def reason(self, text: str) -> str:
        """Return why the corpus left something out, in the language; what is quoted or follows a colon is a value."""
        before, colon, detail = text.partition(": ")
        parts = before.split("'")
        template = "'{}'".join(parts[::2]) + (": {}" if colon else "")
        translated = self(template)
        return text if translated == template else translated.format(*parts[1::2], self(detail))

    def name(self, key: str) -> str:
        """Return the shown name of a setting, a type or a figure; an unknown key is shown as it is, without "_"."""
        pair = _table("names.yaml").get(key)
        return str(pair[LANGUAGES.index(self.language)]) if pair else key.replace("_", " ")

    def duration(self, seconds: float) -> str:
        """Return a duration for people: 3m 05s, 3분 5초."""
        if self.language == "en":
            return duration(seconds)
        minutes, rest = divmod(int(seconds + 0.5), 60)
        parts = [f"{minutes // 60}시간", f"{minutes % 60}분", f"{rest}초"]
        return " ".join(parts[:2] if minutes >= 60 else parts[1:] if minutes else parts[2:])


ENGLISH = Words("en")
