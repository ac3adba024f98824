"""Files of a user's own: tables against Python's csv, sentences in columns, BIO labels and entities there and back."""

import csv
import io
import json

import pytest
from datasets import ClassLabel, Dataset, Features, Value
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.scheme import IOB2, Tokens

from klue.tasks.own import check_order, gap_of, labels_of_spans, labels_of_tokens
from klue.tasks.own_files import form_of, read_rows

FIELD = st.text(st.sampled_from('가나 ab"\n,;|1#'), max_size=8)
ENCODINGS = {"utf-8": b"", "utf-8-sig": b"", "cp949": b"", "utf-16": b""}


def rows_of(content: bytes | str, form: str, columns: bool = False) -> list[dict]:
    return read_rows(io.BytesIO(content.encode() if isinstance(content, str) else content), form, columns)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=6),
    st.sampled_from(",;\t"),
    st.sampled_from(list(ENCODINGS)),
    st.booleans(),
    st.booleans(),
)
def test_tables_are_as_csv_wrote_them(rows, delimiter, encoding, stated, quoted) -> None:
    rows = [("한글 이름", "둘"), *[row for row in rows if any(field.strip() for field in row)]]
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL).writerows(rows)
    text = (f"sep={delimiter}\r\n" if stated else "") + stream.getvalue()
    names, *body = rows
    assert rows_of(text.encode(encoding), ".csv") == [dict(zip(names, row, strict=True)) for row in body]


def test_what_spreadsheets_leave_behind() -> None:
    assert rows_of("글,라벨,,\n가,나,,\n,,,\n", ".csv") == [{"글": "가", "라벨": "나"}]
    # without quoting: quotes that are text
    assert rows_of('글\t라벨\n"좋다\t1\n그는 "예"\t0\n', ".tsv") == [
        {"글": '"좋다', "라벨": "1"}, {"글": '그는 "예"', "라벨": "0"},
    ]  # fmt: skip
    assert rows_of('글\t라벨\n"두 줄\n이다"\t1\n', ".tsv") == [{"글": "두 줄\n이다", "라벨": "1"}]


