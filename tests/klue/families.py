"""Encoders of seven families with tokenizers as theirs have, made here from a few made-up sentences, and what each of
their tokens stands for, found by reading the tokens along the text: no tokenizer's offsets are asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModel,
    DebertaV2Tokenizer,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
    XLMRobertaTokenizer,
)

from tokenizer.save import build_tokenizer, save_tokenizer

BRACKETS = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
ANGLES = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
ROLES = ("cls_token", "pad_token", "sep_token", "unk_token", "mask_token")
FAMILIES = ("bert", "our-roberta", "electra", "deberta-v2", "xlm-r", "modernbert", "roberta")
WORDPIECE, SENTENCEPIECE = ("bert", "our-roberta", "electra"), ("deberta-v2", "xlm-r")

LINES = [
    "서울은 한국의 수도이다.",
    "부산에 있는 한국은행이 서울에 왔다.",
    "이순신은 조선의 장군이다.",
    "홍길동이 1991년 3월에 부산에서 태어났다.",
    "내일 11:30에 식당을 예약해 주세요.",
    "서울 북쪽에 있는 숙소를 찾는다, 싼 곳으로.",
    "장군은 은행에 있는 '부산' 사람이다.",
]
"""What the tokenizers are made from: all characters of it are known, and no others but where bytes are read."""
WORDS = ("서울", "서울은", "부산", "한국", "한국은행이", "은행", "이순신", "장군은", "홍길", "있는", "예약")
"""What is one token; bytes are put together as they are most often in the lines."""

SHAPE = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 512,
    "pad_token_id": 1,
}
KINDS: dict[str, dict[str, Any]] = {
    "bert": {"model_type": "bert", "type_vocab_size": 2},
    "our-roberta": {"model_type": "roberta", "type_vocab_size": 1},
    "electra": {"model_type": "electra", "embedding_size": 16},
    "deberta-v2": {
        "model_type": "deberta-v2",
        "type_vocab_size": 0,
        "position_biased_input": False,
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 16,
    },
    "xlm-r": {"model_type": "xlm-roberta", "type_vocab_size": 1},
    "modernbert": {"model_type": "modernbert", "cls_token_id": 0, "sep_token_id": 2},
    "roberta": {"model_type": "roberta", "type_vocab_size": 1},
}


def write_family(family: str, folder: Path, lines: list[str] = LINES) -> Path:
    """Write an encoder's folder, its weights random.

    Args:
        family: of `FAMILIES`.
        folder: to write.
        lines: what its tokenizer knows the characters of.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = TOKENIZERS[family](lines, folder)
    kind = dict(KINDS[family])
    name = kind.pop("model_type")
    ends = {"bos_token_id": 0, "eos_token_id": 2}
    config = AutoConfig.for_model(name, vocab_size=entries, **SHAPE, **ends, **kind)
    torch.manual_seed(1)
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


def _wordpiece(lines: list[str], folder: Path) -> int:
    built = _wordpiece_of(lines)
    built.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    built.decoder = decoders.WordPiece()
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    PreTrainedTokenizerFast(tokenizer_object=built, **dict(zip(ROLES, BRACKETS, strict=True))).save_pretrained(folder)
    return int(built.get_vocab_size())


def _wordpiece_of(lines: list[str]) -> Tokenizer:
    letters = sorted({*"".join(lines)} - {" "})
    vocabulary = [*BRACKETS, *letters, *(f"##{letter}" for letter in letters), *WORDS, "##은행"]
    built = Tokenizer(models.WordPiece({token: i for i, token in enumerate(vocabulary)}, unk_token=BRACKETS[3]))
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return built


def _ours(lines: list[str], folder: Path) -> int:
    vocabulary = _wordpiece_of(lines).get_vocab()
    built = build_tokenizer(sorted(vocabulary, key=vocabulary.__getitem__), "roberta")
    save_tokenizer(built, "roberta", 512, folder)
    return int(built.get_vocab_size())


def _unigram(lines: list[str], names: tuple[str, ...]) -> list[tuple[str, float]]:
    letters = sorted({*"".join(lines)} - {" "})
    words = [("▁", -6.0), ("은행", -9.0), *((f"▁{word}", -4.0) for word in WORDS)]
    return [*((name, 0.0) for name in names), *((letter, -8.0) for letter in letters), *words]


