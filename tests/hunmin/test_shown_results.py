"""No command shows or sends a number that its file does not vouch for: every command × every fault of a result.

A fault of a value is planted with every hash made anew — the file's digest, its manifest, the run's hash of that — so
that nothing but the metric's range can refuse it. A new command that is in none of the tables fails the first test.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from common.current import make_current
from common.errors import DamagedError, HunminError, UserError
from common.manifest import MANIFEST, Manifest, describe_outputs, write_manifest
from common.message import Message, as_tree
from common.results import DIGEST, encoded
from hunmin.main import app, run_command
from klue.results import metrics_of
from leaderboard.result_file import name_results
from tests.runs import copy_run, describe_again

EDITED, BEYOND, BELOW = 61.37, 5700.0, -300.0
PLAIN = {
    **dict.fromkeys(
        ("init", "recipes", "sample", "doctor", "launch", "plan", "corpus plan"), "it comes before results"
    ),
    **dict.fromkeys(("verify", "clean"), "it names files, and no number in them"),
    **dict.fromkeys(("corpus pseudonymize", "corpus pii", "corpus decontaminate", "corpus split"), "it reads texts"),
    **dict.fromkeys(("tokenizer train", "tokenizer extend", "tokenizer compare", "tokenizer show"), "it counts itself"),
    **dict.fromkeys(("klue score", "klue predict", "embed score", "embed rerank score"), "it computes what it prints"),
    **dict.fromkeys(("embed data", "embed mine", "embed rerank train", "embed rerank teach"), "it counts itself"),
    **dict.fromkeys(("instruct tune", "instruct answer", "leaderboard tasks"), "it prints no score"),
}
"""Commands that show no stored result → why."""
AS = {"run": "report", "pretrain": "push", "corpus build": "corpus stats", "klue finetune": "klue report",
      "instruct build": "instruct show", "compare": "card"}  # fmt: skip
"""Commands that do their work and then show what the other one shows."""


@dataclass(frozen=True)
class Row:
    """A result that commands show.

    Args:
        file: in the folder `places`.
        keys: of a number in it; of JSON Lines in the first row that has it.
        commands: words, in which the folders stand by name, or functions of the folders.
        score: whether the number is a score, else a count.
        manifest, sealed: what vouches for it.
        missing: whether commands refuse a folder without it.
        log: whether NaN, and what is no number, is a gap in a curve.
    """

    file: str
    keys: tuple[Any, ...]
    commands: tuple[str | Callable[[Path], object], ...]
    score: bool = True
    manifest: bool = True
    sealed: bool = False
    missing: bool = True
    log: bool = False


def _print_embed(folder: Path) -> None:
    from hunmin.commands.embed import print_scores

    print_scores(str(folder / "run"))


def _hub_scores(folder: Path) -> None:
    from hunmin.hub.embeddings import hub_scores

    print(list(hub_scores(folder / "run" / "embed" / "model", folder / "run" / "embed" / "scores")))


def _watch(folder: Path) -> None:
    from hunmin.pipeline.scores import log_scores
    from hunmin.recipes.recipe import load_recipe

    log_scores(load_recipe(folder / "run" / "recipe.yaml", []), folder / "run" / "watch", 5, 10, [])


METRIC = ("best", "macro_f1")
KLUE = ("klue report run", "klue report run --json", "klue report run --format markdown", "klue report run other",
        "report run", "report run other --out page.html", "card run", "push run me/x --dry-run",
        "export run/pretrain/checkpoints/step-00000040 --out new --push-to-hub me/x --dry-run")  # fmt: skip
CORPUS = ("report run", "card run", "push run me/x --dry-run", "corpus stats run", "corpus stats run --json")
ROWS = (
    Row("run/klue/results.jsonl", METRIC, KLUE),
    Row("run/report/report.json", ("klue", 0, *METRIC), ("report run", "report run --json")),
    Row("run/corpus/statistics.json", ("total", "kept", "documents"), CORPUS, score=False),
    Row("run/watch/scores.jsonl", (*METRIC, "mean"), ("report run",), manifest=False, sealed=True, missing=False),
    Row("run/watch/metrics.jsonl", ("klue/ynat/macro_f1",), (_watch,), manifest=False, missing=False),
    Row("run/pretrain/logs/metrics.jsonl", ("accuracy",), ("report run",), manifest=False, missing=False,
        log=True),
    Row("run/embed/scores/table.json", ("rows", 0, "scores", "KLUE-STS"), ("report run", _print_embed, _hub_scores),
        sealed=True, missing=False),
    Row("run/embed/scores/mteb/1/KLUE-STS.json", ("scores", "validation", 0, "main_score"), (_hub_scores,),
        sealed=True),
    Row("run/embed/model/onnx/measured.json", ("onnx-int8", "cosine"), ("report run",), manifest=False, sealed=True,
        missing=False),
    Row("alone/results.jsonl", METRIC, ("klue report alone", "klue report alone --json"), manifest=False),
    Row("run/leaderboard/tuned/results/kornat_common.json", ("results", "kornat_common", "acc,none"),
        ("leaderboard report run", "leaderboard report run --format json", "leaderboard correlate run"), sealed=True,
        missing=False),
    Row("board/results/kornat_common.json", ("results", "kornat_common", "acc,none"),
        ("leaderboard report board", "leaderboard correlate board --json"), manifest=False, sealed=True, missing=False),
    Row("tuned/klue.json", ("scores", "macro_f1"), ("push tuned me/x --dry-run",), manifest=False, sealed=True,
        missing=False),
    Row("harness.json", ("results", "kobest_copa", "acc,none"),
        ("leaderboard report harness.json", "leaderboard correlate harness.json"), manifest=False),
    Row("run/instruct/table.json", ("uses", 0, "rows"), ("instruct show run",), score=False),
)  # fmt: skip
MANIFESTS = {
    "corpus": ("report run", "card run", "push run me/x --dry-run"),
    "tokenizer": ("report run", "card run"),
    "klue": ("report run", "klue report run", "card run", "push run me/x --dry-run"),
    "report": ("report run --json",),
    "embed": (_hub_scores, _print_embed),
    "leaderboard": ("leaderboard report run",),
    "instruct": ("instruct show run", "leaderboard score x --suite instruct --data run --out new"),
}
"""Stage whose manifest is edited → commands."""
FILES = {
    "run/corpus/hits.jsonl": ("report run", "card run", "klue report run", "push run me/x --dry-run"),
    "run/instruct/held_out.jsonl": ("instruct show run", "leaderboard score x --suite instruct --data run --out new"),
    "run/instruct/train.jsonl": ("instruct show run",),
    "run/klue/jobs/ynat-pretrained-42-*/predictions.jsonl": (
        "klue report run --interval",
        "klue report run other --breakdown ynat",
    ),
    "run/klue/gold/ynat-*/dev.jsonl": ("klue report run --interval", "klue report run --breakdown ynat"),
}
"""Rows of a stage → commands that count, show or score them."""


def test_every_command_has_a_row() -> None:
    words = [" ".join(path) for path in _commands(get_command(app), ())]
    lines = [line for row in ROWS for line in row.commands if isinstance(line, str)]
    lines += [line for table in (MANIFESTS, FILES) for own in table.values() for line in own if isinstance(line, str)]
    shown = {name for name in words if any(line == name or line.startswith(f"{name} ") for line in lines)}
    shown |= {"embed train", "klue watch"}  # `_print_embed`, `_watch`: the functions by which they show
    assert not shown & PLAIN.keys() and set(AS.values()) <= shown
    assert sorted({*shown, *PLAIN, *AS}) == sorted(words)


def _commands(command: Any, before: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*before, name))
    if not hasattr(command, "commands"):
        yield before


def write(path: Path, content: Any) -> None:
    """Write rows, a tree, or bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
    elif isinstance(content, dict):
        content = json.dumps(content, ensure_ascii=False)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def finish(run: Path, stage: str, **counts: Any) -> None:
    """Give a folder in made/ its manifest, and let it count."""
    folder = run / "made" / f"{stage}-0123456789"
    write_manifest(
        folder, Manifest(stage=stage, settings={}, inputs={}, outputs=describe_outputs(folder), counts=counts)
    )
    make_current(run, stage, folder)


