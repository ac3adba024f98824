"""Survey before any work: size of the inputs, the way each is read, and about how many documents they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import HunminError
from common.files import is_remote, suffix_of
from data.readers.formats import is_referred, parse_block, read_blocks, read_documents, seekable
from data.readers.records import Document, InputFile
from data.readers.volume import TextSize, file_bytes

Way = Literal["ranges", "parts", "beginning"]
"""How a file can be read: any range of it; parts that its format has, as row groups; or only from its beginning."""
SAMPLED_FILES, SAMPLED_DOCUMENTS = 20, 500
"""Files that are looked into for the size of a document, and documents of each."""
BLOCK_BYTES = 1 << 16


@dataclass(frozen=True)
class Surveyed:
    """One input file; `stored` and `text` (about) are bytes, None where not known before it is read."""

    file: InputFile
    way: Way
    stored: int | None
    text: float | None


def survey(files: Sequence[InputFile], unit_bytes: int) -> list[Surveyed]:
    """Return for each file how large it is and which way it is read; in one go where it has at most `unit_bytes`."""
    sizes = TextSize()
    surveyed = []
    for file in files:
        stored = file_bytes(file.path)
        text = text_of(file, sizes)
        way: Way = "parts" if is_referred(file) else "ranges" if seekable(file, unit_bytes) else "beginning"
        surveyed.append(Surveyed(file, way, stored, text))
    return surveyed


def text_of(file: InputFile, sizes: TextSize) -> float | None:
    """Return the bytes of what a file holds, about; None where that is not known."""
    return _rows_bytes(file) or sizes.of(file.path)


def _rows_bytes(file: InputFile) -> float | None:
    if suffix_of(file.path) != ".parquet" or is_remote(file.path):
        return None
    try:
        facts = pq.read_metadata(file.path)
    except (pa.ArrowException, OSError):
        return None
    return float(sum(facts.row_group(index).total_byte_size for index in range(facts.num_row_groups)))


def document_bytes(files: Sequence[InputFile]) -> float | None:
    """Return the mean bytes of text of a document, by the first documents of some files; None where none is found."""
    count, size = 0, 0
    for file in files[:: max(1, len(files) // SAMPLED_FILES)]:
        for document in islice(documents_of(file, 1), SAMPLED_DOCUMENTS):
            count = count + 1
            size = size + len(document.text.encode("utf-8", "replace"))
    return size / count if size else None


def documents_of(file: InputFile, blocks: int | None = None) -> Iterator[Document]:
    """Yield the documents of so many first blocks of a file, or of all; they end where it cannot be read."""
    try:
        yield from read_documents(file, BLOCK_BYTES, blocks)
    except HunminError:  # whoever reads it for its documents says so
        return


def estimated_text(files: Sequence[InputFile]) -> float:
    """Return about how many bytes of text the files hold, without those whose size is not known."""
    sizes = TextSize()
    shares: dict[tuple[int, str], float] = {}
    text = 0.0
    for file in files:
        kind = id(file.settings), suffix_of(file.path)
        if kind not in shares:
            shares[kind] = text_share(file)
        text += (text_of(file, sizes) or 0.0) * shares[kind]
    return text


def text_share(file: InputFile) -> float:
    """Return about which share of a file's content is its documents' text, 0 … 1, by its beginning: of a table that is
    what its text columns take. 1 where no document is found.
    """
    if is_referred(file) or is_remote(file.path):
        return 1.0
    size = text = 0
    try:
        for format, block in islice(read_blocks(file, BLOCK_BYTES), 1):
            size = block.size
            of_block = (item for item in parse_block(file, format, block) if isinstance(item, Document))
            text = sum(len(document.text.encode("utf-8", "replace")) for document in of_block)
    except HunminError:  # whoever reads it for its documents says so
        return 1.0
    return min(1.0, text / size) if text else 1.0
