"""Every option that names an output, found in the program itself, against whatever may stand there: nothing is lost."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import typer
import yaml

pytest.importorskip("sentence_transformers")
pytest.importorskip("matplotlib")
sys.path.insert(0, str(Path(__file__).parents[1] / "embed"))
from tiny_encoders import RUN, embedding_folder, pairs, reranker_folder, write_encoder, write_lines

from common.slurm_array import ShareDone
from hunmin.commands.options import CONTRACT
from hunmin.embed.stages import settings_of
from hunmin.main import app, run_command
from hunmin.recipes.load import load_embed_recipe
from tests.klue.test_table_forms import VALUES
from tests.rights import without_root

WORDS = "첫째 문장입니다. 둘째 문장입니다."


class Row(NamedTuple):
    """A command that writes what a user names, with inputs so small that it ends at once."""

    command: str
    """Its words; {} is the output."""
    out: str
    """Name that the user gives."""
    kind: str = "file"
    """"file"; "folder", written as a whole; or "continued", a folder in which the same command continues."""
    inputs: tuple[str, ...] = ()
    """Files that it reads."""
    file: str = ""
    """File that is looked at, of a command that names it itself."""
    overwrites: bool = True
    """Whether it has --overwrite."""


ROWS: dict[tuple[str, str], Row] = {
    ("corpus pseudonymize", "--out"): Row("corpus pseudonymize --in in.jsonl --out {}", "o", inputs=("in.jsonl",)),
    ("corpus pii", "--out"): Row("corpus pii --in in.jsonl --out {}", "o.jsonl.gz", inputs=("in.jsonl",)),
    ("corpus split", "--out"): Row("corpus split --in in.jsonl --out {}", "o.jsonl.zst", inputs=("in.jsonl",)),
    ("corpus decontaminate", "--out"): Row(
        "corpus decontaminate --benchmark bench.jsonl --in in.jsonl --hits /dev/null --out {}", "o.jsonl",
        inputs=("in.jsonl", "bench.jsonl"),
    ),
    ("corpus decontaminate", "--hits"): Row(
        "corpus decontaminate --benchmark bench.jsonl --in in.jsonl --hits {}", "h.jsonl",
        inputs=("in.jsonl", "bench.jsonl"),
    ),
    ("corpus stats", "--plots"): Row("corpus stats - --plots {}", "plots", file="plots/lengths.png"),
    ("tokenizer train", "--out"): Row("tokenizer train --corpus in.txt --vocab-size 90 --out {}", "t", "folder"),
    ("tokenizer extend", "--out"): Row("tokenizer extend tok --words in.txt --out {}", "t", "folder"),
    ("tokenizer compare", "--plot"): Row("tokenizer compare tok --text in.txt --plot {}", "p.png", inputs=("in.txt",)),
    ("compare", "--plot"): Row("compare run base --text in.txt --plot {}", "k.png", inputs=("in.txt",)),
    ("klue finetune", "--out"): Row("klue finetune base --data . --out {}", "k", "continued"),
    ("klue predict", "--out"): Row("klue predict base ynat --in in.jsonl --out {}", "o.jsonl", inputs=("in.jsonl",)),
    ("klue report", "--plot"): Row("klue report scores --no-published --plot {}", "p.pdf"),
    ("report", "--out"): Row("report run --out {}", "page.html"),
    ("sample", "--out"): Row("sample --out {}", "s", "folder"),
    ("init", "--out"): Row("init --text in.txt --out {}", "r.yaml", inputs=("in.txt",), overwrites=False),
    ("recipes", "--out"): Row("recipes --copy quickstart --out {}", "r.yaml", overwrites=False),
    ("recipes", "--copy"): Row("recipes --copy quickstart", "quickstart.yaml", overwrites=False),
    ("export", "--out"): Row("export step-00000001 --out {}", "m", "folder"),
    ("export", "--onnx"): Row("export base --onnx", "base/onnx/encoder.onnx"),
    ("export", "--int8"): Row("export base --onnx --int8", "base/onnx/encoder_qint8.onnx"),
    ("export", "--gguf"): Row("export base --gguf", "base/model-f32.gguf"),
    ("instruct answer", "--out"): Row("instruct answer base --in q.jsonl --out {}", "o.jsonl", inputs=("q.jsonl",)),
    ("leaderboard score", "--out"): Row("leaderboard score base --suite kit19 --data . --out {}", "k", "continued"),
    ("leaderboard correlate", "--plot"): Row("leaderboard correlate r.csv --plot {}", "p.svg", inputs=("r.csv",)),
    ("embed score", "--out"): Row("embed score base --data . --out {}", "k", "continued"),
    ("embed mine", "--out"): Row("embed mine e.yaml --out {}", "m", "folder"),
    ("embed rerank train", "--out"): Row("embed rerank train e.yaml --out {}", "m", "folder"),
    ("embed rerank teach", "--out"): Row("embed rerank teach e.yaml --out {}", "m", "folder"),
}  # fmt: skip
NOT_OUTPUTS = """
    --accept --account --address --all --average --backend --base --baseline-random --batch-size --benchmark --breakdown
    --chat-template
    --cores --corpus --cpu --data --device --devices --dropped --dry-run --dtype --env-file --every --executor --format
    --from --gold --grace-period --hosts --hub --image --in --instruct --interval --json --keep-head --klue --label
    --labelled --language
    --launcher --license --limit --max-new-tokens --max-seq-len --mfu --min-character-count --min-pair-count --model
    --name --network --node --nodes --once --overwrite --partition --predictions --pretokenizer --price --probabilities
    --probes --prompt --public --published --push-to-hub --ray-address --remove --restart --restarts --run --sample-mb
    --save-model --scheduler-option --scores --search --seed --seeds --sentence-embeddings --sentences --show --size
    --special --subset --suite --task --task-file --text --texts --time --token --train --truncate
    --units-only --until --unused --vocab-size --volume-claim
    --watch --with --with-text --words --workers --worst -n
