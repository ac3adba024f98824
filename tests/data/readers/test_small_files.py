"""A small file of each kind, and all that is read from it: documents, rejects and what is passed over, in order."""

import json
from typing import Any

import pytest

from data.readers.records import Document, Reject, Skipped

from .reading import read
from .test_warc import record

PAGES = [
    {"namespace": "0", "title": "가", "text": "'''가'''는 글자다.[* 각주]", "contributors": ["A"]},
    {"namespace": "0", "title": "나", "text": "#redirect 가\n"},
    {"namespace": "1", "title": "틀", "text": "틀이다"},
    {"namespace": 0, "title": "다", "text": "다도 글자다."},
    {"namespace": "0", "title": "라"},
]
NEWS = {"id": "N.1", "paragraph": [{"id": "N.1.1", "form": "시장이 열렸다"}, {"id": "N.1.2", "form": "모였다."}]}
UTTERANCES = [
    {"form": "어 {laughing} 그거 ((아마)) 맞아", "original_form": "어 그거", "speaker_id": "P1"},
    {"form": "{share:photo}", "speaker_id": "P2"},
    {"form": "&name1& 언니 왔어{emoji}", "speaker_id": "P1"},
    {"form": None, "original_form": "ㅋㅋ 그래", "speaker_id": "P2"},
]
ODD = [{"id": "1"}, {"paragraph": "글"}, {"paragraph": [{"text": "글"}]}, {"paragraph": [{"form": "좋다"}]}]
NESTED = [{"a": {"b": "깊은"}, "meta": {"key": 5}}, {"a": {"b": None}}, {"a": {}}, {"a": [{"b": "첫"}, {"b": "둘"}]}]
SHIFTED = [line.encode("iso2022_kr").removeprefix(b"\x1b$)C") for line in ("첫째", "셋째")]
QUOTING = "기록은 이렇게 적는다.\n\nWARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 3\r\n\r\n가\r\n\r\n끝이다."
WARC = [record(text.encode()) for text in ("앞 글", "뒤 글")]
BARE = b"WARC/1.0\nwarc-type: conversion\nContent-Type:\n text/plain\ncontent-length: %d\n\n%b\n\n" % (
    *(10, "글이다.".encode()),
)
NO_COLUMNS = "another number of columns than the first row"
D, R, S = Document, Reject, Skipped