def board(folder: Path, model: str, score: float) -> None:
    """Write a folder of scores with one result, of a task of the leaderboard."""
    [path] = name_results(folder, model, {"kornat_common": {"model": model * 16}}).values()
    facts = {"metric": "acc,none", "n": 10, "limit": None, "intervals": {"acc,none": [0.1, 0.9]}, "constants": [],
             "best": 0.5, "cut": 2, "prompts": "plain text", "inferred": {}, "generation": None, "shots": 5,
             "data": {"x.jsonl": "ab" * 32}, "versions": {"lm-eval": "0.4.13"}, "model": model * 16}  # fmt: skip
    named = json.loads((folder / "board.json").read_bytes())
    named.pop(DIGEST)
    write(folder / "board.json", encoded({**named, "results": {"kornat_common": "kornat_common.json"}}))
    tree = {"model_name": model, "results": {"kornat_common": {"acc,none": score}}, "hunmin": facts}
    write(path.with_name("kornat_common.json"), encoded(tree))


@pytest.fixture(scope="module")
def sound(mini_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every kind of result, another one, and results that lie by themselves."""
    from embed.score import model_revision

    folder = tmp_path_factory.mktemp("sound")
    run = copy_run(mini_run / "run", folder / "run")
    copy_run(mini_run / "run", folder / "other")
    best = {metric: {"mean": 40.25, "sd": 0.5, "n": 2} for metric in metrics_of("ynat")}
    rows = [{"step": step, "tokens": 9 * step, "task": "ynat", "init": "pretrained", "best": best} for step in (5, 10)]
    write(run / "watch" / "scores.jsonl", b"".join(encoded(row, None) + b"\n" for row in rows))
    write(run / "watch" / "metrics.jsonl", [{"step": 10, "tokens": 90, "klue/ynat/macro_f1": 40.25}])
    made = run / "made"
    write(made / "embed-0123456789" / "model" / "config.json", b"{}")
    write(made / "embed-0123456789" / "logs" / "metrics.jsonl", [{"step": 1, "loss": 2.5}])
    heading = Message("{count} of {all} tasks of {name}", count=1, all=20, name="MTEB(kor, v2)")
    table = {
        "tasks": {"KLUE-STS": {"metric": "cosine_spearman", "differs": []}}, "absent": {}, "heading": heading,
        "messages": {heading: as_tree(heading)},
        "rows": [{"model": "x", "scores": {"KLUE-STS": 40.25}, "trained_on": [], "truncate": None,
                  "results": {"KLUE-STS": "mteb/1/KLUE-STS.json"},
                  "revision": model_revision(made / "embed-0123456789" / "model")}],
    }  # fmt: skip
    scores = made / "embed-0123456789" / "scores"
    write(scores / "table.json", encoded(table))
    own = [{"main_score": 0.4025, "hf_subset": "default", "languages": ["kor-Hang"]}]
    result = {"dataset_revision": "1", "task_name": "KLUE-STS", "mteb_version": "2.1.0", "scores": {"validation": own},
              "evaluation_time": 1.0, "kg_co2_emissions": None}  # fmt: skip
    write(scores / "mteb" / "1" / "KLUE-STS.json", encoded(result))
    finish(run, "embed")
    graph = {"onnx-int8": {"bytes": 1000, "sha256": "0", "sentences_per_second": 90, "cosine": 0.99}}
    write(made / "embed-0123456789" / "model" / "onnx" / "measured.json", encoded(graph))
    board(made / "leaderboard-0123456789" / "tuned", "m", 0.4025)
    finish(run, "leaderboard")
    board(folder / "board", "m", 0.4025)
    board(folder / "another", "o", EDITED / 100)
    answers = {"id": "1", "task": "nsmc", "dataset": "nsmc", "split": "train", "template": 0, "instruction": "긍정?",
               "input": "", "output": "긍정", "choices": ["긍정", "부정"], "licence": "CC0"}  # fmt: skip
    counted = dict.fromkeys(("read", "rejected", "distinct", "contaminated", "shares_held_out", "held_out",
                             "distinct_rows", "rows"), 1)  # fmt: skip
    line = {**counted, "use": "nsmc", "dataset": "nsmc", "licence": "CC0", "state": "built"}
    write(made / "instruct-0123456789" / "table.json", {**counted, "uses": [line]})
    for name in ("train.jsonl", "held_out.jsonl"):
        write(made / "instruct-0123456789" / name, [answers])
    finish(run, "instruct")
    words = ["klue", "finetune", str(run), "--data", str(mini_run / "sample" / "klue"), "--out", str(folder / "klue"),
             "--task", "ynat", "--save-model", "best", "workers=0", "training.max_seq_len=32", "training.epochs=1",
             "training.max_train_examples=8"]  # fmt: skip
    assert run_command(words) == 0
    [tuned] = folder.glob("klue/jobs/*/model")
    tuned.rename(folder / "tuned")
    write(folder / "alone" / "results.jsonl", (run / "klue" / "results.jsonl").read_bytes())
    write(
        folder / "harness.json", {"model_name": "m", "results": {"kobest_copa": {"acc,none": 0.4025, "f1,none": 0.4}}}
    )
    return folder


@pytest.fixture
def places(sound: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of all that, in which the commands run; what a test has changed is whole again after it."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(sound)
    files = [path for path in sound.rglob("*") if path.is_file() and not path.is_symlink()]
    whole = {path: path.read_bytes() for path in files}
    yield sound
    restore(whole)


def restore(whole: dict[Path, bytes]) -> None:
    """Write files as they were."""
    for path, content in whole.items():
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def with_hashes(path: Path) -> dict[Path, bytes]:
    """Return file → bytes of a result, of the manifests that describe it, and of the run's hashes of these."""
    above = path.resolve().parents
    files = [path.resolve(), *(folder / name for folder in above for name in (MANIFEST, "current.json"))]
    return {file: file.read_bytes() for file in files if file.is_file()}


def change(path: Path, keys: tuple[Any, ...], value: Any, seal: bool = True) -> None:
    """Set a number of a result, and make its digest anew."""
    text = path.read_text("utf-8")
    rows = [json.loads(line) for line in (text.splitlines() if path.suffix == ".jsonl" else [text])]
    row = next((entry for entry in rows if _holds(entry, keys)), rows[0])
    *above, last = keys
    for key in above:
        row = row[key]
    row[last] = value
    resealed = ((entry, entry.pop(DIGEST, None)) if seal else (entry, None) for entry in rows)
    lines = [encoded(entry, None) if digest else json.dumps(entry).encode() for entry, digest in resealed]
    path.write_bytes(b"\n".join(lines) + (b"\n" if path.suffix == ".jsonl" else b""))


def _holds(row: Any, keys: tuple[Any, ...]) -> bool:
    try:
        for key in keys:
            row = row[key]
    except (KeyError, IndexError, TypeError):
        return False
    return True


def refused(places: Path, command: str | Callable[[Path], object], name: str, capfd: Any) -> str:
    """Return why a command refuses; "" where it does not. Its message names the file, and it shows nothing edited."""
    capfd.readouterr()
    try:
        code = run_command(command.split()) if isinstance(command, str) else command(places) and 0
    except HunminError as error:
        return str(error) if Path(name).name in str(error) else f"another error: {error}"
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert code in (0, None) or Path(name).name in err, err
    assert code in (0, None) or not any(value in out for value in ("61.37", "5700", "-300", "nan", "NaN"))
    return err if code else ""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.file)
