"""The embedded sample: the frozen bytes, a truth that holds, the folder it is written to, and its tiny decoder."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from mini import write_small_sample

from common.manifest import Manifest, describe_outputs, package_versions, write_manifest
from data.readers.formats import parse_block, read_blocks
from data.readers.paths import list_files
from data.readers.records import Document
from data.readers.settings import SourceSettings
from hunmin.main import run_command
from hunmin.sample import make_sample, write_sample
from klue.examples import load_splits
from klue.tasks import SUITES as BENCHMARKS
from leaderboard.suites import SUITES

SAMPLE = "337addbcc2f7ce496983a2a1c25c08df70ef09f0a1c629bf344a28a741650679"
INSTRUCT = "039a7bba51427727297f5d4b4ad9af1e11cdb5b5af7c876fce76e9ca7b78c602"
PACKAGE = Path(__file__).parents[3] / "hunmin" / "sample"


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def digest(files: dict[str, str]) -> str:
    """Return the SHA-256 of what `sha256sum` prints of files in the order of their paths."""
    return hashlib.sha256("".join(f"{files[path]}  {path}\n" for path in sorted(files)).encode()).hexdigest()


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    write_sample(out)
    return out


@pytest.fixture(scope="module")
def instruct(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("instruct") / "sample"
    make_sample(out, instruct=True)
    return out


def documents(folder: Path) -> dict[tuple[str, str | int], str]:
    """Return (file, id or number of its line) → text, as the corpus stage reads them."""
    texts: dict[tuple[str, str | int], str] = {}
    for file in list_files([SourceSettings(path=str(folder / "corpora"))]):
        name = f"corpora/{Path(file.path).name}"
        read = [item for format, block in read_blocks(file, 1 << 20) for item in parse_block(file, format, block)]
        for number, document in enumerate(read, 1):
            assert isinstance(document, Document), document
            texts[name, document.id if ".jsonl" in name else number] = document.text
    return texts


def truth(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_file_is_the_generators_to_the_byte(sample: Path, instruct: Path) -> None:
    assert (len(hashes(sample)), digest(hashes(sample))) == (25, SAMPLE)
    written = {name: content_hash for name, content_hash in hashes(instruct).items() if not name.startswith("base/")}
    written.pop("manifest.json")
    assert (len(written), digest(written)) == (37, INSTRUCT)


def test_the_package_stays_small_and_says_where_its_data_come_from() -> None:
    archives = sorted(PACKAGE.glob("*.tar.xz"))
    assert [path.name for path in archives] == ["instruct.tar.xz", "sample.tar.xz"]
    assert sum(path.stat().st_size for path in archives) <= 1_000_000
    note = (PACKAGE / "PROVENANCE.md").read_text(encoding="utf-8")
    assert all(path.name in note for path in archives) and "Apache-2.0" in note


@pytest.mark.parametrize("share", ["whole", "tenth"])
def test_the_truth_holds_and_the_tasks_are_whole(share: str, sample: Path, tmp_path: Path) -> None:
    out = sample if share == "whole" else write_small_sample(tmp_path)
    texts, facts = documents(out), truth(out)
    for fact in facts:
        text = texts[fact["file"], fact["document"]]
        if fact["kind"] == "duplicate":
            assert (texts[fact["file"], fact["of"]] == text) is (fact["how"] == "exact")
        elif fact["kind"] != "noise":
            assert fact["value" if fact["kind"] == "pii" else "text"] in text
    assert {fact["kind"] for fact in facts} == {"pii", "benchmark", "duplicate", "noise"}
    assert len({fact["type"] for fact in facts if fact["kind"] == "pii"}) == 16
    assert len(texts) == 3796 if share == "whole" else len(texts) < 400
    assert len(BENCHMARKS["klue"].tasks) == 8
    for task in BENCHMARKS["klue"].tasks:
        splits = load_splits(task, out / "klue")
        assert len(splits.train) > len(splits.dev) > 0
    assert {name: digest for name, digest in hashes(out).items() if name.startswith("klue/")} == {
        name: digest for name, digest in hashes(sample).items() if name.startswith("klue/")
    }


def test_the_benchmark_stands_only_where_it_was_planted(sample: Path) -> None:
    planted = {fact["text"] for fact in truth(sample) if fact["kind"] == "benchmark"}
    records = [
        record
        for split in ("train", "dev")
        for record in json.loads((sample / f"klue/klue-nli-v1.1/klue-nli-v1.1_{split}.json").read_bytes())
    ]
    sentences = {record[key] for record in records for key in ("premise", "hypothesis")} - planted
    for text in documents(sample).values():
        assert not sentences.intersection(part + "." for part in text.split(". "))


def test_the_command_prints_counts_and_finds_its_folder_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["sample", "--out", str(tmp_path / "s"), "--json"]
    assert run_command(command) == 0
    counts = json.loads(capsys.readouterr().out)
    kinds = Counter(fact["kind"] for fact in truth(tmp_path / "s"))
    assert (counts["planted_noise"], counts["planted_duplicates"]) == (kinds["noise"], kinds["duplicate"])
    assert (counts["documents"], counts["sentences"], counts["planted_pii"]) == (3796, 41718, 640)
    before = hashes(tmp_path / "s")
    assert run_command([*command, "--seed", "42"]) == 0
    said = capsys.readouterr()
    assert "done" in said.err and json.loads(said.out) == counts and hashes(tmp_path / "s") == before
    truth_file = tmp_path / "s" / "truth.jsonl"
    whole = truth_file.read_bytes()
    truth_file.write_bytes(whole[:-2] + b"x\n")
    assert run_command(command) == 2 and "truth.jsonl" in capsys.readouterr().err  # an edited sample is not done
    truth_file.unlink()
    assert run_command(command) == 0 and "done" not in capsys.readouterr().err and truth_file.read_bytes() == whole


def test_another_seed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sample", "--out", str(tmp_path / "s"), "--seed", "7"]) == 2
    assert "leave --seed out" in capsys.readouterr().err and not (tmp_path / "s").exists()


def test_a_sample_of_an_earlier_version_is_replaced_and_one_of_this_version_kept(tmp_path: Path) -> None:
    def mark(folder: Path, seed: int) -> None:
        counts, versions = {"documents": 1}, package_versions("hunmin")
        write_manifest(
            folder, Manifest(stage="sample", settings={"seed": seed}, inputs={}, outputs={}, counts=counts,
                             versions=versions),
        )  # fmt: skip

    mark(tmp_path / "kept", 42)
    assert make_sample(tmp_path / "kept") == {"documents": 1}
    mark(tmp_path / "old", 7)
    assert make_sample(tmp_path / "old")["documents"] == 3796


def test_every_task_of_both_suites_has_rows(instruct: Path) -> None:
    for suite in ("kit19", "leaderboard2"):
        assert {f"{task}.jsonl" for task in SUITES[suite]} <= {path.name for path in (instruct / suite).iterdir()}


def test_the_decoder_is_the_same_again_and_reads_every_text(instruct: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    state = torch.get_rng_state()
    make_sample(tmp_path / "again", instruct=True)
    assert torch.equal(state, torch.get_rng_state())
    assert describe_outputs(instruct) == describe_outputs(tmp_path / "again")
    base = instruct / "base"
    tokenizer = AutoTokenizer.from_pretrained(base, trust_remote_code=False)
    assert tokenizer.eos_token == tokenizer.pad_token == "<|endoftext|>" and tokenizer.bos_token is None
    text = "처음 보는 글 %$ ㅋㅋ"
    assert tokenizer.decode(tokenizer.encode(text)) == text, "byte-level"
    model = AutoModelForCausalLM.from_pretrained(base, trust_remote_code=False)
    assert model.config.model_type == "gpt_neox" and not list(base.glob("*.bin"))
    assert model.config.vocab_size == len(tokenizer)
