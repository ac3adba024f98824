"""The spec of a use, a YAML file each: files, fields, answer, templates. What does not fit together is refused."""

from __future__ import annotations

import string
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from common.settings import Settings, load_yaml, parse_settings

USES = (
    *("apeach", "unsmile", "hatescore", "boolq", "copa", "kornli", "hellaswag", "wiki-text", "wiki-qa", "korsts"),
    *("pawsx", "parakqc", "wic", "stylekqc", "question-pair", "nsmc", "sae4k", "petitions", "math", "lbox"),
)
"""The twenty uses, in KIT-19's order."""
FOLDER = Path(__file__).parent / "uses"
ANSWER, NUMBER, CHOICES = "answer", "number", "choices"
"""What templates may name beside a use's fields: the answer, its number among the choices, the list of choices."""


class Layout(Settings):
    """One form in which a set is published."""

    format: Literal["csv", "tsv", "lines", "jsonl", "object", "parquet", "wiki-text", "wiki-qa", "groups"]
    """csv: quoted, a first row of names. tsv: the same between tabs, quotes being text. lines: tsv without names.
    jsonl: an object a line. object: one JSON object, number → record. groups: ParaKQC. wiki-…: kowikitext."""
    files: list[str]
    """Patterns of file names; the first layout that has a file is read."""
    columns: list[str] = []
    """Names of the columns of a file without them."""
    quoted: bool | None = False
    """For tsv: whether fields may be quoted; null goes by the first megabyte."""


class Column(Settings):
    """A field that templates may name."""

    column: str
    """Column or key of the record."""
    values: dict[str, str] | None = None
    """Values that it may have → how they are written; others are rejected."""
    decimals: int | None = None
    """For numbers: digits after the point."""
    compared: bool = True
    """Whether it is a text, which is looked for in test sets and kept apart from held-out rows."""


class Answer(Settings):
    """What is answered: a label, one of the choices of a row, several kinds, or a text."""

    column: str = ""
    """Column with the label, the number of the right choice, or the text; none for kinds."""
    labels: dict[str, str] | None = None
    """Value in small letters → its word; "true" and "false" where there is a threshold."""
    threshold: float | None = None
    """The column holds a number, which is "true" from here on."""
    range: tuple[float, float] = (0.0, 5.0)
    """Numbers that a column with a threshold may hold."""
    choices: list[str] = []
    """Columns with the choices of a row."""
    first: int = 1
    """Number of the first choice."""
    kinds: list[str] = []
    """Columns of 0 and 1, of which several may be 1."""
    none: tuple[str, str] = ("", "")
    """Column that is 1 where no kind is, and its word."""
    compared: bool = True
    """Whether an answer that is a text is looked for in test sets."""

    @model_validator(mode="after")
    def _one_form(self) -> Answer:
        if sum(map(bool, (self.labels, self.choices, self.kinds))) > 1 or bool(self.kinds) == bool(self.column):
            raise ValueError("an answer has a column (with labels or choices), or kinds")
        return self


class Template(Settings):
    """One wording of a use; {names} stand for its fields."""

    instruction: str = Field(min_length=1)
    """What is asked."""
    input: str = ""
    """What it is asked of."""
    output: str = "{answer}"
    """What is answered."""
    words: dict[str, str] | None = None
    """Label → word, where the use's own words do not fit the question."""

    @field_validator("instruction", "input", "output")
    @classmethod
    def _named_fields(cls, value: str) -> str:
        names_in(value)
        if value != value.strip():
            raise ValueError("a template begins and ends without blanks")
        return value


class Use(Settings):
    """One use of a data set."""

    dataset: str
    """Name of the set."""
    group: str
    """KIT-19's group of tasks."""
    licence: str
    """Licence of the rows; "unclear: …" where none is stated or what is stated contradicts itself."""
    folder: str = ""
    """Folder of the set below the data folder; the use's name unless given."""
    split: str = "train"
    """Split that is read."""
    layouts: list[Layout] = Field(min_length=1)
    """Forms in which the set is published."""
    fields: dict[str, Column]
    """Name in templates → column."""
    pair: tuple[str, str] | None = None
    """Fields whose order means nothing; it is drawn for each row."""
    optional: list[str] = []
    """Fields that a template may leave out."""
    missing: list[str] = []
    """Texts that stand for a missing one."""
    answer: Answer
    """What is answered."""
    templates: list[Template] = Field(min_length=5)
    """Wordings."""

    @field_validator("fields", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        return {k: {"column": v} if isinstance(v, str) else v for k, v in value.items()}

    @property
    def needed(self) -> list[str]:
        """Return the columns that are read."""
        answer = [self.answer.column, *self.answer.choices, *self.answer.kinds, self.answer.none[0]]
        return list(dict.fromkeys(filter(None, [*(field.column for field in self.fields.values()), *answer])))

    def words(self, template: int) -> dict[str, str]:
        """Return label → word under a template."""
        return self.templates[template].words or self.answer.labels or {}

    @model_validator(mode="after")
    def _fits_together(self) -> Use:
        known = {*self.fields, *([CHOICES] if self.answer.choices else [])}
        own = {ANSWER, *([NUMBER] if self.answer.choices else [])}
        for one in {*self.optional, *(self.pair or ())} - known:
            raise ValueError(f"'{one}' is no field of the use")
        used: set[str] = set()
        for number, template in enumerate(self.templates, 1):
            asked = names_in(template.instruction) | names_in(template.input)
            told = names_in(template.output)
            if unknown := sorted((asked - known) | (told - known - own)):
                raise ValueError(f"template {number} names the unknown field '{unknown[0]}'")
            if unused := sorted(known - asked - told - set(self.optional)):
                raise ValueError(f"template {number} never uses the field '{unused[0]}'")
            if not told or (NUMBER in told and CHOICES not in asked):
                raise ValueError(f"template {number} has no answer, or a number without choices")
            self._check_words(number, template)
            used |= asked | told
        if unused := sorted(known - used):
            raise ValueError(f"no template uses the field '{unused[0]}'")
        return self

    def _check_words(self, number: int, template: Template) -> None:
        labels = self.answer.labels or {}
        words = labels if template.words is None else template.words
        if set(words) != set(labels) or any(label != label.casefold() for label in words):
            raise ValueError(f"template {number} has words for other labels than {', '.join(sorted(labels))}")
        if len(set(words.values())) < len(words) or any(not word.strip() or word != word.strip() for word in words.values()):
            raise ValueError(f"template {number} has two labels of one word, or a word with blanks around it")


def names_in(template: str) -> set[str]:
    """Return the fields that a template names.

    Raises:
        ValueError: a brace is open, or what stands in braces is no plain name.
    """
    names = set()
    for _, name, form, conversion in string.Formatter().parse(template):
        if name is not None:
            if not name.isidentifier() or form or conversion:
                raise ValueError(f"'{{{name}}}' is no plain name of a field")
            names.add(name)
    return names


def read_use(path: Path) -> Use:
    """Return the spec in a YAML file.

    Raises:
        UserError: it is none, or its templates and fields do not fit together.
    """
    return parse_settings(Use, load_yaml(path), str(path), remedy="fix the spec")


@cache
def use_of(name: str) -> Use:
    """Return the spec of one of `USES`."""
    return read_use(FOLDER / f"{name}.yaml")


def is_open(licence: str) -> bool:
    """Return whether a licence is clear and allows changes and commercial use."""
    parts = licence.upper().replace("_", "-").replace(" ", "-").split("-")
    return bool(licence.strip()) and not licence.casefold().startswith("unclear") and not {"NC", "ND"} & set(parts)
