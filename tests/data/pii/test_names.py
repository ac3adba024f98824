"""File names: personal ones are refused without being repeated, ordinary ones are not."""

import pytest

from common.errors import UserError
from data.pii import refuse_personal_names


@pytest.mark.parametrize(
    "name",
    [
        *("010-1234-5678.txt", "chat_hong@example.com.jsonl", "900101-1234567.csv.gz", "010.1234.5678"),
        *("hong@example.com", "kim@example.net.gz", "chat-hong@example.com"),
    ],
)
def test_personal_names_are_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(UserError, match="input file 2 of 2") as caught:
        refuse_personal_names(["corpora/a.jsonl", f"corpora/{name}"])
    assert name.split(".")[0] not in str(caught.value)


def test_ordinary_names_pass() -> None:
    names = [
        "news-2021-05-20.jsonl",
        "kowiki-20201101-pages-articles.xml.bz2",
        "part-00000-of-00128.parquet",
        "v1.2.3.4",
    ]
    paths = [f"s3://bucket@region/2020/{name}" for name in names]
    with pytest.raises(UserError, match="input file 5 of 5"):  # the first that is refused is the personal one
        refuse_personal_names([*paths, "010-1234-5678.txt"])
