"""Inputs without the column or field of the text are refused before anything begins, with those that they have."""

import json
from pathlib import Path

import pytest

from common.errors import UserError
from data.corpus import build_corpus, corpus_files
from data.units.fields import SAMPLED_FILES, check_fields, unfit_files

from ..building import settings
from ..readers.reading import write_rows


def row(column: str) -> list[dict[str, str]]:
    return [{"id": "1", column: "가나다"}]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".db", ".jsonl", ".json"])
def test_nothing_begins_when_one_input_lacks_its_column(tmp_path: Path, suffix: str) -> None:
    good, bad = write_rows(tmp_path / "a.jsonl", row("text")), write_rows(tmp_path / f"b{suffix}", row("body"))
    chosen = settings(str(good), str(bad))
    with pytest.raises(UserError) as caught:
        build_corpus(chosen, tmp_path / "out")
    assert f"{bad} has no column 'text'" in str(caught.value) and "columns are id, body" in str(caught.value)
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="columns are id, body"):
        check_fields(corpus_files(chosen))


@pytest.mark.parametrize("indent", [None, 1])
def test_an_object_around_the_records_is_named(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": 1, "data": [{"text": "가"}, {"text": "나"}]}, indent=indent))
    with pytest.raises(UserError, match="records_field: data"):
        check_fields(corpus_files(settings(str(path))))
    check_fields(corpus_files(settings({"path": str(path), "records_field": "data"})))


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_records_with_lists_of_objects_are_no_object_around_records(tmp_path: Path, name: str) -> None:
    rows = [{"title": "가", "body": "나다", "tags": [{"name": "라"}]}] * 2
    text = json.dumps(rows) if name.endswith("json") else "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match="set the source's text_field") as caught:
        check_fields(corpus_files(settings(str(tmp_path / name))))
    assert "records_field" not in str(caught.value)
    check_fields(corpus_files(settings({"path": str(tmp_path / name), "text_field": "body"})))


def test_a_folder_fits_when_one_of_its_files_does(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        write_rows(tmp_path / "in" / f"{number}.csv", row("text" if number == 2 else "body"))
    check_fields(corpus_files(settings(str(tmp_path / "in"))))
    (tmp_path / "in" / "2.csv").unlink()
    with pytest.raises(UserError, match=r"no file of .* can be read as it is said"):
        check_fields(corpus_files(settings(str(tmp_path / "in"))))


def test_single_files_without_the_column_are_named_with_the_columns_they_have(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3 * SAMPLED_FILES):  # the kinds of files are looked into one by one
        (tmp_path / "in" / f"{number:03}.txt").write_text("가나다")
    bad = [write_rows(tmp_path / "in" / f"odd{suffix}", row("body")) for suffix in (".csv", ".jsonl", ".parquet")]
    write_rows(tmp_path / "in" / "good.csv", row("text"))
    (tmp_path / "in" / "torn.parquet").write_bytes(b"PAR1 and no more")  # damaged, which the run says
    unfit = unfit_files(corpus_files(settings(str(tmp_path / "in"))))
    assert sorted(file.path for file, _ in unfit) == [str(path) for path in bad]
    for _, error in unfit:
        assert error.reason == "has no column 'text'" and "columns are id, body" in error.rule
    assert unfit_files(corpus_files(settings(str(tmp_path / "in" / "good.csv")))) == []
