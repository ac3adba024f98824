"""The model card: what the run says, in both languages, by hand; the hub's own parser reads it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard

from common.message import Message, as_tree
from hunmin.hub.card import write_card
from hunmin.hub.compute_used import ComputeUsed
from hunmin.hub.facts import read_facts
from hunmin.main import run_command
from hunmin.page.facts import read_facts as read_page_facts
from hunmin.pipeline.report import collect
from hunmin.recipes.recipe import load_recipe
from klue.results import metrics_of
from klue.table_forms import markdown
from klue.tables import published_rows
from klue.tasks import TASKS
from pretrain.callbacks.checkpoint_metadata import write_metadata
from pretrain.callbacks.metrics import read_metrics
from tests.runs import copy_run, forget, rewrite

ENGLISH = re.compile(
    r"\b(the|of|is|are|and|not|from|with|in|to|for|on|which|scores?|seeds?|model|metrics?|pretrained|published|random"
    r"|accuracy|evaluation|epochs?|files?)\b"
)
LEFT_OUT = Message("trained on {kept} of {all} examples", kept=200, all=36_547)


ALONE = "training steps alone, without start-up, validation and pauses"
ALONE_KO = "시작, 검증, 중단을 뺀 학습 스텝만의 시간"


def checkpoint(run: Path, step: int) -> Path:
    return run / "pretrain" / "checkpoints" / f"step-{step:08d}"


def change(run: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit a run's recipe."""
    tree = yaml.safe_load((run / "recipe.yaml").read_text("utf-8"))
    edit(tree)
    (run / "recipe.yaml").write_text(yaml.safe_dump(tree), "utf-8")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_card_says_what_the_run_says(language: Any, scored: Path) -> None:
    facts = read_facts(scored)
    text = write_card(facts, "me/mini", language)
    card = ModelCard(text, ignore_metadata_errors=False)
    assert card.data.language == "ko" and card.data.license == "cc-by-sa-4.0" and "hunmin" in card.data.tags
    (result,) = card.data.eval_results
    assert (result.metric_type, result.metric_value, result.dataset_split) == ("macro_f1", 61.25, "validation")
    statistics = json.loads((scored / "corpus" / "statistics.json").read_bytes())
    for name, of in statistics["sources"].items():
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert f"{of['kept']['documents']:,} | {of['kept']['sentences']:,}" in row
        assert row.endswith("| CC0 |") == (name == "books")
    for kind, count in statistics["pii"].items():
        called = {"TEL": ("telephone number", "전화번호"), "EMAIL": ("e-mail address", "이메일 주소")}.get(kind)
        assert not count or not called or f"{called[language == 'ko']} {count:,}" in text
    metadata = json.loads((checkpoint(scored, 20) / "complete.json").read_bytes())
    assert f"| {metadata['tokens']:,} |" in text and f"1 × {metadata['device']}, fp32" in text
    assert text.index("Made for a test.") < text.index("```python") and "vocab_size: 2500" in text
    assert "{" not in text.replace("{'", "").split("```yaml")[0]  # nothing was left unfilled


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_card_loads_the_model_where_it_is(language: Any, scored: Path) -> None:
    facts = read_facts(scored)
    assert 'pipeline("fill-mask", model="me/mini")' in write_card(facts, "me/mini", language)
    found = re.search(r'pipeline\("fill-mask", model="(.+)"\)', write_card(facts, None, language))
    assert found and found[1] == f"{Path(facts.recipe.out).name}/export"
    beside = replace(facts, recipe=facts.recipe.model_copy(update={"out": "runs/mini"}))
    assert 'model="runs/mini/export"' in write_card(beside, None, language)


def test_a_licence_beside_an_input_stands_in_the_card(scored: Path) -> None:
    def name_books(tree: dict[str, Any]) -> None:
        tree["hub"]["source_licenses"] = {}
        more = [{"path": f"{n}.txt", "name": "books", "licence": licence} for n, licence in enumerate(("CC0", "CC0"))]
        tree["corpus"]["inputs"] = [{"path": "texts/books.jsonl.gz", "licence": "KOGL type 1"}, *more]

    change(scored, name_books)
    rows = write_card(read_facts(scored), None).splitlines()
    assert next(line for line in rows if line.startswith("| books |")).endswith("| KOGL type 1, CC0 |")


