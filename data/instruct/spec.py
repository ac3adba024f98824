"""The spec of a use, a YAML file each: files, fields, answer, templates. What does not fit together is refused."""

from __future__ import annotations

import string
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from common.settings import Settings, load_yaml, parse_settings

FOLDER = Path(__file__).parent / "uses"
USES = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


class Layout(Settings):
    """One form in which a set is published; `files`: patterns of what paths end in; `columns`: those of lines.

    csv: quoted, a first row of names. tsv: the same between tabs, quotes being text.
    lines: tsv without names. object: number → record. groups: ParaKQC. wiki-text, wiki-qa: kowikitext.
    """

    format: Literal["csv", "tsv", "lines", "jsonl", "object", "groups", "wiki-text", "wiki-qa"]
    files: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


class Column(Settings):
    """A field: a text, `compared` with test sets and held-out rows; a value (in small letters → word); or a number."""

    column: str
    values: dict[str, str] = Field(default={})
    decimals: int | None = None
    compared: bool = True


class Answer(Settings):
    """The form of an answer: a label, one of a row's choices, several kinds, or a text.

    Labels are values of the column in small letters → words; with a threshold the column holds a number in the range,
    "true" from there on. Choices are columns, the column says the number of the right one, `first` the number of the
    first. Kinds are columns of 0 and 1; `none` is the one that is 1 where no kind is, and its word.
    """

    column: str = ""
    labels: dict[str, str] = Field(default={})
    threshold: float | None = None
    range: tuple[float, float] = (0.0, 5.0)
    choices: tuple[str, ...] = ()
    first: int = 1
    kinds: tuple[str, ...] = ()
    none: tuple[str, str] = ("", "")
    compared: bool = True


class Template(Settings):
    """One wording; {names} stand for fields, {answer}, {number} and {choices}; words are those of its labels."""

    instruction: str = Field(min_length=1)
    input: str = ""
    output: str = "{answer}"
    words: dict[str, str] | None = None


class Use(Settings):
    """One use of a data set; fields: name in templates → column; pair: fields whose order means nothing and is drawn;
    optional: fields that a template may leave out; missing: texts that stand for a missing one."""

    dataset: str
    group: str
    licence: str
    folder: str = ""
    split: str = "train"
    layouts: tuple[Layout, ...] = Field(min_length=1)
    fields: dict[str, Column]
    pair: tuple[str, str] | None = None
    optional: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    answer: Answer
    templates: tuple[Template, ...] = Field(min_length=5)

    @property
    def needed(self) -> list[str]:
        """Return the columns that are read."""
        answer = [self.answer.column, *self.answer.choices, *self.answer.kinds, self.answer.none[0]]
        return list(dict.fromkeys(filter(None, [*(field.column for field in self.fields.values()), *answer])))

    @model_validator(mode="after")
    def _fits_together(self) -> Use:
        listed = {"choices"} if self.answer.choices else set()
        known = {*self.fields, *listed}
        labels = self.answer.labels
        answerable = known | {"answer"} | ({"number"} if listed else set())
        never = set(known)
        problems = {f"the use has no field {name}" for name in {*self.optional, *(self.pair or ())} - known}
        for number, template in enumerate(self.templates, 1):
            asked = names_in(template.instruction + template.input)
            answered = names_in(template.output)
            words = labels if template.words is None else template.words
            never -= asked | answered
            wrong = [f"names the unknown field {name}" for name in (asked - known) | (answered - answerable)]
            wrong += [f"never uses the field {name}" for name in known - asked - answered - set(self.optional)]
            if not answered or ("number" in answered and "choices" not in asked):
                wrong.append("has no answer, or a number without choices")
            if set(words) != set(labels) or any(label != label.casefold() for label in words):
                wrong.append(f"has words for other labels than {', '.join(labels)}")
            if len(set(words.values())) < len(words) or any(
                not word or word != word.strip() for word in words.values()
            ):
                wrong.append("has two labels of one word, or a word with blanks around it")
            problems |= {f"template {number} {problem}" for problem in wrong}
        problems |= {f"no template uses the field {name}" for name in never}
        if problems:
            raise ValueError("; ".join(sorted(problems)))
        return self


def names_in(template: str) -> set[str]:
    """Return the fields that a template names; raises ValueError where what stands in braces is no plain name."""
    parts = [
        (str(name), form, change) for _, name, form, change in string.Formatter().parse(template) if name is not None
    ]
    if odd := [name for name, form, change in parts if not name.isidentifier() or form or change]:
        raise ValueError(f"'{{{odd[0]}}}' is no plain name of a field")
    return {name for name, _, _ in parts}


@cache
def use_of(name: str | Path) -> Use:
    """Return the spec of one of `USES`, or of a YAML file; raises UserError where its parts do not fit together."""
    path = name if isinstance(name, Path) else FOLDER / f"{name}.yaml"
    return parse_settings(Use, load_yaml(path), str(path), fix="fix the spec")


def is_open(licence: str) -> bool:
    """Return whether a licence is clear and allows changes and commercial use."""
    parts = licence.upper().replace("_", "-").replace(" ", "-").split("-")
    return bool(licence.strip()) and not licence.startswith("unclear") and not {"NC", "ND"} & set(parts)
