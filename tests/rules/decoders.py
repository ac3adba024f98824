"""What the decoder's stages make of the instruction sample: rows, batches with labels, requests and their scores."""

from __future__ import annotations

import json
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from data.instruct.build import COLUMNS, build_instructions
from data.instruct.settings import InstructSettings
from data.instruct.spec import USES
from hunmin.sample import sample_files
from leaderboard import score as scoring
from leaderboard.models import ConstantLM
from leaderboard.settings import LeaderboardSettings
from leaderboard.suites import SUITES, TASKS, bounds_of, held_out_tasks, task_files
from leaderboard.texts import test_texts
from pretrain.tuning.inputs import Inputs, arguments_of
from pretrain.tuning.settings import TuneSettings

INSTRUCT_CODE = (
    *("data/instruct", "data/decontaminate", "data/nfc.py", "data/splitting", "leaderboard/texts.py"),
    "leaderboard/rows.py",
)
TUNE_CODE = ("data/instruct/layout.py", "pretrain/decoders", "pretrain/tuning")
BOARD_CODE = (
    *("data/decontaminate/normalise.py", "data/instruct/layout.py", "leaderboard", "pretrain/decoders/prompts.py"),
)
INPUT = ("tests/rules/decoders.py", "hunmin/sample/instruct.tar.xz")
PER_USE, HELD_OUT = 12, 4
END = "<|end|>"


def instruct_output(folder: Path) -> dict[str, Any]:
    """Build instructions of every use, and a small build that fills nothing; return rows, table and rejects."""
    files = _write_sample(folder)
    suites = ("kit19", "leaderboard2")
    tests = {suite: test_texts(suite, files / suite) for suite in suites}
    extra = folder / "extra.csv"
    rows = [COLUMNS, ["qa", "물음에 답하라.", "강은 어디로 흐르나?", "바다로 흐른다."], ["", "", "", "답뿐이다."]]
    extra.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    more = folder / "more.jsonl"
    row = {"instruction": "골라라.", "output": "가", "choices": ["가", "나"], "licence": "MIT"}
    more.write_text(json.dumps(row), encoding="utf-8")
    common = {"data": str(files / "instruct"), "workers": 1, "max_reject_share": 1}
    builds: dict[str, dict[str, Any]] = {
        "all": {"licences": "all", "per_use": PER_USE, "held_out": HELD_OUT, "extra": [str(extra), str(more)]},
        "open": {"per_use": 400, "held_out": 1, "fill": "none", "seed": 7, "uses": ["nsmc", "korsts", "lbox"]},
    }
    output = {}
    for name, settings in builds.items():
        out = folder / name
        out.mkdir()
        counts = build_instructions(InstructSettings.model_validate({**common, **settings}), out, tests)
        output[name] = {"counts": counts} | {
            path.relative_to(out).as_posix(): [json.loads(line) for line in path.read_bytes().splitlines()]
            for path in sorted(out.rglob("*.jsonl"))
        }
    return json.loads(json.dumps(output).replace(f"{folder}/", ""))  # type: ignore[no-any-return]


def unhit_by_instruct(output: dict[str, Any]) -> list[str]:
    """Return the uses without rows, and what is counted of a build and is 0."""
    table = {line["use"]: line for line in output["all"]["counts"]["uses"]}
    counted = ("rejected", "contaminated", "shares_held_out", "held_out")
    return [
        *(f"use {name}" for name in USES if not table[name]["rows"]),
        *(name for name in counted if not output["all"]["counts"][name]),
        *(["licence"] if output["open"]["counts"]["uses"][-1]["rows"] else []),
    ]


def _write_sample(folder: Path) -> Path:
    """Write the instruction sample with a record that is none, and some that a test set or another use holds."""
    for name, content in sample_files("instruct").items():
        path = folder / "sample" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    root = folder / "sample"
    tested = test_texts("kit19", root / "kit19")[0].text
    with (root / "instruct/nsmc/ratings_train.txt").open("a", encoding="utf-8") as stream:
        stream.write(f"x1\t{tested}\t1\nx2\t알 수 없는 표시\t7\n")
    return root


def tune_output(folder: Path) -> dict[str, Any]:
    """Encode instructions for a small decoder with and without a chat template, and return its batches."""
    instructions = folder / "instructions"
    instructions.mkdir(parents=True)
    for name, first, count in (("train", 0, 22), ("held_out", 100, 7)):
        rows = [_instruction(n) for n in range(first, first + count)]
        lines = [json.dumps(row, ensure_ascii=False) for row in rows] + (["{}"] if name == "train" else [])
        (instructions / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    output = {}
    for name, template in (("plain", None), ("chat", _TEMPLATE)):
        base = write_decoder(folder / name, template)
        settings = TuneSettings(base=str(base), max_seq_len=200, global_batch=8, micro_batch=4, epochs=2, seed=5)
        inputs = Inputs(settings, instructions)
        learned = ("parameters", "trained_parameters")
        output[name] = {
            "batches": [_arrays(inputs.batches[n]) for n in range(len(inputs.batches))],
            "held out": [_arrays(arguments_of(batch)) for batch in inputs.held_out_batches],
            "rejects": inputs.rejects,
            "counts": {key: value for key, value in inputs.counts.items() if key not in learned},
        }
    return output


def unhit_by_tune(output: dict[str, Any]) -> list[str]:
    """Return what no example is: rejected, held out, padded."""
    plain = output["plain"]
    padded = any((batch["attention_mask"] == 0).any() for batch in plain["batches"])
    return [name for name in ("rejects", "held out") if not plain[name]] + ([] if padded else ["padding"])


def _instruction(n: int) -> dict[str, str]:
    text = " ".join(f"{(n * 7 + step) % 13}번 골목" for step in range(1 + n % 6))
    long = "아주 긴 입력이다. " * (20 if n == 9 else 0)
    return {
        "id": f"r{n}", "task": "ab"[n % 2], "dataset": "made", "licence": "MIT", "instruction": f"{text}을 세어라.",
        "input": long or ("" if n % 3 else f"{n}번"), "output": f"{n % 6 + 1}개이다.",
    }  # fmt: skip


_TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}<답>"