# case → name, content, settings of the source, items
FILES: dict[str, tuple[str, Any, dict[str, Any], list[Any]]] = {
    "fields of other names": (
        *("x.jsonl", '{"body": "글", "key": 7, "source": "other", "licence": "no"}\n'),
        {"name": "mine", "text_field": "body", "id_field": "key", "licence": "CC0"},
        [D("7", "mine", "CC0", "글")],
    ),
    "bad lines": (
        "a.jsonl",
        b'{"text": "ok"}\nnot json\n{"title": "x"}\n{"text": 3}\n[1]\n\n'
        b'{"text": "\xff\xfe"}\n{"text": "\xea\xb0\x80"}\r\n',
        {},
        [
            *(D("a-1", "a", "", "ok"), R(2, "not JSON"), R(3, "no field 'text'"), R(4, "text is not a string")),
            *(R(5, "not a JSON object"), R(7, "not UTF-8"), D("a-8", "a", "", "가")),
        ],
    ),
    "cut and deep lines": (
        "a.jsonl",
        f'{{"text": "이모지 \\ud83d 뒤"}}\n{{"text": "가", "x": {"[" * 5000}{"]" * 5000}}}\n가',
        {},
        [D("a-1", "a", "", "이모지 \ufffd 뒤"), R(2, "nested too deeply"), R(3, "not JSON")],
    ),
    "numbers that pandas and Python's json write and no JSON holds": (
        "a.jsonl",
        '{"text": "가", "score": NaN}\n{"text": "나", "scores": [1.5, -Infinity, {"x": Infinity}]}\n'
        '{"text": "다", "id": NaN}\n{"text": NaN}\n{"text": "라 \\ud83d", "score": NaN}',
        {},
        [
            *(D("a-1", "a", "", "가"), D("a-2", "a", "", "나"), D("a-3", "a", "", "다")),
            *(R(4, "text is not a string"), D("a-5", "a", "", "라 \ufffd")),
        ],
    ),
    "a bound of a number within": (
        *("a.jsonl", '{"text": "가", "meta": {"score": 0.2}}\n{"text": "나", "meta": {"score": 0.9}}'),
        {"columns": {"meta.score": {"min": 0.5}}},
        [S(1, "'meta.score' beyond its bounds"), D("a-2", "a", "", "나")],
    ),
    "lines of text": (
        *("a.txt", b"\xef\xbb\xbfone\r\n\n two \n\xff\n", {}),
        [D("a-1", "a", "", "one"), D("a-3", "a", "", "two"), R(4, "not UTF-8")],
    ),
    "a broken line in CP949": (
        *("a.txt", "첫째\n".encode("cp949") + b"\xff\xff\n" + "셋째\n".encode("cp949"), {}),
        [D("a-1", "a", "", "첫째"), R(2, "not CP949"), D("a-3", "a", "", "셋째")],
    ),
    "a lone surrogate and an odd byte in UTF-16": (
        "a.txt",
        b"\xff\xfe" + "하나\n".encode("utf-16-le") + b"\x00\xd8" + "\n둘\n셋".encode("utf-16-le") + b"\x01",
        {},
        [D("a-1", "a", "", "하나"), R(2, "not UTF-8"), D("a-3", "a", "", "둘"), R(4, "not UTF-8")],
    ),
    "a broken line in ISO-2022-KR": (
        *("a.txt", b"\x1b$)C" + SHIFTED[0] + b"\n\x0e\x21\n" + SHIFTED[1] + b"\n", {}),
        [D("a-1", "a", "", "첫째"), R(2, "not UTF-8"), D("a-3", "a", "", "셋째")],
    ),
    "quoted fields with delimiters, quotes and line ends": (
        *("a.csv", 'id,text,licence\r\n7,"첫째, ""둘째""\r\n셋째",CC0\r\n,넷째 "다섯째",\r\n'.encode(), {}),
        [D("7", "a", "CC0", '첫째, "둘째"\r\n셋째'), D("a-4", "a", "", '넷째 "다섯째"')],
    ),
    "reviews that are not quoted, whose quotes are text": (
        "a.txt",
        'id\tdocument\tlabel\n1\t"명작"이라는 말\t1\n2\t"겨울"\t0\n3\t좋다"\t1\n둘로 나뉜\n4\t끝\t1\n',
        {"text_field": "document"},
        [
            *(D("1", "a", "", '"명작"이라는 말'), D("2", "a", "", '"겨울"'), D("3", "a", "", '좋다"')),
            *(R(5, NO_COLUMNS), D("4", "a", "", "끝")),
        ],
    ),
    "a table that a spreadsheet saved": (
        *("a.tsv", 'text\tn\n"첫째 ""말""\n둘째"\t1\n셋째\t2\n', {}),
        [D("a-2", "a", "", '첫째 "말"\n둘째'), D("a-4", "a", "", "셋째")],
    ),
    "the same, said not to be quoted": (
        *("a.tsv", 'text\tn\n"첫째 ""말""\n둘째"\t1\n셋째\t2\n', {"quoting": False}),
        [R(2, NO_COLUMNS), D("a-3", "a", "", '둘째"'), D("a-4", "a", "", "셋째")],
    ),
    "several columns, some of them empty": (
        *("a.csv", "title,text\n제목,글\n,혼자\n", {"text_field": ["title", "text"]}),
        [D("a-2", "a", "", "제목\n글"), D("a-3", "a", "", "혼자")],
    ),
    "a lone carriage return": (
        *("a.csv", "n,text\n1,가\r나\n2,다\n".encode(), {}),
        [R(2, "not a row of a table"), D("a-3", "a", "", "다")],
    ),
    "an array of records over lines": (
        *("a.json", json.dumps([{"review": "좋다", "review_id": "9"}, {"review": "나쁘다"}], indent=2)),
        {"text_field": "review", "id_field": "review_id"},
        [D("9", "a", "", "좋다"), D("a-2", "a", "", "나쁘다")],
    ),
    "objects one after another over lines": (
        *("a.json", '{\n "text": "하나"\n}\n{\n "text": "둘"\n}', {}),
        [D("a-1", "a", "", "하나"), D("a-2", "a", "", "둘")],
    ),
    "JSON Lines by another name": (
        *("a.json", '{"text": "하나"}\n{"text": "둘"}\n', {}),
        [D("a-1", "a", "", "하나"), D("a-2", "a", "", "둘")],
    ),
    "elements that are no objects": (
        *("a.json", '[{"text": "하나"}, 3, "x", {"text": 4}, [1], {"text" "둘"}, {"text": "셋"}', {}),
        [
            *(D("a-1", "a", "", "하나"), R(2, "not a JSON object"), R(2, "text is not a string")),
            *(R(3, "not a JSON object"), R(4, "not JSON"), D("a-5", "a", "", "셋")),
        ],
    ),
    "a text nested without end": (
        *("a.json", '{"text": ' + "[" * 1000 + '"글"' + "]" * 1000 + "}", {}),
        [R(1, "text is not a string")],
    ),
    "nested fields and null": (
        "a.json",
        NESTED,
        {"text_field": "a.b", "id_field": "meta.key"},
        [*(D("5", "a", "", "깊은"), S(2, "no text"), R(3, "no field 'a.b'"), D("a-4", "a", "", "첫\n둘"))],
    ),
    "pages of Namuwiki": (
        "a.json",
        PAGES,
        {},
        [
            *(D("a-1", "a", "", "가는 글자다."), S(2, "redirect"), S(3, "other namespace")),
            *(D("a-4", "a", "", "다도 글자다."), R(5, "no field 'text'")),
        ],
    ),
    "newspapers of NIKL": (
        "NEWS.json",
        {"id": "N", "metadata": {}, "document": [NEWS, {**NEWS, "id": "N.2"}]},
        {},
        [D(f"N.{n}", "NEWS", "", "시장이 열렸다\n모였다.") for n in (1, 2)],
    ),
    "utterances of NIKL": (
        "M.json",
        {"id": "M", "document": [{"id": "M.1", "utterance": UTTERANCES}]},
        {},
        [D("M.1", "M", "", "어  그거 아마 맞아\n&name1& 언니 왔어\nㅋㅋ 그래")],
    ),
    "one document of NIKL that is no array": (
        *("S.json", {"id": "S", "document": {"utterance": [{"form": "개의를 선포합니다."}]}}, {}),
        [D("S-1", "S", "", "개의를 선포합니다.")],
    ),
    "annotated sentences of NIKL": (
        *("a.json", {"document": [{"id": "x", "sentence": [{"form": "첫 문장."}, {"form": "둘째."}]}]}, {}),
        [D("x", "a", "", "첫 문장.\n둘째.")],
    ),
    "documents of NIKL of another shape": (
        "a.json",
        {"document": ODD},
        {},
        [
            *(R(n, "no paragraph, utterance or sentence") for n in (1, 2)),
            *(R(3, "a paragraph or utterance without form"), D("a-4", "a", "", "좋다")),
        ],
    ),
    "a text that begins like a web archive": (
        *("a.txt", "WARC/1.0 형식의 글이다.\n", {}),
        [D("a-1", "a", "", "WARC/1.0 형식의 글이다.")],
    ),
    "a page that quotes an archive": (
        *("a.warc", record(QUOTING.encode()) + WARC[0], {}),
        [D("a-1", "a", "", QUOTING), D("a-2", "a", "", "앞 글")],
    ),
    "noise between records": (
        *("a.warc", WARC[0] + b"noise\r\nand more\r\n\r\n" + WARC[1], {}),
        [D("a-1", "a", "", "앞 글"), R(2, "a damaged record"), D("a-3", "a", "", "뒤 글")],
    ),
    "an archive that is cut short": (
        *("a.warc", b"".join(WARC)[:-9], {}),
        [D("a-1", "a", "", "앞 글"), R(2, "cut short")],
    ),
    "a conversion that is no UTF-8": (
        *("a.warc", record(b"\xff\xfe") + WARC[0], {}),
        [R(1, "not UTF-8"), D("a-2", "a", "", "앞 글")],
    ),
    "records without carriage returns whose fields go over lines": (
        *("a.warc", BARE * 2, {}),
        [D("a-1", "a", "", "글이다."), D("a-2", "a", "", "글이다.")],
    ),
    "markup of lines": (
        "a.txt",
        "'''굵은''' [[책|글]]이다.\n",
        {"markup": "namuwiki"},
        [D("a-1", "a", "", "굵은 글이다.")],
    ),
    "markup of paragraphs": (
        *("a.txt", "'''굵은''' [[책|글]]이다.\n", {"markup": "namuwiki", "format": "paragraphs"}),
        [D("a-1", "a", "", "굵은 글이다.")],
    ),
    "markup nested without end": (
        *("a.jsonl", json.dumps({"text": "<div>" * 5000}) + '\n{"text": "글"}', {"markup": "html"}),
        [R(1, "nested too deeply"), D("a-2", "a", "", "글")],
    ),
    "markup beside an id, a source and a licence": (
        *("a.jsonl", {"id": "7", "source": "위키", "licence": "CC0", "text": "'''글'''[* 각주]이다."}),
        {"markup": "namuwiki"},
        [D("7", "위키", "CC0", "글이다.")],
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_what_a_small_file_holds(tmp_path, case):
    name, content, fields, items = FILES[case]
    if not isinstance(content, str | bytes):
        content = json.dumps(content, ensure_ascii=False, indent=4 if "document" in content else None)
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert read(tmp_path / name, **fields) == items