def test_an_impossible_or_edited_number_is_never_shown(row: Row, places: Path, capfd: Any) -> None:
    path, scale = places / row.file, 1 if row.keys[-1] in ("acc,none", "main_score", "cosine", "accuracy") else 100
    whole = with_hashes(path)
    for command in row.commands:  # whole, it is shown
        assert not refused(places, command, row.file, capfd), command
    edited: Any = EDITED * scale / 100 if row.score else 613713
    faults: dict[str, Any] = {
        "NaN": float("nan"),
        "inf": float("inf"),
        "beyond": BEYOND * scale / 100,
        "below": BELOW,
        "text": "61.37",
        "bool": True,
        "nested": {"61.37": 1},
        "huge": 10**400,
    }
    left_out = [] if row.score else ["beyond", "bool"]  # counts have flags beside them
    left_out += ["NaN", "inf", "text", "bool", "nested"] if row.log else []
    faults = {name: value for name, value in faults.items() if name not in left_out}
    for command in row.commands:
        for name, value in faults.items():
            if command != row.commands[0] and name in ("inf", "bool", "nested", "huge"):
                continue
            change(path, row.keys, value)
            describe_again(path)
            assert refused(places, command, row.file, capfd), (command, name)
            restore(whole)
        if row.sealed or row.manifest:
            change(path, row.keys, edited, seal=False)
            assert refused(places, command, row.file, capfd), (command, "edited")
        if row.manifest:
            change(path, row.keys, edited)
            assert refused(places, command, row.file, capfd), (command, "edited with its digest")
            describe_again(path, current=False)
            assert refused(places, command, MANIFEST, capfd), (command, "edited with its manifest")
        restore(whole)
        if row.missing:
            path.unlink()
            assert refused(places, command, row.file, capfd) or not row.manifest, (command, "missing")
            restore(whole)


