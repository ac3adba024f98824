"""KLUE-RE: one relation between a subject and an object in a sentence."""

from __future__ import annotations

import re
from typing import Any

from hunmin.sample.inflect import Register
from hunmin.sample.josa import josa
from hunmin.sample.lexicon import TOPICS, general
from hunmin.sample.lexicon.topic import words
from hunmin.sample.scene import invent_name
from hunmin.sample.tasks.common import TaskFiles, TaskText, as_json, guid, rng_for, task_scene
from hunmin.sample.template import realise

# Relatives who share a surname, and the topics whose things are made by someone.
_SAME_SURNAME = ("per:parents", "per:children", "per:siblings")
_MAKING = ("생활문화", "IT과학", "음식")

SIZES = {"train": 300, "dev": 90}
RELATIONS = words(
    "no_relation org:dissolved org:founded org:place_of_headquarters org:alternate_names org:member_of org:members "
    "org:political/religious_affiliation org:product org:founded_by org:top_members/employees "
    "org:number_of_employees/members per:date_of_birth per:date_of_death per:place_of_birth per:place_of_death "
    "per:place_of_residence per:origin per:employee_of per:schools_attended per:alternate_names per:parents "
    "per:children per:siblings per:spouse per:other_family per:colleagues per:product per:religion per:title"
)

# relation -> (subject type, object type, templates); « » hold the subject, ‹ › the object.
PATTERNS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "no_relation": (
        "PER",
        "ORG",
        (
            "«{N}»은 {D} {L}에서 열린 행사에 들렀고 ‹{O}›은 그날 {T:을} {A!}.",
            "«{N}»은 ‹{O}›이 어떤 곳인지 잘 모른다고 <말하다!>.",
        ),
    ),
    "org:founded": (
        "ORG",
        "DAT",
        ("«{O}»은 ‹{Y}년›에 {S}에서 처음 문을 <열다!>.", "‹{Y}년›에 세워진 «{O}»은 {T:을} {A!}."),
    ),
    "org:dissolved": (
        "ORG",
        "DAT",
        ("«{O}»은 ‹{Y}년›을 끝으로 <해산하다!>.", "{I:이} {C.자} «{O}»은 ‹{Y}년›에 문을 <닫다!>."),
    ),
    "org:place_of_headquarters": (
        "ORG",
        "LOC",
        ("«{O}»의 본부는 ‹{S}›에 <있다?>.", "‹{S}›에 본사를 둔 «{O}»은 {T:을} {A!}."),
    ),
    "org:founded_by": (
        "ORG",
        "PER",
        ("«{O}»을 세운 사람은 바로 ‹{N}›으로 <알려져 있다?>.", "‹{N}›이 설립한 «{O}»은 {T:을} {A!}."),
    ),
    "org:top_members/employees": (
        "ORG",
        "PER",
        ("«{O}»의 ‹{N}› 대표는 {T:을} {A.겠다고} <밝히다!>.", "«{O}» 회장인 ‹{N}›은 {E}에 <참석하다!>."),
    ),
    "org:members": ("ORG", "ORG", ("«{O}»에는 ‹{V}› 등 여러 단체가 회원으로 <들어 있다?>.",)),
    "org:member_of": ("ORG", "ORG", ("«{O}»은 ‹{V}›의 회원 단체로 <활동하다?>.",)),
    "org:product": (
        "ORG",
        "POH",
        ("«{O}»은 새로 만든 ‹{T}›을 {E}에서 <내보이다!>.", "«{O}»이 만든 ‹{T}›은 {R}들에게 인기를 <끌다!>."),
    ),
    "org:number_of_employees/members": (
        "ORG",
        "NOH",
        ("«{O}»에는 모두 ‹{K}명›이 몸담고 <있다?>.", "‹{K}명›이 일하는 «{O}»은 {T:을} {A!}."),
    ),
    "per:date_of_birth": (
        "PER",
        "DAT",
        ("«{N}»은 ‹{Y}년 {G}›에 {S}에서 <태어나다!>.", "‹{Y}년 {G}›에 태어난 «{N}»은 {T:을} {A!}."),
    ),
    "per:date_of_death": (
        "PER",
        "DAT",
        ("«{N}»은 ‹{Y}년 {G}›에 세상을 <떠나다!>.", "‹{Y}년 {G}›에 숨진 «{N}»을 기리는 {E:이} <열리다!>."),
    ),
    "per:place_of_birth": (
        "PER",
        "LOC",
        ("«{N}»은 {Y}년 ‹{S}›에서 <태어나다!>.", "‹{S}›에서 태어난 «{N}»은 {T:을} {A!}."),
    ),
    "per:place_of_residence": (
        "PER",
        "LOC",
        ("«{N}»은 ‹{S}›에 살면서 {T:을} {A!}.", "지금 ‹{S}›에 사는 «{N}»은 {L:을} 자주 <찾다?>."),
    ),
    "per:origin": ("PER", "LOC", ("‹{S}› 출신인 «{N}»은 {T:을} {A!}.", "«{N}»은 고향인 ‹{S}›을 떠난 적이 <없다?>.")),
    "per:employee_of": (
        "PER",
        "ORG",
        ("«{N}»은 ‹{O}›에서 일하며 {T:을} {A!}.", "‹{O}› 직원인 «{N}»은 {E}에 <참석하다!>."),
    ),
    "per:title": ("PER", "POH", ("«{N}» ‹{R}›은 {T:을} {A!}.", "«{N}»은 오랫동안 ‹{R}›으로 <일하다!>.")),
    "per:spouse": ("PER", "PER", ("«{N}»은 아내 ‹{M}›과 함께 {L:을} <찾다!>.", "«{N}»과 ‹{M}› 부부는 {T:을} {A!}.")),
    "per:parents": (
        "PER",
        "PER",
        ("«{N}»은 아버지 ‹{M}›을 따라 {T:을} {A!}.", "«{N}»의 어머니 ‹{M}›은 {E}에 <오다!>."),
    ),
    "per:children": (
        "PER",
        "PER",
        ("«{N}»은 아들 ‹{M}›에게 {T:을} <물려주다!>.", "«{N}»의 딸 ‹{M}›은 {L}에서 <일하다?>."),
    ),
    "per:siblings": ("PER", "PER", ("«{N}»은 동생 ‹{M}›과 {T:을} {A!}.", "«{N}»의 누나 ‹{M}›은 {S}에 <살다?>.")),
    "per:colleagues": ("PER", "PER", ("«{N}»은 동료인 ‹{M}›과 {L}에서 {T:을} {A!}.",)),
    "per:alternate_names": ("PER", "PER", ("«{N}»은 ‹{M}›이라는 다른 이름으로도 <불리다?>.",)),
    "per:product": ("PER", "POH", ("«{N}»이 손수 만든 ‹{T}›은 {Y}년에 세상에 <나오다!>.",)),
}


