"""A made-up Korean text, tokenizers trained on it, and a corpus folder in the corpus stage's format."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from data.shards import shard_name, write_shard, write_shard_manifest
from data.statistics import shard_statistics
from tokenizer.settings import TokenizerSettings
from tokenizer.train import train_tokenizer

NOUNS = "학교 시장 바다 음악 연구자 분야 인공지능 도서관 사람 날씨 기차 역사 과학 문학 정부 회사 병원 농부 바람 고양이"
JOSA = "은 는 이 가 을 를 에서 으로 의 에게 도 까지 부터"
VERBS = "간다 왔습니다 봤어요 만들었다 읽는다 먹었습니다 생각했다 말합니다 찾아갔다 저명하다"
SMALL = TokenizerSettings(vocab_size=240, min_character_count=2, workers=1)


def made_up_lines(count: int, seed: int = 1) -> list[str]:
    """Return lines of nouns with josa and a verb, some with numbers, Latin and Hanja."""
    draw = random.Random(seed)

    def word(of: str) -> str:
        known = of.split()
        return known[int(len(known) * draw.random() ** 2)]  # the first are the most frequent, as in language

    lines = []
    for _ in range(count):
        words = [word(NOUNS) + word(JOSA) for _ in range(draw.randint(2, 6))]
        extra = draw.choice(["", "", "3.5kg", "(GPU)", "漢字", "café", "ㅋㅋㅋ"])
        lines.append(" ".join([*words, extra, word(VERBS)]).replace("  ", " ") + ".")
    return lines


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "made_up.txt"
    path.write_text("\n".join(made_up_lines(3000)) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tokenizer_folder(text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("morpheme")
    train_tokenizer(SMALL, text_file, out)
    return out


@pytest.fixture(scope="session")
def baseline_folder(text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("none")
    train_tokenizer(SMALL.model_copy(update={"pretokenizer": "none"}), text_file, out)
    return out


def write_corpus(folder: Path, shards: list[list[list[str]]]) -> Path:
    """Write a corpus folder: shards of documents of sentences, the sources "a" and "b" in turn."""
    (folder / "shards").mkdir(parents=True)
    for number, documents in enumerate(shards):
        table = pa.table(
            {
                "id": [f"{number}-{index}" for index in range(len(documents))],
                "source": ["ab"[index % 2] for index in range(len(documents))],
                "licence": [""] * len(documents),
                "sentences": pa.array(documents, pa.list_(pa.string())),
            }
        )
        path = folder / "shards" / shard_name(number)
        write_shard(path, [table.slice(start, 40) for start in range(0, len(table), 40)])
        write_shard_manifest(path, {**shard_statistics(path)})
    return folder


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = made_up_lines(1200, seed=2)
    documents = [lines[start : start + 1 + start % 5] for start in range(0, 1200, 4)]
    documents[7], documents[11] = [], ["\u200b", "끝이 빈 문서.", "\u200b\x01"]
    return write_corpus(tmp_path_factory.mktemp("corpus") / "c", [documents[:120], documents[120:121], documents[121:]])