@pytest.mark.parametrize(
    ("stage", "command"), [(stage, command) for stage, own in MANIFESTS.items() for command in own]
)
def test_an_edited_manifest_is_refused(
    stage: str, command: str | Callable[[Path], object], places: Path, capfd: Any
) -> None:
    path = places / "run" / stage / MANIFEST
    tree = json.loads(path.read_bytes())
    tree["counts"] = {**tree["counts"], "documents": 613713}
    path.write_text(json.dumps(tree))
    assert refused(places, command, MANIFEST, capfd)
    path.unlink()
    assert refused(places, command, MANIFEST, capfd)


@pytest.mark.parametrize(("file", "command"), [(file, command) for file, own in FILES.items() for command in own])
def test_rows_of_a_stage_are_those_that_it_wrote(file: str, command: str, places: Path, capfd: Any) -> None:
    [path] = places.glob(file)
    file, content = path.name, path.read_bytes()
    path.write_bytes(content + content.splitlines(keepends=True)[0])
    assert refused(places, command, file, capfd)
    path.unlink()
    assert refused(places, command, file, capfd)


def test_results_of_another_model_are_refused(places: Path, capfd: Any) -> None:
    for name, command in (("board", "leaderboard report board"), ("run/leaderboard/tuned", "leaderboard report run")):
        path = places / name / "results" / "kornat_common.json"
        path.write_bytes((places / "another" / "results" / "kornat_common.json").read_bytes())
        assert refused(places, command, path.name, capfd)
    rows = (places / "run" / "klue" / "results.jsonl").read_text("utf-8").replace('"init": "pretrained"', '"init": "x"')
    (places / "alone" / "results.jsonl").write_text(rows)
    assert "is no job" in refused(places, "klue report alone", "results.jsonl", capfd)
    path = places / "run" / "embed" / "model" / "config.json"
    path.write_text('{"other": 1}')
    assert "holds no scores of" in refused(places, _hub_scores, "scores", capfd)