def write_decoder(folder: Path, template: str | None = None) -> Path:
    """Write a GPT-NeoX of one layer whose tokens are bytes, and return its folder."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    known = [END, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({token: n for n, token in enumerate(known)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)
    if template:
        wrapped.chat_template = template
    wrapped.save_pretrained(folder)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(1)
    config = GPTNeoXConfig(vocab_size=len(known), max_position_embeddings=512, bos_token_id=0, eos_token_id=0, **shape)
    GPTNeoXForCausalLM(config).save_pretrained(folder)
    return folder


def _arrays(arguments: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in arguments.items()}


class Recorder(ConstantLM):
    """A model that keeps what it is asked, and answers by the length of the question, or every second time rightly."""

    device, batch_size, chat, tokenizer_name = "cpu", 1, False, "recorder"

    def __init__(self, template: str | None) -> None:
        super().__init__()
        self.tokenizer = type("Tokenizer", (), {"chat_template": template})
        self.cut: set[str] = set()
        self.asked: list[Any] = []

    def loglikelihood(self, requests: Any) -> list[tuple[float, bool]]:
        self.asked += [[request.idx, *request.args] for request in requests]
        return [(-0.5 - (len(context) * 7 + len(rest) * 3) % 11, False) for context, rest in _arguments(requests)]

    def generate_until(self, requests: Any) -> list[str]:
        self.asked += [[request.idx, request.args[0], dict(request.args[1])] for request in requests]
        return [_answer(request.doc, number) for number, request in enumerate(requests)]

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return "".join(f"<{turn['role']}>{turn['content']}\n" for turn in chat_history) + "<답>"

    def chat_template(self, chat_template: Any = False) -> str:
        return str(self.tokenizer.chat_template)


def _arguments(requests: Any) -> list[tuple[str, str]]:
    return [request.args for request in requests]


def _answer(doc: dict[str, Any], number: int) -> str:
    if "names" in doc:
        off = number % 4
        if off == 3:
            return "모르겠다"
        pairs = zip(doc["names"], doc["scores"], strict=True)
        return "\n".join(f"{name}: {int(score) + off}" for name, score in pairs)
    if "rules" in doc:
        return f"<<제목>>\n{number}번째 대답이며, 세 문장이다. 그리고 끝난다."
    gold = str(doc.get("output", doc.get("gold")))
    if "answer" in doc:
        return (f"풀이이다.\n#### {gold}", f"답은 {gold}이다", "풀이이다. #### 1,000,000")[number % 3]
    return f" {gold} " if number % 2 else "모른다"


def board_output(folder: Path) -> dict[str, Any]:
    """Score a model that records on some rows of every task of all suites; return requests, answers and scores."""
    files = _write_sample(folder)
    held_out = folder / "held_out.jsonl"
    rows = [{**_instruction(n), "choices": ["1개이다.", f"{n % 6 + 1}개이다.", "열 개이다."] if n % 2 else None}
            for n in range(1, 9) if n % 6]  # fmt: skip
    held_out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    shots = folder / "sample/leaderboard2/ko_gsm8k.fewshot.jsonl"
    shots.write_text(json.dumps({"question": "하나에 둘을 더하면?", "answer": "1 + 2 = 3\n#### 3"}), encoding="utf-8")
    output: dict[str, Any] = {}
    with patch.object(scoring, "RESAMPLES", 20), redirect_stderr(StringIO()):  # lm-eval's progress bars
        for suite in SUITES:
            names = held_out_tasks(held_out) if suite == "instruct" else {name: TASKS[name] for name in SUITES[suite]}
            for template in (None, _TEMPLATE) if suite == "instruct" else (None,):
                for name, task in names.items():
                    data = held_out if suite == "instruct" else files / suite
                    board = LeaderboardSettings(suites=(suite,), data=str(data), limit=5, shots={"ko_gsm8k": 1})
                    model = Recorder(template)
                    scored, facts = scoring._score(model, task, board, task_files(task, data)[0], folder / "out")
                    model_facts = {
                        key: facts[key] for key in ("metric", "n", "intervals", "constants", "prompts", "generation")
                    }
                    key = f"{name}, {model_facts['prompts']}"
                    output[key] = {"asked": model.asked, "scores": scored, "facts": model_facts}
    return output


def unhit_by_board(output: dict[str, Any]) -> list[str]:
    """Return the tasks that ask nothing, and metrics that are 0 or full of all tasks' answers."""
    asked = {key.split(", ")[0] for key, result in output.items() if result["asked"]}
    values: dict[str, set[float]] = {}
    for result in output.values():
        for name, value in result["scores"].items():
            values.setdefault(name, set()).add(value)
    dull = [name for name, numbers in values.items() if numbers <= {0.0, bounds_of(name)[1]}]
    return [*(name for suite in SUITES.values() for name in suite if name not in asked), *dull]
