"""Tiny decoders of random weights, their tokenizers, and builds of invented instructions."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

PLACES = ["서울", "부산", "대구", "인천", "광주", "대전", "울산", "세종", "제주", "강릉"]
THINGS = ["사과", "배", "포도", "감자", "고구마", "수박", "참외", "딸기", "귤", "복숭아"]
RUN: dict[str, Any] = {
    "max_seq_len": 96, "epochs": 2, "global_batch": 4, "micro_batch": 2, "checkpoint_every": 3, "log_every": 1,
    "wandb": "off", "threads": 1, "optimizer": {"learning_rate": 1e-3},
}  # fmt: skip


def rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    draw, made = random.Random(seed), []
    for number in range(count):
        place, goods, often = draw.choice(PLACES), draw.choice(THINGS), draw.randint(1, 6)
        task = ("shop", "where")[number % 2]
        made.append({
            "id": f"{task}-{number:06d}-1", "task": task, "dataset": f"{task} set", "split": "train", "template": 1,
            "instruction": f"{place}에서 파는 것을 고르세요." if task == "shop" else "어디인지 답하세요.",
            "input": " ".join([f"{place}의 {goods}"] * often) if number % 3 else "", "licence": "CC-BY-SA-4.0",
            "output": goods if task == "shop" else f"{place}입니다.",
        })  # fmt: skip
    return made


def write_build(folder: Path, train: int = 22, held_out: int = 5) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in (("train", rows(train, 1)), ("held_out", rows(held_out, 2))):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in made]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def _texts() -> list[str]:
    return [
        f"### 명령어:\n{row['instruction']}\n\n### 입력:\n{row['input']}\n\n### 응답: {row['output']}"
        for row in rows(200, 3)
    ]


def byte_level(folder: Path) -> PreTrainedTokenizerFast:
    """Byte-level BPE without BOS whose padding is the end mark, as Polyglot-Ko's."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        _texts(), trainers.BpeTrainer(vocab_size=500, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet,
                                      show_progress=False),
    )  # fmt: skip
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|endoftext|>", pad_token="<|endoftext|>")


def sentence_pieces(folder: Path, begins: bool = True, ends: bool = False) -> PreTrainedTokenizerFast:
    """Unigram over words with a leading ▁ and BOS, as SentencePiece's."""
    core = Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    core.decoder = decoders.Metaspace(prepend_scheme="first")
    special = ["<unk>", "<s>", "</s>"]
    core.train_from_iterator(
        _texts(),
        trainers.UnigramTrainer(vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False),
    )
    single = ("<s> " if begins else "") + "$A" + (" </s>" if ends else "")
    core.post_processor = processors.TemplateProcessing(single=single, special_tokens=[("<s>", 1), ("</s>", 2)])
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def write_base(folder: Path, kind: str = "gpt_neox", tokenizer: PreTrainedTokenizerFast | None = None) -> Path:
    """Write a base: "gpt_neox" with a byte-level tokenizer, "llama" with one like SentencePiece's."""
    tokenizer = tokenizer or (byte_level(folder) if kind == "gpt_neox" else sentence_pieces(folder))
    torch.manual_seed(0)
    shape = {"vocab_size": len(tokenizer) + 4, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 64, "max_position_embeddings": 128, "eos_token_id": tokenizer.eos_token_id,
             "bos_token_id": tokenizer.bos_token_id or tokenizer.eos_token_id}  # fmt: skip
    if kind == "gpt_neox":
        model: Any = GPTNeoXForCausalLM(GPTNeoXConfig(**shape, hidden_dropout=0.1, rotary_pct=0.5))
    else:
        model = LlamaForCausalLM(LlamaConfig(**shape, num_key_value_heads=2))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_job(base: Path, build: Path, out: Path, **changes: Any) -> Path:
    job = out / "logs" / "job.json"
    job.parent.mkdir(parents=True, exist_ok=True)
    settings = {**RUN, "base": str(base), **changes}
    job.write_text(json.dumps({"settings": settings, "instructions": str(build), "out": str(out)}))
    return job
