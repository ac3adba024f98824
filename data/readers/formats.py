"""Files of any format as blocks, and blocks as documents."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from common.bounded import NOT_UTF8
from common.compressed import compression_of
from common.errors import UserError
from common.files import is_remote, open_bytes, suffix_of
from data.readers import encoding
from data.readers.containers import first_bytes, refuse_content, refuse_dangling
from data.readers.damage import DamagedInputError, UntilDamage
from data.readers.encoding import TextStream, read_full, utf8_lines
from data.readers.fit import refuse_without_field
from data.readers.hub import cut_hub
from data.readers.paths import HUB
from data.readers.ranges import Seekable, read_range
from data.readers.records import Block, Document, InputFile, Item, Reject
from data.readers.registry import BY_SUFFIX, READERS
from data.readers.settings import Format
from data.readers.sniff import resolve_format
from data.readers.transport import Transport, reason_of
from data.readers.volume import file_version, refuse_changed


def read_blocks(file: InputFile, block_bytes: int) -> Iterator[tuple[Format, Block]]:
    """Yield a file's format and its content in blocks of about `block_bytes` bytes, cut where records end.

    A record that is longer than a block is kept whole, one longer than `MAX_RECORD_BYTES` is left out and rejected.
    Documents and their ids do not depend on `block_bytes`.

    Raises:
        DamagedInputError: it is a damaged or truncated archive, after all blocks before that; or no text, or damaged;
            or (UnfitInputError) its columns are others.
        UserError: the file cannot be read.
        ReadFailedError: the connection failed.
        HunminError: the store says at the end that the file is another one than at the beginning.
    """
    if file.path.startswith(HUB):
        yield from (("hf", block) for block in cut_hub(file, block_bytes))
        return
    refuse_dangling(file.path)
    version = file_version(file.path) if is_remote(file.path) else None
    with _reading_errors(file.path), open_bytes(file.path, Transport) as opened:
        stream = UntilDamage(file.path, opened)
        head = read_full(stream, encoding.READ_BYTES)
        if stream.damage is not None and not head:
            refuse_content(file.path, first_bytes(file.path))
            raise DamagedInputError(file.path, stream.damage)
        format = resolve_format(file, head)
        reader = READERS[format]
        if reader.cut:
            text = TextStream(head, stream, "utf-8" if reader.is_bytes else file.settings.encoding)
            refuse_without_field(file, format, text)
            yield from ((format, block) for block in reader.cut(file, text, block_bytes))
            if version is not None:
                refuse_changed(file.path, version)
            if stream.damage is not None:
                raise DamagedInputError(file.path, stream.damage)
            return
    assert reader.refer
    yield from ((format, block) for block in reader.refer(file, block_bytes))


def is_referred(file: InputFile) -> bool:
    """Return whether a file's blocks are references that each worker reads itself, as its name or settings say."""
    stated = file.settings.format
    format = "hf" if file.path.startswith(HUB) else BY_SUFFIX.get(suffix_of(file.path)) if stated == "auto" else stated
    return format is not None and READERS[format].refer is not None


def seekable(file: InputFile, block_bytes: int) -> Seekable | None:
    """Return how a file can be read by ranges of its lines; None where it has to be read from its beginning.

    That takes a local file of lines that is longer than a block, in UTF-8 or CP949, and not compressed. What is wrong
    with a file is left to `read_blocks` to say.
    """
    if file.path.startswith(HUB) or is_remote(file.path) or compression_of(file.path):
        return None
    try:
        size = Path(file.path).stat().st_size
        if not Path(file.path).is_file() or size <= block_bytes:
            return None
        with open_bytes(file.path) as stream:
            head = read_full(stream, encoding.READ_BYTES)
        format = resolve_format(file, head)
    except (OSError, UserError):
        return None
    text = TextStream(head, io.BytesIO(), file.settings.encoding)
    if not READERS[format].by_lines or text.converted:
        return None
    try:
        refuse_without_field(file, format, text)
    except UserError:
        return None
    mark = len(head) - len(text.head)
    return Seekable(format, size, mark, text.known_encoding)


@contextmanager
def _reading_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {reason_of(error)}",
            "inputs are files that this user may read, from their beginning to their end",
            "check that it is a file, its permissions and the disk or connection, or take it out of the inputs",
        ) from None


def parse_block(file: InputFile, format: Format, block: Block) -> Iterator[Item]:
    """Yield the documents, rejects and skipped records of a block in order; blank lines are none of them.

    Raises:
        HunminError: the block is a range of a file that has changed.
        UserError: it is a range of a file that cannot be read.
    """
    if block.bytes is not None and READERS[format].cut:
        with _reading_errors(file.path):
            for piece in read_range(file, block):
                yield from parse_block(file, format, piece)
        return
    yield from block.rejects
    original = block.encoding
    if original != "utf-8":
        block = replace(block, data=utf8_lines(block.data, original))
    for item in READERS[format].parse(file, block):
        if isinstance(item, Reject) and item.reason == NOT_UTF8 and original != "utf-8":
            item = Reject(item.line, f"not {original.upper()}")
        yield item


def read_documents(file: InputFile, block_bytes: int, blocks: int | None = None) -> Iterator[Document]:
    """Yield the documents of a file, or of so many first blocks of it, without its rejects and skipped records.

    Raises:
        HunminError: as `read_blocks` and `parse_block`.
    """
    for format, block in islice(read_blocks(file, block_bytes), blocks):
        yield from (item for item in parse_block(file, format, block) if isinstance(item, Document))
