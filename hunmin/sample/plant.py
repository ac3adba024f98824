"""Planting: personal data, duplicates and benchmark sentences put into documents, each noted among its facts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from hunmin.sample.documents import Document
from hunmin.sample.lexicon import TOPICS
from hunmin.sample.pii import KINDS, plant_value
from hunmin.sample.tasks import TaskText

_NOUNS = frozenset(word for topic in TOPICS for word in topic.nouns)
_OTHER_JOSA = {"은": "이", "는": "가", "이": "은", "가": "는", "을": "은", "를": "는"}
MIN_WORDS = 5
"""Eojeols a benchmark sentence must have to be planted: shorter ones are not told from chance."""


def change_josa(sentence: str, rng: random.Random) -> str | None:
    """Return the sentence with one josa replaced by another, or None where no noun of the lexicon carries one."""
    words = sentence.split(" ")
    places = [k for k, w in enumerate(words) if len(w) > 1 and w[-1] in _OTHER_JOSA and w[:-1] in _NOUNS]
    if not places:
        return None
    place = rng.choice(places)
    words[place] = words[place][:-1] + _OTHER_JOSA[words[place][-1]]
    return " ".join(words)


def drop_space(sentence: str, rng: random.Random) -> str | None:
    """Return the sentence with one blank removed, or None where it has none."""
    words = sentence.split(" ")
    if len(words) < 2:
        return None
    place = rng.randrange(len(words) - 1)
    return " ".join([*words[:place], words[place] + words[place + 1], *words[place + 2 :]])


def plant_pii(documents: Sequence[Document], rng: random.Random, per_type: int) -> int:
    """Put `per_type` sentences of every PII type into documents chosen at random; return how many."""
    for kind in KINDS:
        for document in rng.sample(documents, per_type):
            planted = plant_value(rng, kind)
            _insert(document, planted.sentence, rng)
            document.facts.append({"kind": "pii", "type": planted.type, "value": planted.value})
    return per_type * len(KINDS)


def plant_benchmark(documents: Sequence[Document], rng: random.Random, texts: Sequence[TaskText], each: int) -> int:
    """Put benchmark sentences into documents, `each` verbatim, with a josa changed, and without a blank.

    Returns how many. The sentences are drawn evenly over the tasks; the facts name task, guid and how.
    """
    by_task: dict[str, list[TaskText]] = {}
    for text in texts:
        if len(text.text.split()) >= MIN_WORDS and text.text.endswith(".") and ". " not in text.text:
            by_task.setdefault(text.task, []).append(text)
    change: dict[str, Callable[[str, random.Random], str | None]] = {
        "verbatim": lambda text, _: text,
        "josa": change_josa,
        "space": drop_space,
    }
    used: set[str] = set()
    for how in change:
        turn = 0
        planted = 0
        while planted < each:
            task = sorted(by_task)[turn % len(by_task)]
            turn += 1
            chosen = rng.choice(by_task[task])
            changed = change[how](chosen.text, rng)
            if changed is None or chosen.text in used:
                continue
            used.add(chosen.text)
            document = rng.choice(documents)
            _insert(document, changed, rng)
            document.facts.append(
                {"kind": "benchmark", "task": chosen.task, "guid": chosen.guid, "how": how, "text": changed}
            )
            planted += 1
    return each * len(change)


def plant_duplicates(documents: list[Document], rng: random.Random, exact: int, near: int) -> int:
    """Append copies of documents, `near` of them with a sentence left out; return how many."""
    originals = rng.sample(documents, exact + near)
    for number, original in enumerate(originals):
        is_exact = number < exact
        sentences = list(original.sentences)
        if not is_exact:
            sentences.pop(rng.randrange(1, len(sentences)))
        fact: dict[str, object] = {"kind": "duplicate", "of": original.id, "how": "exact" if is_exact else "near"}
        text = " ".join(sentences)
        copied = [dict(f) for f in original.facts if str(f.get("value", f.get("text", ""))) in text]
        documents.append(replace(original, id=f"{original.id}-copy", sentences=sentences, facts=[*copied, fact]))
    return exact + near


def _insert(document: Document, sentence: str, rng: random.Random) -> None:
    document.sentences.insert(rng.randint(1, len(document.sentences)), sentence)