def test_results_without_a_manifest_are_shown_and_marked(places: Path, capfd: Any) -> None:
    assert run_command(["klue", "report", "alone"]) == 0
    assert "no manifest describes these scores" in capfd.readouterr().err
    assert run_command(["klue", "report", "run"]) == 0
    assert "no manifest" not in capfd.readouterr().err


def test_a_card_holds_the_numbers_of_its_facts_alone(places: Path, capfd: Any) -> None:
    """What somebody wrote into the file of the card, or into facts that are sealed anew, is not pushed."""
    card, facts = places / "tuned" / "README.md", places / "tuned" / "klue.json"
    card.write_text(re.sub(r"(macro F1 \|) [0-9.]+", r"\1 61.37", card.read_text("utf-8")))
    assert "61.37" in card.read_text("utf-8")
    assert run_command(["push", "tuned", "me/x", "--dry-run"]) == 0
    assert "61.37" not in capfd.readouterr().out
    whole = {facts: facts.read_bytes()}
    for keys, value in ((("base",), 5), (("labels",), 5), (("labels", 0), None), (("scores",), [61.37]),
                        (("job", "training"), 5), (("job", "task"), "x"), (("job", "data_note"), 5),
                        (("job", "examples", "train"), -3)):  # fmt: skip
        change(facts, keys, value)
        assert refused(places, "push tuned me/x --dry-run", facts.name, capfd), keys
        restore(whole)
    write(places / "texts.jsonl", [{"title": "오늘 서울에 비가 온다"}])
    for keys, value in ((("labels", 0), "정치"), (("job", "data_note"), "all of it")):
        change(facts, keys, value, seal=False)
        for command in ("push tuned me/x --dry-run", "klue predict tuned ynat --in texts.jsonl --out p.jsonl"):
            assert refused(places, command, facts.name, capfd), (keys, command)
        restore(whole)


