"""Data sets of the hub: names, rows in blocks, and one clear error when there is no connection."""

import json

import pytest

from common.errors import UserError
from data.readers.hub import split_name
from data.readers.records import Document

from .reading import read, texts


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("hf:someone/news", ("someone/news", None, "train")),
        ("hf:someone/news/small@test", ("someone/news", "small", "test")),
        ("hf:news@validation", ("news", None, "validation")),
    ],
)
def test_names(path, parts):
    assert split_name(path) == (*parts, None)


@pytest.mark.parametrize("path", ["hf:", "hf:a//b", "hf:a/b/c/d", "hf:/a"])
def test_names_of_another_shape(path):
    with pytest.raises(UserError, match="names no data set"):
        split_name(path)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"body": f"글 {n}", "id": n, "more": [n]}) + "\n" for n in range(700)))
    load = datasets.load_dataset

    def local(name, config, split, revision, streaming):
        assert (name, config, revision) == ("someone/news", None, None)
        return load("json", data_files={"train": str(path)}, split=split, streaming=streaming)

    monkeypatch.setattr("datasets.load_dataset", local)


def test_rows_in_blocks_of_any_size(hub):
    whole = read("hf:someone/news", 1 << 30, text_field="body")
    assert whole[1] == Document("1", "someone-news", "", "글 1") and len(whole) == 700
    assert read("hf:someone/news", 1, text_field="body") == whole
    assert texts(read("hf:someone/news", 900, text_field="body", id_field="no", name="n")) == texts(whole)


def test_wrong_column_and_split(hub):
    with pytest.raises(UserError, match=r"no column 'text'[\s\S]*body"):
        read("hf:someone/news")
    with pytest.raises(UserError, match=r"hf:someone/news@nowhere cannot be read"):
        read("hf:someone/news@nowhere", text_field="body")


def test_without_connection(monkeypatch):
    def offline(*_, **__):
        raise ConnectionError("Couldn't reach the hub\nlong story")

    monkeypatch.setattr("datasets.load_dataset", offline)
    with pytest.raises(UserError, match=r"ConnectionError: Couldn't reach the hub\n[\s\S]*HF_ENDPOINT"):
        read("hf:someone/news")


def test_format_hf_needs_such_a_path(tmp_path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(UserError, match="not a data set"):
        read(tmp_path / "a", format="hf")


def test_a_folder_of_the_name_is_not_taken_for_the_hubs(tmp_path, monkeypatch):
    (tmp_path / "someone" / "news").mkdir(parents=True)
    (tmp_path / "someone" / "news" / "a.jsonl").write_text('{"text": "a"}')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="a folder someone/news lies here"):
        read("hf:someone/news")
