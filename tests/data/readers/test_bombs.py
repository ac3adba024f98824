"""Small files that stand for a great deal: bounded in memory, refused by name, and what is only long is read."""

import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from common import compressed
from common.bounded import UnreadableError, load_json
from common.compressed import decompression_errors
from common.errors import UserError
from common.files import open_bytes
from data.readers.damage import DamagedInputError
from data.readers.formats import parse_block, read_blocks
from data.readers.html import html_to_text
from data.readers.markdown import markdown_to_text
from data.readers.paths import list_files
from data.readers.records import Reject

from .reading import COMPRESS, read, texts

LONG = random.Random(0).randbytes(50_000).hex()


def zstd_bomb(blocks: int) -> bytes:
    """Return a frame of blocks of 128 KB that take four bytes each (RFC 8878: one byte, repeated)."""
    out = bytearray(struct.pack("<I", 0xFD2FB528)) + bytes([0, (17 - 10) << 3])
    for number in range(blocks):
        out += ((131072 << 3) | (1 << 1) | (number == blocks - 1)).to_bytes(3, "little") + b"a"
    return bytes(out)


def peak_of(program: str, *arguments: str) -> float:
    """Return the most memory, in GB, that a program takes beyond what its imports do."""
    code = (
        "import resource, sys; from common.files import open_bytes\n"
        "from data.readers.formats import parse_block, read_blocks; from data.readers.paths import list_files\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"import pyarrow.parquet; before = peak()\n{program}\nprint((peak() - before) / 1e6)"
    )
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=root, capture_output=True, text=True, timeout=120
    )
    assert not done.returncode, done.stderr
    return float(done.stdout)


def test_a_zstd_bomb_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt.zst").write_bytes(zstd_bomb(8000))
    assert peak_of("open_bytes(sys.argv[1]).read(1 << 16)", str(tmp_path / "a.txt.zst")) < 0.2


@pytest.mark.parametrize("suffix", [*COMPRESS][1:])
def test_what_expands_too_far_is_refused_by_name(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "FREE_BYTES", 1_000_000)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(COMPRESS[suffix](b"a" * 40_000_000))
    with pytest.raises(UserError, match="expands to more than 250 times") as caught, decompression_errors(path):
        stream = open_bytes(path)
        while stream.read(1 << 20):
            pass
    assert str(path) in str(caught.value)
    with pytest.raises(DamagedInputError, match="expands to more than 250 times its size"):
        read(path)


@pytest.mark.parametrize("suffix", [*COMPRESS][1:])
def test_what_is_only_long_is_read_whole(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hexadecimal digits take half of their size in any format."""
    monkeypatch.setattr(compressed, "FREE_BYTES", 1000)
    (tmp_path / f"a.txt{suffix}").write_bytes(COMPRESS[suffix](LONG.encode()))
    assert open_bytes(tmp_path / f"a.txt{suffix}").read() == LONG.encode()


def test_lines_before_a_bomb_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "FREE_BYTES", 1_000_000)
    packer = zstandard.ZstdCompressor()
    path = tmp_path / "a.txt.zst"
    path.write_bytes(packer.compress("첫째 글이다.\n".encode()) + zstd_bomb(400))
    items = []
    with pytest.raises(DamagedInputError, match="expands"):
        (file,) = list_files([str(path)])
        for format, block in read_blocks(file, 1000):
            items += [*parse_block(file, format, block)]
    assert [item.text for item in items if not isinstance(item, Reject)] == ["첫째 글이다."]


@pytest.mark.parametrize("suffix", [*COMPRESS][1:])
def test_what_is_small_or_repeats_itself_is_read(tmp_path: Path, suffix: str) -> None:
    line = "같은 글이 여러 번 나온다.\n".encode()
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(COMPRESS[suffix](line * 100_000))
    with open_bytes(path) as stream:
        assert stream.read() == line * 100_000


@pytest.mark.parametrize("listed", [False, True])
def test_one_long_value_in_many_rows_of_parquet_takes_its_memory_once(tmp_path: Path, listed: bool) -> None:
    value = "가" * 700_000
    column: list[object] = [[value] * 30] * 4 if listed else [value] * 120
    pq.write_table(
        pa.table({"text": column}), tmp_path / "a.parquet", compression="zstd", dictionary_pagesize_limit=1 << 30
    )
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    program = (
        "(file,) = list_files(sys.argv[1:])\n"
        "import data.readers.parquet; data.readers.parquet.FREE_BYTES = 20_000_000\n"
        "n = sum(1 for f, b in read_blocks(file, 8_000_000) for item in parse_block(file, f, b))\n"
        f"assert n == {len(column)}"
    )
    assert peak_of(program, str(tmp_path / "a.parquet")) < 0.2


def test_lists_of_texts_are_read_as_they_are(tmp_path: Path) -> None:
    rows = [["가", "나"], [], None, ["가", "다", "가"]]
    pq.write_table(pa.table({"text": rows}), tmp_path / "a.parquet")
    assert texts(read(tmp_path / "a.parquet")) == ["가\n나", "", "가\n다\n가"]


def test_a_row_of_parquet_that_stands_for_too_much_is_a_reject(tmp_path: Path) -> None:
    rows = [["가나다"], ["라" * 3_000_000] * 30]
    pq.write_table(pa.table({"text": rows}), tmp_path / "a.parquet", dictionary_pagesize_limit=1 << 30)
    items = read(tmp_path / "a.parquet")
    assert [item.text for item in items if not isinstance(item, Reject)] == ["가나다"]
    assert [item for item in items if isinstance(item, Reject)] == [Reject(2, "longer than 64 MB")]


def test_a_group_of_rows_that_says_it_expands_too_far_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("data.readers.parquet.FREE_BYTES", 1_000_000)
    table = pa.table({"text": ["가" * 3_000_000]})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(DamagedInputError, match="expands to more than 250 times"):
        read(tmp_path / "a.parquet")


def test_a_group_of_rows_that_is_only_long_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.readers.parquet.FREE_BYTES", 1000)
    pq.write_table(pa.table({"text": [LONG]}), tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    assert texts(read(tmp_path / "a.parquet")) == [LONG]


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"0,"])
def test_json_of_values_without_end_is_a_reject(piece: bytes) -> None:
    with pytest.raises(UnreadableError, match="too many values"):
        load_json(b'{"text": "a", "x": [' + piece * 5_000_001 + b"0]}")


def test_json_that_is_long_is_read() -> None:
    assert load_json(b'{"text": "' + b"a," * 4_000_000 + b'"}')["text"] == "a," * 4_000_000


@pytest.mark.parametrize(
    ("convert", "piece"), [(html_to_text, "<b>a"), (markdown_to_text, "- a\n"), (markdown_to_text, "*a* ")]
)
def test_pages_of_marks_without_end_are_rejects(convert: Callable[[str], str], piece: str) -> None:
    with pytest.raises(UnreadableError, match="too many values"):
        convert(piece * 1_000_001)


def test_a_page_of_xml_of_elements_without_end_is_a_reject(tmp_path: Path) -> None:
    page = "<page><title>가</title><ns>0</ns><id>1</id><revision><text>" + "<a/>" * 1_000_001
    (tmp_path / "a.xml").write_text(f"<mediawiki>\n{page}</text></revision></page>\n</mediawiki>")
    assert read(tmp_path / "a.xml") == [Reject(1, "too many values")]
