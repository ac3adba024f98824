"""A run of three stages that only write files, in place of the real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.errors import HunminError
from common.manifest import MANIFEST
from hunmin.pipeline import run as engine
from hunmin.pipeline import stages
from hunmin.pipeline.inputs import Input
from hunmin.pipeline.stage import Stage
from hunmin.recipes.recipe import Recipe

Work = Callable[[Path, Path], dict[str, Any]]


class House:
    """Three stages a → b → c in place of the real ones; `did` says which ran, `fail` makes one break half way."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.did, self.fail = folder, [], ""  # type: ignore[var-annotated]
        self.run, self.patch = folder / "run", monkeypatch
        (folder / "input.txt").write_text("input")
        read = Input("input.txt", str(folder / "input.txt"))
        table = (
            Stage("a", (), lambda r: {"x": r.seed}, self._work("a"), lambda r: [read]),
            Stage("b", ("a",), lambda r: {"lr": r.pretrain.optimizer.learning_rate}, self._work("b")),
            Stage("c", ("a", "b"), lambda r: {}, self._work("c")),
        )
        monkeypatch.setattr(stages, "STAGES", table)

    def _work(self, name: str) -> Callable[[Recipe, Path, Path], dict[str, Any]]:
        def work(recipe: Recipe, run: Path, out: Path) -> dict[str, Any]:
            leftovers = (out / "piece").exists()
            (out / "piece").write_text(name)
            if self.fail == name:
                raise KeyboardInterrupt
            self.did.append(name + ("+" if leftovers else ""))
            (out / "result").write_text(self.results(recipe)[name])
            return {"n": 1}

        return work

    def change(self, name: str, /, **facts: Any) -> None:
        """Make another stage of one: with other inputs, settings, …"""
        changed = (replace(stage, **facts) if stage.name == name else stage for stage in stages.STAGES)
        self.patch.setattr(stages, "STAGES", tuple(changed))

    @staticmethod
    def results(recipe: Recipe) -> dict[str, str]:
        """Return what each stage writes."""
        return {"a": f"a {recipe.seed}", "b": f"b {recipe.pretrain.optimizer.learning_rate}", "c": "c"}

    def recipe(self, **changes: Any) -> Recipe:
        lr = changes.pop("lr", 1e-4)
        tree = {"name": "t", "out": str(self.run), "corpus": {"inputs": ["x"]}, "klue": {"data": "y"}}
        tree |= {"pretrain": {"optimizer": {"learning_rate": lr}}, **changes}
        return Recipe.model_validate(tree)

    def go(self, **changes: Any) -> list[str]:
        self.did.clear()
        options = {key: changes.pop(key) for key in ("first", "last", "restart") if key in changes}
        engine.run(self.recipe(**changes), **options)
        return list(self.did)

    def stop(self, name: str, **changes: Any) -> Path:
        """Go, and be interrupted half way through a stage; return its unfinished folder."""
        self.fail = name
        with pytest.raises(KeyboardInterrupt):
            self.go(**changes)
        self.fail = ""
        return self.run / f"{name}.partial"

    def refused(self, *messages: str, **changes: Any) -> None:
        """Go, and be refused with all of this in the message, before any work."""
        with pytest.raises(HunminError) as error:
            self.go(**changes)
        assert [text for text in messages if text not in str(error.value)] == [], str(error.value)
        assert self.did == []

    def manifests(self) -> dict[str, bytes]:
        return {n: (self.run / n / MANIFEST).read_bytes() for n in "abc"}
