"""Invented rows of leaderboard2's nine tasks."""

from __future__ import annotations

import json
import os
from pathlib import Path

SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA", Path(__file__).parents[4] / "shared/data"))
"""Real data sets, where they are."""


def write(path: Path, rows: list[dict]) -> Path:
    """Write JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def nine_rows() -> dict[str, list[dict]]:
    """Invented rows of leaderboard2's nine tasks, in the forms that public twins have."""
    four = ["비가 온다", "해가 뜬다", "눈이 내린다", "바람이 분다"]
    five = ["아주 반대", "반대", "보통", "찬성", "아주 찬성"]
    reference = {f"emotion{i}": name for i, name in enumerate(("기쁨", "분노", "슬픔", "놀람"), 1)}
    reference |= {"emotion1_score": "3", "emotion2_score": 0, "emotion3_score": 5, "emotion4_score": "2"}
    question = [{"question": f"{n}월에는?", "choices": four, "answer": n % 4} for n in range(6)]
    return {
        "ko_gpqa_diamond_zeroshot": [{**row, "answer": "ABCD"[row["answer"]]} for row in question],
        "ko_winogrande": [
            {"sentence": "지우는 민서에게 책을 주었고, _는 고마워했다.", "option1": "지우", "option2": "민서",
             "answer": 2.0},
            {"sentence": "컵에 물을 부었더니 _이 넘쳤다.", "option1": "컵", "option2": "물", "answer": "1"},
            {"sentence": "공이 창문에 맞아 _이 깨졌다.", "option1": "공", "option2": "창문", "answer": 2},
        ],
        "ko_gsm8k": [
            {"question": f"사과 {n}개에 2개를 더하면?", "answer": f"{n} + 2 = {n + 2}\n#### {n + 2:,}"}
            for n in (1, 2, 2, 1998)
        ],
        "ko_eqbench": [
            {"prompt": f"{n}번 대화에서 느낀 점수를 쓰세요.", "reference_answer_fullscale": str(reference)}
            for n in (1, 2)
        ],
        "ko_ifeval": [
            {"key": 1, "prompt": "쉼표 없이 쓰세요.", "instruction_id_list": "['punctuation:no_comma']",
             "kwargs": "[{'a': None}]"},
            {"key": 2, "prompt": "제목을 달고 두 단어보다 길게 쓰세요.",
             "instruction_id_list": ["detectable_format:title", "length_constraints:number_words"],
             "kwargs": [{}, {"num_words": 2, "relation": "이상"}]},
        ],
        "kornat_common": question,
        "kornat_social": [
            {"question": "일은 나눠야 한다.", "choices": five, "shares": [0.1, 0.2, 0.3, 0.25, 0.15]},
            {"question": "길은 넓어야 한다.", "choices": str(five), "shares": "[0.4, 0.1, 0.1, 0.2, 0.2]"},
        ],
        "kornat_harmless": question[:4],
        "kornat_helpful": question[2:],
    }  # fmt: skip
