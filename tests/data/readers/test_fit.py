"""Files of JSON that lack the field with the text fit no more than tables do; nested lists lead to their sentences."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.readers.damage import UnfitInputError
from data.readers.formats import seekable
from data.readers.paths import list_files

from .reading import COMPRESS, read, rejects, texts

NESTED = [
    [{"index": 0, "sentence": "첫 문장이다."}],
    [{"index": 1, "sentence": "둘째다."}, {"index": 2, "sentence": "셋째다."}],
]


def write(path: Path, records: list[object]) -> Path:
    lines = path.name.startswith("lines")
    path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["lines.jsonl", "lines.json", "array.json", "lines"])
def test_a_file_none_of_whose_records_has_the_field_does_not_fit(tmp_path, name):
    path = write(tmp_path / name, [{"id": 1, "content": "글"}, {"id": 2, "content": "글"}])
    with pytest.raises(UnfitInputError) as caught:
        read(path)
    assert caught.value.reason.startswith("has no column 'text'") and "columns are id, content" in caught.value.rule
    assert texts(read(path, text_field="content")) == ["글", "글"]


@pytest.mark.parametrize("name", ["lines.jsonl", "array.json"])
@pytest.mark.parametrize("codec", ["utf-8", "cp949", "utf-16"])
def test_one_record_with_the_field_makes_the_others_rejects(tmp_path, name, codec):
    path = write(tmp_path / name, [{"제목": "가"}, {"제목": "나"}, {"본문": "다"}])
    path.write_bytes(path.read_text("utf-8").encode(codec))
    items = read(path, text_field="본문")
    assert texts(items) == ["다"] and [line for line, _ in rejects(items)] == [1, 2]


@pytest.mark.parametrize("rows", [[], [3, "x"], ["{"], [{"text": None}], [{"text": 4}]])
def test_what_shows_no_other_field_is_left_to_the_records(tmp_path, rows):
    assert len(read(write(tmp_path / "lines.jsonl", rows))) == len(rows)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_alike(tmp_path, suffix):
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(COMPRESS[suffix](b'{"content": "a"}\n' * 9))
    with pytest.raises(UnfitInputError, match="no column 'text'"):
        read(path)


def test_a_file_read_by_ranges_is_told_alike(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"content": "a"}\n' * 99)
    [file] = list_files([str(path)])
    assert seekable(file, 100) is None
    with pytest.raises(UnfitInputError, match="no column 'text'"):
        read(path, 100)
    path.write_bytes(b'{"text": "a"}\n' * 99)
    assert seekable(file, 100) is not None


@pytest.mark.parametrize("indent", [None, 1])
def test_an_object_around_records_is_seen_whatever_its_size(tmp_path, indent):
    """Its end lies beyond the first megabyte, and the file was read as one record without a text."""
    records = [{"sentences": [f'문장 {n}, "인용" \\\\ 하나다.', "둘이다."], "meta": [n]} for n in range(20_000)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": 1, "data": records}, ensure_ascii=False, indent=indent), encoding="utf-8")
    assert path.stat().st_size > 1_500_000
    with pytest.raises(UnfitInputError, match="no column 'text'") as caught:
        read(path)
    assert caught.value.arrays == ["data"] and "records_field" in caught.value.fix
    assert len(texts(read(path, records_field="data", text_field="sentences"))) == 20_000
    path.write_text(json.dumps({"text": "글이다.", "more": records}, ensure_ascii=False), encoding="utf-8")
    assert texts(read(path)) == ["글이다."]


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_dots_lead_through_lists_of_lists(tmp_path, suffix, depth):
    value: object = NESTED
    for _ in range(depth):
        value = [value]
    path = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([{"id": "1", "text": value}] * 2), path)
    else:
        records = [{"id": "1", "text": value}] * 2
        path.write_text(
            "\n".join(map(json.dumps, records)) if suffix == ".jsonl" else json.dumps({"documents": records})
        )
    fields = {"records_field": "documents"} if suffix == ".json" else {}
    assert texts(read(path, text_field="text.sentence", **fields)) == ["첫 문장이다.\n둘째다.\n셋째다."] * 2


def test_lists_may_hold_nothing_or_less_in_some_places(tmp_path):
    value = [[], [{"index": 1}], [{"sentence": None}, {"sentence": "글이다."}], [{"sentence": ["가", ["나", None]]}]]
    path = write(tmp_path / "lines.jsonl", [{"text": value}])
    assert texts(read(path, text_field="text.sentence")) == ["글이다.\n가\n나"]


def test_lists_without_end_lead_nowhere(tmp_path):
    value: object = [{"sentence": "글"}]
    for _ in range(500):
        value = [value]
    path = write(tmp_path / "lines.jsonl", [{"text": value}, {"text": [{"sentence": "끝"}]}])
    items = read(path, text_field="text.sentence")
    assert texts(items) == ["끝"] and rejects(items) == [(1, "no field 'text.sentence'")]


@pytest.mark.parametrize("field", ["text", "text.sentense", "text.index.x"])
def test_the_fix_that_is_named_is_one(tmp_path, field):
    path = write(tmp_path / "lines.jsonl", [{"id": 1, "text": NESTED}] * 3)
    with pytest.raises(UnfitInputError) as caught:
        read(path, text_field=field)
    assert "text.sentence" in str(caught.value)


def test_objects_in_a_table_are_told_with_the_way_into_them(tmp_path):
    pq.write_table(pa.Table.from_pylist([{"text": NESTED}]), tmp_path / "a.parquet")
    assert "text.FIELD" in rejects(read(tmp_path / "a.parquet"))[0][1]