@pytest.mark.parametrize("edit", [lambda row: row, lambda row: row["best"].update(accuracy=row["best"]["macro_f1"])])
def test_a_result_counts_once(edit: Callable[[Any], Any], places: Path, capfd: Any) -> None:
    """A row of the same seed again, as it was or with another score, is no seed more."""
    for file, command in (("alone/results.jsonl", "klue report alone"), ("run/klue/results.jsonl", "card run"),
                          ("run/watch/scores.jsonl", "report run")):  # fmt: skip
        rows = [json.loads(line) for line in (places / file).read_text("utf-8").splitlines()]
        again = json.loads(json.dumps(rows[0]))
        sealed = again.pop(DIGEST, None)
        edit(again)
        path, whole = places / file, with_hashes(places / file)
        write(path, [*rows, json.loads(encoded(again)) if sealed else again])
        describe_again(path)
        assert "of the same" in refused(places, command, path.name, capfd), file
        restore(whole)
    for command in ("klue report run run", "report run other run --out page.html"):
        assert "are the same folder" in refused(places, command, "run", capfd), command


def test_two_scores_of_a_model_on_a_task_are_refused(places: Path, capfd: Any) -> None:
    board(places / "twin", "m", 0.7)
    for first, second in (("board", "twin"), ("board", "board"), ("harness.json", "harness.json")):
        for name in ("report", "correlate"):
            error = refused(places, f"leaderboard {name} {first} {second}", second, capfd)
            assert first in error and "both hold a score of m" in error
    write(places / "twice.csv", b"model,task,score\nm,ko_gsm8k,1\nm,ko_gsm8k,2\n")
    assert "both hold" in refused(places, "leaderboard correlate twice.csv", "twice.csv", capfd)


def test_a_result_that_is_not_there_is_missing_not_damaged(places: Path, capfd: Any) -> None:
    for command in ("leaderboard report none.json", "leaderboard correlate none.json"):
        error = refused(places, command, "none.json", capfd)
        assert "none.json is missing" in error and "damaged" not in error
    (places / "run" / "klue" / "results.jsonl").unlink()
    assert "results.jsonl is missing" in refused(places, "klue report run", "results.jsonl", capfd)


