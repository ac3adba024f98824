"""KLUE-DP: dependency trees of sentences put together eojeol by eojeol, with their morphemes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hunmin.sample.inflect import Register, Tense, conjugate, final_form, stem_of
from hunmin.sample.josa import josa
from hunmin.sample.lexicon import general
from hunmin.sample.scene import Scene, invent_name
from hunmin.sample.tasks.common import TaskFiles, TaskText, guid, rng_for, task_scene

SIZES = {"train": 200, "dev": 50}
HEADER = (
    "## 토큰, 레이블 구분자 : \\t\n## 토큰 구분자 : \\n\n## 문장 구분자 : \\n\\n\n## 주석 : ##\n"
    "## 칼럼명 : INDEX\tWORD_FORM\tLEMMA\tPOS\tHEAD\tDEPREL\n"
)
_PARTICLES = {"은": "JX", "이": "JKS", "을": "JKO", "에서": "JKB", "과": "JC", "의": "JKG", "에": "JKB", "으로": "JKB"}


@dataclass
class Eojeol:
    """A word of the tree; `head` is the eojeol it depends on, None for the root."""

    form: str
    lemma: str
    pos: str
    deprel: str
    head: Eojeol | None = None


def _noun(word: str, particle: str, deprel: str, head: Eojeol | None, proper: bool = False) -> Eojeol:
    tag = "NNP" if proper else "NNG"
    if not particle:
        return Eojeol(word, word, tag, deprel, head)
    form = josa(word, particle)
    return Eojeol(form, f"{word} {form[len(word) :]}", f"{tag}+{_PARTICLES[particle]}", deprel, head)


def _predicate(lemma: str, ending: str, deprel: str, head: Eojeol | None) -> Eojeol:
    """Return a verb with the ending "!" (final, past), "은" (adnominal, past) or "고"."""
    stem = stem_of(lemma)
    for tail, tag in (("시키", "XSV"), ("하", "XSV"), ("되", "XSV")):
        if stem.endswith(tail) and len(stem) > len(tail) + 1:
            lemmas, tags = [stem[: -len(tail)], tail], ["NNG", tag]
            break
    else:
        lemmas, tags = [stem], ["VV"]
    past = "였" if lemmas[-1] == "하" else ("았" if conjugate(lemma, "어")[-1] in "아와" else "었")
    if ending == "!":
        form = final_form(lemma, Register.PLAIN, Tense.PAST) + "."
        lemmas, tags = [*lemmas, past, "다", "."], [*tags, "EP", "EF", "SF"]
    elif ending == "은":
        form = conjugate(lemma, "은")
        lemmas, tags = [*lemmas, "은" if form.endswith("은") else "ㄴ"], [*tags, "ETM"]
    else:
        form = conjugate(lemma, "고")
        lemmas, tags = [*lemmas, "고"], [*tags, "EC"]
    return Eojeol(form, " ".join(lemmas), "+".join(tags), deprel, head)


def _subject(scene: Scene, rng: random.Random, head: Eojeol) -> list[Eojeol]:
    """Return the eojeols of a subject: name and role, organisation, or role with a possessor."""
    particle = rng.choice(("은", "이"))
    role = rng.choice(scene.words["R"])
    kind = rng.randrange(3)
    if kind == 0:
        noun = _noun(role, particle, "NP_SBJ", head)
        return [_noun(invent_name(rng), "", "NP", noun, proper=True), noun]
    if kind == 1:
        return [_noun(rng.choice(scene.words["O"]), particle, "NP_SBJ", head, proper=True)]
    noun = _noun(role, particle, "NP_SBJ", head)
    return [_noun(rng.choice(scene.words["O"]), "의", "NP_MOD", noun, proper=True), noun]


def _clause(scene: Scene, rng: random.Random, predicate: Eojeol, thing: str) -> list[Eojeol]:
    """Return optional time, place and manner, the object, and the predicate."""
    words: list[Eojeol] = []
    if rng.random() < 0.5:
        when = rng.choice([day for day in general.RELATIVE_DAYS if " " not in day])
        words.append(Eojeol(when, when, "NNG", "NP_AJT", predicate))
    if rng.random() < 0.5:
        words.append(_noun(rng.choice(scene.words["L"]), "에서", "NP_AJT", predicate))
    target = _noun(thing, "을", "NP_OBJ", predicate)
    draw = rng.random()
    if draw < 0.25:
        other = rng.choice([t for t in scene.words["T"] if t != thing])
        words.append(_noun(other, "과", "NP_CNJ", target))
    elif draw < 0.45:
        words.append(_noun(rng.choice(scene.words["R"]), "의", "NP_MOD", target))
    words.append(target)
    if rng.random() < 0.4:
        adverb = rng.choice(general.ADVERBS)
        words.append(Eojeol(adverb, adverb, "MAG", "AP", predicate))
    return [*words, predicate]


def _sentence(scene: Scene, rng: random.Random) -> list[Eojeol]:
    scene.clear()
    thing, other = scene.value("T").segments[0].text, scene.value("U").segments[0].text
    root = _predicate(scene.value("A").lemma, "!", "VP", None)
    main = _clause(scene, rng, root, thing)
    subject = _subject(scene, rng, root)
    draw = rng.random()
    if draw < 0.35:
        return subject + main
    second = scene.value("B").lemma
    if draw < 0.7:
        first = _predicate(second, "고", "VP", root)
        for eojeol in subject:
            if eojeol.head is root:
                eojeol.head = first
        return subject + _clause(scene, rng, first, other) + main
    relative = _predicate(second, "은", "VP_MOD", subject[-1])
    return [_noun(other, "을", "NP_OBJ", relative), relative, *subject, *main]


def build(seed: int) -> TaskFiles:
    """Return the files of KLUE-DP; heads are numbered from 1, 0 is the root."""
    files: dict[str, str] = {}
    texts: list[TaskText] = []
    seen: set[str] = set()
    for split, size in SIZES.items():
        rng = rng_for(seed, "klue-dp", split)
        blocks: list[str] = []
        while len(blocks) < size:
            eojeols = _sentence(task_scene(rng, split), rng)
            text = " ".join(eojeol.form for eojeol in eojeols)
            if text in seen:
                continue
            seen.add(text)
            name = guid("klue-dp", split, len(blocks)) + "_sample"
            texts.append(TaskText("klue-dp", name, text))
            place = {id(eojeol): number for number, eojeol in enumerate(eojeols, 1)}
            rows = [
                f"{number}\t{e.form}\t{e.lemma}\t{e.pos}\t{place[id(e.head)] if e.head else 0}\t{e.deprel}"
                for number, e in enumerate(eojeols, 1)
            ]
            blocks.append("\n".join([f"## {name}\t{text}", *rows]) + "\n")
        files[f"klue-dp-v1.1/klue-dp-v1.1_{split}.tsv"] = HEADER + "\n".join(blocks)
    return TaskFiles(files, texts)
