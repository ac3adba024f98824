"""Manifests: the same work gives the same bytes; what is missing is seen."""

from pathlib import Path

import pytest

from common.errors import HunminError
from common.manifest import (
    MANIFEST,
    Manifest,
    added_files,
    damaged_outputs,
    describe_outputs,
    made_by,
    missing_outputs,
    package_versions,
    read_manifest,
    write_manifest,
)


def fill(folder: Path) -> Manifest:
    for name in ("b/data.bin", "a.txt", "logs/times.txt", "checkpoints/x", ".mark"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    manifest = Manifest(
        stage="s", settings={"x": 1}, inputs={"i": "h"}, outputs=describe_outputs(folder), counts={"n": 2}
    )
    write_manifest(folder, manifest)
    return manifest


def test_round_trip_and_same_bytes(tmp_path: Path) -> None:
    first, second = fill(tmp_path / "one"), fill(tmp_path / "two")
    assert (tmp_path / "one" / MANIFEST).read_bytes() == (tmp_path / "two" / MANIFEST).read_bytes()
    assert list(first.outputs) == ["a.txt", "b/data.bin"]
    assert read_manifest(tmp_path / "one") == first and first.fingerprint == second.fingerprint
    assert read_manifest(tmp_path) is None


def test_files_that_somebody_added_are_told_from_marks_and_logs(tmp_path: Path) -> None:
    manifest = fill(tmp_path)
    before = ["checkpoints/x", "logs/times.txt", ".mark"]
    for name in (".work.json", ".lock", ".made-by", "b/.lock", "logs/a.log", "logs/metrics.jsonl"):  # Hunmin's own
        (tmp_path / name).write_text("{}")
    assert {*added_files(tmp_path, manifest)} == {*before}
    for name in ("logs/z.log", "a.log", "b/.work.json", "notes.txt", ".hidden"):
        (tmp_path / name).write_text("{}")
    assert {*added_files(tmp_path, manifest)} == {
        *before,
        "logs/z.log",
        "a.log",
        "b/.work.json",
        "notes.txt",
        ".hidden",
    }


@pytest.mark.parametrize(
    ("contents", "missing", "damaged"),
    [
        ({}, [], []),
        ({"a.txt": "", "b/data.bin": None}, ["a.txt", "b/data.bin"], ["a.txt", "b/data.bin"]),
        ({"a.txt": "a.txt and more", "b/data.bin": "B/DATA.BIN"}, ["a.txt"], ["a.txt", "b/data.bin"]),
    ],
    ids=["as they were", "cut and missing", "longer and other bytes"],
)
def test_outputs_that_changed_are_seen(
    contents: dict[str, str | None], missing: list[str], damaged: list[str], tmp_path: Path
) -> None:
    manifest = fill(tmp_path)
    for name, content in contents.items():
        (tmp_path / name).unlink() if content is None else (tmp_path / name).write_text(content)
    assert missing_outputs(tmp_path, manifest) == missing
    assert damaged_outputs(tmp_path, manifest) == damaged


def test_a_folder_is_of_the_stage_that_made_it(tmp_path: Path) -> None:
    fill(tmp_path)
    assert made_by(tmp_path, "s") and not made_by(tmp_path, "t") and not made_by(tmp_path / "b", "s")


def test_a_damaged_manifest_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"stage": ')
    with pytest.raises(HunminError, match="damaged"):
        read_manifest(tmp_path)


def test_versions_of_what_is_installed() -> None:
    assert set(package_versions("pydantic", "no-such-package-here")) == {"pydantic"}
