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

KLUE = Path(os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data") / "klue"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not KLUE.is_dir(), reason="the benchmark's files are not at hand")]


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
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    texts = [record["title"] for record in raw("ynat-v1.1/ynat-v1.1_dev.reduced.json")]
    texts += [record["premise"] for record in raw("klue-nli-v1.1/klue-nli-v1.1_dev.json")]
    texts += [record["sentence"] for record in raw("klue-re-v1.1/klue-re-v1.1_dev.json")]
    maker = BertWordPieceTokenizer(lowercase=False, strip_accents=False, handle_chinese_chars=True)
    maker.train_from_iterator(texts, vocab_size=8000, limit_alphabet=4000, show_progress=False)
    folder = tmp_path_factory.mktemp("vocabulary")
    maker.save_model(str(folder))
    return BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=False, strip_accents=False)


def made(name: str, tokenizer: Any, longest: int) -> tuple[list[Any], dict[str, Any]]:
    task = TASKS[name]
    path = find_file(task, KLUE, "dev")
    assert path is not None
    examples = read_examples(task, path)
    return examples, task.features(examples, tokenizer, longest, False)


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
