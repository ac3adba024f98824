"""Every command that takes a model refuses every kind of broken folder, with file, rule and fix, before any work.

Commands and settings are found in the program: one that takes a model and has no row here fails.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.main import get_command

pytest.importorskip("sentence_transformers")
sys.path.insert(0, str(Path(__file__).parents[1] / "embed"))
from sentence_transformers import CrossEncoder
from tiny_encoders import embedding_folder, pairs, reranker_folder, write_encoder, write_lines, write_sts
from transformers import AutoConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

from common.manifest import MADE_BY
from common.results import encoded
from embed.card import facts_of
from embed.settings import EmbedSettings
from hunmin.main import app, run_command
from hunmin.recipes.pins import MODELS
from pretrain.model_folder import _check_numbers
from tests.hunmin.broken_models import (
    FAULTS,
    MARK,
    TOKENIZER,
    Fault,
    in_manifest,
    in_manifest_above,
    more_positions,
    spoiled,
)
from tests.klue.conftest import write_benchmark
from tests.klue.names import job_folder
from tests.leaderboard.invented import nine_rows, write
from tests.pretrain.tuning.tiny_decoders import write_base

PROGRAM = get_command(app)
SETTINGS = EmbedSettings.model_validate({"data": [{"path": "x"}], "max_seq_len": 16})
BROKEN, RECIPE = "BROKEN", "recipe.yaml"


@dataclass(frozen=True)
class Row:
    """A place that takes a model: the kind of folder, the command with BROKEN for it, and the recipe's section."""

    kind: str
    words: tuple[str, ...]
    recipe: dict[str, Any] | None = None


def embed(**changes: Any) -> dict[str, Any]:
    section = {"base": "encoder", "data": [{"path": "pairs.jsonl"}], "max_seq_len": 16, "batch": 8, "steps": 2,
             "wandb": "off", **changes}  # fmt: skip
    return {"name": "x", "out": "run", "embed": section}


