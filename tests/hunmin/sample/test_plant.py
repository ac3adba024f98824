"""Planting notes what it did."""

from __future__ import annotations

import random

from hunmin.sample.documents import Document
from hunmin.sample.pii import KINDS
from hunmin.sample.plant import change_josa, drop_space, plant_benchmark, plant_duplicates, plant_pii
from hunmin.sample.tasks.common import TaskText


def _documents(count: int = 40) -> list[Document]:
    return [Document(f"d-{n}", [f"{n}번 글의 첫 문장이다.", "둘째 문장이다.", "셋째 문장이다."]) for n in range(count)]


def test_change_josa() -> None:
    assert change_josa("장관은 어제 왔다.", random.Random(0)) == "장관이 어제 왔다."
    assert change_josa("하는 일이 없다.", random.Random(0)) is None


def test_drop_space() -> None:
    assert drop_space("가 나", random.Random(0)) == "가나"
    assert drop_space("가나", random.Random(0)) is None


def test_pii_in_text() -> None:
    documents = _documents()
    assert plant_pii(documents, random.Random(0), 3) == 3 * len(KINDS)
    facts = [(d, f) for d in documents for f in d.facts]
    assert len(facts) == 3 * len(KINDS)
    assert all(str(fact["value"]) in document.text() for document, fact in facts)


def test_benchmark_in_text() -> None:
    documents = _documents()
    texts = [TaskText("t", f"g{n}", f"장관은 어제 {n}번 법안을 다시 심의했다.") for n in range(40)]
    assert plant_benchmark(documents, random.Random(0), texts, 5) == 15
    facts = [(d, f) for d in documents for f in d.facts]
    assert {f["how"] for _, f in facts} == {"verbatim", "josa", "space"}
    originals = {text.guid: text.text for text in texts}
    for document, fact in facts:
        assert str(fact["text"]) in document.text()
        assert (fact["text"] == originals[str(fact["guid"])]) is (fact["how"] == "verbatim")


def test_duplicates() -> None:
    documents = _documents()
    assert plant_duplicates(documents, random.Random(0), 2, 3) == 5
    by_id = {document.id: document for document in documents}
    for copy in documents[40:]:
        fact = copy.facts[-1]
        original = by_id[str(fact["of"])]
        if fact["how"] == "exact":
            assert copy.text() == original.text()
        else:
            assert len(copy.sentences) == len(original.sentences) - 1
