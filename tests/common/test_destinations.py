"""The door for outputs: what appears there during the work stays, and kills leave the old or the new."""

import os
import shutil
from pathlib import Path

import pytest

from common import files
from common.destinations import OutputFile, claim_folder, new_folder, refuse_folder
from common.errors import UserError
from common.files import MADE_BY
from common.manifest import Manifest, describe_outputs, write_manifest
from tests.kills import killed_at
from tests.rights import without_root


def fill(folder: Path, content: str) -> None:
    (folder / "deep").mkdir(parents=True, exist_ok=True)
    for name in ("a.txt", "deep/b.txt"):
        (folder / name).write_text(content)
    write_manifest(folder, Manifest(stage="s", settings={}, inputs={}, outputs=describe_outputs(folder)))


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.rglob("*.txt")}


def test_the_root_of_the_file_system_is_no_output() -> None:
    for refuse in (OutputFile, refuse_folder, lambda path: claim_folder(path, "scores")):
        with pytest.raises(UserError, match="cannot write to /: it is"):
            refuse(Path("/"))


def test_a_file_that_appears_during_the_work_stays(tmp_path: Path) -> None:
    out = OutputFile(tmp_path / "o", b"kind")
    with pytest.raises(UserError, match="already exists"), out.open() as stream:
        stream.write("kind: new")
        out.path.write_text("mine")
    assert out.path.read_text() == "mine" and [*tmp_path.iterdir()] == [out.path]
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "made").write_text("kind: new")
    with pytest.raises(UserError, match="already exists"):
        out.place(tmp_path / "w" / "made")
    assert out.path.read_text() == "mine"


@pytest.mark.parametrize("stage", ["", "s"])
def test_a_folder_that_appears_during_the_work_stays(stage: str, tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="it is not empty: it holds something else"),
        new_folder(tmp_path / "o", stage) as made,
    ):
        fill(made, "new")
        (tmp_path / "o").mkdir()
        (tmp_path / "o" / "notes").write_text("mine")
    assert (tmp_path / "o" / "notes").read_text() == "mine" and [*tmp_path.iterdir()] == [tmp_path / "o"]


@pytest.mark.parametrize("message", ["notes was added", "deep/notes was added", ".x was added", "empty was added",
                                  "a.txt was changed", "manifest"])  # fmt: skip
def test_a_folder_is_replaced_only_as_hunmin_left_it(message: str, tmp_path: Path) -> None:
    fill(tmp_path, "old")
    refuse_folder(tmp_path, "s")
    name = message.split()[0]
    if name == "empty":
        (tmp_path / name).mkdir()
    elif name == "manifest":
        (tmp_path / "manifest.json").write_text("{}")
    else:
        (tmp_path / name).write_text("neu")  # as many bytes
    with pytest.raises(UserError, match="it holds something else" if name == "manifest" else message):
        refuse_folder(tmp_path, "s")


def test_a_folder_of_another_stage_is_not_replaced_and_one_that_lacks_a_file_is(tmp_path: Path) -> None:
    fill(tmp_path / "o", "old")
    for stage in ("", "other"):
        with pytest.raises(UserError, match="it holds something else"):
            refuse_folder(tmp_path / "o", stage)
    (tmp_path / "o" / "a.txt").unlink()
    with new_folder(tmp_path / "o", "s") as made:
        fill(made, "new")
    assert contents(tmp_path / "o") == {"a.txt": "new", "b.txt": "new"}


def test_a_folder_is_continued_by_its_own_kind_alone(tmp_path: Path) -> None:
    for _ in range(2):
        claim_folder(tmp_path / "o", "scores")
        (tmp_path / "o" / "result").write_text("kept")
    with pytest.raises(UserError, match="it holds something else"):
        claim_folder(tmp_path / "o", "others")
    (tmp_path / "o" / MADE_BY).write_text("")  # another process is about to write it
    claim_folder(tmp_path / "o", "scores")
    assert (tmp_path / "o" / MADE_BY).read_text() == "scores"


def test_a_refused_command_keeps_no_folder_for_itself(tmp_path: Path) -> None:
    claim_folder(tmp_path / "o", "scores")
    claim_folder(tmp_path / "o", "others")
    assert [(path.name, path.read_text()) for path in (tmp_path / "o").iterdir()] == [(MADE_BY, "others")]


def test_a_pipe_in_a_read_only_folder_is_written(tmp_path: Path) -> None:
    """As /dev/null is, by users who may not write to /dev; a link to it is refused."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(UserError, match="it is a link"):
        OutputFile(tmp_path / "link")
    tmp_path.chmod(0o500)

    def write() -> int:
        reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        with OutputFile(tmp_path / "pipe").open() as stream:
            stream.write("text")
        return 0 if os.read(reading, 9) == b"text" and not os.access(tmp_path, os.W_OK) else 1

    assert without_root(write) == 0
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_kill_before_any_call_leaves_the_old_or_the_new_folder(
    exchanges: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system exchanges no names, the old one may be left under a hidden name."""
    if not exchanges:
        monkeypatch.setattr(files, "_exchange", lambda first, second: False)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    out = tmp_path / "o"

    def work() -> None:
        with new_folder(out, "s") as made:
            fill(made, "new")

    seen = set()
    for number in range(1000):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        fill(out, "old")
        killed = killed_at(work, tmp_path, number)
        whole = [contents(folder) for folder in (out, tmp_path / ".o.old") if folder.is_dir()]
        assert {tuple(folder_contents.values()) for folder_contents in whole} & {("old", "old"), ("new", "new")}
        assert out.is_dir() or not exchanges
        seen.add(contents(out).get("a.txt"))
        if not killed:
            break
    assert number > 8 and {"old", "new"} <= seen and [*tmp_path.iterdir()] == [out]
