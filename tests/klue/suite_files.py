"""Small files in the official layouts of the suites beside KLUE, made here: traps of the real ones are in them."""

from __future__ import annotations

import json
from pathlib import Path

COUNTS = {"train": 24, "dev": 12, "test": 10}


def _boolq(split: str, n: int) -> list[str]:
    answer = (("FALSE", "TRUE") if split == "train" else ("False", "True"))[n % 2]
    return [str(n + 1), f'{split} {n}번 "집이 {"있다" if n % 2 else "없다"}.', f"{n} 집이 있다?", answer]


def _copa(split: str, n: int) -> list[str]:
    asked = ("원인", "결과", "원인 ")[n % 3]
    return [str(n + 1), f"{split} {n}번 꽃이 있다.", asked, *(("길", "책")[:: 1 if n % 2 else -1]), str(2 - n % 2)]


def _hellaswag(split: str, n: int) -> list[str]:
    choices = ["빵", "차", "길", "집"]
    choices[n % 4] = "책"
    return [f"{split} {n}번 집에 있다. 책", *choices, str(n % 4)]


def _sentineg(split: str, n: int) -> list[str]:
    text, label = f"{split} {n} {'좋다' if n % 2 else '없다'}", str(n % 2)
    if split == "train":
        return [str(n), text, label]
    return [str(n), label, text] if split == "dev" else [str(n), str(1 - n % 2), f"본디 {n}", label, text, "1"]


def _wic(split: str, n: int) -> list[str]:
    pair = (f"{split} {n} [차] 있다.", f"[차] {'있다' if n % 2 else '길'}.")
    word = ("FALSE", "true", "False", "TRUE")[n % 4]
    return [str(n), "차", pair[0], "1", "link", pair[1], "2", "link", word]


def _korsts(split: str, n: int) -> list[str]:
    words = f'{n} "집이 있다'
    return ["main", "made", "2026", "0000", f"{n % 6}.000", f"{split} {words}", words if n % 6 > 2 else "길이 없다"]


def _nli(split: str, n: int) -> list[str]:
    return [
        f"{split} {n} 책이 있다",
        f"{n} 책이 {'있다' if n % 3 else '없다'}",
        ("contradiction", "neutral", "entailment")[n % 3],
    ]


def _paws(split: str, n: int) -> list[str]:
    return [str(n), f"{split} {n} 책이 있다", "NS" if n == 3 else "" if n == 4 else f"{n} 있다 책이", str(n % 2)]


def _question(split: str, n: int) -> list[str]:
    return [f"{split} {n} 집은?", f"{n} {'길은' if n % 2 else '집은'}?", str(n % 2)]


def _hate(split: str, n: int) -> list[str]:
    label = ("hate", "offensive", "none")[n % 3]
    return [f'"제목 {n}', f"{split} {n} {['길', '없다', '좋다'][n % 3]}", "none", label]


def _nsmc(split: str, n: int) -> list[str]:
    return [str(9_000_000 + n), f"{split} {n} {'좋다' if n % 2 else '없다'}", str(n % 2)]


WIC = ("ID", "Target", "SENTENCE1", "Dictionary 1", "Link 1", "SENTENCE2", "Dictionary 2", "Link2", "ANSWER")
TABLES = {
    "kobest/BoolQ": (("ID", "Text", "Question", "Answer"), _boolq, "\r\n"),
    "kobest/COPA": (("ID", "sentence", "question", "1", "2", "Answer"), _copa, "\r\n"),
    "kobest/HellaSwag": (("context", "choice1", "choice2", "choice3", "choice4", "label"), _hellaswag, "\n"),
    "kobest/SentiNeg": (
        {
            "train": ("ID", "Text", "Label"),
            "dev": ("ID", "Label", "Text"),
            "test": ("ID", "Label_origin", "Text_origin", "Label", "Text", "Category_neg"),
        },
        _sentineg,
        "\r\n",
    ),
    "kobest/WiC": (WIC, _wic, "\r\n"),
    "korsts": (("genre", "filename", "year", "id", "score", "sentence1", "sentence2"), _korsts, "\n"),
    "kornli": (("sentence1", "sentence2", "gold_label"), _nli, "\n"),
    "paws_x": (("id", "sentence1", "sentence2", "label"), _paws, "\n"),
    "question_pair": (("question1", "question2", "is_duplicate"), _question, "\n"),
    "hate_speech": (("title", "comment", "bias", "hate"), _hate, "\n"),
    "nsmc": (("id", "document", "label"), _nsmc, "\n"),
}
NAMES = {
    "korsts": "sts-{}.tsv",
    "kornli": {"train": "multinli.train.ko.tsv", "dev": "xnli.dev.ko.tsv", "test": "xnli.test.ko.tsv"},
    "paws_x": {"train": "translated_train.tsv", "dev": "dev_2k.tsv", "test": "test_2k.tsv"},
    "hate_speech": {"train": "train.tsv", "dev": "val.tsv"},
    "nsmc": {"train": "ratings_train.txt", "test": "ratings_test.txt"},
}


def file_of(folder: str, split: str) -> str | None:
    """Return the name of a split's file, or None where the benchmark has none."""
    names = NAMES.get(folder, "{}.tsv")
    return names.format(split) if isinstance(names, str) else names.get(split)


def write_suites(root: Path) -> Path:
    """Write every task of KoBEST and of KoELECTRA's table: 24 train, 12 dev and 10 test examples each."""
    for folder, (header, make, end) in TABLES.items():
        for split, count in COUNTS.items():
            name = file_of(folder, split)
            if name is None:
                continue
            lines = [header[split] if isinstance(header, dict) else header, *(make(split, n) for n in range(count))]
            (root / folder).mkdir(parents=True, exist_ok=True)
            (root / folder / name).write_text("".join("\t".join(row) + end for row in lines), "utf-8", newline="")
    (root / "korquad").mkdir()
    for split in ("train", "dev"):
        paragraphs = []
        for n in range(COUNTS[split]):
            context = f"{split} {n}번 집에 책이 있다."
            answer = {"text": "책이", "answer_start": context.index("책이")}
            paragraphs.append(
                {"context": context, "qas": [{"id": f"{split}-{n}", "question": "집에?", "answers": [answer]}]}
            )
        tree = {"version": "KorQuAD_v1.0", "data": [{"title": "집", "paragraphs": paragraphs}]}
        (root / "korquad" / f"KorQuAD_v1.0_{split}.json").write_text(json.dumps(tree), "utf-8")
    return root