def _example(
    pattern: str, values: dict[str, str], register: Register, scene: Any
) -> tuple[str, dict[str, tuple[int, str]]]:
    """Return the sentence of a pattern and, for "subject" and "object", where each begins and its word."""
    marked = re.sub(r"\{([NMYKG])\}", lambda match: values[match[1]], pattern)
    marked = "".join(segment.text for segment in realise(marked, register, scene.value))
    marked = _mend_josa(marked)
    found: dict[str, tuple[int, str]] = {}
    text = ""
    for piece in re.split(r"(«[^»]*»|‹[^›]*›)", marked):
        if piece[:1] in "«‹" and piece:
            found["subject" if piece[0] == "«" else "object"] = (len(text), piece[1:-1])
            piece = piece[1:-1]
        text += piece
    return text, found


def _mend_josa(marked: str) -> str:
    """Give the particle after an entity the form that fits the entity."""

    def fit(match: re.Match[str]) -> str:
        word, close, particle = match.groups()
        return word + close + josa(word, particle)[len(word) :]

    return re.sub(r"([^«‹]+)([»›])(은|이라는|이|을|과|으로)(?= |$)", fit, marked)


def build(seed: int) -> TaskFiles:
    """Return the files of KLUE-RE; the relations occur in equal numbers, no_relation three times as often."""
    files: dict[str, str] = {
        "klue-re-v1.1/relation_list.json": as_json({"relations": RELATIONS}),
    }
    texts: list[TaskText] = []
    seen: set[str] = set()
    turn = ["no_relation", "no_relation", *PATTERNS]
    for split, size in SIZES.items():
        rng = rng_for(seed, "klue-re", split)
        records: list[dict[str, Any]] = []
        attempts = 0
        while len(records) < size:
            relation = turn[attempts % len(turn)]
            attempts += 1
            subject_type, object_type, patterns = PATTERNS[relation]
            name, other = invent_name(rng), invent_name(rng)
            if relation in _SAME_SURNAME:
                other = name[0] + other[1:]
            values = {
                "N": name,
                "M": other,
                "Y": str(rng.randint(1920, 2020)),
                "K": str(rng.randint(2, 90) * 10),
                "G": f"{rng.choice(general.MONTHS)} {rng.randint(1, 28)}일",
            }
            makes = relation.endswith(":product")
            topic = rng.choice([t for t in TOPICS if (t.name in _MAKING if makes else t.label)])
            text, found = _example(
                rng.choice(patterns), values, rng.choice(list(Register)[:2]), task_scene(rng, split, topic)
            )
            if text in seen or found["subject"][1] == found["object"][1]:
                continue
            seen.add(text)
            number = guid("klue-re", split, len(records))
            texts.append(TaskText("klue-re", number, text))
            entities = {
                f"{role}_entity": {
                    "word": found[role][1],
                    "start_idx": found[role][0],
                    "end_idx": found[role][0] + len(found[role][1]) - 1,
                    "type": kind,
                }
                for role, kind in (("subject", subject_type), ("object", object_type))
            }
            records.append({"guid": number, "sentence": text, **entities, "label": relation, "source": "sample"})
        files[f"klue-re-v1.1/klue-re-v1.1_{split}.json"] = as_json(records)
    return TaskFiles(files, texts)
