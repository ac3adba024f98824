"""Features of the benchmark's own dev files, against the files read once more here and the library's own tokenising.

The vocabulary is WordPiece, as the authors' is, made from the texts at hand. Skipped where the files are not at hand.
"""

from __future__ import annotations

import json
import os
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tokenizers import BertWordPieceTokenizer
from transformers import BertTokenizerFast

from klue.examples import find_file, read_examples
from klue.tasks import TASKS
from klue.tasks.klue.dp import LABELS as ARCS
from klue.tasks.klue.ner import IGNORED
from klue.tasks.klue.ner import LABELS as TAGS

KLUE = Path(os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data") / "klue"
pytestmark = pytest.mark.skipif(not KLUE.is_dir(), reason="the benchmark's files are not at hand")


def raw(name: str) -> Any:
    return json.loads((KLUE / name).read_bytes())


def sentences(name: str) -> list[tuple[str, list[list[str]]]]:
    """Return the text of each head line, and the rows below it."""
    found: list[tuple[str, list[list[str]]]] = []
    for block in (KLUE / name).read_text(encoding="utf-8").split("\n\n"):
        head = [line for line in block.split("\n") if line.startswith("## klue")]
        rows = [line.split("\t") for line in block.split("\n") if line and not line.startswith("##")]
        if head:
            found.append((head[0].split("\t", 1)[1], rows))
    return found


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [record["title"] for record in raw("ynat-v1.1/ynat-v1.1_dev.reduced.json")]
    texts += [record["premise"] for record in raw("klue-nli-v1.1/klue-nli-v1.1_dev.json")]
    texts += [record["sentence"] for record in raw("klue-re-v1.1/klue-re-v1.1_dev.json")]
    maker = BertWordPieceTokenizer(lowercase=False, strip_accents=False, handle_chinese_chars=True)
    maker.train_from_iterator(texts, vocab_size=8000, limit_alphabet=4000, show_progress=False)
    folder = tmp_path_factory.mktemp("vocabulary")
    maker.save_model(str(folder))
    return folder


@pytest.fixture
def tokenizer(vocabulary: Path) -> Any:
    """A new one for each test: a task may add tokens to it."""
    return BertTokenizerFast(str(vocabulary / "vocab.txt"), do_lower_case=False, strip_accents=False)


def made(name: str, tokenizer: Any, longest: int) -> tuple[list[Any], dict[str, Any]]:
    task = TASKS[name]
    path = find_file(task, KLUE, "dev")
    assert path is not None
    examples = read_examples(task, path)
    if task.markers:
        tokenizer.add_tokens(list(task.markers), special_tokens=True)
    return examples, task.features(examples, tokenizer, longest, False)


@pytest.mark.parametrize(
    ("name", "file", "fields", "label"),
    [
        ("ynat", "ynat-v1.1/ynat-v1.1_dev.reduced.json", ["title"], lambda record: record["label"]),
        ("klue-nli", "klue-nli-v1.1/klue-nli-v1.1_dev.json", ["premise", "hypothesis"],
         lambda record: record["gold_label"]),
        ("klue-sts", "klue-sts-v1.1/klue-sts-v1.1_dev.json", ["sentence1", "sentence2"],
         lambda record: record["labels"]["real-label"]),
    ],
)  # fmt: skip
def test_sentences(name, file, fields, label, tokenizer):
    records = raw(file)
    examples, columns = made(name, tokenizer, 128)
    assert len(examples) == len(records) == TASKS[name].dev_examples
    wanted = tokenizer(*([record[field] for record in records] for field in fields), truncation=True, max_length=128)
    assert [list(row) for row in columns["input_ids"]] == wanted["input_ids"]
    names = TASKS[name].label_names or None
    assert [names[i] if names else i for i in columns["labels"]] == [label(record) for record in records]


def test_relations(tokenizer):
    """Label ids are places in the official list; the sentence is whole without the markers, the entity between them."""
    records, order = raw("klue-re-v1.1/klue-re-v1.1_dev.json"), raw("klue-re-v1.1/relation_list.json")["relations"]
    examples, columns = made("klue-re", tokenizer, 10_000)
    assert len(examples) == len(records) == 7765 and len(order) == 30
    assert [order[i] for i in columns["labels"]] == [record["label"] for record in records]
    unlike = 0
    for record, row in zip(records, columns["input_ids"], strict=True):
        tokens = tokenizer.convert_ids_to_tokens(row)
        assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")
        text = record["sentence"]
        for kind in ("subject", "object"):
            at, to = (tokens.index(f"<{sign}{'subj' if kind == 'subject' else 'obj'}>") for sign in ("", "/"))
            inner = [token for token in tokens[at + 1 : to] if not token.endswith(("subj>", "obj>"))]
            entity = record[f"{kind}_entity"]
            word = text[entity["start_idx"] : entity["end_idx"] + 1]
            assert word == entity["word"]
            assert inner == tokenizer.tokenize(word)
        plain = [token for token in tokens[1:-1] if not token.endswith(("subj>", "obj>"))]
        assert len(tokens) - len(plain) == 6
        if tokenizer.unk_token in plain:
            unlike += 1
            continue
        whole = "".join(tokenizer.tokenize(text)).replace("##", "")
        assert "".join(token.removeprefix("##") for token in plain) == whole
    assert unlike < len(records) / 10


def test_entities(tokenizer):
    """Of each token the label of its first character, characters counted along the sentence."""
    found = sentences("klue-ner-v1.1/klue-ner-v1.1_dev.tsv")
    examples, columns = made("klue-ner", tokenizer, 510)
    assert len(examples) == len(found) == 5000
    checked = 0
    for (_, rows), ids, labels in zip(found, columns["input_ids"], columns["labels"], strict=True):
        tokens = tokenizer.convert_ids_to_tokens(ids)[1:-1]
        characters = [(row[0], row[1]) for row in rows if row[0].strip()]
        parts = [token.removeprefix("##") for token in tokens]
        if tokenizer.unk_token in tokens or "".join(parts) != "".join(character for character, _ in characters):
            continue
        at, wanted = 0, []
        for part in parts:
            wanted.append(characters[at][1])
            at += len(part)
        assert [TAGS[label] for label in labels[1:-1]] == wanted
        assert labels[0] == labels[-1] == IGNORED
        checked += 1
    assert checked > 3000


def test_parses(tokenizer):
    found = sentences("klue-dp-v1.1/klue-dp-v1.1_dev.tsv")
    examples, columns = made("klue-dp", tokenizer, 256)
    assert len(examples) == len(found) == 2000 and len(ARCS) == 38
    for number, (_, rows) in enumerate(found):
        words = [row[1] for row in rows]
        ids = [tokenizer.encode(word, add_special_tokens=False) for word in words]
        assert list(columns["input_ids"][number][1:-1]) == list(chain(*ids))
        ends = [sum(map(len, ids[: i + 1])) for i in range(len(ids))]
        assert list(columns["last"][number]) == ends
        assert list(columns["first"][number]) == [1, *(end + 1 for end in ends[:-1])]
        assert list(columns["heads"][number]) == [int(row[4]) for row in rows]
        assert [ARCS[i] for i in columns["relations"][number]] == [row[5] for row in rows]


def test_reading(tokenizer):
    """Windows every 128 tokens of at most 510, as many as reach the passage's end; the tokens between start and end are
    the first answer's, where it begins and ends with a token."""
    records = raw("klue-mrc-v1.1/klue-mrc-v1.1_dev.first1350.json")
    examples, columns = made("klue-mrc", tokenizer, 510)
    assert len(examples) == len(records) == 1350
    rows: dict[int, list[int]] = {}
    for row, owner in enumerate(columns["owner"]):
        rows.setdefault(owner, []).append(row)
    exact = 0
    for number, record in enumerate(records):
        question = tokenizer.encode(record["question"], add_special_tokens=False)[:64]
        passage = tokenizer.encode(record["context"], add_special_tokens=False)
        room = 510 - len(question) - 3
        windows = 1 + max(0, -(-(len(passage) - room) // 128))
        assert len(rows[number]) == windows
        for place, row in enumerate(rows[number]):
            part = passage[128 * place : 128 * place + room]
            wanted = [tokenizer.cls_token_id, *question, tokenizer.sep_token_id, *part, tokenizer.sep_token_id]
            assert list(columns["input_ids"][row]) == wanted
        spans = [(columns["start_positions"][row], columns["end_positions"][row], row) for row in rows[number]]
        spans = [span for span in spans if span[0]]
        if record.get("is_impossible"):
            assert not spans
            continue
        answer = tokenizer.encode(record["answers"][0]["text"], add_special_tokens=False)
        exact += any(list(columns["input_ids"][row][start : end + 1]) == answer for start, end, row in spans)
    answerable = sum(not record.get("is_impossible") for record in records)
    assert exact > 0.7 * answerable
