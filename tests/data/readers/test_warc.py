"""Web archives: a document per page without headers; records that quote, lie, are damaged or of other kinds."""

import gzip
import random
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.readers.formats import read_blocks, seekable
from data.readers.paths import list_files
from data.readers.settings import SourceSettings

from .reading import COMPRESS, ids, read, read_in_pieces, rejects, skipped, texts

PAGE = "<html><head><title>머리</title></head><body><p>{}</p></body></html>"


def record(
    content: bytes, kind: str = "conversion", media: str = "text/plain", version: str = "1.0", **fields
) -> bytes:
    """Return a record of an archive."""
    lines = [f"WARC/{version}", f"WARC-Type: {kind}", "WARC-Target-URI: http://a.example/", f"Content-Type: {media}"]
    fields = {"Content_Length": len(content), **fields}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n\r\n"


def answer(body: bytes, status: str = "200 OK", **fields: str) -> bytes:
    """Return a record of what a web server answered."""
    head = {"Content_Type": "text/html; charset=utf-8"} | fields
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in head.items())]
    message = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    return record(message, "response", "application/http; msgtype=response")


def page(text: str, codec: str = "utf-8", **fields: str) -> bytes:
    return answer(PAGE.format(text).encode(codec), **fields)


def written(folder: Path, *records: bytes, name: str = "a.warc") -> Path:
    (folder / name).write_bytes(b"".join(records))
    return folder / name


@pytest.mark.parametrize("name", ["a.warc", "a.wet", "a.txt", "a", "a.bin", "a.jsonl"])
@pytest.mark.parametrize("version", ["1.0", "1.1", "0.18"])
def test_archives_are_told_by_their_first_bytes(tmp_path, name, version):
    path = written(tmp_path, *(record(text.encode(), version=version) for text in ("첫째\n둘째 줄", "셋째")), name=name)
    assert texts(read(path)) == ["첫째\n둘째 줄", "셋째"] and ids(read(path)) == ["a-1", "a-2"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_archives_have_one_member_of_compression_a_record(tmp_path, suffix):
    path = written(
        tmp_path, *(COMPRESS[suffix](record(f"{n}번 글".encode())) for n in range(20)), name=f"a.warc{suffix}"
    )
    assert texts(read(path)) == [f"{n}번 글" for n in range(20)]


def test_other_kinds_of_records_are_passed_over_and_counted(tmp_path):
    others = [record(b"software: x", kind, "application/warc-fields") for kind in ("warcinfo", "request", "metadata")]
    path = written(tmp_path, *others, page("글"), record(b"HTTP/1.1 200 OK\r\n\r\n", "revisit", "application/http"))
    assert texts(read(path)) == ["글"] and ids(read(path)) == ["a-4"]
    assert [reason for _, reason in skipped(read(path))] == [
        *("warcinfo record", "request record", "metadata record", "revisit record")
    ]


@pytest.mark.parametrize("length", ["3", "40", "4000", "x", "-1", ""])
def test_a_wrong_length_costs_its_record_and_no_other(tmp_path, length):
    broken = record("틀린 길이의 글이다.".encode(), Content_Length=length)
    path = written(tmp_path, record("앞 글".encode()), broken, record("뒤 글".encode()), record("끝 글".encode()))
    items = read(path)
    assert texts(items) == ["앞 글", "뒤 글", "끝 글"] and ids(items) == ["a-1", "a-3", "a-4"]
    assert rejects(items) == [(2, "a damaged record")]


NUMBERS = st.lists(st.integers(0, 9), min_size=1, max_size=25)


@given(kinds=NUMBERS, block_bytes=st.integers(1, 2000), read_bytes=st.integers(20, 900))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_of_any_size_hold_the_same_whatever_is_broken(tmp_path, kinds, block_bytes, read_bytes):
    made = {
        0: lambda text: record(text, Content_Length=len(text) + 7),
        1: lambda text: record(text, Content_Length=max(len(text) - 5, 0)),
        2: lambda text: b"junk WARC/1.0\r\n" + text + b"\r\n\r\n",
        3: lambda text: record(text, Content_Length=10**9),
        4: lambda text: record(b"x", "request"),
        5: lambda text: page(text.decode()),
        6: lambda text: record(b"WARC/1.0\r\nContent-Length: 2\r\n\r\n" + text),
        7: lambda text: b"WARC/1.1\r\n" + text + b"\r\n",
    }
    archive = b"".join(made.get(kind, record)(f"{n}번째 글이다.".encode()) for n, kind in enumerate(kinds))
    path = written(tmp_path, archive)
    whole = read_in_pieces(path, 1 << 20, 1 << 20, format="warc")
    assert read_in_pieces(path, block_bytes, read_bytes, format="warc") == whole
    assert len(set(ids(whole))) == len(texts(whole))
    sound = [n for n, kind in enumerate(kinds) if kind in (5, 8, 9)]
    assert {f"{n}번째 글이다." for n in sound} <= set(texts(whole))


def test_a_record_too_long_is_one_reject_and_is_not_held(tmp_path):
    path = written(tmp_path, record("앞 글".encode()), record("긴 글 ".encode() * 500), record("뒤 글".encode()))
    items = read_in_pieces(path, 100, 64, limit=2000)
    assert texts(items) == ["앞 글", "뒤 글"] and rejects(items) == [(2, "longer than 0.002 MB")]


def test_what_a_damaged_member_takes_is_what_follows_it(tmp_path):
    members = [gzip.compress(record((f"{n}번 글 " + "가나다라 " * 50).encode())) for n in range(9)]
    members[6] = members[6][:30] + bytes(20) + members[6][50:]
    path = written(tmp_path, *members, name="a.warc.gz")
    [file] = list_files([str(path)])
    blocks = []
    with pytest.raises(Exception, match="is damaged or cut short"):
        for format, block in read_blocks(file, 100):
            blocks.append((format, block.first_line))
    assert {format for format, _ in blocks} == {"warc"} and len(blocks) == 6


@pytest.mark.parametrize(
    ("codec", "fields"),
    [
        ("utf-8", {}),
        ("cp949", {"Content_Type": "text/html; charset=euc-kr"}),
        ("cp949", {"Content_Type": "text/html; charset=ks_c_5601-1987"}),
        ("cp949", {"Content_Type": "text/html"}),
        ("cp949", {"Content_Type": "text/html; charset=utf-8"}),
        ("cp949", {"Content_Type": "text/html; charset=ISO-8859-1"}),
        ("utf-16", {}),
        ("utf-8-sig", {"Content_Type": "text/html; charset=euc-kr"}),
        ("utf-8", {"Content_Type": "application/xhtml+xml"}),
        ("utf-8", {"Content_Type": "text/html; charset=no-such-thing"}),
        ("utf-8", {"content_type": "TEXT/HTML"}),
    ],
)
def test_pages_are_read_in_the_encoding_they_are_in(tmp_path, codec, fields):
    head = {} if "content_type" not in fields else {"Content_Type": "text/html"}
    path = written(tmp_path, page("똠방각하와 펲시콜라를 마셨다.", codec, **{**head, **fields}))
    assert texts(read(path)) == ["똠방각하와 펲시콜라를 마셨다."]


def test_a_page_says_its_encoding_itself(tmp_path):
    body = '<html><head><meta http-equiv="Content-Type" content="text/html; charset=shift_jis"></head><p>日本の本</p>'
    path = written(tmp_path, answer(body.encode("shift_jis"), Content_Type="text/html"))
    assert texts(read(path)) == ["日本の本"]


def test_one_broken_character_costs_no_page_and_many_do(tmp_path):
    good = PAGE.format("가나다라 마바사 " * 50).encode()
    noise = random.Random(1).randbytes(600)
    path = written(tmp_path, answer(good.replace("마".encode(), b"\xeb\xa7", 1)), answer(b"<p>" + noise))
    items = read(path)
    assert len(texts(items)) == 1 and texts(items)[0].count("가나다라") == 50
    assert rejects(items) == [(2, "in no known encoding")]


def chunked(body: bytes) -> bytes:
    pieces = [body[n : n + 17] for n in range(0, len(body), 17)]
    return b"".join(b"%x;x=y\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.compress),
        ("identity", bytes),
        ("gzip", bytes),  # unpacked by the crawler, which left the field
        ("deflate", bytes),
        ("br", bytes),
    ],
)
@pytest.mark.parametrize("send", [chunked, bytes])
def test_what_was_packed_and_sent_in_chunks_is_put_together(tmp_path, encoding, pack, send):
    body = send(pack(PAGE.format("묶어서 보낸 글이다.").encode()))
    fields = {"Content_Encoding": encoding, "Transfer_Encoding": "chunked"}
    assert texts(read(written(tmp_path, answer(body, **fields)))) == ["묶어서 보낸 글이다."]


