"""A tiny GPT-NeoX of random weights, rows of every task, and the shared data where they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.leaderboard.invented import SHARED, nine_rows, write

os.environ.setdefault("OMP_NUM_THREADS", "1")
TEXT = """오늘 서울에 비가 왔다. 학생은 책을 읽고 물을 마셨다. 문장: 질문: 답변: 답: 물음: 풀이: 문제: 제목: 분야:
예 아니오 긍정 부정 과학 경제 사회 생활 세계 스포츠 정치 기쁨 분노 슬픔 놀람 그래서 왜냐하면
0 1 2 3 4 5 6 7 8 9 #### A B C D"""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder of two layers with 512 positions."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([TEXT] * 4, vocab_size=400, special_tokens=["<|endoftext|>"], show_progress=False)
    PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, eos_token="<|endoftext|>").save_pretrained(folder)
    torch.manual_seed(3)
    config = GPTNeoXConfig(
        vocab_size=400, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=512, bos_token_id=0, eos_token_id=0, initializer_range=0.4,
    )  # fmt: skip
    GPTNeoXForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def nine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows of the nine tasks."""
    folder = tmp_path_factory.mktemp("nine")
    for name, rows in nine_rows().items():
        write(folder / f"{name}.jsonl", rows)
    return folder


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with kit19's six sets in their authors' layouts."""
    folder = tmp_path_factory.mktemp("kit")
    tables = {
        "BoolQ": ["ID\tText\tQuestion\tAnswer", "1\t서울에 비가 왔다.\t비가 왔나요?\tTRUE",
                  "2\t학생이 책을 읽었다.\t잤나요?\tFalse", '3\t"물"을 마셨다.\t마셨나요?\tTrue'],
        "COPA": ["ID\tsentence\tquestion\t1\t2\tAnswer", "1\t비가 왔다.\t결과\t우산을 썼다.\t해가 떴다.\t1",
                 "2\t배가 고팠다.\t원인\t밥을 먹었다.\t굶었다.\t2", "3\t눈이 왔다.\t결과\t더웠다.\t추웠다.\t2"],
        "HellaSwag": ["context\tchoice1\tchoice2\tchoice3\tchoice4\tlabel",
                      *(f"{n}번 학생이 문을 열었다.\t나갔다.\t들어왔다.\t잠들었다.\t뛰었다.\t{n}" for n in range(4))],
        "SentiNeg": ["ID\tText\tLabel", "1\t맛이 없지 않다\t1", "2\t좋지 않다\t0", "3\t빠르지 않다\t0"],
    }  # fmt: skip
    for name, lines in tables.items():
        path = folder / "kobest" / name / "test.tsv"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    topics = ["IT과학", "경제", "사회", "사회", "생활문화", "세계", "스포츠", "정치"]
    sts = [
        {"guid": f"s{n}", "sentence1": f"{n}시에 왔다.", "sentence2": "비가 왔다.",
         "labels": {"label": 3.1, "binary-label": int(n % 3 == 0)}}
        for n in range(5)
    ]  # fmt: skip
    ynat = [{"guid": f"y{n}", "title": f"{topic} 새 소식", "label": topic} for n, topic in enumerate(topics)]
    for name, rows in (("klue-sts", sts), ("ynat", ynat)):
        path = folder / "klue" / f"{name}-v1.1" / f"{name}-v1.1_dev.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real data sets; tests skip without it."""
    if not SHARED.is_dir():
        pytest.skip("no shared data")
    return SHARED
