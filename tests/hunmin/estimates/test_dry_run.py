"""`hunmin run --dry-run`: the time it expects, and that it refuses what the run refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from common.errors import UserError
from hunmin.estimates import dry_run
from hunmin.estimates.cost import cost_plan
from hunmin.main import run_command
from hunmin.pipeline.run import refuse_early, run
from hunmin.recipes.recipe import Recipe
from tests.hunmin.house import House


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A recipe of one text file, of whose stages none is done."""
    monkeypatch.setattr("pretrain.cost.peak.measured_rate", lambda device=None: 1e12)
    (tmp_path / "a.jsonl").write_text('{"text": "가나다"}')
    corpus = {"inputs": [str(tmp_path / "a.jsonl")], "pii": {"enabled": False}, "decontaminate": {"enabled": False}}
    return {"name": "t", "out": str(tmp_path / "run"), "corpus": corpus}


def test_processes_share_a_cpu(text: dict[str, Any]) -> None:
    single, four = (Recipe.model_validate({**text, "pretrain": {"processes": n}}) for n in (1, 4))
    expected = [dry_run.dry_run_plan(recipe, None, None)["stages"][3]["seconds"] for recipe in (single, four)]
    assert expected == [pytest.approx(cost_plan(single)["hours"] * 3600 + 20, abs=0.1)] * 2  # and the start


