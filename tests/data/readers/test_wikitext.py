"""Articles under titles between equals signs."""

import pytest

from .reading import ids, read, texts


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_articles(tmp_path, line_end):
    path = tmp_path / "wiki.train.txt"
    lines = [
        " = 첫 글 = ",
        " 본문이다 . ",
        " = = 부분 = = ",
        " 더 있다 . ",
        "",
        " = 둘째 글 = ",
        " 1 = 1 이다 . ",
        " = 빈 글 = ",
        "",
    ]
    path.write_bytes(line_end.join(lines).encode())
    items = read(path)
    assert texts(items) == ["본문이다 .\n부분\n더 있다 .", "1 = 1 이다 ."]
    assert ids(items) == ["wiki.train-1", "wiki.train-6"]


def test_what_stands_before_the_first_title_is_a_document(tmp_path):
    path = tmp_path / "a"
    path.write_text("머리말이다.\n = 글 = \n 본문 \n", encoding="utf-8")
    assert texts(read(path, format="wikitext")) == ["머리말이다.", "본문"]