"""
"""Options that name no file or folder to write."""
ALL = [pytest.param(row, id=" ".join(key)) for key, row in ROWS.items()]
FILES = [pytest.param(row, id=" ".join(key)) for key, row in ROWS.items() if row.kind == "file"]
FOLDERS = [pytest.param(row, id=" ".join(key)) for key, row in ROWS.items() if row.kind != "file"]
READING = [pytest.param(row, id=" ".join(key)) for key, row in ROWS.items() if row.inputs]


def options(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield (command, option) of the whole program."""
    for name, child in command.commands.items():
        if hasattr(child, "commands"):
            yield from options(child, (*words, name))
        else:
            path = " ".join((*words, name))
            yield from ((path, opt) for param in child.params for opt in param.opts if opt[0] == "-")


def test_every_option_is_known_and_each_that_names_an_output_has_a_row() -> None:
    """A new option goes into `NOT_OUTPUTS`, or it names an output and gets a row here."""
    known = set(options(typer.main.get_command(app)))
    assert {key for key in known if key[1] not in NOT_OUTPUTS.split()} == set(ROWS)


@pytest.mark.parametrize("key", [key for key in ROWS if key[1] not in ("--copy", "--onnx", "--int8", "--gguf")])
def test_the_contract_stands_in_the_help(key: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([*key[0].split(), "--help"]) == 0
    assert CONTRACT in " ".join(capsys.readouterr().out.replace("│", " ").split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all inputs."""
    folder = tmp_path_factory.mktemp("made")
    write_lines(folder / "in.jsonl", [{"id": str(n), "guid": str(n), "text": WORDS * n} for n in (1, 4)])
    write_lines(folder / "bench.jsonl", [{"guid": "b", "task": "t", "text": WORDS}])
    write_lines(folder / "q.jsonl", [{"instruction": "안녕"}])
    write_lines(folder / "pairs.jsonl", pairs(20))
    text = "".join(f"{row['query']} {row['positive']}\n" for row in pairs(100))
    (folder / "in.txt").write_text(text, encoding="utf-8")
    scores = "".join(f"m{n},{task},{n}\n" for n in range(3) for task in ("ko_gsm8k", "ko_ifeval"))
    (folder / "r.csv").write_text(f"model,task,score\n{scores}", encoding="utf-8")
    for name in ("run", "scores", "step-00000001"):
        (folder / name).mkdir()
        (folder / name / "of-the-user").write_text("kept")
    reranker_folder(write_encoder(folder / "base"), folder / "cross")
    rerank = {"model": "cross", "max_seq_len": 16}
    section = {**RUN, "base": "base", "data": [{"path": "pairs.jsonl"}], "rerank": rerank}
    (folder / "e.yaml").write_text(yaml.safe_dump({"name": "e", "out": "emb", "embed": section}), encoding="utf-8")
    here = Path.cwd()
    os.chdir(folder)
    try:
        settings = settings_of(load_embed_recipe("e.yaml"))
        embedding_folder(folder / "base", folder / "emb" / "embed" / "model", settings)
        shutil.copytree(folder / "emb" / "embed" / "model", folder / "base", dirs_exist_ok=True)
        train = "tokenizer train --corpus in.txt --vocab-size 120 --min-character-count 1 --out tok --workers 1"
        assert run_command(train.split()) == 0
    finally:
        os.chdir(here)
    return folder


class Lines:
    """Standard input that holds a line each time it is asked for."""

    @property
    def buffer(self) -> io.BytesIO:
        return io.BytesIO(json.dumps({"text": WORDS, "source": "a"}).encode())

    def isatty(self) -> bool:
        return False


@pytest.fixture
def work(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The working folder, with all inputs; what takes seconds is short, and what began is listed."""
    began: list[str] = []

    def short(target: str, answer: Callable[..., Any]) -> None:
        def stub(*arguments: Any, **named: Any) -> Any:
            began.append(target)
            return answer(*arguments, **named)

        monkeypatch.setattr(target, stub)

    def fills(at: int, name: str = "made.txt") -> Callable[..., dict[str, Any]]:
        def fill(*arguments: Any, **_: Any) -> dict[str, Any]:
            (Path(arguments[at]) / name).write_text("made")
            return {"vocab_size": 1, "named": 0, "learnt": 0, "sets": {}}

        return fill

    def end(*_: Any, **__: Any) -> None:
        raise ShareDone("done")

    def graph(folder: Path, _: Any, file: str, *__: Any) -> None:
        (folder / file).write_bytes(b"pytorch")

    def quantized(_: Any, path: Path, **__: Any) -> None:
        path.write_bytes(b"onnx.quantize")

    shutil.copytree(made, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUNMIN_PII_KEY", "0123456789abcdef-test")
    monkeypatch.setattr(sys, "stdin", Lines())
    short("hunmin.pipeline.outside_run.train_tokenizer", fills(2))
    short("hunmin.pipeline.outside_run.extend_tokenizer", fills(1))
    row = {"fertility": 1.0, "continued_word_ratio": 1.0, "unk_ratio": 0.0, "morpheme_boundary_f1": 1.0}
    row |= {"josa_coverage": 1.0, "ending_coverage": 1.0, "tokens_per_byte": 1.0, "unused_ratio": 0.0}
    short("tokenizer.compare.compare", lambda *_: [{"tokenizer": "tok", "vocab_size": 60, **row}])
    monkeypatch.setattr("tokenizer.compare.without_unused_share", lambda row: "")
    point = {"name": "a", "steps": 1, "seeds": 1, "flops": 1.0, "device_hours": 1.0, "bits_per_byte": 1.0, "sd": None,
             "probes": {}, "speed_up": None}  # fmt: skip
    short("hunmin.pipeline.compare.compare", lambda *_: ())
    monkeypatch.setattr("hunmin.pipeline.compare.summary", lambda *_: [point])
    short("klue.runner.run_klue", end)
    task = SimpleNamespace(name="ynat", title="YNAT", suffix="x", decode=lambda *_: ["정치"])
    job = SimpleNamespace(training=SimpleNamespace(pos_tags=False, max_seq_len=8), threads=1)
    for name, answer in {
        "get_task": task, "read_texts": [SimpleNamespace(guid="1", given=())], "load_tokenizer": None,
        "load_model": (SimpleNamespace(to=lambda where: None), job), "check_reading": None, "cut_note": "",
        "make_features": SimpleNamespace(cut=0), "read_model_folder": None, "predict": None,
    }.items():  # fmt: skip
        short(f"klue.predict.{name}", lambda *_, answer=answer: answer)
    figures = {"accuracy": 1.0, "macro_f1": 1.0}
    scored = {"model": "m", "task": "ynat", "init": "pretrained", "seed": 42, "best": figures, "last": figures,
              "data_note": "", "examples": {"train": 1, "dev": 1}, "settings": VALUES}  # fmt: skip
    short("klue.print_report.read_models", lambda *_: [scored])
    monkeypatch.setattr("klue.print_report.results_table", lambda *_: "")
    short("hunmin.page.page.read_facts", lambda *_: SimpleNamespace(state="finished", recipe={}))
    monkeypatch.setattr("hunmin.page.page.render", lambda *_: '<meta name="generator" content="hunmin"> page')
    monkeypatch.setattr("hunmin.pipeline.report.print_report", lambda *_: None)
    short("pretrain.export.is_export_of", lambda *_: False)
    short("pretrain.export.export_checkpoint", lambda *positional: fills(1)(*positional))
    of_graphs: dict[str, Callable[..., Any]] = {
        "pretrain.export.graphs.write_onnx": graph, "pretrain.export.graphs.check_onnx": lambda *_: 0.0,
        "embed.onnx._measured": lambda *_: {"bytes": 1, "sentences_per_second": 1, "cosine": 1.0},
    }  # fmt: skip
    for name, function in of_graphs.items():
        short(name, function)
    short("embed.gguf._tokenizer_faults", lambda *_: [])
    short("embed.gguf._write", lambda path, *_: path.write_bytes(b"GGUF"))
    short("onnxruntime.quantization.quant_pre_process", lambda *_, **__: None)
    short("onnxruntime.quantization.quantize_dynamic", quantized)
    short("pretrain.decoders.answer.answer", lambda *_: iter(["네"]))
    monkeypatch.setattr("hunmin.instruct.stages.decoder_folder", Path)
    short("leaderboard.score.score_model", lambda *positional: fills(2)(*positional))
    monkeypatch.setattr("hunmin.commands.leaderboard.print_board", lambda *_: None)
    short("embed.score.score_models", lambda *positional, **_: fills(2)(*positional))
    for name in ("_print_table", "_print"):
        monkeypatch.setattr(f"hunmin.commands.embed.{name}", lambda *_: None)
    short("hunmin.embed.results.mine", fills(3))
    short("hunmin.embed.results.train_on", lambda _, __, folder, ___: fills(0)(folder) | {"sets": []})
    short("embed.rerank.teach", fills(2))
    return began


def run(row: Row, *more: str) -> int:
    return run_command([*row.command.replace("{}", row.out).split(), *more])


def target(row: Row) -> Path:
    return Path(row.file or row.out)


def everything() -> dict[str, Any]:
    """Return what stands below the working folder: of files their bytes, of links where they lead."""
    return {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        for path in Path().rglob("*")
    }


def refused(row: Row, began: list[str], *more: str) -> None:
    """The command ends with 2 before it works, and all is as it was; with --overwrite, too."""
    before = everything()
    for words in [(), ("--overwrite",)] if row.overwrites and row.kind == "file" and not more else [more]:
        began.clear()
        assert run(row, *words) == 2 and everything() == before, words
        assert not set(began) - {"pretrain.export.is_export_of"}


@pytest.mark.parametrize("row", FILES)
@pytest.mark.parametrize("content", [b"thesis.docx", b"\x89PNG\r\n\x1a\n", b'{"note": "mine"}\n' * 3])
def test_a_file_of_the_users_stays(row: Row, content: bytes, work: list[str]) -> None:
    target(row).parent.mkdir(exist_ok=True)
    target(row).write_bytes(content)
    refused(row, work)


@pytest.mark.parametrize(
    ("row", "other"),
    [
        (ROWS["klue report", "--plot"]._replace(command="klue report scores --breakdown ynat --plot {}"), "p-ynat.pdf"),
        (ROWS["corpus stats", "--plots"], "plots/benchmark.png"),
        (ROWS["export", "--onnx"], "base/onnx/measured.json"),
    ],
)
def test_a_file_that_is_written_beside_stays(row: Row, other: str, work: list[str]) -> None:
    Path(other).parent.mkdir(exist_ok=True)
    Path(other).write_text("mine")
    refused(row, work)


@pytest.mark.parametrize("row", FILES)
def test_a_folder_of_the_users_stays_where_a_file_is_named(row: Row, work: list[str]) -> None:
    target(row).mkdir(parents=True)
    refused(row, work)


@pytest.mark.parametrize("row", FOLDERS)
@pytest.mark.parametrize("name", ["notes.txt", ".git/x", "logs/notes.log", "manifest.json"])
def test_a_folder_of_the_users_stays(row: Row, name: str, work: list[str]) -> None:
    (target(row) / name).parent.mkdir(parents=True)
    (target(row) / name).write_text("mine")
    refused(row, work)


@pytest.mark.parametrize("row", FOLDERS)
def test_a_file_stays_where_a_folder_is_named(row: Row, work: list[str]) -> None:
    target(row).write_text("mine")
    refused(row, work)


@pytest.mark.parametrize("row", ALL)
@pytest.mark.parametrize("leads", ["empty", "mine", "gone"])
def test_a_link_is_neither_replaced_nor_followed(row: Row, leads: str, work: list[str]) -> None:
    if leads == "empty":
        Path("empty").touch() if row.kind == "file" else Path("empty").mkdir()
    elif leads == "mine":
        Path("mine").write_text("mine") if row.kind == "file" else Path("mine").mkdir()
    target(row).parent.mkdir(exist_ok=True)
    target(row).symlink_to(Path(leads).absolute())
    refused(row, work)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=" ".join(key)) for key, row in ROWS.items() if "{}" in row.command]
)
def test_a_url_is_refused(row: Row, work: list[str]) -> None:
    refused(row._replace(out="s3://user:password@bucket/name" + Path(row.out).suffix), work)


