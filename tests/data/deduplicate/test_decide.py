"""What stays: the kinds one after the other, the books that balance, and a report that holds ids only."""

import itertools
import random
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.deduplicate.decide import KINDS, decide
from data.deduplicate.settings import DeduplicateSettings
from data.deduplicate.sides import Sides
from data.executors.local import LocalPool

from ..building import write_part as write_texts
from .invented import document, edited

ONE = LocalPool(1)
ALL = DeduplicateSettings(near=True, paragraphs=True, sentences=True, min_sentence_chars=4)


@pytest.fixture(scope="module", autouse=True)
def short_paragraphs():
    """Compare paragraphs of four characters and more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("data.deduplicate.decide.MIN_PARAGRAPH_CHARS", 4)
        yield


def write_part(path: Path, documents: dict[str, list[list[str]]], chosen: DeduplicateSettings) -> Path:
    """Write documents (id → paragraphs → sentences) as a part with its sides."""
    texts = ["\n".join(" ".join(paragraph) for paragraph in paragraphs) for paragraphs in documents.values()]
    split = [[sentence for paragraph in paragraphs for sentence in paragraph] for paragraphs in documents.values()]
    sides = Sides(chosen)
    sides.add(texts, split, np.arange(sum(map(len, split))))
    sides.write(path)
    return write_texts(path, texts, list(documents), split=split)


def decided(folder: Path, documents: dict[str, list[list[str]]], chosen: DeduplicateSettings, cuts: list[int]):
    """Return (id → sentences that stay, counts, report) with the documents cut into parts."""
    names = list(documents)
    borders = [0, *sorted(cuts), len(names)]
    parts, contents = [], []
    for number, (first, last) in enumerate(itertools.pairwise(borders)):
        contents.append({name: documents[name] for name in names[first:last]})
        parts.append(write_part(folder / f"part-{number}.parquet", contents[-1], chosen))
    decision = decide(parts, chosen, folder / "duplicates.jsonl", folder, ONE)
    left = {}
    for content, mask, stays in zip(contents, decision.documents, decision.sentences, strict=True):
        flat = [(name, s) for name, paragraphs in content.items() for paragraph in paragraphs for s in paragraph]
        assert len(mask) == len(content)
        for (name, sentence), stay in zip(flat, [True] * len(flat) if stays is None else stays, strict=True):
            if mask[list(content).index(name)] and stay:
                left.setdefault(name, []).append(sentence)
        assert sum(mask) == len(left.keys() & content.keys())
    report = [orjson.loads(line) for line in (folder / "duplicates.jsonl").read_bytes().splitlines()]
    return left, decision.counts, report


def test_documents_then_paragraphs_then_sentences(tmp_path):
    documents = {
        "a": [["여기 첫 문장이다.", "여기 둘째 문장이다."], ["짧다."]],
        "b": [["여기 첫 문장이다.", "여기 둘째 문장이다."], ["짧다."]],  # a whole copy
        "c": [["여기 첫 문장이다.", "여기 둘째 문장이다."], ["다른 줄이 하나 있다."]],  # its first paragraph repeats
        "d": [["다른 줄이 하나 있다.", "새 문장도 하나 있다."]],  # its first sentence repeats
        "e": [["다른 줄이 하나 있다."]],  # nothing is left of it
        "f": [["짧다."]],
    }
    chosen = ALL.model_copy(update={"near": False})
    left, counts, report = decided(tmp_path, documents, chosen, [2, 2, 4])
    assert left == {
        "a": ["여기 첫 문장이다.", "여기 둘째 문장이다.", "짧다."],
        "c": ["다른 줄이 하나 있다."],
        "d": ["새 문장도 하나 있다."],
        "f": ["짧다."],
    }
    assert counts == {"documents": 1, "near": 0, "paragraphs": 2, "sentences": 1, "emptied": 1}
    assert report == [{"id": "b", "kept": "a", "rule": "documents", "similarity": 1.0}]


@pytest.mark.parametrize("kind", ["paragraphs", "sentences"])
def test_what_is_as_long_as_the_bound_goes_and_what_is_shorter_stays(kind, tmp_path):
    """The bound of either kind is four characters."""
    documents = {name: [["석자임"], ["넉자이다"], ["다섯자이다"], [f"{name} 문서의 문장이다."]] for name in "ab"}
    chosen = DeduplicateSettings.model_validate({kind: True, "min_sentence_chars": 4})
    left, counts, _ = decided(tmp_path, documents, chosen, [1])
    assert left["b"] == ["석자임", "b 문서의 문장이다."] and len(left["a"]) == counts[kind] + 2 == 4


def test_a_copy_of_a_near_copy_is_reported_with_the_one_that_stays(tmp_path):
    rng = random.Random(1)
    text = document(rng, 300)
    near, far = edited(rng, text, 0.01), document(rng, 300)
    documents = {"a": [[text]], "b": [[near]], "c": [[far]], "d": [[near]], "e": [[far]], "f": [[text]]}
    left, counts, report = decided(tmp_path, documents, DeduplicateSettings(near=True), [1, 3])
    assert list(left) == ["a", "c"]
    assert (counts["documents"], counts["near"]) == (3, 1)
    assert [(line["id"], line["kept"], line["rule"]) for line in report] == [
        ("b", "a", "near"),
        ("d", "a", "documents"),
        ("e", "c", "documents"),
        ("f", "a", "documents"),
    ]
    assert report[0]["similarity"] == report[1]["similarity"] < report[2]["similarity"] == 1
    raw = (tmp_path / "duplicates.jsonl").read_text(encoding="utf-8")
    assert not any(word in raw for word in text.split() + far.split())


SENTENCE = st.sampled_from([f"{n}번 문장이 여기에 있다." for n in range(6)] + ["네."])
DOCUMENTS = st.lists(st.lists(st.lists(SENTENCE, min_size=1, max_size=3), min_size=1, max_size=3), max_size=9)


@settings(max_examples=6)
@given(documents=DOCUMENTS, cuts=st.lists(st.integers(0, 9), max_size=3))
def test_the_cut_into_parts_makes_no_difference_and_nothing_is_lost(tmp_path_factory, documents, cuts):
    named = {f"d{n}": paragraphs for n, paragraphs in enumerate(documents)}
    whole = decided(tmp_path_factory.mktemp("whole"), named, ALL, [])
    cuts = [min(cut, len(named)) for cut in cuts]
    assert decided(tmp_path_factory.mktemp("cut"), named, ALL, cuts) == whole
    left, counts, report = whole
    assert len(left) == len(named) - counts["documents"] - counts["near"] - counts["emptied"]
    assert len(report) == counts["documents"] + counts["near"]
    assert {line["kept"] for line in report}.isdisjoint(line["id"] for line in report)
    assert {s for p in documents for q in p for s in q} == {s for sentences in left.values() for s in sentences} or (
        counts["near"]
    )
    long = [sentence for sentences in left.values() for sentence in sentences if len(sentence) >= 4]
    assert len(long) == len(set(long))


@pytest.mark.parametrize("chosen", [ALL, DeduplicateSettings(documents=False)])
def test_no_parts_and_empty_parts(tmp_path, chosen):
    assert decide([], chosen, tmp_path / "r", tmp_path, ONE).counts == dict.fromkeys(KINDS, 0)
    assert decided(tmp_path, {}, chosen, [0])[0] == {}