def test_results_are_not_accepted_with_a_model_beside_them(places: Path, capfd: Any) -> None:
    path = places / "run" / "klue" / "results.jsonl"
    change(path, METRIC, EDITED)
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(places / "run" / "export" / name, path.with_name(name))
    assert run_command(["verify", "run/klue", "--accept"]) == 0
    assert refused(places, "klue report run", path.name, capfd)


def test_predictions_give_the_scores_of_their_row(places: Path, capfd: Any) -> None:
    """Where no manifest describes them, too."""
    assert run_command(["klue", "report", "klue", "--interval"]) == 0
    for pattern, field in (("jobs/*/predictions.jsonl", "prediction"), ("gold/*/dev.jsonl", "label")):
        [path] = places.glob(f"klue/{pattern}")
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        others = [{**row, field: "정치"} if number % 2 else row for number, row in enumerate(rows)]
        for faulty in (others, [*rows, 5], [{**row, field: None} for row in rows]):
            write(path, faulty)
            for command in ("klue report klue --interval", "klue report klue --breakdown ynat"):
                assert refused(places, command, ".jsonl", capfd), (command, faulty[-1])
        write(path, rows)


@pytest.mark.parametrize(
    ("file", "rows", "commands"),
    [
        ("run/logs/timing.jsonl", [{"stage": "klue", "folder": []}, 5], ()),
        ("run/pretrain/logs/starts.jsonl", [{"step": "x", "processes": 1}], ("report run", "card run")),
        ("run/pretrain/logs/metrics.jsonl", [{"loss": 1.5}], ("card run",)),
        ("run/pretrain/logs/metrics.jsonl", [{"step": 5, "tokens_per_second": 3.5}], ("card run",)),
        ("run/watch/metrics.jsonl", [{"klue/ynat/macro_f1": 40.25}], (_watch,)),
    ],
)
def test_a_log_of_another_shape_is_refused_or_left_out(
    file: str, rows: list[Any], commands: tuple[Any, ...], places: Path, capfd: Any
) -> None:
    write(places / file, rows)
    for command in commands:
        assert refused(places, command, file, capfd), command
    if not commands:
        assert run_command(["report", "run"]) == 0


OPENED: set[str] = set()
"""Files that commands have opened, while it is looked."""
READERS = ("report run", "klue report run --interval", "card run", "leaderboard report run", "instruct show run",
           "corpus stats run", "push run/tokenizer me/x --dry-run", "push tuned me/x --dry-run", "verify run",
           "clean run --remove", "klue watch run --once", "klue report alone", "leaderboard correlate harness.json",
           _watch, _hub_scores)  # fmt: skip
"""Commands that read what lies in folders."""


@pytest.mark.slow
def test_a_pipe_in_the_place_of_any_file_is_not_waited_for(places: Path, capfd: Any) -> None:
    looking = [True]
    sys.addaudithook(lambda event, arguments: OPENED.add(str(arguments[0])) if looking[0] and event == "open" else None)
    tried: set[str] = set()
    try:
        for command in READERS:
            OPENED.clear()
            refused(places, command, "", capfd)
            there = {path.resolve() for path in map(Path, sorted(OPENED)) if path.is_file()}
            for path in sorted(path for path in there if path.is_relative_to(places)):
                if (kind := re.sub(r"[0-9a-f]{8,}|\d+", "", str(path))) in tried or path.suffix == ".html":
                    continue
                tried.add(kind)
                content = path.read_bytes()
                path.unlink()
                os.mkfifo(path)
                previous = signal.signal(signal.SIGALRM, partial(_waited, command, path))
                signal.alarm(60)
                with suppress(UserError, DamagedError):
                    command(places) if callable(command) else run_command(command.split())
                signal.alarm(0)
                signal.signal(signal.SIGALRM, previous)
                path.unlink(missing_ok=True)
                path.write_bytes(content)
    finally:
        looking[0] = False
    assert len(tried) > 40 and "Traceback" not in capfd.readouterr().err


def _waited(command: object, path: Path, *_: object) -> None:
    raise AssertionError(f"{command} waits for {path}")