def test_the_size_is_told_before_the_export(scored: Path) -> None:
    """Of a checkpoint that is pushed amid training: the size that the exported model has."""
    before = write_card(read_facts(scored), None)
    forget(scored, "export")
    after = write_card(read_facts(scored), None)
    size = re.compile(r"[0-9.]+[kM] parameters")
    assert size.findall(before) == size.findall(after) != []


@pytest.mark.parametrize("language", ["en", "ko"])
def test_scores_of_other_examples_do_not_carry_the_benchmarks_name(language: Any, scored: Path) -> None:
    file = scored / "klue" / "results.jsonl"
    rewrite(file, file.read_text().replace('"dev": 9107', '"dev": 280'))
    text = write_card(read_facts(scored), "me/mini", language)
    assert "klue/klue" not in text and "YNAT 280 / 9,107" in text
    assert "model-index" not in text


def test_scores_after_a_cut_train_set_do_not_carry_the_benchmarks_name(scored: Path) -> None:
    file = scored / "klue" / "results.jsonl"
    row = json.loads(file.read_text().splitlines()[0])
    assert "klue/klue" in write_card(read_facts(scored), "me/mini")
    cut = {**row, "examples": {**row["examples"], "train": 10_000, "train_cut": 35_678}}
    rewrite(file, json.dumps(cut) + "\n")
    text = write_card(read_facts(scored), "me/mini")
    assert "model-index" not in text and "klue/klue" not in text


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("share", [1.0, 0.994])
def test_a_collapsed_fine_tuning_is_told(language: Any, share: float, scored: Path) -> None:
    file = scored / "klue" / "results.jsonl"
    row = json.loads(file.read_text().splitlines()[0])
    rewrite(file, json.dumps({**row, "one_answer": "스포츠", "one_answer_share": share}) + "\n")
    said = {
        "en": f"the fine-tuning predicts one label for {'every example' if share == 1 else '99.4% of the examples'},",
        "ko": f"{'모든 예제에' if share == 1 else '예제의 99.4%에'} 같은 레이블을 예측합니다",
    }
    assert said[language] in write_card(read_facts(scored), "me/mini", language)


def test_a_card_of_an_earlier_checkpoint_has_not_the_scores_of_the_end(scored: Path) -> None:
    early = json.loads((checkpoint(scored, 10) / "complete.json").read_bytes())
    text = write_card(read_facts(scored, early), "me/mini")
    assert "model-index" not in text and "This checkpoint has not been scored" in text and "step 10 of 20" in text


def test_scores_have_their_seeds_and_their_spread(scored: Path) -> None:
    file = scored / "klue" / "results.jsonl"
    row = json.loads(file.read_text().splitlines()[0])
    other = {**row, "seed": 43, "best": dict.fromkeys(row["best"], 63.25)}
    tried = {
        **row,
        "seed": 44,
        "settings": {**row["settings"], "learning_rate": 9.0},
        "best": dict.fromkeys(row["best"], 1.0),
    }
    rewrite(file, "".join(json.dumps(each) + "\n" for each in (other, row, tried)))
    (result,) = ModelCard(write_card(read_facts(scored), None), ignore_metadata_errors=False).data.eval_results
    # of 61.25 and 63.25: mean 62.25, sample standard deviation √2
    assert result.metric_value == 62.25 and result.metric_args == {"seeds": [42, 43], "standard_deviation": 1.4142}


def test_metadata_is_plain_yaml(scored: Path) -> None:
    """Several metrics of one task have the same seeds, which YAML would write as references to each other."""
    file = scored / "klue" / "results.jsonl"
    row = json.loads(file.read_text().splitlines()[0])
    values = dict.fromkeys(metrics_of("klue-sts"), 50.0)
    whole = {"train": 11668, "dev": 519}
    rewrite(file, json.dumps({**row, "task": "klue-sts", "best": values, "last": values, "examples": whole}) + "\n")
    head = write_card(read_facts(scored), None).split("---")[1]
    assert head.count("- 42") == len(values) and "&id" not in head and "*id" not in head


