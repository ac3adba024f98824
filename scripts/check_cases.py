"""Run a folder of small inputs that once failed, and say of each whether its result is right.

    python scripts/check_cases.py CASES [NAME ...]

CASES holds folders f01_onnx_inputs, f02_nfd_reading … with inputs, and `safety/` with scripts that print a last line
that begins with OK or FAIL. The commands are those of this clone; everything is made below a temporary folder. Exit
code 1 where a result is wrong.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
MINI = """
name: mini
out: run
seed: 1
corpus: {inputs: [sample/corpora/encyclopedia.jsonl], pii: {key: invented-sample-key-1, key_env: CASES_PII}, workers: 2}
tokenizer: {vocab_size: 2500, min_character_count: 2}
pretrain:
  model: {layers: 1, hidden: 32, heads: 2, dropout: 0.0}
  packing: contiguous
  max_seq_len: 128
  steps: 40
  global_batch: 8
  micro_batch: 8
  validation_samples: 8
  optimizer: {learning_rate: 1.0e-3, warmup_steps: 4}
  checkpoint_every: 10
  compile: false
  wandb: off
klue: {data: sample/klue, tasks: [ynat]}
"""
CORPUS = """
name: one
out: run-{name}
corpus:
  inputs: [{input}]
  pii: {{key: invented-sample-key-1, key_env: CASES_PII}}
  decontaminate: {{enabled: false}}
