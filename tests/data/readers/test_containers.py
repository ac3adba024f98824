"""Archives, documents of programs, parts of archives and pointers: told by first bytes, and refused by name."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from common.errors import UserError
from data.benchmark import load_benchmark
from data.instruct.files import records_of
from data.instruct.spec import Layout
from data.readers.containers import ContainerError, StandInError
from data.readers.damage import DamagedInputError
from data.readers.formats import read_blocks
from data.readers.paths import list_files
from data.units.fields import check_fields

from .reading import read, texts

LINES = '{"text": "아이들이 동화책을 읽는다."}\n'.encode() * 5
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0a" * 32 + b"\nsize 146946961\n"
ANNEX = b"/annex/objects/SHA256E-s1234--0a0a0a.parquet\n"


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.jsonl", LINES)
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.jsonl"), io.BytesIO(b""))
    return out.getvalue()


CONTENT = {
    "ZIP": zipped(),
    "ALZip": b"ALZ\x01\x0a\0\0\0BLZ\x01" + bytes(range(256)),
    "EGG": b"EGGA\x00\x01" + bytes(range(256)),
    "RAR": b"Rar!\x1a\x07\x01\x00" + bytes(99),
    "7z": b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(99),
    "tar archive": tarred(),
    "gzip": gzip.compress(LINES),
    "bzip2": bz2.compress(LINES),
    "xz": lzma.compress(LINES),
    "zstd": zstandard.compress(LINES),
    "lz4": b"\x04\x22\x4d\x18" + bytes(99),
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "HWP": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99),
    "RTF": rb"{\rtf1\ansi\deff0 {\fonttbl{\f0 Arial;}}",
    "Arrow": b"ARROW1\0\0" + bytes(99),
    "Avro": b"Obj\x01" + bytes(99),
    "ARC": b"filedesc://a.arc 1.2.3.4 20240301000000 text/plain 76\n1 0 A\n",
}


def folder(tmp_path: Path, **files: bytes) -> Path:
    """Write files, with a readable one beside them; __ in a name stands for its dot."""
    (tmp_path / "in").mkdir()
    for name, content in {"docs__jsonl": LINES, **files}.items():
        (tmp_path / "in" / name.replace("__", ".")).write_bytes(content)
    return tmp_path / "in"


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.parquet", "a", "원문.dat"])
@pytest.mark.parametrize("kind", CONTENT)
def test_archives_are_told_whatever_they_are_called(tmp_path, kind, name):
    inputs = folder(tmp_path, **{name: CONTENT[kind]})
    with pytest.raises(UserError) as caught:
        check_fields(list_files([str(inputs)]))
    assert f"{inputs / name} is " in str(caught.value) and kind in caught.value.problem and caught.value.fix
    assert not isinstance(caught.value, DamagedInputError)
    with pytest.raises(ContainerError, match=kind):
        read(inputs / name)


@pytest.mark.parametrize("format", ["text", "jsonl", "csv", "html"])
def test_a_format_that_is_given_makes_no_text_of_an_archive(tmp_path, format):
    (tmp_path / "a.bin").write_bytes(CONTENT["ZIP"])
    with pytest.raises(ContainerError, match="ZIP"):
        read(tmp_path / "a.bin", format=format)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl.gz", gzip.compress(tarred())), ("a.gz", zipped()), ("a.txt.zst", zipped())],
    ids=["tar", "gz", "zst"],
)
def test_what_is_in_a_compressed_file_or_in_its_place_is_told(tmp_path, name, content):
    inputs = folder(tmp_path, **{name: content})
    with pytest.raises(UserError, match=r"is a (tar|ZIP) archive"):
        check_fields(list_files([str(inputs)]))
    with pytest.raises(ContainerError, match=r"is a (tar|ZIP) archive"):
        read(inputs / name)


def test_zstd_with_a_dictionary_of_its_own_is_told(tmp_path):
    content = b"\x5d\x2a\x4d\x18\x04\0\0\0abcd" + b"\x28\xb5\x2f\xfd\x27\x01\x02\x03\x04rest"
    (tmp_path / "a.warc.zst").write_bytes(content)
    with pytest.raises(ContainerError, match="a dictionary of its own"):
        read(tmp_path / "a.warc.zst")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_torn_file_of_the_compression_that_its_name_says_is_damaged_and_no_container(tmp_path, suffix):
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.compress}[suffix]
    (tmp_path / f"a.jsonl{suffix}").write_bytes(pack(LINES)[:14])
    with pytest.raises(DamagedInputError, match="damaged or cut short") as caught:
        read(tmp_path / f"a.jsonl{suffix}")
    assert not isinstance(caught.value, ContainerError)


@pytest.mark.parametrize(
    ("name", "join"),
    [
        ("TS_1.zip.part0", "cat TS_1.zip.part* > TS_1.zip"),
        ("TS_1.zip.part1073741824", "cat TS_1.zip.part* > TS_1.zip"),
        ("원천데이터.zip.001", "cat 원천데이터.zip.* > 원천데이터.zip"),
        ("x.z01", "zip -s 0 x.zip"),
        ("x.7z.001", "cat x.7z.* > x.7z"),
        ("x.tar.gz.aa", "cat x.tar.gz.* > x.tar.gz"),
        ("x.tgz.ab", "cat x.tgz.* > x.tgz"),
        ("corpus.jsonl.gz.part1", "cat corpus.jsonl.gz.part* > corpus.jsonl.gz"),
        ("X.ZIP.PART2", "cat X.ZIP.PART* > X.ZIP"),
    ],
)
def test_parts_are_told_by_their_names_with_how_to_join_them(tmp_path, name, join):
    inputs = folder(tmp_path, **{name: b"\x99" * 40})
    with pytest.raises(UserError, match="is a part of an archive") as caught:
        list_files([str(inputs)])
    assert join in caught.value.fix


@pytest.mark.parametrize("name", ["xaa", "data.0", "data.part0"])
def test_a_part_under_any_name_is_told_by_its_first_bytes(tmp_path, name):
    inputs = folder(tmp_path, **{name: zipped()[:60]})
    with pytest.raises(UserError, match="ZIP archive") as caught:
        check_fields(list_files([str(inputs)]))
    assert "join it first" in caught.value.fix


@pytest.mark.parametrize(
    "name", ["a.alz", "a.egg", "a.zip", "a.7z", "a.rar", "a.tar.gz", "a.tgz", "a.hwpx", "a.docx", "a.rtf", "A.ZIP"]
)
def test_endings_that_are_not_read_stop_the_stage(tmp_path, name):
    with pytest.raises(UserError, match="files are not read"):
        list_files([str(folder(tmp_path, **{name: b"x"}))])


@pytest.mark.parametrize("name", ["corpus.txt.part0", "a.001", "a.jsonl.aa", "sentences.part1"])
def test_parts_of_a_text_are_texts(tmp_path, name):
    (tmp_path / name).write_bytes("첫째 글\n둘째 글\n".encode())
    assert texts(read(tmp_path / name)) == ["첫째 글", "둘째 글"]


@pytest.mark.parametrize(
    "head",
    [
        *("PK 전자의 글이다.", "7z 파일을 푸는 법", "Rar!", "BZh 글", "%PDF 파일이란", "EGGA 라는 말"),
        "version https://git-lfs 라는 줄로 시작한다.",
    ],
)
def test_texts_that_begin_like_one_are_texts(tmp_path, head):
    (tmp_path / "a.txt").write_text(head + "\n", encoding="utf-8")
    assert texts(read(tmp_path / "a.txt")) == [head]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\x89PNG\r\n\x1a\n" + bytes(40), "picture"), (b"\xff\xd8\xff\xe0" + bytes(40), "picture"),
     (b"\0\0\0\x18ftypmp42" + bytes(40), "film"), (b"RIFF\x24\0\0\0WAVEfmt ", "sound")],
)  # fmt: skip
def test_pictures_and_films_are_damaged_inputs_with_their_name(tmp_path, content, message):
    inputs = folder(tmp_path, a__txt=content)
    with pytest.raises(DamagedInputError, match=message):
        read(inputs / "a.txt")
    check_fields(list_files([str(inputs)]))


@pytest.mark.parametrize("pointer", [LFS, LFS.replace(b"git-lfs.github.com", b"hawser.github.com"), ANNEX])
@pytest.mark.parametrize(
    "name", ["a.parquet", "a.txt", "a.jsonl", "a.jsonl.gz", "a.csv", "a.json", "a.db", "a.txt.zst", "a", "a.html"]
)
def test_a_pointer_is_named_with_the_way_to_fetch_whatever_it_stands_for(tmp_path, name, pointer):
    (tmp_path / name).write_bytes(pointer)
    with pytest.raises(StandInError, match=r"is a pointer of git-(lfs|annex)") as caught:
        read(tmp_path / name)
    assert "git lfs pull" in caught.value.fix or "git annex get" in caught.value.fix


def test_an_input_all_of_whose_data_files_are_pointers_stops_the_stage(tmp_path):
    for number in range(3):
        (tmp_path / f"train-{number}.parquet").write_bytes(LFS)
    (tmp_path / "README.md").write_text("# set\n")
    (tmp_path / "LICENSE").write_text("CC0\n")
    with pytest.raises(UserError, match="is a pointer of git-lfs") as caught:
        check_fields(list_files([str(tmp_path)]))
    assert "git lfs pull" in caught.value.fix and not isinstance(caught.value, DamagedInputError)
    (tmp_path / "train-1.jsonl").write_bytes(LINES)  # one that was fetched
    check_fields(list_files([str(tmp_path)]))


def test_containers_on_a_server_are_told_when_read():
    import fsspec

    for name, content in (("x/a.jsonl", zipped()), ("x/b.jsonl.gz", LFS), ("x/c.jsonl.gz", zipped())):
        with fsspec.open(f"memory://{name}", "wb") as stream:
            stream.write(content)
        [file] = list_files([f"memory://{name}"])
        with pytest.raises((ContainerError, StandInError)):
            list(read_blocks(file, 100))


@pytest.mark.parametrize(("content", "message"), [(LFS, "pointer of git-lfs"), (CONTENT["ZIP"], "ZIP archive")])
@pytest.mark.parametrize("name", ["dev.json", "dev.tsv", "dev.parquet", "dev.jsonl.gz"])
def test_benchmarks_and_sets_of_instructions_are_told_alike(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_benchmark(tmp_path)
    with pytest.raises(UserError, match=message):
        list(records_of(str(path), Layout(files=(name,), format="jsonl"), [], lambda number, purpose: 0))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "a.json", "a.jsonl.gz", "a.db"])
def test_a_page_that_a_server_answered_in_place_of_a_table_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"\n<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n")
    with pytest.raises(StandInError, match="is a web page in place of the file"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.html", "a.txt", "a", "a.html.gz"])
def test_pages_that_are_pages_are_read(tmp_path, name):
    content = "<!DOCTYPE html>\n<html><body><p>글이다.</p></body></html>\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert texts(read(tmp_path / name)) == ["글이다."]


def test_links_to_files_that_are_not_there_are_told(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").symlink_to(".git/annex/objects/x/a.parquet")
    for inputs in ("in", "in/*.parquet"):
        with pytest.raises(UserError, match=r"a\.parquet is a link to a file that is not there"):
            check_fields(list_files([str(tmp_path / inputs)]))
    with pytest.raises(StandInError, match="is not there"):
        read(tmp_path / "in")
    (tmp_path / "in" / "b.jsonl").write_bytes(LINES)
    check_fields(list_files([str(tmp_path / "in")]))
