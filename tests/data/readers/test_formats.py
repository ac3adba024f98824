"""Readers: formats, rejects, blocks, compression, broken archives."""

import json
from pathlib import Path
from unicodedata import normalize

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.readers.formats import is_referred, parse_block, read_blocks
from data.readers.paths import list_files
from data.readers.records import Document
from data.readers.settings import SourceSettings

from .reading import COMPRESS, read


@pytest.mark.parametrize("suffix", COMPRESS)
def test_json_lines_whatever_the_compression(tmp_path, suffix):
    path = tmp_path / f"talk.jsonl{suffix}"
    lines = [{"text": "첫째 글", "id": "a", "licence": "CC0"}, {"text": "둘째 글", "source": "radio"}]
    path.write_bytes(COMPRESS[suffix]("\n".join(json.dumps(line) for line in lines).encode()))
    assert read(path) == [Document("a", "talk", "CC0", "첫째 글"), Document("talk-2", "radio", "", "둘째 글")]


@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 20])
def test_paragraphs_are_separated_by_blank_lines(tmp_path, block_bytes, monkeypatch):
    monkeypatch.setattr("data.readers.encoding.READ_BYTES", 4)
    path = tmp_path / "cc.txt"
    path.write_text("\nfirst\nsecond\n\n \r\nthird\n\n\n\nlast", encoding="utf-8")
    documents = read(path, block_bytes, format="paragraphs")
    assert [(d.id, d.text) for d in documents] == [("cc-2", "first\nsecond"), ("cc-6", "third"), ("cc-10", "last")]


@pytest.mark.parametrize("suffix", ["", ".GZ", ".BZ2", ".XZ", ".ZST", ".Gz"])
@pytest.mark.parametrize("name", ["POSTS.JSONL", "Posts.Csv", "POSTS.TXT"])
def test_suffixes_may_be_in_capitals(tmp_path, name, suffix):
    content = {"L": b'{"text": "\xea\xb0\x80"}\n', "v": "text\n가\n".encode(), "T": "가\n".encode()}[name[-1]]
    path = tmp_path / f"{name}{suffix}"
    path.write_bytes(COMPRESS[suffix.lower()](content))
    assert [item.text for item in read(path)] == ["가"]
    assert list_files([str(path)])[0].label == name.rsplit(".", 1)[0]


def test_parquet_may_be_in_capitals(tmp_path):
    pq.write_table(pa.table({"text": ["가"]}), tmp_path / "A.Parquet")
    assert [item.text for item in read(tmp_path / "A.Parquet")] == ["가"]
    (file,) = list_files([str(tmp_path / "A.Parquet")])
    assert is_referred(file)


def labels(folder, *names, **fields):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("글\n", encoding="utf-8")
    return [file.label for file in list_files([SourceSettings(path=str(folder), **fields)])]


def test_labels_are_of_the_file_and_unique(tmp_path):
    assert labels(tmp_path / "1", "p/a/x.txt", "p/b/x.txt", "p/y.txt") == ["a/x", "b/x", "y"]
    assert labels(tmp_path / "2", "a.txt", "x/a.txt", "a~2.txt") == ["2/a", "a~2", "x/a"]
    assert labels(tmp_path / "3", "a.txt", "a.jsonl", "b.txt.gz") == ["a.jsonl", "a.txt", "b"]
    assert labels(tmp_path / "4", "a.txt", "b.txt", "c/b.txt", name="web") == ["web/a", "web/4/b", "web/c/b"]
    assert labels(tmp_path / "5", "a.txt", name="web") == ["web"]
    twice = [SourceSettings(path=str(tmp_path / "5"), name="web")] * 2 + [str(tmp_path / "2" / "a~2.txt")] * 2
    assert [file.label for file in list_files(twice)] == ["web", "web~2", "a~2", "a~2~2"]


def test_a_file_more_changes_no_label_of_others(tmp_path):
    before = labels(tmp_path, "b.txt", "c.txt", name="news")
    assert labels(tmp_path, "a.txt", name="news") == ["news/a", *before]


def test_very_long_line_and_url(tmp_path):
    import fsspec

    text = "가" * 1_700_000
    with fsspec.open("memory://corpus/long.jsonl", "wb") as stream:
        stream.write(json.dumps({"text": text}).encode() + b"\n")
    [file] = list_files(["memory://corpus/long.jsonl"])
    [(format, block)] = list(read_blocks(file, 1 << 20))
    [document] = parse_block(file, format, block)
    assert isinstance(document, Document) and document.text == text


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("there", ["NFC", "NFD"])
@pytest.mark.parametrize("pattern", ["자료/말뭉치.csv", "자료/말*.csv", "자료", "자*/*.csv"])
def test_names_in_decomposed_hangul_are_the_same_names(tmp_path, form, there, pattern):
    folder = tmp_path / normalize(there, "자료")
    folder.mkdir()
    (folder / normalize(there, "말뭉치.csv")).write_text(normalize(there, "본문,출처\n가나다,신문\n"))
    source = SourceSettings(
        path=str(tmp_path / normalize(form, pattern)),
        text_field=normalize(form, "본문"),
        source_field=normalize(form, "출처"),
    )
    (file,) = list_files([source])
    items = read(Path(source.path), 1000, text_field=source.text_field, source_field=source.source_field)
    assert file.label == "말뭉치"
    assert [(item.id, item.source, normalize("NFC", item.text)) for item in items] == [("말뭉치-2", "신문", "가나다")]


def test_a_name_of_a_source_is_composed():
    assert SourceSettings(path="a", name=normalize("NFD", "신문")).name == "신문"