"""
QUICK = ("training.epochs=1", "training.max_train_examples=64", "training.evaluations_per_epoch=1", "published=false")


class Cases:
    """The folder with the inputs, and a folder to work in, with a small run whose export they are tried on."""

    def __init__(self, cases: Path, work: Path) -> None:
        self.cases, self.work = cases, work
        self.export = work / "run" / "export"

    def run(self, *command: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of this clone, offline, and return what it printed."""
        mine = {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "offline", "HUNMIN_BIN": str(BIN), "HUNMIN_ROOT": str(ROOT)}
        surroundings = {**os.environ, **mine, "COLUMNS": "200"}
        words = [str(word) for word in command]
        return subprocess.run(words, cwd=self.work, env=surroundings, input=stdin, capture_output=True, text=True)

    def hunmin(self, *words: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the program and return what it printed."""
        return self.run(BIN / "hunmin", *words, stdin=stdin)

    def prepare(self) -> None:
        """Make the sample, and train and export a tiny model."""
        (self.work / "mini.yaml").write_text(MINI, encoding="utf-8")
        for words in (["sample", "--out", "sample"], ["run", "mini.yaml", "--until", "export"]):
            done = self.hunmin(*words)
            if done.returncode:
                sys.exit(f"the small run failed: {done.stderr[-2000:]}")

    def documents(self, file: str) -> list[str]:
        """Return the texts of the corpus that a file gives."""
        name = Path(file).stem
        recipe = CORPUS.format(name=name, input=self.cases / file)
        (self.work / f"{name}.yaml").write_text(recipe, encoding="utf-8")
        done = self.hunmin("run", f"{name}.yaml", "--until", "corpus")
        if done.returncode:
            return [done.stderr]
        shards = sorted((self.work / f"run-{name}" / "corpus" / "shards").glob("*.parquet"))
        return [" ".join(one) for shard in shards for one in pq.read_table(shard)["sentences"].to_pylist()]

    def wrong_number(self, file: str, *right: int) -> str:
        """Return the first texts of a corpus that has another number of documents than is right."""
        texts = self.documents(file)
        return "" if len(texts) in right else str(texts[:3])

    def f01_onnx_inputs(self) -> str:
        """The graph asks for what the export's tokenizer gives."""
        [checkpoint] = sorted((self.work / "run/pretrain/checkpoints").glob("step-*"))[-1:]
        done = self.hunmin("export", checkpoint, "--out", "onnx", "--onnx")
        ran = self.run(sys.executable, self.cases / "f01_onnx_inputs/check.py", "onnx")
        return "" if ran.returncode == 0 and "(" in ran.stdout else done.stderr + ran.stderr

    def f02_nfd_reading(self) -> str:
        """The same on composed and decomposed text."""
        folder = self.cases / "f02_nfd_reading"
        found = [self.hunmin("klue", "ceiling", self.export, "--data", folder / form, "--task", "mrc", "--json").stdout
                 for form in ("nfc", "nfd")]  # fmt: skip
        if not found[0].strip() or found[0] != found[1]:
            return f"ceiling differs: {found}"
        for task in ("mrc", "ner"):
            out = f"tuned-{task}"
            self.hunmin("klue", "finetune", self.export, "--data", "sample/klue", "--out", out, "--task", task,
                        "--save-model", "best", *QUICK)  # fmt: skip
            [model] = (self.work / out / "jobs").glob("*/model")
            made = self.work / f"predicted-{task}.jsonl"
            done = self.hunmin("klue", "predict", model, task, "--in", folder / f"predict_{task}.jsonl", "--out", made)
            lines = made.read_text(encoding="utf-8").splitlines() if made.exists() else []
            both = [json.loads(unicodedata.normalize("NFC", line))["prediction"] for line in lines]
            if task == "ner" and len(both) == 2:
                both[0] = self.of_letters(folder / "predict_ner.jsonl", both[0])
            if len(both) != 2 or both[0] != both[1]:
                return f"{task}: {both} {done.stderr[-500:]}"
        return ""

    @staticmethod
    def of_letters(file: Path, labels: list[str]) -> list[str]:
        """Return labels of syllables as those of the letters that they fall apart into."""
        text = json.loads(file.read_text(encoding="utf-8").splitlines()[0])["text"]
        syllables = unicodedata.normalize("NFC", "".join(text.split()))
        found = []
        for syllable, label in zip(syllables, labels, strict=True):
            letters = len(unicodedata.normalize("NFD", syllable))
            found += [label, *[label.replace("B-", "I-")] * (letters - 1)]
        return found

    def f03_unknown_tokenizer(self) -> str:
        """Refused, or a warning with the share of [UNK]."""
        self.run(
            sys.executable, self.cases / "f03_unknown_tokenizer/make.py", self.export, "unknown"
        ).check_returncode()
        for name in ("bare", "spiece"):
            done = self.hunmin("klue", "finetune", f"unknown/{name}", "--data", "sample/klue", "--out", f"f03-{name}",
                               "--task", "nli", *QUICK)  # fmt: skip
            if not re.search(r"cannot read \d[\d.]*% of the characters", done.stderr):
                return f"{name}: exit {done.returncode}, no word of what it cannot read: {done.stderr[-500:]}"
        return ""

    def f04_finetuned_folder(self) -> str:
        """The old head is dropped for either task."""
        common = ("--data", "sample/klue", *QUICK)
        self.hunmin("klue", "finetune", self.export, "--out", "nli", "--task", "nli", "--save-model", "best", *common)
        [model] = (self.work / "nli" / "jobs").glob("*/model")
        for task in ("sts", "nli"):
            done = self.hunmin("klue", "finetune", model, "--out", f"again-{task}", "--task", task, *common)
            if done.returncode or not (self.work / f"again-{task}" / "results.jsonl").exists():
                return f"{task}: {done.stderr[-500:]}"
        return ""

    def f07_mid_sentence(self) -> str:
        """One sentence a line."""
        text = (self.cases / "f07_mid_sentence/texts.jsonl").read_text(encoding="utf-8")
        lines = self.hunmin("corpus", "split", "--in", "-", "--out", "-", stdin=text).stdout.splitlines()
        wrong = [line for line in lines if len(json.loads(line)["sentences"]) != 1]
        return "" if lines and not wrong else "\n".join(wrong)

    def f08_wiki_hole(self) -> str:
        """No sentence with a hole; what stands in nowiki stays."""
        text = " ".join(self.documents("f08_wiki_hole/mini.xml"))
        return "" if "글자 그대로" in text and "길이가 이고" not in text and "높이는 미터" not in text else text

    def f10_upper_suffix(self) -> str:
        """Two documents."""
        return self.wrong_number("f10_upper_suffix/POSTS.JSONL.GZ", 2)

    def f12_early_nul(self) -> str:
        """49 or 50 documents."""
        return self.wrong_number("f12_early_nul/early.txt", 49, 50)

    def f14_changed_batch(self) -> str:
        """The setting, its old and its new value, and the ways on are named; nothing is replaced."""
        (self.work / "f14.yaml").write_text(MINI.replace("out: run", "out: run14"), encoding="utf-8")
        self.hunmin("run", "f14.yaml", "--until", "pretrain")
        partial = (self.work / "run14/pretrain").rename(self.work / "run14/pretrain.partial")
        mark = json.loads((partial / "manifest.json").read_bytes())
        (partial / ".work.json").write_text(json.dumps({k: mark[k] for k in ("settings", "inputs", "rules")}))
        (partial / "manifest.json").unlink()
        os.utime(partial / ".work.json", (1, 1))  # work of more than a minute
        done = self.hunmin("pretrain", "f14.yaml", "pretrain.global_batch=32")
        named = ("pretrain.global_batch: 8 → 32", "branch_from", "--restart pretrain")
        return "" if done.returncode == 2 and all(one in done.stderr for one in named) else done.stderr

    def safety(self, script: Path) -> str:
        """Return what a script says that does not end with OK."""
        done = self.run("bash" if script.suffix == ".sh" else sys.executable, script)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("OK", "FAIL"))]
        return "" if lines and lines[-1].startswith("OK") else done.stdout[-500:] + done.stderr[-500:]


def main() -> None:
    """Run the cases that are named, or all."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cases, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="hunmin-cases-") as work:
        house = Cases(cases, Path(work))
        checks: dict[str, Callable[[], str]] = {
            path.name: getattr(house, path.name) for path in sorted(cases.glob("f*")) if hasattr(house, path.name)
        }
        for script in sorted(cases.glob("safety/[0-9]*")):
            if script.suffix in (".sh", ".py"):
                checks[script.stem] = lambda script=script: house.safety(script)  # type: ignore[misc]
        chosen = {name: check for name, check in checks.items() if not names or name in names}
        if any(name.startswith("f") for name in chosen):
            house.prepare()
        wrong = 0
        for name, check in chosen.items():
            try:
                problem = check()
            except Exception as error:
                problem = repr(error)
            wrong += bool(problem)
            print(f"FAIL {name}\n     {problem.strip()}" if problem else f"OK   {name}", flush=True)
    print(f"{len(chosen) - wrong} passed, {wrong} failed")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
