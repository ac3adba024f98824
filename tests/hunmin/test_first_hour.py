"""A stranger's first recipe: `init` finds the text of three invented files, and a dry run names all that is wrong."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest
import yaml

from common.errors import UserError
from data.readers.formats import read_documents
from data.readers.paths import list_files
from data.readers.settings import SourceSettings
from hunmin.main import run_command
from hunmin.recipes.recipe import load_recipe, recipe_of
from tokenizer.wordpiece import train_vocabulary

SENTENCES = [
    "기차는 안개 속을 천천히 지나갔다.",
    "강가의 물레방아는 봄이 되면 다시 돌아간다.",
    "우체부는 언덕 위의 집까지 편지를 나른다.",
]


def table(path: Path, columns: list[str], rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with title and body, text with documents between blank lines, JSON with sentences in lists of lists."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUNMIN_PII_KEY", "0" * 64)
    rows = [[str(n), f"제목 {n}", f"{SENTENCES[n % 3]} {n}번째다.", "2020-01-01", "정치 사회"] for n in range(60)]
    table(Path("articles.csv"), ["no", "title", "body", "date", "kind"], rows)
    Path("essays.txt").write_text("\n\n".join("\n".join(SENTENCES) for _ in range(20)), encoding="utf-8")
    inner = [
        [{"index": 0, "sentence": SENTENCES[0], "marks": ""}],
        [{"index": 1, "sentence": SENTENCES[1], "marks": ""}],
    ]
    talks = {"name": "대화", "documents": [{"id": str(n), "text": inner, "rank": [0, 1]} for n in range(9)]}
    Path("talks.json").write_text(json.dumps(talks, ensure_ascii=False), encoding="utf-8")


def init(*text: str) -> list[object]:
    """Return the inputs of the recipe that `init` writes."""
    assert run_command(["init", *(word for path in text for word in ("--text", path))]) == 0
    return list(yaml.safe_load(Path("recipe.yaml").read_text(encoding="utf-8"))["corpus"]["inputs"])


def test_the_first_recipe_of_a_stranger_passes_its_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert init("articles.csv", "essays.txt", "talks.json") == [
        {"path": "articles.csv", "text_field": ["title", "body"]},
        {"path": "essays.txt", "format": "paragraphs"},
        {"path": "talks.json", "text_field": "text.sentence", "records_field": "documents"},
    ]
    said = capsys.readouterr().err
    assert "{path: articles.csv, text_field: [title, body]}" in said
    assert run_command(shlex.split(said.split("Check it: ")[1])[1:]) == 0
    files = list_files(load_recipe("recipe.yaml").corpus.inputs)
    assert [len([*read_documents(file, 1 << 20)]) for file in files] == [60, 20, 9]


@pytest.mark.parametrize(("column", "values", "taken"), [
    ("article_id", ["x1", "x2", "x3"], True),
    ("newsId", ["1", "2", "3"], True),
    ("ID", ["1", "2", "3"], True),
    ("문서번호", ["가1", "가2", "가3"], True),
    ("id", ["1", "2", "3"], False),  # is taken without a word
    ("doc_id", ["1", "2", "2"], False),  # tells no documents apart
    ("doc_id", ["1", "", "3"], False),
    ("user_id", ["1", "2", "3"], False),  # of people
    ("전화번호", ["1", "2", "3"], False),
    ("valid", ["1", "2", "3"], False),
])  # fmt: skip
def test_the_column_that_numbers_the_documents_is_their_id(column: str, values: list[str], taken: bool) -> None:
    table(Path("a.csv"), [column, "body"], [[value, SENTENCES[n]] for n, value in enumerate(values)])
    Path("b.jsonl").write_text(
        "".join(json.dumps({column: value, "text": SENTENCES[n]}) + "\n" for n, value in enumerate(values)), "utf-8"
    )
    own = {"id_field": column} if taken else {}
    assert init("a.csv", "b.jsonl") == [
        {"path": "a.csv", "text_field": "body", **own}, {"path": "b.jsonl", **own} if taken else "b.jsonl"
    ]  # fmt: skip
    if taken:
        files = list_files(load_recipe("recipe.yaml").corpus.inputs)
        assert [[document.id for document in read_documents(file, 1 << 20)] for file in files] == [values, values]


def test_a_folder_of_several_kinds_has_an_entry_a_file(tmp_path: Path) -> None:
    assert [entry if isinstance(entry, str) else entry["path"] for entry in init(str(tmp_path))] == [
        str(tmp_path / name) for name in ("articles.csv", "essays.txt", "talks.json")
    ]


def test_files_that_are_read_as_they_are_stay_plain_paths() -> None:
    Path("lines.jsonl").write_text('{"text": "글이다."}\n' * 9, encoding="utf-8")
    Path("lines.txt").write_text("\n".join(SENTENCES * 9), encoding="utf-8")
    Path("spaced.txt").write_text("\n\n".join(SENTENCES * 9), encoding="utf-8")
    assert init("lines.*", "spaced.txt", "gone.csv", "hf:someone/news") == [
        "lines.*", "spaced.txt", "gone.csv", "hf:someone/news",
    ]  # fmt: skip


def test_a_table_that_shows_no_text_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table(Path("codes.csv"), ["code", "gloss"], [["a1", "x"], ["a2", "y"]])
    assert init("codes.csv") == ["codes.csv"]
    assert "its columns are code, gloss" in (said := capsys.readouterr().err) and "text_field" in said
    Path("recipe.yaml").unlink()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "gloss, code")
    assert init("codes.csv") == [{"path": "codes.csv", "text_field": ["gloss", "code"]}]


def test_the_text_of_a_table_is_what_its_text_columns_hold(tmp_path: Path) -> None:
    """300 kB of numbers beside 3 kB of text yield a vocabulary for 3 kB."""
    rows = [["1234567890" * 100, SENTENCES[n % 3] * 2] for n in range(300)]
    table(Path("wide.csv"), ["number", "body"], rows)
    init("wide.csv")
    assert Path("wide.csv").stat().st_size > 300_000
    assert load_recipe("recipe.yaml").tokenizer.vocab_size == 2000


def test_a_dry_run_names_everything_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HUNMIN_PII_KEY")
    init("essays.txt")
    inputs = "[articles.csv, gone.csv, {path: talks.json, name: 대화}]"
    overrides = [f"corpus.inputs={inputs}", "klue.data=nowhere"]
    capsys.readouterr()
    for words in (["run", "recipe.yaml", *overrides, "--dry-run"], ["run", "recipe.yaml", *overrides]):
        assert run_command(words) == 2
        said = capsys.readouterr().err
        for problem in ("gone.csv", "HUNMIN_PII_KEY", "nowhere"):
            assert problem in said, problem
        assert "columns are no, title, body, date, kind" in said
        assert "{path: articles.csv, text_field: [title, body]}" in said
        assert "{path: talks.json, name: 대화, text_field: text.sentence, records_field: documents}" in said
    assert not Path("runs").exists()


def test_the_entry_that_is_proposed_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    init("essays.txt")
    capsys.readouterr()
    assert run_command(["run", "recipe.yaml", "corpus.inputs=[articles.csv]", "--dry-run"]) == 2
    entry = capsys.readouterr().err.split("instead: ")[1].splitlines()[0]
    assert run_command(["run", "recipe.yaml", f"corpus.inputs=[{entry}]", "--dry-run"]) == 0


def test_fields_without_letters_are_not_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    """`text.marks` holds empty strings, `text.index` numbers."""
    init("essays.txt")
    capsys.readouterr()
    wrong = "corpus.inputs=[{path: talks.json, records_field: documents, text_field: text}]"
    assert run_command(["run", "recipe.yaml", wrong, "--dry-run"]) == 2
    fix = capsys.readouterr().err.split("fix:")[1]
    assert "text.sentence" in fix and "marks" not in fix and "index" not in fix


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_wrong_settings_and_files_that_do_not_fit_are_named_at_once(
    dry: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    init("articles.csv")
    changes = [
        "pretrain.step=3",
        "pretrain.masking.rate=7",
        "corpus.inputs=[{path: articles.csv, text_field: b}, gone]",
    ]
    capsys.readouterr()
    assert run_command(["run", "recipe.yaml", *changes, *dry]) == 2
    said = capsys.readouterr().err
    for problem in (
        "unknown key 'pretrain.step'", "pretrain.masking.rate = 7", "articles.csv has no column 'b'",
        "nothing found at gone (corpus.inputs[1])",
    ):  # fmt: skip
        assert said.count(problem) == 1
    assert run_command(["run", "recipe.yaml", "pretrain.step=3", *dry]) == 2  # files that fit add nothing
    assert capsys.readouterr().err.startswith("error: recipe.yaml: 1 setting wrong\n")
    assert run_command(["run", "recipe.yaml", "corpus.inputs=[{pth: x}]", *dry]) == 2
    said = capsys.readouterr().err
    assert "2 settings wrong" in said and "unknown key 'corpus.inputs.0.pth' (did you mean 'path'?)" in said


def test_a_run_folder_that_is_misspelled_is_told_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "try").mkdir()
    (tmp_path / "try" / "recipe.yaml").write_text("name: t")
    with pytest.raises(UserError, match=r"tri does not exist \(did you mean '.*try'\?\)"):
        recipe_of(tmp_path / "tri")
    with pytest.raises(UserError, match="is no run folder"):
        recipe_of(tmp_path)


def test_a_text_for_a_handful_of_entries_is_told_to_be_too_small() -> None:
    with pytest.raises(UserError, match="give more text; or lower min_character_count"):
        train_vocabulary([{"가": 3}], ["가"], 2000, 2, 1, ["[PAD]"])


def test_an_encoding_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("제목,본문\n하나,글입니다.\n".encode("cp949"))
    [file] = list_files([SourceSettings(path=str(tmp_path / "a.csv"), encoding="utf-8", text_field="본문")])
    with pytest.raises(UserError, match=r"cannot be decoded as utf-8[\s\S]*or leave it out"):
        list(read_documents(file, 1000))
