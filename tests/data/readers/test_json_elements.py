"""JSON over lines: elements found by brackets outside strings, records under a key, what is no object rejected."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from data.readers.json_elements import Scanner

from .reading import read, read_in_pieces, rejects, texts

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


def test_records_under_a_key(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": "1", "data": [{"text": "하나"}, {"text": "둘"}], "end": [{"text": "x"}]}))
    assert texts(read(path, records_field="data")) == ["하나", "둘"]
    with pytest.raises(UserError, match='holds no "rows"'):
        read(path, records_field="rows")


@pytest.mark.parametrize(
    ("content", "expected", "reasons"),
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
def test_nothing_in_a_file_disappears_without_a_reject(tmp_path, content, expected, reasons, block_bytes):
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    items = read(path, block_bytes)
    assert texts(items) == expected and [reason for _, reason in rejects(items)] == reasons


AFTER = "after the end of the object with the records"


@pytest.mark.parametrize(
    ("content", "expected", "reasons"),
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
def test_records_stand_under_the_key_of_the_outermost_object(tmp_path, content, expected, reasons, in_pieces):
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    # the key is looked for in the first read
    read_bytes = content.encode().index('{"text": "가"'.encode()) + 3 if in_pieces else 1000
    items = read_in_pieces(path, 1, read_bytes, records_field="data", encoding="utf-8")
    assert texts(items) == expected and [reason for _, reason in rejects(items)] == reasons
