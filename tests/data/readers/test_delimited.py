"""Tables: quoting as the file shows it, line ends in fields, rows that do not fit, columns by name."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.errors import UserError
from data.readers.delimited import UNCLOSED, is_quoted_tsv, quoted_borders

from .reading import ids, read, read_in_pieces, rejects, texts


@pytest.mark.parametrize(
    ("head", "quoted"),
    [
        (b"a\tb\n1\t2\n", False),
        (b'a\tb\n1\t"x"\n', False),
        (b'a\tb\n1\t"x ""y"""\n', True),
        (b'a\tb\n1\t"x\ty"\n', True),
        (b'"a"\t"b"\n1\t2\n', True),
        (b'a\tb\n1\t"x ""y"""\n2\t"z" said he\n3\t"w" said she\n', False),
        (b'a\tb\n1\t"x\n""y""\n""z"""\n2\tw\n', True),
        (b'a\tb\n1\t"open\n2\tmiddle\n3\tclosed"\n4\tend\n5\tend\n', False),
    ],
)
def test_quoting_of_tsv_is_told_from_the_beginning(head, quoted):
    assert is_quoted_tsv(head) is quoted


def test_a_missing_column_names_those_there_are(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("번호,내용\n1,글\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"no column 'text'[\s\S]*번호, 내용"):
        read(path)
    with pytest.raises(UserError, match="did you mean '내용'"):
        read(path, text_field="내 용")


@pytest.mark.parametrize(
    ("content", "says", "personal"),
    [
        ("홍길동,010-1234-5678,글\n김,010-2345-6789,글\n", "does not look like column names (3 columns)", "홍길동"),
        ("이름,hong@example.co.kr\n", "does not look like column names (2 columns)", "hong"),
        ('n,"text\n' + "홍길동,글\n" * 3, "a quote is not closed", "홍길동"),
        ("이름," + "글이 길다 " * 20 + "\n", "does not look like column names (2 columns)", "글이"),
        ("\nn,text\n1,글\n", "the line is blank", "글"),
    ],
)
def test_a_first_row_of_data_is_not_shown(tmp_path, content, says, personal):
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as error:
        read(path)
    assert says in str(error.value) and personal not in str(error.value)


@pytest.mark.parametrize("closed", ["", '9,"닫는 말"\n'])
def test_a_stray_quote_takes_one_row_of_many(tmp_path, closed):
    path = tmp_path / "a.csv"
    rows = [f"{n},글 {n}\n" for n in range(3000)]
    rows[7] = '7,"두 줄\n짜리","열린 채\n'
    path.write_text("n,text\n" + "".join(rows) + closed, encoding="utf-8")
    for block_bytes in (1 << 20, 500):
        items = read(path, block_bytes)
        assert len(texts(items)) == 2999 + bool(closed) and rejects(items) == [(9, UNCLOSED)]


@given(st.text('",\nab', max_size=60), st.integers(1, 20), st.integers(4, 30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stray_quotes_are_the_same_in_blocks_of_any_size(tmp_path, source, block_bytes, read_bytes):
    path = tmp_path / "a.csv"
    path.write_text("n,text\n" + source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("data.readers.delimited.MAX_FIELD_LINES", 2)
        assert read_in_pieces(path, block_bytes, max(read_bytes, 10)) == read(path)


@given(st.text('",\nab', max_size=40))
def test_borders_are_where_the_parser_ends_rows(source):
    import csv

    data = source.encode()
    reader = csv.reader((line + "\n" for line in source.split("\n")[:-1]), delimiter=",")
    rows = sum(1 for _ in reader)
    borders, start, cuts = quoted_borders(","), 0, 0
    while (end := borders.first(data[start:])) > 0:
        start, cuts = start + end, cuts + 1
    open_at_end = '"' in source[len(data[:start].decode()) :]
    assert cuts == rows or (open_at_end and cuts == rows - 1)
    assert borders.last(data) == start


@pytest.mark.parametrize("between", [";", "\t", ","])
@pytest.mark.parametrize("quoted", [True, False])
def test_csv_of_other_languages_is_recognised(tmp_path, between, quoted):
    rows = [
        ["id", "text", "a,b" if quoted else "n"],
        ["1", "첫째 글", "x"],
        ["2", "둘째; 글" if quoted else "둘째", "y"],
    ]
    lines = [between.join(f'"{cell}"' if quoted else cell for cell in row) for row in rows]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    assert texts(read(tmp_path / "a.csv")) == ["첫째 글", rows[2][1]]


SEPARATORS = [
    ("sep=;", ";"),
    ("sep=,", ","),
    ("SEP=|", "|"),
    ("sep=\t", "\t"),
    ("sep=\\t", "\t"),
    ('"sep=;"', ";"),
    ("sep=;;", ";"),
]


@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig", "utf-16", "cp949"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("line", "delimiter"), SEPARATORS)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt"])
def test_the_line_that_names_the_separator_is_passed_over(tmp_path, name, line, delimiter, end, mark):
    rows = [line, delimiter.join(["text", "label"]), delimiter.join(["첫째 글", "1"]), delimiter.join(["둘째 글", "2"])]
    (tmp_path / name).write_bytes((end.join(rows) + end).encode(mark))
    items = read(tmp_path / name)
    assert texts(items) == ["첫째 글", "둘째 글"] and ids(items) == ["a-3", "a-4"] and rejects(items) == []


@pytest.mark.parametrize("block_bytes", [1, 40, 1000])
def test_lines_behind_the_separator_keep_their_numbers_in_any_blocks(tmp_path, block_bytes):
    rows = ["sep=;", "text;n", *(f'"{n};번\n글";{n}' for n in range(30)), "too;many;fields"]
    (tmp_path / "a.csv").write_text("\n".join(rows), encoding="utf-8")
    items = read(tmp_path / "a.csv", block_bytes)
    assert len(texts(items)) == 30 and items == read(tmp_path / "a.csv")
    assert rejects(items) == [(63, "another number of columns than the first row")]


@pytest.mark.parametrize("first", ["sep", "sep=", "separator=;", "sep=a"])
def test_columns_called_alike_are_columns(tmp_path, first):
    (tmp_path / "a.csv").write_text(f"{first},text\n1,글\n", encoding="utf-8")
    assert texts(read(tmp_path / "a.csv")) == ["글"]
