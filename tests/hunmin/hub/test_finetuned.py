"""Fine-tuned models go to the hub, and are there what they were in their folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hub_server import Hub
from huggingface_hub import ModelCard
from safetensors.torch import load_file, save_file

from common.results import DIGEST, encoded
from hunmin.main import run_command
from klue.tasks import TASKS
from tests.klue.names import job_folder

pytestmark = pytest.mark.slow


def snippet(card: str) -> str:
    """Return the Python of a card."""
    return card.partition("```python\n")[2].partition("```")[0]


def printed(program: str, folder: Path) -> str:
    """Return what a program prints that is run in a folder."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seal(folder: Path, facts: dict[str, Any]) -> None:
    """Write a model's facts as fine-tuning does."""
    facts.pop(DIGEST)
    (folder / "klue.json").write_bytes(encoded(facts))


@pytest.fixture(scope="module")
def jobs(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of each of two tasks: of the pretrained weights, and of random ones."""
    out = tmp_path_factory.mktemp("scores")
    words = ["klue", "finetune", str(run / "export"), "--data", str(run.parent / "sample" / "klue"), "--out", str(out),
             "--task", "ynat", "--task", "klue-ner", "--baseline-random", "--save-model", "best",
             "workers=0", "training.max_seq_len=32", "training.epochs=1", "training.max_train_examples=32"]  # fmt: skip
    assert run_command(words) == 0
    return out / "jobs"


def test_a_fine_tuned_model_goes_with_its_scores_and_predicts_the_same(
    hub: Hub, jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = job_folder(jobs.parent, "ynat") / "model"
    assert run_command(["push", str(folder), "me/headlines", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "model.safetensors" in said and "me/headlines (private)" in said
    assert "model-index:" not in said  # the sample is not the benchmark
    assert not hub.calls
    assert run_command(["push", str(folder), "me/headlines"]) == 0
    there = hub.repositories["me/headlines"]
    assert there.private and {"config.json", "klue.json", "model.safetensors", "tokenizer.json"} <= set(there.files)
    for name, content in there.files.items():
        if name != "README.md":
            assert content == (folder / name).read_bytes(), name
    card = ModelCard(there.files["README.md"].decode())
    assert card.data.pipeline_tag == "text-classification" and "fine-tuned for YNAT" in card.text

    copy, texts = tmp_path / "copy", tmp_path / "texts.jsonl"
    for name, content in there.files.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(content)
    texts.write_text('{"title": "오늘 서울에 비가 온다"}\n{"title": "축구 대표팀이 이겼다"}\n', encoding="utf-8")
    found = []
    for where in (folder, copy):
        out = tmp_path / f"{where.name}.jsonl"
        assert run_command(["klue", "predict", str(where), "ynat", "--in", str(texts), "--out", str(out)]) == 0
        found.append(out.read_bytes())
    assert found[0] == found[1] and len(found[0].splitlines()) == 2


@pytest.mark.parametrize(
    ("task", "shown"), [("ynat", r"\[\{'label': '\S+', 'score': 0\.\d+\}\]\n"), ("klue-ner", None)]
)
def test_the_card_s_lines_run_as_they_stand(task: str, shown: str | None, hub: Hub, jobs: Path, tmp_path: Path) -> None:
    """In the folder that fine-tuning wrote, and on the hub by the repository's name; a tagger prints entities."""
    folder = job_folder(jobs.parent, task) / "model"
    name = folder.parent.name
    weights = load_file(folder / "model.safetensors")
    if task == "klue-ner":  # trained for a moment it finds none: as if the first label were all it knew
        weights["classifier.bias"][0] = 100.0
        folder = Path(shutil.copytree(jobs, tmp_path / "jobs")) / folder.relative_to(jobs)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        shown = r"([A-Z]{2} \S.* 1\.00\n)+"
    lines = snippet((folder / "README.md").read_text("utf-8"))
    said = printed(lines, folder.parents[2])
    assert re.fullmatch(str(shown), said), said
    assert run_command(["push", str(folder), "me/tried"]) == 0
    pushed = snippet(hub.repositories["me/tried"].files["README.md"].decode())
    assert 'model="me/tried"' in pushed and pushed.replace("me/tried", f"jobs/{name}/model") == lines


def test_a_card_in_korean(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = job_folder(jobs.parent, "ynat") / "model"
    assert run_command(["push", str(folder), "me/headlines", "--dry-run", "--language", "ko"]) == 0
    text = ModelCard(capsys.readouterr().out.partition("\n\n")[2]).text
    table = text.replace(snippet(text), "")
    assert "YNAT에 미세조정한 모델" in table and "| 걸린 시간 | " in table
    assert not re.search(r"\b(of|the|from|tokens|examples|seeds?|best)\b", table), table


def test_the_base_is_the_published_model_that_was_fine_tuned(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(job_folder(jobs.parent, "ynat") / "model", tmp_path / "model"))
    for base, init, stated in (("", "pretrained", None), (f"hf:klue/x@{'a' * 40}", "pretrained", "klue/x"),
                               (f"hf:klue/x@{'a' * 40}", "random", None)):  # fmt: skip
        facts = json.loads((folder / "klue.json").read_bytes())
        facts["base"], facts["job"]["init"] = base, init
        seal(folder, facts)
        assert run_command(["push", str(folder), "me/tried", "--dry-run"]) == 0
        assert ModelCard(capsys.readouterr().out.partition("\n\n")[2]).data.base_model == stated


def test_the_card_says_task_data_and_the_scores_beside(
    jobs: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a benchmark's model with random weights beside, and another folder's; of an own one, without its texts."""
    folder = job_folder(jobs.parent, "ynat") / "model"
    other = shutil.copytree(jobs.parent, tmp_path / "other")
    rows = (other / "results.jsonl").read_text("utf-8").replace('{"model": "', '{"model": "other-')
    (other / "results.jsonl").write_text(rows, "utf-8")
    assert run_command(["push", str(folder), "me/tried", "--dry-run", "--scores", str(other)]) == 0
    said = capsys.readouterr().out
    lines = [line.split(" | ")[0] for line in said.splitlines() if re.match(r"\| \S+, (pretrained|random)", line)]
    name = json.loads((jobs.parent / "results.jsonl").read_text("utf-8").splitlines()[0])["model"]
    assert [line.removeprefix("| ") for line in lines][:4] == [
        f"{name}, pretrained", f"{name}, random initialisation", f"other-{name}, pretrained",
        f"other-{name}, random initialisation",
    ]  # fmt: skip
    assert "IT과학 " in said and "KLUE-NER" not in said

    private = [f"비밀 계약 {n}호의 내용은 이렇다" for n in range(30)]
    (tmp_path / "계약.csv").write_text(
        "body,kind\n" + "".join(f"{text},{'ab'[n % 3 == 0]}\n" for n, text in enumerate(private)), "utf-8"
    )
    words = ["klue", "finetune", str(run / "export"), "--train", str(tmp_path / "계약.csv"), "--text", "body",
             "--label", "kind", "--out", str(tmp_path / "own"), "--save-model", "best", "workers=0",
             "training.max_seq_len=32", "training.epochs=1"]  # fmt: skip
    assert run_command(words) == 0
    folder = job_folder(tmp_path / "own", "계약") / "model"
    facts = json.loads((folder / "klue.json").read_bytes())
    counts = facts["classes"]
    assert sum(counts.values()) == facts["job"]["examples"]["train"] and 0 < counts["b"] < counts["a"]
    capsys.readouterr()
    assert run_command(["push", str(folder), "me/contracts", "--dry-run", "--license", "mit"]) == 0
    said = capsys.readouterr().out
    assert f"a {counts['a']}, b {counts['b']}" in said and "train: 계약.csv, dev: 0.1 of train" in said
    assert "license: " in said and "other models" not in said  # it is alone
    everything = said + "".join(path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file())
    assert str(tmp_path) not in everything and not any(text in everything for text in private)


def test_scores_of_random_weights_are_no_models(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run_command(["push", str(job_folder(jobs.parent, "ynat", "random") / "model"), "me/random", "--dry-run"]) == 0
    )
    said = capsys.readouterr().out
    assert "model-index" not in said and "| weights from | random initialisation |" in said


def test_a_model_of_another_suite(jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(shutil.copytree(job_folder(jobs.parent, "ynat") / "model", tmp_path / "model"))
    facts = json.loads((folder / "klue.json").read_bytes())
    facts["job"]["task"], facts["scores"] = "kobest-boolq", {"macro_f1": 61.5, "accuracy": 62.5}
    task = TASKS["kobest-boolq"]
    facts["job"]["examples"] = {"train": task.sizes.train, "dev": task.sizes.dev, "test": task.sizes.test}
    facts["job"]["data_note"] = ""
    seal(folder, facts)
    assert run_command(["push", str(folder), "me/boolq", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "pipeline_tag: text-classification" in said and "value: 61.5" in said and "kobest-boolq" in said


def test_what_is_none_is_refused(hub: Hub, run: Path, jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["push", str(run / "corpus"), "me/headlines"]) == 2
    assert "is not a run, checkpoint, tokenizer or fine-tuned model" in capsys.readouterr().err
    assert run_command(["push", str(job_folder(jobs.parent, "ynat") / "model"), "headlines"]) == 2
    assert "name of a repository" in capsys.readouterr().err
    assert not hub.calls


def test_a_secret_in_it_stays(
    hub: Hub, jobs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = job_folder(jobs.parent, "ynat") / "model"
    path = folder / "tokenizer_config.json"
    kept = path.read_text(encoding="utf-8")
    monkeypatch.setenv("MY_TOKEN", "correct-horse-battery")
    path.write_text(json.dumps({**json.loads(kept), "note": "correct-horse-battery"}), encoding="utf-8")
    try:
        assert run_command(["push", str(folder), "me/headlines"]) == 2
    finally:
        path.write_text(kept, encoding="utf-8")
    said = capsys.readouterr().err
    assert "MY_TOKEN" in said and "correct-horse" not in said and not hub.calls
