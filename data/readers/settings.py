"""Settings of one source: where its files are, what format they have, which fields hold what."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from common.settings import Settings
from data.cleaning.settings import CleanSettings
from data.nfc import nfc

Format = Literal[
    "auto",
    "jsonl",
    "json",
    "text",
    "paragraphs",
    "csv",
    "tsv",
    "parquet",
    "sqlite",
    "hf",
    "warc",
    "nikl",
    "namuwiki",
    "mediawiki",
    "html",
    "markdown",
]
CLEANED_FORMATS = ("html", "markdown", "namuwiki", "mediawiki", "warc", "nikl")
"""Formats without text fields, whose readers give plain text."""
Encoding = Literal[
    "auto", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp949", "euc-kr", "iso-2022-kr", "johab"
]
Markup = Literal["namuwiki", "mediawiki", "html", "markdown"]


class ColumnSettings(Settings):
    """Numbers by which its publisher rates the records (FineWeb2, HPLT), by their names: `columns: {edu_score: {min:
    3}}`. Records beyond the bounds are skipped and counted; those without such a number become rejects."""

    min: float | None = None
    """Lowest number with which a record is read."""
    max: float | None = None
    """Highest number with which a record is read."""

    @model_validator(mode="after")
    def _some_bound(self) -> ColumnSettings:
        if self.min is None and self.max is None:
            raise ValueError("give min or max")
        return self

    def allows(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)


class SourceSettings(Settings):
    """One named corpus among the inputs."""

    path: str
    """File, folder, glob or URL, or `OWNER/NAME` or `hf:OWNER/NAME[/CONFIG][@SPLIT][@REVISION]` for a data set of the
    Hugging Face hub (split `train` unless given; its commit is recorded). Compressed files (.gz .bz2 .xz .zst) are read
    as they are."""
    name: str | None = None
    """Name written into the `source` column; None takes the record's own source field, else the file's name."""
    format: Format = "auto"
    """Format of the files; auto detects it from the file's name, else from its first bytes.

    jsonl: one object per line. json: an array of objects, or objects one after another. text: one document per line.
    paragraphs: documents separated by blank lines, as in CC-100 (never chosen by auto). csv, tsv: one document per
    row, the first row names the columns (csv: between commas, semicolons or tabs). parquet, sqlite, hf: one document
    per row. warc: web archives (WARC, WET), one document per page. nikl: the JSON of the MODU corpora
    (`document[].paragraph[].form`, `document[].utterance[].form`). namuwiki: the Namuwiki dump. mediawiki: a
    pages-articles XML dump. html, markdown: one document per file."""
    encoding: Encoding = "auto"
    """Encoding of the text; auto follows a byte order mark or the mark of ISO-2022-KR. Without one it takes UTF-8, or
    CP949 or Johab if the first text beyond ASCII is Korean in it and not valid in UTF-8. Lines that cannot be decoded
    are quarantined."""
    text_field: str | list[str] = "text"
    """Field or column that contains the document. Dots lead into nested fields (`body.text`), also of objects in lists
    and in lists of lists. If its value is a list of strings, or of lists of them, they are joined by line ends. If
    several names are given (`[title, body]`), their fields are joined in this order, also by line ends."""
    id_field: str = "id"
    """Field with the document's id; where it is missing the id is made of source and line (or record) number."""
    source_field: str = "source"
    """Field with the record's own source, used when `name` is not given."""
    licence_field: str = "licence"
    """Field with the record's own licence, used when `licence` is not given."""
    licence: str | None = None
    """Licence of every document of this source."""
    markup: Markup | None = None
    """Markup of the text, read to plain text: set it where the text fields of tables or JSON hold the markup of wikis,
    HTML or Markdown. Files of the formats html, markdown, mediawiki, namuwiki and warc need no setting. A corpus warns
    where most documents of a source hold wiki markup without it."""
    records_field: str | None = None
    """For json: key of the array with the records, where the file is one object (`{"data": [...]}`)."""
    quoting: bool | None = None
    """For tsv: whether fields may be quoted as in CSV. None decides by the first megabyte: NSMC is not quoted, but its
    text contains quotes; tables saved by a spreadsheet are quoted."""
    table: str | None = None
    """For sqlite: table to read; None if the file has only one."""
    columns: dict[str, ColumnSettings] = Field(default_factory=dict)
    """By numbers that the records carry."""
    clean: CleanSettings | None = None
    """Cleaning rules for this source in place of the corpus-wide ones (web and news: `{min_sentence_chars: 200}`)."""

    @field_validator("text_field")
    @classmethod
    def _some_field(cls, value: str | list[str]) -> str | list[str]:
        if not value or not all(value):
            raise ValueError("name at least one field")
        return value

    @field_validator("name")
    @classmethod
    def _composed(cls, value: str | None) -> str | None:
        return value and nfc(value)

    @model_validator(mode="after")
    def _fits_the_format(self) -> SourceSettings:
        if self.markup and self.format in CLEANED_FORMATS:
            raise ValueError(f"format {self.format} reads its own markup: leave markup out")
        if self.columns and self.format in (*CLEANED_FORMATS, "text", "paragraphs"):
            raise ValueError(f"format {self.format} has no columns: leave columns out")
        return self

    @property
    def text_fields(self) -> list[str]:
        """Return the names of the text fields as a list."""
        return [self.text_field] if isinstance(self.text_field, str) else self.text_field