def test_hours_and_energy_by_hand(scored: Path) -> None:
    logs = scored / "pretrain" / "logs"
    rows = [
        {"step": 10, "tokens": 3600, "tokens_per_second": 1.0, "tflops": 2.0},
        {"step": 10, "validation_loss": 1.0},
        {"step": 20, "tokens": 7200, "tokens_per_second": 0.5, "tflops": 1.0},
    ]
    (logs / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (logs / "starts.jsonl").unlink(missing_ok=True)
    early, mark = (json.loads((checkpoint(scored, step) / "complete.json").read_bytes()) for step in (10, 20))
    h100, a100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"

    def devices(first: str, second: str) -> ComputeUsed:
        for step, found, device in ((10, early, first), (20, mark, second)):
            write_metadata(checkpoint(scored, step), {**found, "device": device})
        return read_facts(scored, {**mark, "device": second, "world": 8}).work

    work = devices(h100, h100)  # no version before wrote down its starts: all by the checkpoint's own number
    assert work.hours == pytest.approx(3.0) and work.flops == pytest.approx(3600 * 2e12 + 7200 * 1e12)
    assert work.kilowatt_hours == pytest.approx(0.7 * 8 * 3)  # 700 W
    starts = [{"step": 0, "processes": 4}, {"step": 10, "processes": 2}, {"step": 10, "processes": 8}]
    (logs / "starts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in starts))
    work = devices(h100, h100)  # one hour of four, two hours of eight
    assert work.device_hours == {h100: pytest.approx(4 + 16)} and work.devices == {h100: (4, 8)}
    text = write_card(read_facts(scored, {**mark, "device": h100, "world": 8}), None)
    assert (
        "14.0 kWh" in text and f"4–8 × {h100}" in text and f"3.00 hours ({ALONE}), 20.00 device-hours" in text
    )  # 20 × 0.7
    work = devices(a100, h100)  # 400 W
    assert work.kilowatt_hours == pytest.approx(0.4 * 4 + 0.7 * 16) and work.devices == {a100: (4, 4), h100: (8, 8)}
    assert devices("Some CPU", h100).kilowatt_hours is None
    # a branch from step 5: the tokens before are its parent's
    (logs / "starts.jsonl").write_text(json.dumps({"step": 5, "processes": 8}) + "\n")
    assert devices(h100, h100).hours == pytest.approx(0.5 + 2)


def log(run: Path, start: int, *rows: tuple[int, int, float, float]) -> None:
    """Write a log of training on one process: (step, tokens so far, tokens a second, TFLOP/s)."""
    names = ("step", "tokens", "tokens_per_second", "tflops")
    lines = [json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows]
    (run / "pretrain" / "logs" / "metrics.jsonl").write_text("".join(lines))
    (run / "pretrain" / "logs" / "starts.jsonl").write_text(json.dumps({"step": start, "processes": 1}) + "\n")


def branch(run: Path, parent: Path, step: int, tokens: int) -> None:
    """Let the last checkpoint of a run say that the run began from a checkpoint of another."""
    before = json.loads((checkpoint(parent, step) / "complete.json").read_bytes())
    file = checkpoint(run, 20) / "complete.json"
    stated = {"checkpoint": str(checkpoint(parent, step)), "step": step, "fingerprint": before["fingerprint"]}
    write_metadata(file.parent, json.loads(file.read_bytes()) | {"parent": stated | {"tokens": tokens}})


@pytest.fixture
def branched(scored: Path, tmp_path: Path) -> Path:
    """A branch from step 10 of a run "first|one": an hour at 1 TFLOP/s after two at 3, one of which came before."""
    parent = copy_run(scored, tmp_path / "first")
    change(parent, lambda tree: tree.update(name="first|one"))
    log(parent, 0, (10, 3600, 1.0, 3.0), (20, 7200, 1.0, 3.0))
    log(scored, 10, (20, 7200, 1.0, 1.0))
    branch(scored, parent, 10, 3600)
    return scored


def test_a_card_is_of_what_the_model_was_made_of(scored: Path) -> None:
    """A corpus of other settings counts in the run, and an export of another training: neither is the model's."""
    before = read_facts(scored)
    made, current = scored / "made", json.loads((scored / "current.json").read_bytes())
    for stage in ("corpus", "tokenizer", "export"):
        other = made / f"{stage}-0123456789"
        shutil.copytree(scored / stage, other)
        manifest = json.loads((other / "manifest.json").read_bytes())
        counts = {key: value + 1 for key, value in manifest["counts"].items() if isinstance(value, int)}
        (other / "manifest.json").write_text(json.dumps({**manifest, "counts": counts, "lineage": {}}))
        current["current"][stage] = other.name
    (made / "corpus-0123456789" / "statistics.json").write_text('{"total": {}, "sources": {}}')
    (scored / "current.json").write_text(json.dumps(current))
    after = read_facts(scored)
    assert after.statistics == before.statistics and after.counts["export"] == {} != before.counts["export"]
    assert {name: after.counts[name] for name in ("corpus", "tokenizer")} == {
        name: before.counts[name] for name in ("corpus", "tokenizer")
    }


def test_less_than_an_hour_is_told_in_minutes(scored: Path) -> None:
    """252 s on one device are 0.07 h."""
    log(scored, 0, (20, 7200, 7200 / 252, 1.0))
    english, korean = (write_card(read_facts(scored), None, language) for language in ("en", "ko"))
    assert f"| time and work | 4.2 minutes ({ALONE}), 4.2 device-minutes; 2.5e+14 FLOPs |" in english
    assert "중단을 뺀 학습 스텝만의 시간. 장치 수를 곱하면 4.2분), 2.5e+14 FLOPs |" in korean and "| 4.2분(" in korean


def test_scores_have_the_present_name_of_the_run(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(scored, lambda tree: tree.update(name="NEW"))
    card = write_card(read_facts(scored), None)
    assert "| NEW, pretrained |" in card and "mini, pretrained" not in card
    assert {row["model"] for row in read_page_facts(scored, 2e9).klue.rows} == {"NEW"}
    metrics = read_metrics(scored / "pretrain" / "logs" / "metrics.jsonl")
    assert {row["model"] for row in collect(load_recipe(scored / "recipe.yaml", []), scored, metrics)["klue"]} == {
        "NEW"
    }
    assert run_command(["klue", "report", str(scored), "--format", "markdown"]) == 0
    told = capsys.readouterr().out
    assert "NEW, pretrained" in told and "mini, pretrained" not in told


def test_a_branchs_card_counts_its_parent(branched: Path, tmp_path: Path) -> None:
    english, korean = (write_card(read_facts(branched), "me/mini", language) for language in ("en", "ko"))
    for row in (
        r"| branched from | the run first\|one, step 10 |",
        f"| time and work | 1.00 hours ({ALONE}), 1.00 device-hours; 3.6e+15 FLOPs, of the branch alone |",
        f"| with the parent run | 2.00 hours ({ALONE}), 2.00 device-hours; 1.4e+16 FLOPs |",  # 3600 · (1 + 3) TFLOP
    ):
        assert row in english
    for row in (
        r"| 분기 시점 | first\|one 실행의 10스텝 |",
        f"| 시간과 연산량 | 1.00시간({ALONE_KO}. 장치 수를 곱하면 1.00시간), 3.6e+15 FLOPs(분기한 뒤만) |",
        f"| 부모 실행까지 합한 시간과 연산량 | 2.00시간({ALONE_KO}. 장치 수를 곱하면 2.00시간), 1.4e+16 FLOPs |",
    ):
        assert row in korean
    # neither address nor folder of the parent, which nobody can open
    assert str(tmp_path) not in english and "base_model" not in english.split("\n---\n")[0]
    assert "The run first\\|one must be trained to step 10 before it." in english


def test_a_branch_of_a_branch_counts_all(branched: Path, tmp_path: Path) -> None:
    third = copy_run(branched, tmp_path / "third")
    branch(third, branched, 20, 7200)
    found = read_facts(third)
    assert found.parent and found.parent.work and found.parent.work.hours == pytest.approx(2.0)
    assert found.parent.work.flops == pytest.approx(3600 * 4e12)


def test_of_a_parent_that_is_gone_the_branch_alone_is_counted(branched: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "first")
    english, korean = (write_card(read_facts(branched), "me/mini", language) for language in ("en", "ko"))
    assert "| branched from | the run first, step 10 |" in english and str(tmp_path) not in english
    assert "| with the parent run | not known: the log of the parent run is not there |" in english
    assert "부모 실행의 로그가 없어 알 수 없음" in korean


def test_another_training_in_the_parents_folder_is_not_counted(branched: Path, tmp_path: Path) -> None:
    file = checkpoint(tmp_path / "first", 10) / "complete.json"
    write_metadata(file.parent, json.loads(file.read_bytes()) | {"fingerprint": "of another"})
    assert "| with the parent run | not known" in write_card(read_facts(branched), None)


def test_a_branch_is_based_on_the_published_model_that_its_parent_began_from(branched: Path, tmp_path: Path) -> None:
    file = checkpoint(tmp_path / "first", 10) / "complete.json"
    saved = json.loads(file.read_bytes())
    saved["settings"]["init_from"] = "hf:klue/roberta-base@" + "0" * 40
    write_metadata(file.parent, saved)
    card = ModelCard(write_card(read_facts(branched), None), ignore_metadata_errors=False)
    assert card.data.base_model == "klue/roberta-base"


STATISTICS = {
    "filters": {
        "length": {"chars": {"web": {"documents": 3}, "news": {"documents": 4}}, "words": {"web": {"documents": 5}}},
        "code": {"share": {"web": {"documents": 1}}},
    },
    "cleaning": {"html": {"hits": 9, "characters": 1234}, "private_use": {"hits": 1, "characters": 7}},
    "dropped": {"too short": 6, "not text": 1}, "skipped": {"redirect": 8},
    "damaged": {"is cut short": 2, "has no column 'text'": 7},
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "rows"),
    [
        ("en", (
            "characters removed by cleaning rules | HTML 1,234, private-use characters 7 |",
            "documents dropped by filters | length 12, code 1 |", "or too short, also after cleaning | 7 |",
            "without a document, skipped | 8 |", "without the columns that the recipe names | 9 |",
        )),
        ("ko", (
            "| 정제 규칙으로 지운 글자 수 | HTML 1,234, 사용자 정의 영역 문자 7 |",
            "| 필터로 제외한 문서 | 길이 12, code 1 |",
            "제외한 문서 | 7 |", "건너뛴 레코드 | 8 |", "가리키는 열이 없음 | 9 |",
        )),
    ],
)  # fmt: skip
def test_all_that_was_taken_out_is_told(language: Any, rows: tuple[str, ...], scored: Path) -> None:
    file = scored / "corpus" / "statistics.json"
    rewrite(file, json.dumps({**json.loads(file.read_bytes()), **STATISTICS}))
    text = write_card(read_facts(scored), None, language)
    for row in rows:
        assert row in text


def test_names_of_others_do_nothing(scored: Path) -> None:
    file = scored / "corpus" / "statistics.json"
    found = json.loads(file.read_bytes())
    found["sources"] = {"a|b <img src=x onerror=y> [l](javascript:z)\n# h `c`": found["sources"]["books"]}
    rewrite(file, json.dumps(found))
    change(scored, lambda tree: tree.update(name='x<b>|`" ---'))
    text = write_card(read_facts(scored), None)
    row = next(line for line in text.splitlines() if line.startswith(r"| a\|"))
    assert r"| a\|b \<img src=x onerror=y\> \[l\](javascript:z) # h \`c\` |" in row
    assert '# x\\<b\\>\\|\\`" ---\n' in text
    assert ModelCard(text, ignore_metadata_errors=False).data.library_name == "transformers"


@pytest.mark.parametrize(
    ("pii", "english", "korean"),
    [
        ({}, "Names of people are not replaced in", "인명은 바꾸지 않았으며"),
        (
            {"types": ["NAME", "TEL"]},
            "are replaced in the corpus only beside a form's label",
            "옆과 ‘씨’ 앞에 있는 것만 가명으로",
        ),
        ({"enabled": False}, "The corpus was not searched for personal data", "개인정보를 찾지 않았으므로"),
    ],
)
def test_what_is_said_of_names_is_so(pii: dict[str, Any], english: str, korean: str, scored: Path) -> None:
    change(scored, lambda tree: tree["corpus"]["pii"].update(pii))
    facts = read_facts(scored)
    assert english in write_card(facts, None, "en") and korean in write_card(facts, None, "ko")


def test_a_korean_card_is_korean(scored: Path) -> None:
    text = write_card(read_facts(scored), "me/mini", "ko").split("```yaml")[0].partition("## 어휘")[2]
    assert (
        "| 어절당 토큰 수(fertility) |" in text and "| 학습에 쓴 사전 토큰 종류 |" in text and "에서 쟀습니다" in text
    )
    for word in ("held out", "Corpus", "distinct", "ratio", "whole-word", "warm-up", "device"):
        assert word not in text
    assert "held out" in write_card(read_facts(scored), "me/mini", "en")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_vocabulary_is_told_from_the_counts_of_its_stage(language: Any, scored: Path) -> None:
    """Not from the text of the tokenizer's own card: of counts that no text states, and without that card."""
    (scored / "tokenizer" / "README.md").unlink()
    facts = read_facts(scored)
    counts = facts.counts["tokenizer"]
    assert counts["held_out"]["figures"]["fertility"] > 1 and counts["held_out"]["bytes"] > 100
    counts["held_out"] = {"bytes": 4321, "words": 99, "subwords": 1234, "figures": {"fertility": 2.5}}
    text = write_card(facts, "me/mini", language)
    said = {
        "en": ("On 4,321 bytes (99 words, 1,234 subwords) of documents that were held out:",
               "| tokens per word (fertility) | 2.5000 |", "| vocabulary entries | 2,500 |"),
        "ko": ("문서 4,321바이트(어절 99개, 토큰 1,234개)에서 쟀습니다.", "| 어절당 토큰 수(fertility) | 2.5000 |",
               "| 어휘 항목 | 2,500 |"),
    }  # fmt: skip
    assert [one for one in said[language] if one not in text] == [] and facts.example in text


def test_its_scores_are_korean(scored: Path) -> None:
    """Tables, their heads, and notes of every suite: no English but names of tasks, models and files."""
    first = json.loads((scored / "klue" / "results.jsonl").read_text("utf-8").splitlines()[0])
    rows = [
        {
            **first, "task": name, "init": init, "best": dict.fromkeys(metrics_of(name), 50.0),
            "last": dict.fromkeys(metrics_of(name), 50.0),
            **({"test": dict.fromkeys(metrics_of(name), 50.0)} if task.sizes.test else {}),
            "data_note": str(LEFT_OUT) if (name, init) == ("ynat", "pretrained") else "",
            "data_message": as_tree(LEFT_OUT) if (name, init) == ("ynat", "pretrained") else "",
            "examples": {"train": 10**7, "dev": task.sizes.dev, "test": task.sizes.test},
            "settings": {**first["settings"], "evaluations_per_epoch": 2}, "one_answer": "0",
        }
        for name, task in TASKS.items()
        for init in ("pretrained", "random")
    ]  # fmt: skip
    rewrite(scored / "klue" / "results.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    change(scored, lambda tree: tree["klue"].update(published=True))
    text = write_card(read_facts(scored), "me/mini", "ko").partition("## 점수")[2].split("## 한계")[0]
    assert "| 모델 | 시드 |" in text and "| mini, 무작위 가중치 |" in text and "공개 모델: KoELECTRA" in text
    assert "같은 레이블을 예측합니다" in text and "| 다른 지표 |" in text
    assert [line for line in text.splitlines() if ENGLISH.search(line)] == []
    written = markdown(rows, published_rows())
    assert len([line for line in written.splitlines() if ENGLISH.search(line)]) > 20  # the instrument sees English


def test_the_model_it_began_from(scored: Path) -> None:
    change(scored, lambda tree: tree["pretrain"].update(init_from="hf:klue/roberta-base@" + "0" * 40))
    card = ModelCard(write_card(read_facts(scored), None), ignore_metadata_errors=False)
    assert card.data.base_model == "klue/roberta-base"


def test_the_card_is_printed(run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run_command(["card", str(run), "--language", "ko"]) == 0
    assert re.search(r"토큰 [\d.]+k?개로 사전학습한 한국어 RoBERTa\(파라미터 [\d.]+k\)입니다", capsys.readouterr().out)
    told = set()
    for command in ("card", "report"):
        assert run_command([command, str(tmp_path / "none")]) == 2
        told.add(capsys.readouterr().err)
    assert len(told) == 1 and "does not exist" in told.pop()
