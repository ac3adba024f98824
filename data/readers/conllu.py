"""Treebanks in CoNLL-U: the text of their sentences, gathered into documents where `# newdoc` begins them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from data.readers.blocks import BLANK_LINE, BLANK_LINES, before, cut, numbered, parts_of
from data.readers.encoding import TextStream
from data.readers.records import Block, InputFile, Item, Reject, UnreadableError, decoded, made_document

_NEW_DOCUMENT = re.compile(rb"^# newdoc\b", re.MULTILINE)
_TEXT = re.compile(r"^# text = (.*)$", re.MULTILINE)
DOCUMENTS, SENTENCES = "documents", "sentences"


def cut_conllu(file: InputFile, stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the documents of a treebank in blocks; its sentences where the first megabyte begins no document."""
    if _NEW_DOCUMENT.search(stream.head):
        return numbered(cut(stream, before(_NEW_DOCUMENT), block_bytes), (DOCUMENTS,))
    return numbered(cut(stream, BLANK_LINES, block_bytes), (SENTENCES,))


def parse_conllu(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a document for each sentence, or for the sentences (a line each) of a document."""
    gathered: list[str] = []
    first = block.first_line
    for number, raw in parts_of(block, BLANK_LINE):
        if gathered and _NEW_DOCUMENT.search(raw):
            yield made_document(file, first, "\n".join(gathered))
            gathered = []
        try:
            text = _sentence(raw)
        except UnreadableError as error:
            yield Reject(number, str(error))
            continue
        if block.context == (SENTENCES,):
            yield made_document(file, number, text)
        else:
            first = first if gathered else number
            gathered.append(text)
    if gathered:
        yield made_document(file, first, "\n".join(gathered))


def _sentence(raw: bytes) -> str:
    line = _TEXT.search(decoded(raw).removeprefix("\ufeff").replace("\r\n", "\n"))
    if line is None:
        raise UnreadableError("a sentence without '# text ='")
    return line.group(1).strip()