PRETRAIN = {
    "name": "x", "out": "run", "tokenizer": {"base": "encoder"},
    "corpus": {"inputs": ["text.txt"], "pii": {"enabled": False}, "decontaminate": {"enabled": False}},
    "pretrain": {"model": {"layers": 2, "hidden": 32, "heads": 2}, "max_seq_len": 32, "wandb": "off"},
}  # fmt: skip
TUNE = {
    "name": "x",
    "out": "run",
    "instruct": {"data": "sets", "licences": "all"},
    "tune": {"base": BROKEN, "max_seq_len": 64},
}
FROM = {**PRETRAIN, "pretrain": {**PRETRAIN["pretrain"], "init_from": BROKEN}}
RETRIEVED = {"score": ["HunminKlueMrcRetrieval"], "sources": ["klue"]}
TAKES: dict[tuple[tuple[str, ...], str], list[Row]] = {
    (("klue", "finetune"), "model"): [
        Row("encoder", ("klue", "finetune", BROKEN, "--data", "klue", "--out", "out")),
        Row("finetuned", ("klue", "finetune", BROKEN, "--data", "klue", "--out", "out", "--keep-head",
                          "--task", "ynat")),
    ],
    (("klue", "predict"), "model"): [Row("finetuned", ("klue", "predict", BROKEN, "ynat", "--in", "x", "--out", "y"))],
    (("leaderboard", "score"), "model"): [
        Row("decoder", ("leaderboard", "score", BROKEN, "--suite", "leaderboard2", "--data", "rows", "--out", "out",
                        "--task", "kornat_common")),
    ],
    (("instruct", "answer"), "model"): [Row("decoder", ("instruct", "answer", BROKEN, "--prompt", "가"))],
    (("embed", "score"), "model"): [
        Row("embedder", ("embed", "score", BROKEN, "--data", "sts", "--out", "out", "--task", "KLUE-STS"))
    ],
    (("embed", "score"), "base"): [
        Row("encoder", ("embed", "score", "embedder", "--base", BROKEN, "--data", "sts", "--out", "out"))
    ],
    (("export",), "checkpoint"): [
        Row("embedder", ("export", BROKEN, "--onnx", "--int8")), Row("encoder", ("export", BROKEN, "--onnx")),
        Row("embedder", ("export", BROKEN, "--gguf")),
    ],
    (("push",), "path"): [
        Row("embedder", ("push", BROKEN, "me/x", "--dry-run")), Row("finetuned", ("push", BROKEN, "me/x", "--dry-run")),
        Row("tokenizer", ("push", BROKEN, "me/x", "--dry-run")),
    ],
    (("tokenizer", "show"), "folder"): [Row("tokenizer", ("tokenizer", "show", BROKEN, "가나다"))],
    (("tokenizer", "show"), "more"): [Row("tokenizer", ("tokenizer", "show", "encoder", "가나다", "--with", BROKEN))],
    (("tokenizer", "compare"), "folders"): [
        Row("tokenizer", ("tokenizer", "compare", "encoder", BROKEN, "--text", "text.txt"))
    ],
    (("tokenizer", "extend"), "folder"): [
        Row("tokenizer", ("tokenizer", "extend", BROKEN, "--words", "text.txt", "--out", "out"))
    ],
}  # fmt: skip
"""(command, option or argument that takes a model) → rows."""
SETS: dict[tuple[str, str], list[Row]] = {
    ("pretrain", "init_from"): [
        Row("encoder", ("run", RECIPE, "--dry-run"), FROM), Row("encoder", ("run", RECIPE), FROM),
    ],
    ("tokenizer", "base"): [
        Row("tokenizer", ("run", RECIPE, "--until", "tokenizer"), {**PRETRAIN, "tokenizer": {"base": BROKEN}})
    ],
    ("tune", "base"): [Row("decoder", ("run", RECIPE), TUNE), Row("decoder", ("run", RECIPE, "--dry-run"), TUNE)],
    ("embed", "base"): [
        Row("encoder", ("embed", "data", RECIPE), embed(base=BROKEN)),
        Row("encoder", ("embed", "train", RECIPE), embed(base=BROKEN)),
        Row("encoder", ("run", RECIPE, "--dry-run"), embed(base=BROKEN)),
        Row("encoder", ("embed", "rerank", "train", RECIPE), embed(base=BROKEN)),
    ],
    ("embed", "guide"): [Row("embedder", ("embed", "train", RECIPE), embed(guide=BROKEN))],
    ("embed/mine", "model"): [
        Row("embedder", ("embed", "mine", RECIPE), embed(mine={"model": BROKEN})),
        Row("encoder", ("embed", "mine", RECIPE), embed(mine={"model": BROKEN})),
        Row("embedder", ("embed", "rerank", "score", RECIPE),
            embed(mine={"model": BROKEN}, rerank={"model": "reranker"}, **RETRIEVED)),
    ],
    ("embed/mine", "reranker"): [
        Row("reranker", ("embed", "mine", RECIPE), embed(mine={"model": "embedder", "reranker": BROKEN}))
    ],
    ("embed/rerank", "model"): [
        Row("reranker", ("embed", "rerank", "teach", RECIPE), embed(rerank={"model": BROKEN})),
        Row("reranker", ("embed", "rerank", "score", RECIPE),
            embed(mine={"model": "embedder"}, rerank={"model": BROKEN}, **RETRIEVED)),
    ],
}  # fmt: skip
"""Setting that takes a model → rows."""
ELSEWHERE = {
    (("init",), "size"), (("init",), "klue"), (("export",), "push_to_hub"),
    (("export",), "texts"), (("init",), "labelled"), (("report",), "language"),
    (("push",), "scores"), (("klue", "predict"), "task"), (("klue", "finetune"), "save_model"),
    (("tokenizer", "train"), "model"),
    (("leaderboard", "correlate"), "files"), (("embed", "score"), "backend"), (("tokenizer", "train"), "max_seq_len"),
    (("plan",), "mfu"), (("push",), "repository"), (("klue", "report"), "folders"), (("export",), "out"),
    (("tokenizer", "train"), "pretokenizer"), (("tokenizer", "extend"), "pretokenizer"),
}  # fmt: skip
"""Options whose help speaks of models or tokenizers, and that take none. A graph of the model's folder is a part of it;
checkpoints and runs are compared with their own manifests (`test_flipped_bits`)."""
ROWS = [row for rows in [*TAKES.values(), *SETS.values()] for row in rows]
FIRST = {row.kind: number for number, row in reversed([*enumerate(ROWS)])}
"""Kind of folder → the first command that takes it."""


