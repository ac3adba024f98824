"""lm-eval as the oracle: its own KoBEST, and its own command on all tasks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from leaderboard.score import score_model
from leaderboard.settings import LeaderboardSettings
from leaderboard.suites import SUITES, TASKS, tasks_folder
from tests.leaderboard.invented import SHARED, write


def hub_rows(kit: Path) -> dict[str, list[dict[str, Any]]]:
    """Return KoBEST's rows in the hub's columns, read here from the authors' tables."""

    def table(name: str) -> list[dict[str, str]]:
        head, *lines = (kit / f"kobest/{name}/test.tsv").read_text(encoding="utf-8").splitlines()
        return [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]

    return {
        "boolq": [
            {"paragraph": r["Text"], "question": r["Question"], "label": int(r["Answer"].lower() == "true")}
            for r in table("BoolQ")
        ],
        "copa": [
            {"premise": r["sentence"], "question": r["question"], "alternative_1": r["1"], "alternative_2": r["2"],
             "label": int(r["Answer"]) - 1}
            for r in table("COPA")
        ],
        "hellaswag": [
            {"context": r["context"], "label": int(r["label"]), **{f"ending_{i}": r[f"choice{i}"] for i in range(1, 5)}}
            for r in table("HellaSwag")
        ],
        "sentineg": [{"sentence": r["Text"], "label": int(r["Label"])} for r in table("SentiNeg")],
    }  # fmt: skip


def test_kobest_is_lm_evals_own(tiny: Path, kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import evaluate as hub_metrics
    from datasets import Dataset
    from lm_eval import tasks as shipped
    from lm_eval.evaluator import evaluate
    from lm_eval.models.huggingface import HFLM

    # what it asks the hub for, and does not use
    monkeypatch.setattr(hub_metrics, "load", lambda name: hub_metrics.Metric)
    folder = Path(str(shipped.__file__)).parent / "kobest"
    manager = shipped.TaskManager(include_path=[str(folder)], include_defaults=False)
    own = []
    for name, rows in hub_rows(kit).items():
        split = {"test": Dataset.from_list(rows)}
        own.append({"task": f"kobest_{name}", "custom_dataset": lambda split=split, **_: split, "training_split": None,
                    "validation_split": None})  # fmt: skip
    loaded = manager.load([{"group": "own", "task": own}])
    for task in loaded["tasks"].values():
        task.set_config("num_fewshot", 0)
    lm = HFLM(pretrained=str(tiny), tokenizer=str(tiny), device="cpu", batch_size=3)
    theirs = evaluate(lm, loaded, bootstrap_iters=0)["results"]
    ours = score_model(LeaderboardSettings(data=str(kit)), tiny, tmp_path)["tasks"]
    for name in hub_rows(kit):
        scores = ours[f"kobest_{name}"]["results"][f"kobest_{name}"]
        assert set(scores) == {"acc,none", "f1,none"} | ({"acc_norm,none"} if name == "hellaswag" else set())
        for key, value in scores.items():
            assert value == pytest.approx(float(theirs[f"kobest_{name}"][key]), abs=1e-6)


def command(tiny: Path, data: Path, tasks: str, out: Path, **metadata: Any) -> dict[str, dict[str, float]]:
    """Return what lm-eval's own command finds."""
    done = subprocess.run(
        [
            sys.executable, "-m", "lm_eval", "run", "--model", "hf", "--model_args", f"pretrained={tiny}",
            "--device", "cpu", "--batch_size", "8", "--include_path", str(tasks_folder()), "--metadata",
            json.dumps({"data": str(data), **metadata}), "--gen_kwargs", "max_gen_toks=8", "--tasks", tasks,
            "--output_path", str(out),
        ],
        capture_output=True, text=True, check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(out / "home")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    (path,) = out.rglob("results_*.json")
    return json.loads(path.read_text(encoding="utf-8"))["results"]


@pytest.mark.slow
def test_lm_evals_own_command_gives_the_same(tiny: Path, nine: Path, kit: Path, tmp_path: Path) -> None:
    """Of leaderboard2, real rows of the public twins where they are, and invented ones."""
    data, suites = tmp_path / "rows", ("leaderboard2", "kit19")
    for folder in (kit, nine):
        shutil.copytree(folder, data, dirs_exist_ok=True)
    for path in SHARED.glob("instruct/twin_samples/*.jsonl"):
        shutil.copy(path, data)
    theirs = command(tiny, data, ",".join(suites), tmp_path)
    settings = LeaderboardSettings(suites=suites, data=str(data), max_gen_toks=8)
    ours = score_model(settings, tiny, tmp_path / "out")["tasks"]
    assert list(ours) == [task for suite in suites for task in SUITES[suite]]
    for name, result in ours.items():
        assert {TASKS[name].metric, *TASKS[name].beside} <= set(result["results"][name])
        for key, value in result["results"][name].items():
            assert value == pytest.approx(float(theirs[name][key]), abs=1e-9), (name, key)


def test_a_build_is_scored_by_use(tiny: Path, tmp_path: Path) -> None:
    layout = pytest.importorskip("data.instruct.layout")
    closed = {"task": "nsmc", "instruction": "느낌을 고르세요.", "licence": "CC0"}
    words = [("긍정", "부정"), ("부정", "긍정"), ("좋다", "나쁘다"), ("나쁘다", "좋다")]
    rows = [
        {**closed, "id": f"nsmc-{n}", "input": f"{n}번 영화", "output": choices[n % 5 == 0], "choices": list(choices)}
        for n, choices in enumerate(words * 5)
    ]
    rows += [{"id": "math-1", "task": "math", "instruction": "1 더하기 1은?", "input": "", "output": "2"}]
    write(tmp_path / "held_out.jsonl", rows)
    settings = LeaderboardSettings(suites=("instruct",), max_gen_toks=8)
    tasks = score_model(settings, tiny, tmp_path / "out", tmp_path)["tasks"]
    counts = {name: result["hunmin"]["n"] for name, result in tasks.items()}
    assert counts == {"instruct_nsmc": 20, "instruct_math_text": 1}
    facts = tasks["instruct_nsmc"]["hunmin"]
    constants = {row["answer"]: row["acc,none"] for row in facts["constants"]}
    most = sum(
        max(Counter(row["output"] for row in rows if row.get("choices") and set(row["choices"]) == pair).values())
        for pair in ({"긍정", "부정"}, {"좋다", "나쁘다"})
    )
    assert constants == {"choice 1": 0.8, "choice 2": 0.2, "most frequent label": most / 20}
    assert facts["inferred"] == {"use": "nsmc", "layout": "plain"} and facts["prompts"] == "plain text"
    assert [row["answer"] for row in tasks["instruct_math_text"]["hunmin"]["constants"]] == ["", "2"]

    # a model tuned with Hunmin's layout is asked the same; one of another chat template by that
    for name, template, prompts in (
        ("tuned", layout.CHAT_TEMPLATE, "plain text"),
        ("other", "{{ messages[0].content }}", "chat template"),
    ):
        shutil.copytree(tiny, tmp_path / name)
        (tmp_path / name / "chat_template.jinja").write_text(template, encoding="utf-8")
        again = score_model(settings, tmp_path / name, tmp_path / f"{name}.out", tmp_path)["tasks"]["instruct_nsmc"]
        assert again["hunmin"]["prompts"] == prompts
        assert name == "other" or again["results"] == tasks["instruct_nsmc"]["results"]
