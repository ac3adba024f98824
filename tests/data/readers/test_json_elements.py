"""JSON over lines: elements found by brackets outside strings, records under a key, what is no object rejected."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from data.readers.json_elements import Scanner

from .reading import ids, read, read_in_pieces, rejects, texts

VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.text('"\\{}[],:ab가', max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text('"\\{', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=8), st.integers(1, 30))
def test_the_scanner_finds_every_element_in_pieces_of_any_size(elements, size):
    data = json.dumps(elements, ensure_ascii=False).encode()[1:]
    scanner, begins, ends = Scanner(), [], []
    for place in range(0, len(data), size):
        begin, end = scanner.feed(data[place : place + size])
        begins += begin.tolist()
        ends += end.tolist()
    assert [json.loads(data[b:e]) for b, e in zip(begins, ends, strict=True)] == elements
    assert scanner.ended


def test_array_of_records_pretty_printed(tmp_path):
    path = tmp_path / "reviews.json"
    path.write_text(json.dumps([{"review": "좋다", "review_id": "9"}, {"review": "나쁘다"}], indent=2))
    items = read(path, text_field="review", id_field="review_id")
    assert texts(items) == ["좋다", "나쁘다"] and ids(items) == ["9", "reviews-2"]


def test_objects_one_after_another_over_several_lines(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{\n "text": "하나"\n}\n{\n "text": "둘"\n}', encoding="utf-8")
    assert texts(read(path)) == ["하나", "둘"]


def test_records_under_a_key(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": "1", "data": [{"text": "하나"}, {"text": "둘"}], "end": [{"text": "x"}]}))
    assert texts(read(path, records_field="data")) == ["하나", "둘"]
    with pytest.raises(UserError, match='holds no "rows"'):
        read(path, records_field="rows")
    (tmp_path / "b.json").write_text('{"text": ' + "[" * 1000 + '"글"' + "]" * 1000 + "}")
    assert rejects(read(tmp_path / "b.json")) == [(1, "text is not a string")]


def test_json_lines_by_another_name_are_json_lines(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"text": "하나"}\n{"text": "둘"}\n', encoding="utf-8")
    assert ids(read(path)) == ["a-1", "a-2"]


def test_what_is_no_object_is_a_reject(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"text": "하나"}, 3, "x", {"text": 4}, [1], {"text" "둘"}, {"text": "셋"}', encoding="utf-8")
    items = read(path)
    assert texts(items) == ["하나", "셋"]
    assert [reason for _, reason in rejects(items)] == [
        "not a JSON object",
        "text is not a string",
        "not a JSON object",
        "not JSON",
    ]


def test_nested_fields_and_null(tmp_path):
    path = tmp_path / "a.json"
    records = [
        {"a": {"b": "깊은 글"}, "meta": {"key": 5}},
        {"a": {"b": None}},
        {"a": {}},
        {"a": [{"b": "첫"}, {"b": "둘"}]},
    ]
    path.write_text(json.dumps(records))
    items = read(path, text_field="a.b", id_field="meta.key")
    assert texts(items) == ["깊은 글", "첫\n둘"] and ids(items) == ["5", "a-4"]
    assert rejects(items) == [(3, "no field 'a.b'")]


@pytest.mark.parametrize(
    ("content", "found", "reasons"),
    [
        ('["가", "나"]', [], ["not a JSON object"]),
        ('[{"text": "가"}, "나", "다"]\n', ["가"], ["not a JSON object"]),
        ('[{"text": "가"}]\n[{"text": "나"}]\n', ["가", "나"], []),
        ('[{"text": "가"}] 그 뒤의 글', ["가"], ["not a JSON object"]),
        ('[{"text": "가"}]\n{"text": "나"}\n{"text": "다"}', ["가"], ["not a JSON object"]),
        ('[{"text": "가"}, "나', ["가"], ["cut short"]),
        ("[]\n", [], []),
    ],
)
@pytest.mark.parametrize("block_bytes", [1, 1000])
def test_nothing_in_a_file_disappears_without_a_reject(tmp_path, content, found, reasons, block_bytes):
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    items = read(path, block_bytes)
    assert texts(items) == found and [reason for _, reason in rejects(items)] == reasons


AFTER = "after the end of the object with the records"


@pytest.mark.parametrize(
    ("content", "found", "reasons"),
    [
        ('{"meta": {"data": [1]}, "data": [{"text": "가"}]}', ["가"], []),
        ('{"text": "\\"data\\": [", "data": [{"text": "가"}], "x": [{"text": "나"}]}\n', ["가"], []),
        ('{"data": [{"text": "가"}]}\n{"data": [{"text": "나"}]}', ["가"], [AFTER]),
        ('{"data": {"text": "가"}, "meta": {"text": "나"}}\n', ["가"], []),
        ('{"data": {"text": "가"}}\n{"data": {"text": "나"}}\n', ["가"], [AFTER]),
        ('{"data": [{"text": "가"}, "나"]}', ["가"], ["not a JSON object"]),
    ],
)
@pytest.mark.parametrize("in_pieces", [True, False])
def test_records_stand_under_the_key_of_the_outermost_object(tmp_path, content, found, reasons, in_pieces):
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    # the key is looked for in the first read
    read_bytes = content.encode().index('{"text": "가"'.encode()) + 3 if in_pieces else 1000
    items = read_in_pieces(path, 1, read_bytes, records_field="data", encoding="utf-8")
    assert texts(items) == found and [reason for _, reason in rejects(items)] == reasons
