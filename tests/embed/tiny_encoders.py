"""A tiny encoder of random weights with a tokenizer of syllables, and invented rows."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoTokenizer,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
)

from embed.settings import EmbedSettings
from pretrain.callbacks.metrics import read_metrics

PLACES = [
    "서울", "부산", "대구", "인천", "광주", "대전", "울산", "세종", "제주", "강릉", "경주", "전주", "여수", "춘천",
]  # fmt: skip
THINGS = [
    "사과", "포도", "감자", "수박", "참외", "딸기", "마늘", "양파", "호박", "당근", "배추", "오이", "상추", "고추",
]  # fmt: skip
RUN: dict[str, Any] = {
    "max_seq_len": 16, "batch": 8, "steps": 9, "learning_rate": 1e-3, "checkpoint_every": 3, "log_every": 1,
    "wandb": "off", "threads": 1,
}  # fmt: skip


def pairs(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of {query, positive, negatives}, all texts different."""
    both = [(place, thing) for place in PLACES for thing in THINGS]
    random.Random(seed).shuffle(both)
    return [
        {"query": f"{place} {thing} 어디", "positive": f"{thing}는 {place}에서 판다",
         "negatives": [f"{place}에는 {thing}가 없다"]}
        for place, thing in both[:count]
    ]  # fmt: skip


def scored(count: int, seed: int = 0) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {"text_a": f"{draw.choice(PLACES)} {draw.choice(THINGS)}", "text_b": f"{draw.choice(PLACES)} {number}",
         "score": draw.randint(0, 50) / 10}
        for number in range(count)
    ]  # fmt: skip


def distilled(count: int) -> list[dict[str, Any]]:
    return [{**row, "scores": [n / 24, -0.5]} for n, row in enumerate(pairs(count, 5))]


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_sts(folder: Path) -> Path:
    """Write an invented dev part of KLUE-STS, and return the folder."""
    rows = [
        {"guid": f"s{n}", "sentence1": f"{PLACES[n]} {THINGS[n]}", "sentence2": f"{PLACES[n]} {THINGS[n % 3]} 어디",
         "labels": {"label": n % 6 * 1.0, "real-label": n % 6 * 1.0, "binary-label": int(n % 6 >= 3)}}
        for n in range(12)
    ]  # fmt: skip
    (folder / "klue-sts-v1.1").mkdir(parents=True)
    (folder / "klue-sts-v1.1" / "klue-sts-v1.1_dev.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder


def write_encoder(folder: Path, dropout: float = 0.1, letters: str = "", **changes: Any) -> Path:
    """Write a RoBERTa of two layers, width 32, and its tokenizer, which knows some more letters."""
    texts = [text for row in pairs(196) for text in (row["query"], row["positive"], *row["negatives"])]
    known = sorted({letter for text in texts for letter in text if letter != " "} | set("0123456789" + letters))
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *known]
    core = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Split("", "isolated")])
    core.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>", pad_token="<pad>",
        unk_token="<unk>", mask_token="<mask>",
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    given: dict[str, Any] = {
        "vocab_size": len(names), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 64, "max_position_embeddings": 66, "type_vocab_size": 1, "pad_token_id": 1,
        "bos_token_id": 0, "eos_token_id": 2, "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout,
        **changes,
    }  # fmt: skip
    RobertaForMaskedLM(RobertaConfig(**given)).save_pretrained(folder)
    return folder


def embedding_folder(base: Path, out: Path, settings: EmbedSettings) -> Path:
    """Write an untuned encoder as a model of sentence embeddings, and return its folder."""
    from embed.trainer import write_model

    write_model(out, base, AutoTokenizer.from_pretrained(base, trust_remote_code=False), settings)
    return out


def reranker_folder(base: Path, out: Path) -> Path:
    """Write a cross-encoder with a random head on the configuration of a base."""
    shutil.copytree(base, out)
    RobertaForSequenceClassification(RobertaConfig.from_pretrained(base, num_labels=1)).save_pretrained(out)
    return out


def losses_of(out: Path) -> list[tuple[int, float]]:
    """Return (step, loss) of the lines of a run's log."""
    return [(row["step"], row["loss"]) for row in read_metrics(out / "logs" / "metrics.jsonl") if "loss" in row]


def write_job(folder: Path, base: Path, data: list[dict[str, Any]], **changes: Any) -> Path:
    """Write the job of a run in a folder, and return it."""
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    job = {"settings": {**RUN, "data": data, **changes}, "base": str(base), "out": str(folder), "name": "tiny"}
    path = folder / "logs" / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    return path