def _deberta(lines: list[str], folder: Path) -> int:
    vocabulary = _unigram(lines, BRACKETS)
    DebertaV2Tokenizer(vocab=vocabulary, unk_id=3, **dict(zip(ROLES, BRACKETS, strict=True))).save_pretrained(folder)
    return len(vocabulary)


def _xlm_r(lines: list[str], folder: Path) -> int:
    vocabulary = _unigram(lines, ANGLES)
    XLMRobertaTokenizer(vocab=vocabulary).save_pretrained(folder)
    return len(vocabulary)


def _bytes(lines: list[str], names: tuple[str, ...]) -> Tokenizer:
    built = Tokenizer(models.BPE(unk_token=names[3]))
    built.pre_tokenizer, built.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=list(names), initial_alphabet=alphabet)
    built.train_from_iterator(lines, trainer)
    return built


def _modernbert(lines: list[str], folder: Path) -> int:
    built = _bytes(lines, BRACKETS)
    built.normalizer = normalizers.NFC()
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    PreTrainedTokenizerFast(tokenizer_object=built, **dict(zip(ROLES, BRACKETS, strict=True))).save_pretrained(folder)
    return int(built.get_vocab_size())


def _roberta(lines: list[str], folder: Path) -> int:
    model = json.loads(_bytes(lines, ANGLES).to_str())["model"]
    RobertaTokenizer(vocab=model["vocab"], merges=[tuple(pair) for pair in model["merges"]]).save_pretrained(folder)
    return len(model["vocab"])


TOKENIZERS = {
    "bert": _wordpiece,
    "our-roberta": _ours,
    "electra": _wordpiece,
    "deberta-v2": _deberta,
    "xlm-r": _xlm_r,
    "modernbert": _modernbert,
    "roberta": _roberta,
}


class Read(NamedTuple):
    """A token with the characters of the text (spaces count) that it touches: `start` to `end`, the end exclusive."""

    token: str
    start: int
    end: int
    first: int
    """The first character that begins in it, or `end` where none does."""


def read_along(family: str, tokens: list[str], text: str) -> list[Read]:
    """Return what a text's tokens stand for.

    Args:
        family: of `FAMILIES`.
        tokens: without special ones but for the unknown token.
        text: of the characters in `LINES`, and others that are unknown where no bytes are read.
    """
    if family in WORDPIECE:
        return _read_wordpiece(tokens, text)
    return (_read_sentencepiece if family in SENTENCEPIECE else _read_bytes)(tokens, text)


def _read_wordpiece(tokens: list[str], text: str) -> list[Read]:
    found, at, left = [], 0, list(tokens)
    while left:
        while text[at] == " ":
            at += 1
        end = at + 1  # of the word: punctuation stands alone
        while text[at].isalnum() and end < len(text) and text[end].isalnum():
            end += 1
        if left[0] == "[UNK]":
            found.append(Read(left.pop(0), at, end, at))
            at = end
        while at < end:
            token = left.pop(0)
            size = len(token.removeprefix("##"))
            found.append(Read(token, at, at + size, at))
            at += size
    return found


def _read_sentencepiece(tokens: list[str], text: str) -> list[Read]:
    known = set("".join(LINES)) - {" "}
    found, at = [], 0
    for token in tokens:
        while at < len(text) and text[at] == " ":
            at += 1
        size = len(token.lstrip("▁"))
        if token in ("<unk>", "[UNK]"):
            size = next((n for n, c in enumerate(text[at:]) if c in known or c == " "), len(text) - at)
        found.append(Read(token, at, at + size, at))
        at += size
    return found


def _read_bytes(tokens: list[str], text: str) -> list[Read]:
    owner = [at for at, character in enumerate(text) for _ in character.encode()]
    begins = [at == 0 or owner[at] != owner[at - 1] for at in range(len(owner))]
    assert sum(map(len, tokens)) == len(owner)
    found, at = [], 0
    for token in tokens:
        mine = [n for n in range(at, at + len(token)) if text[owner[n]] != " "]
        first = next((owner[n] for n in mine if begins[n]), None)
        start, end = (owner[mine[0]], owner[mine[-1]] + 1) if mine else (owner[at] + 1, owner[at] + 1)
        found.append(Read(token, start, end, end if first is None else first))
        at += len(token)
    return found
