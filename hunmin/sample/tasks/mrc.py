"""KLUE-MRC: articles with questions on who, when, where and how much, and questions they do not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hunmin.sample.headlines import HEADLINES
from hunmin.sample.inflect import Register
from hunmin.sample.scene import Scene
from hunmin.sample.sentences import RICH
from hunmin.sample.tasks.common import TaskFiles, TaskText, as_json, guid, rng_for, task_scene

SIZES = {"train": 60, "dev": 16}
"""Articles; each has three questions."""

# statement, question, slot whose words are the answer
FACTS: tuple[tuple[str, str, str], ...] = (
    ("{P:은} {D} {S}에서 {T:을} {W} {A!}.", "{S}에서 {T:을} {A.은} 사람은 누구인가?", "P"),
    ("{D} {P:은} {S}까지 가서 {T:을} {A!}.", "{P:이} {T:을} {A.은} 때는 언제인가?", "D"),
    ("{P:은} 올해 {S}에 머물며 {T:을} {A!}.", "{P:이} {T:을} {A.은} 도시는 어디인가?", "S"),
    ("{O:은} {D} {S}에서 {E:을} <열다!>.", "{S}에서 {E:을} 연 단체는 어디인가?", "O"),
    ("{O:은} {D} {E:을} 마치고 {T:을} {A!}.", "{O:이} {E:을} 마친 때는 언제인가?", "D"),
    ("{R} {N}명이 {L}에 모여 {E:을} <준비하다!>.", "{L}에 모여 {E:을} 준비한 {R:은} 몇 명인가?", "N"),
    ("{O:의} 발표에 따르면 {M:이} {N}퍼센트 {G!}.", "발표에서 {M:은} 몇 퍼센트 {G.었다고} 하는가?", "N"),
    ("{E:이} 끝난 뒤 {P:은} {L:으로} <돌아가다!>.", "{E:이} 끝난 뒤 {P:이} 돌아간 곳은 어디인가?", "L"),
)
UNANSWERED: tuple[str, ...] = (
    "{H:이} {U:을} 처음 {B.은} 때는 언제인가?",
    "{V:이} {U:을} {B.은} 곳은 어디인가?",
    "{U:을} {B.은} 사람은 모두 몇 명인가?",
)


def _article(scene: Scene, name: Callable[[int], str]) -> tuple[dict[str, Any], list[TaskText]]:
    """Return an article in the benchmark's nesting, with its questions' guids from `name`."""
    rng = scene.rng
    title = scene.say(rng.choice(HEADLINES))
    sentences = [scene.say(rng.choice(RICH)) for _ in range(rng.randint(6, 9))]
    asked: list[tuple[str, str, str]] = []
    for statement, question, slot in rng.sample(FACTS, 2):
        told = scene.say(statement)
        answer = "".join(segment.text for segment in scene.value(slot).segments)
        if slot == "N":  # a number is answered with its unit
            answer += next(unit for unit in ("명", "퍼센트") if answer + unit in told)
        asked.append((told, scene.say(question, Register.PLAIN, keep=True), answer))
        sentences.insert(rng.randint(0, len(sentences)), told)
    context = " ".join(sentences)
    questions: list[dict[str, Any]] = []
    for told, question, answer in asked:
        start = context.index(told) + told.index(answer)
        questions.append(_question(name(len(questions)), question, [{"text": answer, "answer_start": start}], 1))
    plausible = [dict(answer) for answer in questions[0]["answers"]]
    questions.append(_question(name(2), scene.say(rng.choice(UNANSWERED)), [], 3, plausible))
    texts = [TaskText("klue-mrc", q["guid"], q["question"]) for q in questions]
    texts += [TaskText("klue-mrc", questions[0]["guid"], sentence) for sentence in sentences]
    article = {
        "title": title,
        "paragraphs": [{"context": context, "qas": questions}],
        "news_category": scene.topic.name,
        "source": "sample",
    }
    return article, texts


def _question(
    name: str, text: str, answers: list[dict[str, Any]], kind: int, plausible: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "question": text,
        "answers": answers,
        "question_type": kind,
        "is_impossible": not answers,
        "guid": name,
    }
    if not answers:
        record["plausible_answers"] = plausible or []
    return record


def build(seed: int) -> TaskFiles:
    """Return the files of KLUE-MRC in the benchmark's SQuAD-like nesting; a third of the questions has no answer."""
    files: dict[str, str] = {}
    texts: list[TaskText] = []
    for split, size in SIZES.items():
        rng = rng_for(seed, "klue-mrc", split)
        articles: list[dict[str, Any]] = []
        for number in range(size):

            def name(question: int, number: int = number, split: str = split) -> str:
                return guid("klue-mrc", split, 3 * number + question)

            article, found = _article(task_scene(rng, split), name)
            articles.append(article)
            texts += found
        files[f"klue-mrc-v1.1/klue-mrc-v1.1_{split}.json"] = as_json({"version": "v1.1", "data": articles})
    return TaskFiles(files, texts)
