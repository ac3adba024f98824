"""A small benchmark folder in the official layout, made here, and a tiny random encoder with a WordPiece tokenizer."""

from __future__ import annotations

import json
import os
import random
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.klue.suite_files import write_suites

TOPICS = {
    "IT과학": ["반도체", "스마트폰"],
    "경제": ["금리", "수출"],
    "사회": ["법원", "경찰"],
    "생활문화": ["전시", "여행"],
    "세계": ["유엔", "외신"],
    "스포츠": ["결승", "투수"],
    "정치": ["국회", "총선"],
}
FILLERS = ["오늘", "새", "큰", "다시", "결국", "올해", "첫", "곧"]
THINGS = ["책", "빵", "꽃", "차", "집", "길"]
PLACES = ["서울", "부산", "대구", "광주"]


def _write(path: Path, records: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")


def write_benchmark(folder: Path, train: int = 70, dev: int = 35, sts_train: bool = True) -> Path:
    """Write three tasks with `train` and `dev` examples each; no text of train occurs in dev."""
    draw = random.Random(5)
    titles: dict[str, str] = {}
    while len(titles) < train + dev:
        topic = list(TOPICS)[len(titles) % 7]
        titles[f"{' '.join(draw.sample(FILLERS, 3))} {draw.choice(TOPICS[topic])} {draw.choice(PLACES)}"] = topic
    ynat = [{"title": title, "label": label} for title, label in titles.items()]
    nli, sts = [], []
    for number in range(train + dev):
        place, thing = draw.choice(PLACES), draw.choice(THINGS)
        premise = f"{number}번 {place}에 {thing} 있다."
        label = ("entailment", "contradiction", "neutral")[number % 3]
        hypothesis = (f"{thing} 있다.", f"{thing} 없다.", f"{draw.choice(FILLERS)} 좋다.")[number % 3]
        nli.append({"premise": premise, "hypothesis": hypothesis, "gold_label": label})
        same = number % 6
        words = draw.sample(THINGS, 5)
        other = words[:same] + draw.sample(PLACES + FILLERS, 5 - min(same, 5))
        rating = {"label": round(same * 0.97, 1), "real-label": same * 0.97, "binary-label": int(same * 0.97 >= 3)}
        sts.append({"sentence1": f"{number} " + " ".join(words), "sentence2": " ".join(other), "labels": rating})
    for name, records in (("ynat", ynat), ("klue-nli", nli), ("klue-sts", sts)):
        for split, part in (("train", records[:train]), ("dev", records[train:])):
            if split == "train" and name == "klue-sts" and not sts_train:
                continue
            rows = [{"guid": f"{name}-v1_{split}_{i:05d}", **record} for i, record in enumerate(part)]
            _write(folder / f"{name}-v1.1" / f"{name}-v1.1_{split}.json", rows)
    return folder


def write_model(folder: Path, kind: str = "roberta", text: str = "", **changes: float) -> Path:
    """Write a masked language model of 2 layers × 32 with random weights and a tokenizer of single characters.

    They are those of the small benchmark and those of `text`; all others are unknown to it. `changes` are to the
    configuration.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    words = [*FILLERS, *THINGS, *PLACES, *(w for pair in TOPICS.values() for w in pair), "에", "있다", "없다", "좋다"]
    letters = sorted({*"".join(words), *"0123456789번.", *text} - {" "})
    vocab = [*special, *letters, *(f"##{letter}" for letter in letters), *(w for w in words if len(w) > 1)]
    backend = Tokenizer(models.WordPiece({word: i for i, word in enumerate(vocab)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    second = 1 if kind == "bert" else 0
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=f"[CLS] $A [SEP] $B:{second} [SEP]:{second}",
        special_tokens=[("[CLS]", 0), ("[SEP]", 2)],
    )
    names = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), special, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=backend, **names).save_pretrained(folder)
    shape = {
        "vocab_size": len(vocab),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 66,
        "pad_token_id": 1,
        **changes,
    }
    torch.manual_seed(1)
    if kind == "bert":
        BertForMaskedLM(BertConfig(**shape, type_vocab_size=2)).save_pretrained(folder)
    else:
        RobertaForMaskedLM(RobertaConfig(**shape, type_vocab_size=1, bos_token_id=0, eos_token_id=2)).save_pretrained(
            folder
        )
    return folder


def sample_tasks() -> dict[str, bytes]:
    """Return path → bytes of the embedded sample's eight tasks."""
    from hunmin.sample import sample_files

    found = {name.partition("klue/")[2]: content for name, content in sample_files().items()}
    return {name: content for name, content in found.items() if name}


@cache
def sample_characters() -> str:
    """Return the characters of the embedded sample's tasks, and ASCII letters: what a tokenizer must know to read."""
    known = {*b"".join(sample_tasks().values()).decode(), *string.ascii_letters, *string.punctuation}
    return "".join(sorted(known - set("\n\t")))


def write_sample(folder: Path) -> Path:
    """Write the embedded sample's eight tasks, as `hunmin sample` does."""
    for name, content in sample_tasks().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Where several tests share two cores, threads wait for each other many times as long as they compute."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark folder of 70 train and 35 dev examples a task."""
    return write_benchmark(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa folder, 2 layers × 32."""
    return write_model(tmp_path_factory.mktemp("roberta"))


@pytest.fixture(scope="session")
def sample_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, but its tokenizer reads the embedded sample."""
    return write_model(tmp_path_factory.mktemp("roberta"), text=sample_characters())


@pytest.fixture(scope="session")
def sample_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a BERT."""
    return write_model(tmp_path_factory.mktemp("bert"), "bert", text=sample_characters())


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT folder, 2 layers × 32, with two token types."""
    return write_model(tmp_path_factory.mktemp("bert"), "bert")


@pytest.fixture(scope="session")
def sample_benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded sample's eight tasks."""
    return write_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="session")
def tiny_reader(sample_benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa folder that knows all characters of the embedded sample and learns fast: no dropout, uneven weights."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(sample_benchmark.rglob("*_train.*")))
    fast = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.1}
    return write_model(tmp_path_factory.mktemp("reader"), text="".join(sorted(set(text) - set("\n\t"))), **fast)


@pytest.fixture(scope="session")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suites beside KLUE; see `write_suites`."""
    return write_suites(tmp_path_factory.mktemp("suites"))


@pytest.fixture
def shared_klue() -> Path:
    """The benchmark's own files, where they are at hand."""
    root = os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data"
    folder = Path(root) / "klue"
    if not folder.is_dir():
        pytest.skip("the benchmark's files are not at hand")
    return folder