def test_small_inputs_take_the_starts_of_the_stages(
    text: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """19 bytes of text and a device without end: nothing else is left, and what is not in it is said beside it."""
    monkeypatch.setattr("pretrain.cost.peak.measured_rate", lambda device=None: 1e30)
    plan = dry_run.dry_run_plan(Recipe.model_validate(text), None, None)
    seconds = {row["stage"]: row["seconds"] for row in plan["stages"]}
    assert seconds == {"corpus": 5, "tokenizer": 5, "encode": 5, "pretrain": 20, "export": 10, "klue": 0, "report": 10}
    dry_run.print_plan(plan)
    (total,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("total: about 55s")]
    assert "with the start of each stage" in total and "left out: compilation in the first run" in total


def test_a_dry_run_and_a_plan_say_the_same(text: dict[str, Any], tmp_path: Path) -> None:
    """Of every stage, the index of the benchmark included: 12 MB of it take two seconds whatever the corpus."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "ynat-v1.1_dev.json").write_bytes(b" " * 12_000_000)
    text["corpus"]["decontaminate"] = {"benchmark": str(tmp_path / "bench")}
    for changes in ({}, {"pretrain": {"steps": 300, "optimizer": {"warmup_steps": 30}}}):
        recipe = Recipe.model_validate({**text, **changes})
        dry = {row["stage"]: row["seconds"] for row in dry_run.dry_run_plan(recipe, None, None)["stages"]}
        planned = cost_plan(recipe)["stage_seconds"]
        assert dry == {stage: pytest.approx(planned[stage], abs=0.06) for stage in dry}
        assert dry["corpus"] == pytest.approx(5 + 2, abs=0.06) and dry["tokenizer"] == pytest.approx(5, abs=0.06)


def test_inputs_that_are_not_here_have_no_time(text: dict[str, Any]) -> None:
    assert cost_plan(Recipe.model_validate(text))["stage_seconds"]["corpus"] == pytest.approx(5, abs=0.1)
    text["corpus"]["inputs"] = ["hf:someone/news"]
    seconds = cost_plan(Recipe.model_validate(text))["stage_seconds"]
    assert [seconds[stage] for stage in ("corpus", "tokenizer", "encode")] == [None] * 3


def test_eight_gpus_fine_tune_eight_times_as_fast(text: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    monkeypatch.setattr("hunmin.estimates.cost.klue_seconds", lambda recipe, rate: rates.append(rate))
    recipe = Recipe.model_validate(text)
    for devices, nodes in ((1, 1), (8, 1), (16, 2)):
        cost_plan(recipe, devices, "H100", nodes)
    assert [rate / rates[0] for rate in rates] == [pytest.approx(n) for n in (1, 8, 8)]  # on one node


def test_the_time_of_embeddings_is_not_known(text: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "korsts").mkdir()
    for split in ("train", "test"):
        (tmp_path / "korsts" / f"sts-{split}.tsv").write_text("")
    tree = {**text, "embed": {"data": [{"use": "korsts"}], "score": ["KorSTS"], "sources": [str(tmp_path)]}}
    plan = dry_run.dry_run_plan(Recipe.model_validate(tree), None, None)
    assert [row["seconds"] for row in plan["stages"] if row["stage"] == "embed"] == [None]


def test_a_file_without_the_text_column_is_told_with_its_columns(text: dict[str, Any], tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("가나다")
    (tmp_path / "posts.csv").write_text("title,body\n가,나\n")
    text["corpus"]["inputs"] = [str(tmp_path / "*.*")]
    recipe = Recipe.model_validate({**text, "tokenizer": {"vocab_size": 100}})
    notes = (dry_run.dry_run_plan(recipe, None, None)["warnings"], cost_plan(recipe)["notes"])
    for said in notes:
        (warning,) = [line for line in said if "posts.csv" in line]
        assert "has no column 'text' and will be quarantined" in warning and "columns are title, body" in warning
        assert f"{{path: {tmp_path / 'posts.csv'}, text_field: COLUMN}}" in warning
    (tmp_path / "more.csv").write_text("title,body\n가,나\n")  # one of several may be bad, two of six not
    for ask in (dry_run.dry_run_plan, run):
        with pytest.raises(UserError, match="2 of 6 inputs are damaged or do not fit their settings"):
            ask(recipe, None, "corpus")  # type: ignore[operator]
    assert any("2 of 6 inputs" in line for line in cost_plan(recipe)["notes"])


def test_a_vocabulary_that_a_text_does_not_fill_is_told(text: dict[str, Any]) -> None:
    """19 bytes of text: 2,000 entries suit them, and more than twice as many are told of."""
    for tokenizer, warns in (({}, True), ({"vocab_size": 4_001}, True), ({"vocab_size": 4_000}, False)):
        recipe = Recipe.model_validate({**text, "tokenizer": tokenizer})
        for said in (dry_run.dry_run_plan(recipe, None, None)["warnings"], cost_plan(recipe)["notes"]):
            warnings = [line for line in said if "set tokenizer.vocab_size=2000" in line]
            assert len(warnings) == warns
    text["corpus"]["inputs"] = ["hf:someone/news"]  # nobody is asked
    assert not any("vocab_size" in line for line in cost_plan(Recipe.model_validate(text))["notes"])


def test_a_text_that_is_read_more_than_a_hundred_times_is_told_of(text: dict[str, Any], tmp_path: Path) -> None:
    """512 tokens a step, of 4.7 bytes each: 235 steps read 5,656 bytes a hundred times."""
    size = (tmp_path / "a.jsonl").stat().st_size
    training = {"global_batch": 2, "micro_batch": 1, "max_seq_len": 256, "packing": "contiguous"}
    (tmp_path / "b.txt").write_bytes(b"a" * (5656 - size))
    text["corpus"]["inputs"].append(str(tmp_path / "b.txt"))
    for steps, warns in ((235, False), (236, True), (4000, True)):
        pretrain = {**training, "steps": steps, "optimizer": {"warmup_steps": 2}}
        recipe = Recipe.model_validate({**text, "pretrain": pretrain})
        for said in (dry_run.dry_run_plan(recipe, None, None)["warnings"], cost_plan(recipe)["notes"]):
            assert (
                len([line for line in said if "times; BERT was" in line and "set pretrain.steps=100" in line]) == warns
            )


def test_all_that_is_missing_is_named_at_once(text: dict[str, Any], tmp_path: Path) -> None:
    text["corpus"]["inputs"] += ["gone/*.txt", {"path": "lost.jsonl"}]
    gone = str(tmp_path / "no-model")
    missing = {**text, "klue": {"data": "./no-klue"}, "tokenizer": {"base": gone}, "pretrain": {"init_from": gone}}
    recipe = Recipe.model_validate(missing)
    for ask in (dry_run.dry_run_plan, run):
        with pytest.raises(UserError) as caught:
            ask(recipe, None, None)  # type: ignore[operator]
        said = str(caught.value)
        assert said.startswith("4 things that the recipe needs are not there, or cannot be used:\n")
        for path, settings in (
            ("gone/*.txt", "corpus.inputs[1]"),
            ("lost.jsonl", "corpus.inputs[2].path"),
            ("./no-klue", "klue.data"),
            (gone, "tokenizer.base, pretrain.init_from"),
        ):
            assert said.count(f"  - nothing found at {path} ({settings})\n") == 1
        assert said.count(f"    fix:  check the path: it is relative to {Path.cwd()}") == 3
        assert said.count("    fix:  check the path") == 4
    notes = " ".join(cost_plan(Recipe.model_validate({**missing, "tokenizer": {}, "pretrain": {}}))["notes"])
    assert "nothing found at lost.jsonl (corpus.inputs[2].path)" in notes and "(klue.data)" in notes
    with pytest.raises(UserError, match=r"^nothing found at lost.jsonl \(corpus.inputs\[1\].path\)\n"):
        text["corpus"]["inputs"].remove("gone/*.txt")
        dry_run.dry_run_plan(Recipe.model_validate(text), None, None)


def test_a_dry_run_refuses_what_the_run_refuses(text: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    four = Recipe.model_validate({**text, "pretrain": {"processes": 4}})
    assert dry_run.dry_run_plan(four, None, None)["stages"][0]["runs"]
    array = Recipe.model_validate({**text, "corpus": {**text["corpus"], "executor": "slurm-array"}})
    for refused, first, last in ((four, "klue", None), (array, None, None), (array, None, "encode")):
        said = []
        for ask in (dry_run.dry_run_plan, run):
            with pytest.raises(UserError) as caught:
                ask(refused, first, last)  # type: ignore[operator]
            said.append(str(caught.value))
        assert said[0] == said[1]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for ask in (dry_run.dry_run_plan, run):
        with pytest.raises(UserError, match="4 processes on a machine with 2 GPUs"):
            ask(four, None, None)  # type: ignore[operator]
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)  # a launcher sets the number
    monkeypatch.setenv("MASTER_ADDR", "n0")
    monkeypatch.setenv("MASTER_PORT", "29500")
    refuse_early(four)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["klue.data=nowhere"], "nothing found at nowhere"),
        (["corpus.executor=slurm-array", "--restart", "corpus", "--until", "corpus"], "in a run of other stages"),
        (["corpus.inputs=[other.jsonl]", "--until", "corpus"], "has no column 'text'"),
    ],
)
def test_the_command_and_its_dry_run_end_alike(
    changes: list[str],
    message: str,
    text: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(text))
    Path("other.jsonl").write_text('{"body": "글이 있다."}\n', "utf-8")
    for dry in (["--dry-run"], []):
        assert run_command(["run", str(tmp_path / "recipe.yaml"), *changes, *dry]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_dry_run_makes_the_check_that_the_first_stage_begins_with(house: House) -> None:
    """A checkpoint to branch from that is not there, say; work that resumes is not checked again."""

    def check(recipe: Recipe, run: Path) -> None:
        raise UserError("no such parent")

    house.go(last="a")
    house.change("b", check=check)
    for ask in (refuse_early, run):
        with pytest.raises(UserError, match="no such parent"):
            ask(house.recipe())
    house.change("b", check=lambda recipe, run: None)
    house.stop("b")
    house.change("b", check=check)
    refuse_early(house.recipe())
    with pytest.raises(UserError, match="no such parent"):
        refuse_early(house.recipe(), restart="b")
