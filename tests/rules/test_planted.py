"""Rules changed on purpose, one at a time: each changes its stage's output; a renamed variable changes none."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.deduplicate.exact import repeated
from data.instruct.items import drawn_order
from data.pii.types import BY_NAME
from data.readers.records import made_document
from klue.tasks import TASKS
from pretrain.optim import schedules
from scripts.lock_rules import main
from tokenizer.encoder import _drop_empty as without_empty
from tokenizer.pipeline import split_words
from tokenizer.train import covered

from .lock import ROOT, digest, read_lock, refused, verdict, write_lock
from .stages import STAGES, block_of, lacks, output_of

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]


def _value(name: str, value: Any) -> Plant:
    """Return what sets a name of a module."""
    return lambda patch: patch.setattr(name, value)


def _telephone_narrowed(patch: Patch) -> None:
    kind = BY_NAME["TEL"]
    patch.setitem(
        BY_NAME, "TEL", replace(kind, pattern=re.compile(f"{kind.pattern.pattern}(?<!1234)", kind.pattern.flags))
    )


def _last_of_equals(keys: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    dropped, kept = repeated(keys, places)
    return kept, dropped


def _id_with_stroke(file: Any, number: int | str, text: str) -> Any:
    document = made_document(file, number, text)
    return document._replace(id=document.id.replace("-", "/"))


def _warm_up_from_zero(step: int, steps: int, settings: Any) -> float:
    warmup = settings.warmup_steps
    return step / warmup if step < warmup else schedules.SCHEDULES[settings.schedule](step, steps, settings)


def _linear_to_the_last_step(patch: Patch) -> None:
    linear = schedules.SCHEDULES["linear"]
    patch.setitem(schedules.SCHEDULES, "linear", lambda step, steps, settings: linear(step, steps - 1, settings))


def _rows_rounded_down(patch: Patch) -> None:
    for module in ("pretrain.objectives.mlm", "pretrain.batches.masking"):
        patch.setattr(f"{module}.rows_for", lambda length, rate: max(1, int(rate * (length - 2))))


def _labels_reversed(patch: Patch) -> None:
    task = type(TASKS["ynat"])
    patch.setattr(task, "labels", task.labels[::-1])


def _warm_up_of_a_task(patch: Patch) -> None:
    task = type(TASKS["klue-nli"])
    patch.setattr(task, "authors", replace(task.authors, warmup_share=0.2))


def _covered_but_the_rarest(counted: Any, settings: Any) -> list[str]:
    return covered(counted, settings.model_copy(update={"min_character_count": settings.min_character_count + 1}))


def _one_sentence(*arguments: Any) -> Any:
    batch = without_empty(*arguments)
    return batch._replace(sentences=batch.documents)


PLANTED: list[tuple[str, str, Plant]] = [
    ("corpus", "a repeated line stands once more", _value("data.cleaning.rules.STANDS", 13)),
    ("corpus", "a pattern of personal data is narrower", _telephone_narrowed),
    (
        "corpus",
        "the last of equal documents stays",
        _value("data.deduplicate.equal_documents.repeated", _last_of_equals),
    ),
    ("corpus", "an id is formed otherwise", _value("data.readers.fields.made_document", _id_with_stroke)),
    ("corpus", "a filter's bound is higher", _value("data.filters.length.MAX_WORD_CHARS", 60)),
    ("tokenizer", "a character must occur once more", _value("tokenizer.train.covered", _covered_but_the_rarest)),
    (
        "tokenizer",
        "a point belongs to its word",
        _value("tokenizer.pipeline.split_words", lambda one: split_words(one.replace(".", "점"))),
    ),
    ("encode", "a document is one sentence", _value("tokenizer.encoder._drop_empty", _one_sentence)),
    ("pretrain", "the masking rate is rounded down", _rows_rounded_down),
    ("pretrain", "the warm-up begins at zero", _value("pretrain.optim.schedules.rate_factor", _warm_up_from_zero)),
    ("pretrain", "a schedule ends a step earlier", _linear_to_the_last_step),
    ("klue", "a task's labels have another order", _labels_reversed),
    ("klue", "an answer keeps its punctuation", _value("klue.metrics.reading.normalise", lambda text: text)),
    ("klue", "a task has another warm-up", _warm_up_of_a_task),
    ("embed", "ratings go from 0 to 6", _value("embed.data.RANGE", (0.0, 6.0))),
    (
        "instruct",
        "templates are drawn in another order",
        _value("data.instruct.build.drawn_order", lambda *given: drawn_order(*given)[::-1]),
    ),
    (
        "tune",
        "instruction and input stand on one line",
        _value("pretrain.tuning.inputs.user_message", lambda instruction, given: f"{instruction} {given}"),
    ),
    ("leaderboard", "a prompt has no frame", _value("leaderboard.prepare.plain_prompt", lambda text: text)),
]


@cache
def _unchanged(stage: str) -> str:
    if lacking := lacks(stage):
        pytest.skip(f"no {lacking} here")
    return digest(output_of(stage))


@pytest.mark.parametrize(("stage", "change", "plant"), PLANTED, ids=[change for _, change, _ in PLANTED])
def test_a_planted_change_of_a_rule_is_red(stage: str, change: str, plant: Plant, monkeypatch: Patch) -> None:
    before = _unchanged(stage)
    with monkeypatch.context() as patch:
        plant(patch)
        after = digest(output_of(stage))
    assert after != before, f"{stage} does not see that {change}"


def test_every_stage_has_a_planted_change() -> None:
    assert {stage for stage, _, _ in PLANTED} == {*STAGES}


def test_a_renamed_variable_is_other_code_and_the_same_output(tmp_path: Path, monkeypatch: Patch) -> None:
    for name in STAGES["pretrain"].code:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / name, tmp_path / name)
    file = tmp_path / "pretrain/optim/schedules.py"
    source = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"\bwarmup\b(?!-)", "rising", source), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("renamed_schedules", file)
    assert spec and spec.loader
    renamed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(renamed)
    assert "rising" in renamed.rate_factor.__code__.co_varnames
    before = output_of("pretrain")
    monkeypatch.setattr(schedules, "rate_factor", renamed.rate_factor)
    locked = replace(block_of("pretrain", before), input="as it is")
    now = replace(block_of("pretrain", output_of("pretrain"), tmp_path), input="as it is")
    assert now.code != locked.code and now.output == locked.output
    assert verdict(now, locked) == "code" and not refused({"pretrain": now}, {"pretrain": locked})


def test_a_changed_output_is_not_locked_before_its_number_is_raised(tmp_path: Path, monkeypatch: Patch) -> None:
    path = tmp_path / "rules.lock"
    monkeypatch.setattr("scripts.lock_rules.STAGES", {"tune": STAGES["tune"]})
    main(path)
    locked = read_lock(path)
    write_lock({"tune": replace(locked["tune"], code="of yesterday")}, path)
    main(path)
    assert read_lock(path) == locked
    monkeypatch.setattr("pretrain.tuning.inputs.user_message", lambda instruction, text: f"{text}{instruction}")
    with pytest.raises(SystemExit, match="tune: its output changed: raise the number in common/rules"):
        main(path)
    assert read_lock(path) == locked
    monkeypatch.setattr("common.rules.RULES", {"tune": {1: "first rules", 2: "the input goes first"}})
    main(path)
    written = read_lock(path)["tune"]
    assert written.rules == 2 and written.output != locked["tune"].output
