"""Files read by range: what a reader from the beginning finds, under the same line numbers."""

import random
from pathlib import Path

import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import HunminError
from data.readers import records
from data.readers.formats import parse_block, seekable
from data.readers.paths import list_files
from data.readers.ranges import look_through, range_blocks
from data.readers.settings import SourceSettings

from .reading import read


def ranged(path: Path, size: int, step: int = 1, **fields):
    """Return the items of a file that is read by range, the ranges last first, and the blocks."""
    [file] = list_files([SourceSettings(path=str(path), **fields)])
    way = seekable(file, size)
    assert way is not None
    count = way.ranges(size)
    lines = [
        line
        for first in range(0, count, step)
        for line in look_through(str(path), way, size, first, min(first + step, count))
    ]
    blocks = range_blocks(way, lines)
    items = {block.number: list(parse_block(file, way.format, block)) for block in reversed(blocks)}
    return [item for number in sorted(items) for item in items[number]], blocks


LINES = st.lists(st.sampled_from(["", " ", "가나다", "x" * 30, "한글 문장 하나.", '{"text": "글"}', "\r"]), max_size=25)


@settings(max_examples=150)
@given(
    lines=LINES,
    last=st.sampled_from(["", "\n", "끝"]),
    size=st.integers(1, 60),
    step=st.integers(1, 5),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    encoding=st.sampled_from(["utf-8", "cp949"]),
)
def test_what_a_reader_from_the_beginning_finds(tmp_path_factory, lines, last, size, step, mark, encoding):
    path = tmp_path_factory.mktemp("ranges") / "a.txt"
    content = mark + ("\n".join(lines) + last).encode(encoding if not mark else "utf-8")
    path.write_bytes(content + b"\n" * (size + 1))
    items, blocks = ranged(path, size, step, format="text")
    assert items == read(path, format="text")
    # by hand: ranges follow one another, end with a line, and cover the text; lines are counted
    spans = [orjson.loads(block.data) for block in blocks]
    whole = path.read_bytes()
    ends = [span["start"] + block.size for span, block in zip(spans, blocks, strict=True)]
    assert spans[0]["start"] == len(mark) and ends[-1] == len(whole)
    assert ends[:-1] == [span["start"] for span in spans[1:]]
    assert all(whole[end - 1 : end] == b"\n" for end in ends)
    assert [block.first_line for block in blocks] == [whole[: span["start"]].count(b"\n") + 1 for span in spans]


def test_json_lines_keep_the_ids_made_of_line_numbers(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(f'{{"text": "{n}번 글"}}' if n % 7 else "kaputt" for n in range(500)), encoding="utf-8")
    for size in (50, 777, 9000):
        items, _ = ranged(path, size, 3, name="web")
        assert items == read(path, name="web")
    assert items[0].line == 1 and items[1].id == "web-2" and items[-1].id == "web-500"


def test_an_encoding_that_only_a_later_chunk_tells(tmp_path):
    path = tmp_path / "a.txt"
    ascii_lines = b"plain ascii line\n" * 100_000  # more than a chunk
    path.write_bytes(ascii_lines + "한글 줄입니다 여기에 있습니다\n".encode("cp949") * 50_000)
    items, blocks = ranged(path, 300_000, 2)
    assert items == read(path)
    assert {block.encoding for block in blocks} == {"cp949"}
    assert items[-1].text == "한글 줄입니다 여기에 있습니다"


def test_records_too_long_are_rejected_by_number(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MAX_RECORD_BYTES", 5_000)
    for module in ("encoding", "ranges"):
        monkeypatch.setattr(f"data.readers.{module}.READ_BYTES", 512)
    path = tmp_path / "a.txt"
    draw = random.Random(1)
    lines = ["가" * draw.choice([3, 30, 6_000, 1_500]) for _ in range(60)]
    path.write_text("\n".join(lines), encoding="utf-8")
    for size in (100, 4_000, 30_000):
        items, _ = ranged(path, size, 4)
        assert items == read(path)
    assert sum(hasattr(item, "reason") for item in items) == sum(len(line) == 6_000 for line in lines) > 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"text\n" + b"x\n" * 100),
        ("a.jsonl.gz", b"\x1f\x8b"),
        ("a.txt.zst", zstandard.ZstdCompressor().compress(bytes(200))),
        ("a.txt", "한글\n".encode("utf-16") * 50),
        ("small.txt", b"x\n"),
        ("a.bin", b"\0" * 200),
    ],
)
def test_what_is_read_from_its_beginning(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    [file] = list_files([SourceSettings(path=str(tmp_path / name))])
    assert seekable(file, 50) is None


def test_a_file_that_changed_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("가나다\n" * 100, encoding="utf-8")
    [file] = list_files([SourceSettings(path=str(path))])
    way = seekable(file, 100)
    blocks = range_blocks(way, look_through(str(path), way, 100, 0, way.ranges(100)))
    path.write_text("가나다\n" * 50 + "나나다\n" * 50, encoding="utf-8")
    list(parse_block(file, "text", blocks[0]))
    with pytest.raises(HunminError, match="has changed"):
        list(parse_block(file, "text", blocks[-1]))
