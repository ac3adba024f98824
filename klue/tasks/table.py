"""Tab-separated tables with a line of names, as most of the suites beside KLUE are published."""

from __future__ import annotations

from abc import abstractmethod
from typing import IO, Any, ClassVar

from klue.tasks.base import Classification, Example, Task
from klue.tasks.fields import one_of, text_field


def table_records(stream: IO[bytes]) -> list[dict[str, str]]:
    """Return the rows of a table by the names in its first line; quotes are text like any other.

    Args:
        stream: UTF-8, with or without a byte order mark; lines end at a line feed, which a carriage return may precede.

    Raises:
        ValueError: it has no rows, a name is there twice, or a row has another number of columns.
    """
    lines = stream.read().decode("utf-8-sig").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 2:
        raise ValueError("it has no rows below its line of names")
    names = lines[0].removesuffix("\r").split("\t")
    if len(set(names)) < len(names):
        raise ValueError("two of its columns have one name")
    records = []
    for number, line in enumerate(lines[1:], start=2):
        values = line.removesuffix("\r").split("\t")
        if len(values) != len(names):
            raise ValueError(f"line {number} has {len(values)} columns, the line of names {len(names)}")
        records.append(dict(zip(names, values, strict=True)))
    return records


class Table(Task):
    """A task whose files are tables; a subclass of one of the kinds of tasks, too. Its examples are numbered."""

    suffix = "tsv"
    text_columns: ClassVar[tuple[str, ...]]
    """Columns with an example's texts, in the order in which they are read."""
    label_column: ClassVar[str]

    @property
    def unlabelled_fields(self) -> str:
        """Return the columns of the texts."""
        return ", ".join(self.text_columns)

    def records(self, stream: IO[bytes]) -> list[Any]:
        """Return the rows."""
        return table_records(stream)

    def named(self, guid: str) -> str:
        """Return the name of an example: the task's, and the number of its row."""
        return f"{self.name}-{guid}"

    def texts(self, record: Any) -> tuple[str, ...]:
        """Return the texts of a row; raises ValueError where one is none."""
        return tuple(text_field(record, column) for column in self.text_columns)

    @property
    @abstractmethod
    def any_label(self) -> Any:
        """Return a label for texts without one."""

    @abstractmethod
    def label(self, value: str) -> Any:
        """Return the label that a field says; raises ValueError where it says none."""

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the example of a row."""
        return [Example(self.named(guid), self.texts(record), self.label(text_field(record, self.label_column)))]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the example of a row without a label."""
        return [Example(guid, self.texts(record), self.any_label)]


class LabelTable(Table, Classification):
    """A table of texts with one of the task's labels each."""

    @property
    def any_label(self) -> str:
        """Return the first label."""
        return self.labels[0]

    def label(self, value: str) -> str:
        """Return the label, without the blanks around it."""
        return one_of(value.strip(), self.labels, self.name)
