"""Encoders of other families than ours, with tokenizers of other kinds: features, forward, decoding."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModel,
    DebertaV2Config,
    ElectraConfig,
    ModernBertConfig,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
)

from klue.finetune import batch_tensors, predict
from klue.heads import build_head
from klue.tasks import TASKS
from tests.klue.test_heads import CPU, make_job

SHAPE = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 66,
    "pad_token_id": 1,
}
ROLES = ("cls_token", "pad_token", "sep_token", "unk_token", "mask_token")
BRACKETS = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
ANGLES = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def save_tokenizer(backend, names, pair, folder):
    single = f"{names[0]} $A {names[2]}"
    special = [(names[0], 0), (names[2], 2)]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    roles = dict(zip(ROLES, names, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)
    return backend.get_vocab_size()


def unigram(lines, names, pair, folder):
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    backend.train_from_iterator(
        lines, trainers.UnigramTrainer(vocab_size=1200, special_tokens=list(names), unk_token=names[3])
    )
    return save_tokenizer(backend, names, pair, folder)


def byte_level(lines, names, pair, folder):
    backend = Tokenizer(models.BPE(unk_token=names[3]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=list(names), initial_alphabet=alphabet)
    backend.train_from_iterator(lines, trainer)
    return save_tokenizer(backend, names, pair, folder)


def write_encoder(family: str, lines: list[str], wordpiece: Path, folder: Path) -> None:
    """Write a random encoder of a family with a tokenizer as its models have."""
    folder.mkdir()
    torch.manual_seed(1)
    if family == "electra":
        for path in wordpiece.glob("*token*"):
            shutil.copy(path, folder)
        size = json.loads((wordpiece / "config.json").read_text())["vocab_size"]
        config = ElectraConfig(vocab_size=size, embedding_size=16, **SHAPE)
    elif family == "deberta-v2":
        size = unigram(lines, BRACKETS, "[CLS] $A [SEP] $B:1 [SEP]:1", folder)
        attention = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16}
        config = DebertaV2Config(vocab_size=size, type_vocab_size=0, position_biased_input=False, **attention, **SHAPE)
    elif family == "modernbert":
        size = byte_level(lines, BRACKETS, "[CLS] $A [SEP] $B [SEP]", folder)
        ends = {"bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}
        config = ModernBertConfig(vocab_size=size, **ends, **SHAPE)
    else:
        size = unigram(lines, ANGLES, "<s> $A </s> </s> $B </s>", folder)
        config = XLMRobertaConfig(vocab_size=size, type_vocab_size=1, bos_token_id=0, eos_token_id=2, **SHAPE)
    AutoModel.from_config(config).save_pretrained(folder)


@pytest.fixture(scope="module")
def lines(sample_benchmark):
    found = [line for path in sorted(sample_benchmark.rglob("*_train.*")) for line in path.read_text().splitlines()]
    return found[::5]


@pytest.mark.parametrize("family", ["electra", "deberta-v2", "modernbert", "xlm-roberta"])
def test_any_encoder_folder(family, lines, sample_benchmark, tiny_bert, tmp_path):
    folder = tmp_path / family
    write_encoder(family, lines, tiny_bert, folder)
    for name in ("klue-ner", "klue-dp", "klue-mrc"):
        task = TASKS[name]
        job, train, dev = make_job(name, sample_benchmark, folder, tmp_path / name, train=4, dev=6)
        model = build_head(job, task, train.shared)
        with torch.no_grad():
            assert torch.isfinite(model.loss(batch_tensors(train, np.arange(2), task, job, CPU)))
        predictions = task.decode(predict(model, dev, task, job, CPU), dev)
        assert [task.check(p, label) for p, label in zip(predictions, dev.labels, strict=True)] == predictions
        assert set(task.score(dev.labels, predictions)) >= set(task.metrics)
