"""`hunmin corpus build --units-only`: the texts are cleaned, and the same command without it makes the corpus."""

from __future__ import annotations

from pathlib import Path

import pytest
from mini import write_recipe

from common.manifest import read_manifest
from hunmin.main import run_command


def test_the_rest_follows_by_the_same_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text(
        "첫 문장이 여기에 있다. 둘째 문장도 있다.\n셋째 문장은 다른 문서에 있다.\n", "utf-8"
    )
    recipe = write_recipe(tmp_path, tmp_path / "a.txt")
    for _ in range(2):  # given again, it finds them done
        assert run_command(["corpus", "build", str(recipe), "--units-only"]) == 0
        assert "run the same command without --units-only to finish the stage" in capfd.readouterr().err
        assert read_manifest(tmp_path / "run" / "corpus") is None
    assert run_command(["corpus", "build", str(recipe)]) == 0
    manifest = read_manifest(tmp_path / "run" / "corpus")
    assert manifest and manifest.counts["documents"] == 2
    assert run_command(["corpus", "build", str(recipe), "--units-only"]) == 0  # all is done: nothing is begun again
    assert read_manifest(tmp_path / "run" / "corpus") == manifest
