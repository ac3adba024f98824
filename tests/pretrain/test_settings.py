"""Settings of pretraining: what does not go together is refused with value, rule and fix; what identifies a run."""

from __future__ import annotations

import re
from typing import Any

import pytest

from common.errors import UserError
from common.settings import dump_settings, parse_settings
from pretrain.settings import PretrainSettings


def refused(**tree: Any) -> str:
    with pytest.raises(UserError) as caught:
        parse_settings(PretrainSettings, tree, "recipe")
    return str(caught.value)


@pytest.mark.parametrize("schedule", ["linear", "warmup-stable-decay"])
@pytest.mark.parametrize(("steps", "warmup"), [(100, 100), (100, 24_000), (1, 1)])
def test_a_warmup_that_never_ends_is_refused(steps: int, warmup: int, schedule: str) -> None:
    said = refused(steps=steps, optimizer={"warmup_steps": warmup, "schedule": schedule})
    assert f"optimizer.warmup_steps ({warmup}) must be less than steps ({steps})" in said
    [advised] = re.findall(r"e\.g\. optimizer\.warmup_steps=(\d+)", said)
    PretrainSettings.model_validate({"steps": steps, "optimizer": {"warmup_steps": int(advised)}})


def test_a_short_run_with_the_warmup_of_the_paper_is_refused() -> None:
    assert "optimizer.warmup_steps (24000) must be less than steps (100)" in refused(steps=100)
    assert PretrainSettings.model_validate({"steps": 24_001}).optimizer.warmup_steps == 24_000


def test_a_run_begins_with_the_weights_of_one() -> None:
    assert "init_from (a) does not go with branch_from (b)" in refused(init_from="a", branch_from="b")
    assert PretrainSettings(branch_from="b").branch_from == "b"


def test_zero_is_of_deepspeed() -> None:
    assert "engine=torch does not go with zero_stage=2" in refused(engine="torch", zero_stage=2)
    for engine, stage in (("torch", 0), ("deepspeed", 0), ("deepspeed", 3), ("auto", 2)):
        assert PretrainSettings.model_validate({"engine": engine, "zero_stage": stage}).zero_stage == stage
    assert "engine" in refused(engine="jax")


def test_a_run_may_go_on_with_another_engine_but_not_from_another_checkpoint() -> None:
    """What is left out of the dump is left out of the fingerprint, too."""
    plain = dump_settings(PretrainSettings())
    changes: dict[str, Any] = {"engine": "deepspeed", "zero_stage": 1, "compile": True, "spike": 3.0, "max_skipped": 1}
    assert dump_settings(PretrainSettings(**changes)) == plain
    assert dump_settings(PretrainSettings(branch_from="x")) != plain


def test_what_changes_the_course_of_a_run_is_in_the_dump_that_identifies_it() -> None:
    growing: dict[str, Any] = {
        "batch_warmup": {"start": 32, "steps": 14}, "masking": {"rate": 0.3, "rate_end": 0.15, "max_word_tokens": 2},
    }  # fmt: skip
    changes: list[dict[str, Any]] = [
        {"batch_warmup": {"start": 32, "steps": 15}}, {"batch_warmup": None},
        {"masking": {**growing["masking"], "rate_end": 0.2}}, {"masking": {**growing["masking"], "max_word_tokens": 3}},
    ]  # fmt: skip
    dumps = [str(dump_settings(PretrainSettings(**{**growing, **change}))) for change in [{}, *changes]]
    assert len(set(dumps)) == 5