@pytest.mark.parametrize("row", READING)
def test_an_input_is_never_written(row: Row, work: list[str]) -> None:
    for name in row.inputs:
        other = row._replace(out=name)
        refused(other, work)
        Path("again").hardlink_to(name)
        refused(other._replace(out="again"), work)
        Path("again").unlink()


@pytest.mark.parametrize("row", ALL)
def test_what_hunmin_made_and_a_user_changed_stays(row: Row, work: list[str]) -> None:
    """Edited, or with a file of the user's in it. With --overwrite a file is replaced."""
    assert run(row) == 0
    if row.kind == "file":
        made = target(row)
        content = made.read_bytes()
        made.write_bytes(content + content)  # of a compressed file two parts, which is one, too
        before = everything()
        assert run(row) == 2 and everything() == before
        if row.overwrites:
            assert run(row, "--overwrite") == 0 and made.read_bytes() == content
        return
    (target(row) / "notes").mkdir()
    (target(row) / "notes" / ".mine.txt").write_text("mine")
    written = [
        path for path in target(row).iterdir() if path.is_file() and path.name[0] != "." and "manifest" not in path.name
    ]
    for path in written:
        path.write_bytes(path.read_bytes() + b"mine")
    before = everything()
    if row.kind == "folder":
        assert run(row) == 2 and everything() == before
        return
    assert run(row) == 0
    assert (target(row) / "notes" / ".mine.txt").read_text() == "mine"


@pytest.mark.parametrize("row", ALL)
def test_where_nothing_may_be_written_it_is_said_before_the_work(row: Row, work: list[str]) -> None:
    """By a user without root's rights, whose folder is read-only."""
    above = next(parent for parent in target(row).parents if parent.exists())
    above.chmod(0o500)

    def work_there() -> int:
        code = run(row) if not os.access(above, os.W_OK) else 8
        return 7 if set(work) - {"pretrain.export.is_export_of"} else code

    assert without_root(work_there) == 2
    above.chmod(0o700)


@pytest.mark.parametrize("row", ALL)
def test_on_a_full_disk_what_was_there_stays(row: Row, work: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if row.kind == "file" and row.overwrites:
        assert run(row) == 0
    before = everything()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code = run(row, *["--overwrite"][: row.kind == "file" and row.overwrites])
    assert code == (0 if row.kind == "continued" else 1)
    after = everything()
    assert before.items() <= after.items()
    assert not [name for name in after if name not in before and row.kind == "file" and after[name] != "folder"]