@pytest.mark.parametrize(
    ("content", "form", "reason"),
    [
        ("a,b\n1,2,3\n", ".csv", "ends in line 2 has 3 fields, the first row 2"),
        ('a,b\n"1,2\n', ".csv", "line 2"),
        ("a,a\n1,2\n", ".csv", "called 'a'"),
        (b"a,b\n" + bytes(range(128, 256)), ".csv", "line 2 is not UTF-8"),
        ('{"a": 1}\n{"a"\n', ".jsonl", "line 2: not JSON"),
        ("[1]\n", ".jsonl", "row 1 is no object"),
        ('{"a": 1}', ".json", "neither a list"),
        ("나는 O\n서울 N O\n", ".conll", "line 2 has 3 columns where a token and its label are 2"),
        (b"PAR1", ".parquet", "Parquet"),
    ],
)
def test_damaged_files(content, form, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        rows_of(content, form)


def test_trees() -> None:
    question = {"id": "1", "question": "누구?", "answers": []}
    squad = {"version": "x", "data": [{"paragraphs": [{"context": "본문", "qas": [question]}]}]}
    assert rows_of(json.dumps(squad), ".json") == [{"context": "본문", **question}]
    for form, text in ((".json", '[{"a": 1}]'), (".json", '{"data": [{"a": 1}]}'), (".jsonl", '\ufeff{"a": 1}\n\n')):
        assert rows_of(text, form) == [{"a": 1}]


def test_parquet_of_datasets_gives_labels_their_names() -> None:
    labels = Features({"text": Value("string"), "label": ClassLabel(names=["불만", "칭찬"])})
    stream = io.BytesIO()
    Dataset.from_dict({"text": ["가", "나", "다"], "label": [1, 0, None]}, features=labels).to_parquet(stream)
    want = [{"text": "가", "label": "칭찬"}, {"text": "나", "label": "불만"}, {"text": "다", "label": None}]
    assert read_rows(io.BytesIO(stream.getvalue()), ".parquet") == want


def test_columns() -> None:
    text = (
        "# 주석 한 줄\n-DOCSTART- -X- O O\n# sent_id = 1\n나는 NP O\n서울 NNP B-LC\n# SY O\n## SY B-X\n\n\n"
        "## klue-1\t<서울:LC>로\n로 J O\n"
    )
    want = [(["나는", "서울", "#", "##"], ["O", "B-LC", "O", "B-X"]), (["로"], ["O"])]
    rows = rows_of(text, ".conll")
    assert [(row["tokens"], row["tags"]) for row in rows] == want
    blank = rows_of("## k-1\t가 나\n가\tO\n \tO\n나\tB-X\n", ".tsv", columns=True)
    assert blank == [{"tokens": ["가", " ", "나"], "tags": ["O", "O", "B-X"]}]


def test_endings() -> None:
    names = {
        "hf:a/b/c.csv@v1.parquet": ".csv",
        "a.csv.gz": ".csv",
        "a.JSONL": ".jsonl",
        "a.b.conll.zst": ".conll",
        "a.xlsx": "",
        "csv": "",
    }
    assert {name: form_of(name) for name in names} == names
    assert form_of("hf:a/b/c.csv@v1.parquet") == ".csv"


# BIO


@st.composite
def tagged(draw) -> tuple[list[str], list[str]]:
    """Words, of which one is longer than a character, and sound BIO labels."""
    tokens = draw(st.lists(st.text("가나다", min_size=1, max_size=3), min_size=1, max_size=8))
    tags: list[str] = []
    for _ in tokens:
        go_on = [f"I-{tags[-1][2:]}"] if tags and tags[-1] != "O" else []
        tags.append(draw(st.sampled_from(["O", "B-PS", "B-LC", *go_on])))
    return [*tokens, "마지막"], [*tags, "O"]


@settings(max_examples=80)
@given(tagged())
def test_entities_of_words_stand_at_their_characters(sentence) -> None:
    tokens, tags = sentence
    text, labels = labels_of_tokens(tokens, tags, gap_of([tokens]))
    check_order(labels)
    assert text == " ".join(tokens) and len(labels) == len(text)
    starts = [sum(len(token) + 1 for token in tokens[:number]) for number in range(len(tokens))]
    spans = [
        {"start": starts[e.start], "end": starts[e.end - 1] + len(tokens[e.end - 1]), "label": e.tag}
        for e in Tokens(tags, IOB2).entities
    ]
    assert labels_of_spans(text, spans) == labels
    assert labels_of_spans(text, [list(span.values()) for span in spans]) == labels
    assert [(e.start, e.end, e.tag) for e in Tokens(labels, IOB2).entities] == [(*span.values(),) for span in spans]


def test_gaps() -> None:
    assert gap_of([["나", "는"], ["가", " ", "다"]]) == gap_of([["한"], ["마", "디"]]) == ""
    assert gap_of([["나", "는"], ["서울"]]) == " "
    assert labels_of_tokens(["", "가", "", "나"], ["O", "B-X", "O", "O"], " ") == (
        " 가  나",
        ["O", "B-X", "O", "O", "O"],
    )


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([{"start": 0, "end": 9, "label": "A"}], "A at 0 to 9 does not fit a text of 5"),
        ([[2, 1, "A"]], "does not fit"),
        ([[2, 3, "A"]], "does not fit"),  # a blank
        ([[-1, 2, "A"]], "does not fit"),
        ([[0, 2, "A"], [1, 3, "B"]], "B at 1 to 3 overlaps"),
        ([{"begin": 0, "end": 2, "label": "A"}], "entities are a list of"),
        ([["x", 2, "A"]], "entities are a list of"),
        ("A", "entities are a list of"),
        (None, "entities are a list of"),
    ],
)
def test_entities_that_do_not_fit(spans, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        labels_of_spans("나는 서울", spans)


@pytest.mark.parametrize("tags", [["O", "I-X"], ["B-Y", "I-X"], ["I-X", "O"]])
def test_entities_that_have_not_begun(tags) -> None:
    with pytest.raises(ValueError, match="I-X stands behind"):
        check_order(labels_of_tokens(["가", "나"], tags, "")[1])


@pytest.mark.parametrize("tags", [["S-X", "O"], ["B-", "O"], ["3", "O"], ["O"]])
def test_tags_that_are_none(tags) -> None:
    with pytest.raises(ValueError, match=r"no label of BIO|2 tokens and 1 tags"):
        labels_of_tokens(["가", "나"], tags, "")