def case(number: int, index: int, name: str) -> Any:
    """Return a command with a fault. Of each command a third of the faults, and of each fault one command a kind of
    folder, are tested every time; all others are drills."""
    often = FIRST[ROWS[number].kind] == number or (number + index) % 3 == 0
    words = "-".join(word for word in ROWS[number].words if word.isalpha())
    return pytest.param(ROWS[number], name, id=f"{words}-{number}-{name}", marks=() if often else pytest.mark.drill)


CASES = [
    case(number, index, name)
    for number, row in enumerate(ROWS)
    for index, (name, fault) in enumerate(FAULTS.items())
    if row.kind in fault.kinds
]


def options() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the words of each command with each of its parameters that takes a value."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*words, name))
        for option in [] if hasattr(command, "commands") else command.params:
            if option.name != "help" and not getattr(option, "is_flag", False):
                yield words, option

    return walk(PROGRAM, ())


def test_each_option_and_setting_that_takes_a_model_has_a_row() -> None:
    spoken = re.compile(r"model|encoder|decoder|embedder|tokenizer", re.IGNORECASE)
    named = {(words, option.name) for words, option in options()
             if spoken.search(f"{option.name} {option.metavar} {getattr(option, 'help', '')}")}  # fmt: skip
    assert named - ELSEWHERE == {*TAKES} | {(("verify",), "folder")} and named >= ELSEWHERE
    assert {(section, key) for section, key, _ in MODELS} == {*SETS}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sound model of each kind, and the files that the commands read."""
    home = tmp_path_factory.mktemp("sound")
    rows = pairs(40)
    write_benchmark(home / "klue")
    texts = "".join(path.read_text("utf-8") for path in (home / "klue").rglob("*.json"))
    base = write_encoder(home / "encoder", letters="".join({*texts} - {*" \n"}))
    embedding_folder(base, home / "embedder", SETTINGS)
    row = {"set": "x", "split": "train", "licence": "", "rows": 1, "shape": "ranking"}
    facts = facts_of(SETTINGS, base, []) | {"trained_on": [row]}
    (home / "embedder" / "hunmin-embed.json").write_bytes(encoded(facts))
    reranker_folder(base, home / "reranker")
    write_base(home / "decoder")
    (home / "tokenizer").mkdir()
    for name in TOKENIZER:
        if (base / name).is_file():
            shutil.copyfile(base / name, home / "tokenizer" / name)
    write_lines(home / "pairs.jsonl", rows)
    write(home / "rows" / "kornat_common.jsonl", nine_rows()["kornat_common"])
    write_sts(home / "sts")
    (home / "sets").mkdir()
    (home / "text.txt").write_text("서울에서 사과를 판다\n", encoding="utf-8")
    words = ["klue", "finetune", str(base), "--data", str(home / "klue"), "--out", str(home / "scores"),
             "--task", "ynat", "--save-model", "best", "workers=0", "training.max_seq_len=16", "training.epochs=1",
             "training.max_train_examples=8"]  # fmt: skip
    assert run_command(words) == 0
    shutil.copytree(job_folder(home / "scores", "ynat") / "model", home / "finetuned")
    return home


@pytest.fixture
def here(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("typer.main.get_command", lambda _: PROGRAM)  # made anew it takes most of the time
    for path in sound.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def refused(row: Row, fault: Fault, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = spoiled((here / row.kind).resolve(), here, fault)
    if row.recipe:
        tree = yaml.safe_dump(row.recipe, allow_unicode=True).replace(BROKEN, str(folder))
        (here / RECIPE).write_text(tree, encoding="utf-8")
    capfd.readouterr()
    code = run_command([str(folder) if word == BROKEN else word for word in row.words])
    error = " ".join(capfd.readouterr().err.split())
    assert re.search(fault.message, error), error
    assert code == fault.code and "rule:" in error and "fix:" in error and "Traceback" not in error
    assert not (here / MARK).exists()
    assert not (here / "run" / "made").exists()
    assert {path.name for path in (here / "out").glob("*")} <= {MADE_BY}  # the mark of a folder that goes on later


@pytest.mark.parametrize(("row", "name"), CASES)
def test_a_broken_model_is_refused(row: Row, name: str, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    refused(row, FAULTS[name], here, capfd)


BESIDE = ("manifest.json", "../manifest.json")
CHANGED = {
    "in the folder": in_manifest(more_positions), "above": in_manifest_above(more_positions),
}  # fmt: skip


@pytest.mark.parametrize("where", [*CHANGED])
def test_a_folder_that_was_changed_on_purpose_is_accepted(
    where: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["klue", "finetune", "changed", "--data", "klue", "--out", "out", "--task", "ynat", "--dry-run"]
    shutil.copytree((here / "encoder").resolve(), here / "changed")
    assert run_command(command) == 0
    CHANGED[where](here / "changed")
    manifest = next(path for path in ((here / "changed").resolve() / name for name in BESIDE) if path.exists())
    before = manifest.read_bytes()
    assert run_command(command) == 1 and run_command(["verify", "changed"]) == 1
    assert "hunmin verify changed --accept" in " ".join(capfd.readouterr().err.split())
    assert run_command(["verify", "changed", "--accept", "--json"]) == 0
    files = json.loads(capfd.readouterr().out)
    assert [name.rpartition("/")[2] for name in files] == ["config.json", "model.safetensors"]
    assert run_command(command) == 0 and run_command(["verify", "changed"]) == 0
    if where == "above":
        assert run_command(["verify", "run-of-it"]) == 0
        manifest.write_bytes(before)  # as a kill leaves it, between its digest and the manifest
        assert run_command(command) == 1
        assert run_command(["verify", "changed", "--accept"]) == 0 == run_command(command)
        tree = json.loads(manifest.read_bytes())
        manifest.write_text(json.dumps({**tree, "counts": {"rows": 613713}}))
        assert run_command(["verify", "changed", "--accept"]) == 1 and b"613713" in manifest.read_bytes()


@pytest.mark.parametrize("name", ["NaN", "no feed-forward", "a pickle alone", "a tokenizer with more entries"])
def test_a_broken_folder_is_not_accepted(name: str, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree((here / "encoder").resolve(), here / "changed")
    in_manifest(FAULTS[name].spoil)(folder)
    before = (folder / "manifest.json").read_bytes()
    assert run_command(["verify", "changed", "--accept"]) == 2
    assert re.search(FAULTS[name].message, " ".join(capfd.readouterr().err.split()))
    assert (folder / "manifest.json").read_bytes() == before


def test_scores_beside_a_model_that_are_of_another_program_are_named(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree((here / "embedder").resolve(), here / "mine" / "model")
    (here / "mine" / "scores").mkdir()
    for content in (None, "[1]", '{"tasks": {}, "rows": []}'):
        if content:
            (here / "mine" / "scores" / "table.json").write_text(content)
        assert run_command(["push", "mine/model", "me/x", "--dry-run"]) == 2
        error = " ".join(capfd.readouterr().err.split())
        assert re.search(r"scores holds no table\.json of hunmin embed score rule: .* fix: ", error), error
        assert "damaged" not in error


def test_a_reranker_teaches_no_score_that_is_no_number(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    predict = CrossEncoder.predict

    def at_times_infinite(self: Any, pairs: Any, **options: Any) -> Any:
        scores = predict(self, pairs, **options)
        if len(scores) > 1:
            scores[7] = np.inf
        return scores

    monkeypatch.setattr(CrossEncoder, "predict", at_times_infinite)
    (here / RECIPE).write_text(yaml.safe_dump(embed(rerank={"model": "reranker"}), allow_unicode=True), "utf-8")
    assert run_command(["embed", "rerank", "teach", RECIPE]) == 2
    error = " ".join(capfd.readouterr().err.split())
    assert re.search(r"cross-encoder's score of '.+' with '.+' is inf rule: .* fix: ", error), error
    assert not [*here.glob("run/**/*.jsonl")]


def test_numbers_of_every_encoder_and_decoder_of_transformers_are_taken() -> None:
    configs = []
    for kind in {*MODEL_FOR_MASKED_LM_MAPPING_NAMES, *MODEL_FOR_CAUSAL_LM_MAPPING_NAMES}:
        with suppress(Exception):  # of kinds that need another package, or sizes
            configs.append(AutoConfig.for_model(kind))
    assert len(configs) > 100
    for config in configs:
        _check_numbers(Path(config.model_type), json.loads(config.to_json_string(use_diff=False)))


def test_an_answer_comes_without_bars(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["instruct", "answer", "decoder", "--prompt", "가", "--max-new-tokens", "2"]) == 0
    assert "Loading" not in capfd.readouterr().err
