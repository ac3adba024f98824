"""Names of files and folders: personal ones are refused without being repeated, ordinary ones are not."""

from pathlib import Path

import pytest

from common.errors import UserError
from data.corpus import corpus_files
from data.pii.names import refuse_personal_names
from data.settings import CorpusSettings

PERSONAL = ("hong@example.com", "chat_hong@example.com", "010-1234-5678", "카카오톡_01012345678", "900101-1234567")


@pytest.mark.parametrize(
    "name",
    [
        *("010-1234-5678.txt", "chat_hong@example.com.jsonl", "900101-1234567.csv.gz", "010.1234.5678"),
        *("hong@example.com", "kim@example.net.gz", "chat-hong@example.com", "０１０－１２３４－５６７８.txt"),
    ],
)
def test_personal_names_are_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(UserError, match="input file 2 of 2") as caught:
        refuse_personal_names(["corpora/a.jsonl", f"corpora/{name}"])
    assert name.split(".")[0] not in str(caught.value)


@pytest.mark.parametrize("folder", PERSONAL)
@pytest.mark.parametrize("input", ["/data/in", "/data/in/", "/data/in/**/*.txt", "/data/in/*/deep/chat.txt", None])
def test_personal_folders_below_an_input_are_refused(folder: str, input: str | None) -> None:
    """List: folders named by personal data (hong@naver.com/chat.txt) reach the manifest, the hashes and the rejects."""
    path = f"/data/in/{folder}/chat.txt" if input is None else f"/data/in/{folder}/deep/chat.txt"
    with pytest.raises(UserError, match="a folder of input file 1 of 1") as caught:
        refuse_personal_names([path], None if input is None else [input])
    assert folder not in str(caught.value)


def test_folders_of_a_url_below_its_glob_are_refused() -> None:
    with pytest.raises(UserError, match="a folder of input file 1 of 1"):
        refuse_personal_names(["s3://bucket/in/hong@example.com/a.txt"], ["s3://bucket/in/*/a.txt"])


def test_what_the_recipe_names_is_its_writers() -> None:
    """Folders above what the recipe names; the same path below a wider input is refused."""
    path = "/home/hong@example.com/in/a/b.txt"
    with pytest.raises(UserError, match="a folder of input file 1 of 1"):
        refuse_personal_names([path], ["/home"])
    assert refuse_personal_names([path], ["/home/hong@example.com/in"]) is None
    assert refuse_personal_names(["s3://me@example.com/in/a.txt"], ["s3://me@example.com/in/*.txt"]) is None


@pytest.mark.parametrize("wide", ["", "/*.jsonl"])
def test_folders_of_inputs_that_would_tell_files_apart_are_refused(tmp_path: Path, wide: str) -> None:
    """Two inputs of one file name: the folder that the recipe names comes into ids and rejects."""
    folders = [tmp_path / "hong@example.com", tmp_path / "kim@example.com"]
    for folder in folders:
        folder.mkdir()
        (folder / "chat.jsonl").write_text('{"text": "안녕하세요."}\n{}\n', encoding="utf-8")
    with pytest.raises(UserError, match="the label of input file 1 of 2 holds personal data") as caught:
        corpus_files(CorpusSettings(inputs=[f"{folder}{wide}" for folder in folders]))
    assert "hong" not in str(caught.value) and "`name`" in str(caught.value)
    named = [{"path": f"{folder}{wide}", "name": f"chat{number}"} for number, folder in enumerate(folders)]
    files = corpus_files(CorpusSettings.model_validate({"inputs": named}))
    assert [file.label for file in files] == ["chat0", "chat1"]


@pytest.mark.parametrize("name", ["hong@example.com", "상담_010-1234-5678"])
def test_names_of_sources_that_are_personal_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text("안녕하세요.\n", encoding="utf-8")
    settings = CorpusSettings.model_validate({"inputs": [{"path": str(tmp_path / "a.txt"), "name": name}]})
    with pytest.raises(UserError, match="the label of input file 1 of 1"):
        corpus_files(settings)


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


def test_the_corpus_looks_at_folders(tmp_path: Path) -> None:
    (tmp_path / "in" / "hong@example.com").mkdir(parents=True)
    (tmp_path / "in" / "hong@example.com" / "chat.txt").write_text("안녕하세요.\n", encoding="utf-8")
    settings = CorpusSettings(inputs=[str(tmp_path / "in")])
    with pytest.raises(UserError, match="the name of a folder"):
        corpus_files(settings)
    assert (
        len(corpus_files(settings.model_copy(update={"pii": settings.pii.model_copy(update={"enabled": False})}))) == 1
    )


def test_the_commit_of_a_data_set_on_the_hub_is_no_personal_data():
    commit = "01012345678" + "9" * 13 + "8801011234567" + "abc"
    with pytest.raises(UserError, match="input file 1 of 1"):
        refuse_personal_names(["in/01012345678.txt"])
    assert refuse_personal_names([f"hf:someone/news@train@{commit}"], [f"hf:someone/news@train@{commit}"]) is None