def test_what_cannot_be_unpacked_is_a_reject(tmp_path):
    torn = gzip.compress(PAGE.format("글").encode())[:12] + bytes(40)
    path = written(
        tmp_path,
        answer(b"\x1b\x0e\x00\xf8\x8d", Content_Encoding="br"),
        answer(torn, Content_Encoding="gzip"),
        record(b"no http at all", "response", "application/http"),
        answer(gzip.compress(bytes(65_000_000)), Content_Encoding="gzip"),
    )
    assert [reason for _, reason in rejects(read(path))] == [
        "a content encoding that is not read",
        "a content encoding that is damaged",
        "no answer of HTTP",
        "longer than 64 MB",
    ]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (answer(b"<p>gone", "404 Not Found"), "HTTP status 404"),
        (answer(b"", "301 Moved", Location="http://b.example"), "HTTP status 301"),
        (answer(b"\x89PNG\r\n", Content_Type="image/png"), "neither HTML nor plain text"),
        (answer(b'{"a": 1}', Content_Type="application/json"), "neither HTML nor plain text"),
        (answer(b" ", Content_Type="text/html"), "no text"),
        (record(b"20240301 1.2.3.4", "response", "text/dns"), "another kind of record"),
        (record(b"\x89PNG\r\n", "conversion", "image/png"), "neither HTML nor plain text"),
    ],
)
def test_what_holds_no_text_by_its_nature_is_skipped(tmp_path, made, reason):
    assert skipped(read(written(tmp_path, made, page("글")))) == [(1, reason)]


def test_plain_text_pages_resources_and_pages_told_by_the_crawler(tmp_path):
    plain = answer("첫 줄\n둘째 줄".encode(), Content_Type="text/plain; charset=utf-8")
    resource = record(PAGE.format("자원").encode(), "resource", "text/html")
    message = b"HTTP/1.0 200 OK\r\n\r\n" + PAGE.format("이름 없는 쪽").encode()
    bare = record(message, "response", "application/http; msgtype=response")
    identified = record(message, "response", "application/http", WARC_Identified_Payload_Type="application/xhtml+xml")
    items = read(written(tmp_path, plain, resource, bare, identified))
    assert texts(items) == ["첫 줄\n둘째 줄", "자원", "이름 없는 쪽", "이름 없는 쪽"]


def test_an_archive_is_read_from_its_beginning(tmp_path):
    path = written(tmp_path, *(record(f"{n}번 글".encode()) for n in range(50)), name="a.txt")
    [file] = list_files([SourceSettings(path=str(path))])
    assert seekable(file, 100) is None
