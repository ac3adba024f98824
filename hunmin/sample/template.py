"""A small template language for sentences, and its realisation as segments that remember what they are.

{T}        the value of slot T          {T:을}   with the josa that fits
{A!}       predicate slot, final, past  {A?} present  {A*} future  {A~} negated past
{A.고}     predicate slot with an ending ({A.는}: present adnominal)
<알려지다!> a literal verb              [어렵다?] a literal adjective, with the same marks
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from hunmin.sample.inflect import (
    Register,
    Tense,
    adnominal,
    conjugate,
    final_form,
    headline_form,
    negated_final,
    nominal_form,
)
from hunmin.sample.josa import josa

_PART = re.compile(
    r"\{(?P<slot>[A-Z])(?::(?P<josa>[^}]+)|\.(?P<ending>[^}]+)|(?P<mark>[!?*~]))?\}"
    r"|<(?P<verb>[^<>.!?*~]+다)(?:\.(?P<vending>[^>]+)|(?P<vmark>[!?*~]))>"
    r"|\[(?P<adjective>[^\[\].!?*~]+다)(?:\.(?P<aending>[^\]]+)|(?P<amark>[!?*~]))\]"
)
_TENSES = {"!": Tense.PAST, "?": Tense.PRESENT, "*": Tense.FUTURE}


@dataclass(frozen=True)
class Segment:
    """A piece of a sentence: its text, and the NER type (PS LC OG DT TI QT) or slot letter it came from, or ""."""

    text: str
    entity: str = ""
    slot: str = ""


@dataclass(frozen=True)
class Value:
    """What fills a slot: segments of a nominal, or one predicate."""

    segments: tuple[Segment, ...] = ()
    lemma: str = ""
    adjective: bool = False


@dataclass(frozen=True)
class Part:
    """A parsed piece of a template."""

    literal: str = ""
    slot: str = ""
    lemma: str = ""
    adjective: bool = False
    josa: str = ""
    ending: str = ""
    mark: str = ""


@lru_cache(maxsize=4096)
def parse(template: str) -> tuple[Part, ...]:
    """Return the parts of a template."""
    parts: list[Part] = []
    position = 0
    for match in _PART.finditer(template):
        if match.start() > position:
            parts.append(Part(literal=template[position : match.start()]))
        group = match.groupdict()
        if group["slot"]:
            parts.append(
                Part(
                    slot=group["slot"], josa=group["josa"] or "", ending=group["ending"] or "", mark=group["mark"] or ""
                )
            )
        elif group["verb"]:
            parts.append(Part(lemma=group["verb"], ending=group["vending"] or "", mark=group["vmark"] or ""))
        else:
            parts.append(
                Part(
                    lemma=group["adjective"],
                    adjective=True,
                    ending=group["aending"] or "",
                    mark=group["amark"] or "",
                )
            )
        position = match.end()
    if position < len(template):
        parts.append(Part(literal=template[position:]))
    return tuple(parts)


def _inflect(lemma: str, adjective: bool, part: Part, register: Register) -> str:
    if part.mark == "~":
        return negated_final(lemma, register, Tense.PAST, adjective)
    if part.mark:
        return final_form(lemma, register, _TENSES[part.mark], adjective)
    if part.ending == "는":
        return adnominal(lemma, adjective)
    if part.ending == "N":
        return headline_form(lemma)
    if part.ending == "M":
        return nominal_form(lemma)
    return conjugate(lemma, part.ending) if part.ending else lemma


def realise(template: str, register: Register, value_of: Callable[[str], Value]) -> list[Segment]:
    """Return the segments of a template's sentence.

    Args:
        value_of: the value of a slot letter; asked once for each mention, so it must keep its answer in a sentence.
    """
    segments: list[Segment] = []
    for part in parse(template):
        if part.literal:
            segments.append(Segment(part.literal))
        elif part.slot:
            value = value_of(part.slot)
            if value.lemma:
                segments.append(Segment(_inflect(value.lemma, value.adjective, part, register), slot=part.slot))
            else:
                segments.extend(value.segments)
                if part.josa:
                    last = value.segments[-1].text
                    segments.append(Segment(josa(last, part.josa)[len(last) :]))
        else:
            segments.append(Segment(_inflect(part.lemma, part.adjective, part, register)))
    return segments


def text_of(segments: list[Segment]) -> str:
    """Return the sentence of a list of segments."""
    return "".join(segment.text for segment in segments)
