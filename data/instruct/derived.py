"""Sets whose rows are made of others: pairs of ParaKQC's groups, beginnings and definitions of wiki articles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby

from common.compressed import decompression_errors
from common.errors import UserError
from common.files import open_bytes
from data.instruct.files import Entry, records_of, text_of
from data.instruct.spec import Layout
from data.readers import Reject, Skipped
from data.readers.wikitext import TITLE
from data.splitting import split_sentences

GROUP = 10
"""Sentences of ParaKQC that mean the same, one after the other."""
LEAD_CHARS = 1500
"""Characters of an article that are looked at."""
PART_CHARS = (20, 500)
"""Fewest and most characters of a beginning, a continuation and a definition."""
Draw = Callable[[int, str], int]
"""A number of (row, purpose)."""


def pairs_of(path: str, layout: Layout, draw: Draw) -> Iterator[Entry]:
    """Yield for each sentence a pair with one of its own group and one with a group of the same topic and act.

    Args:
        path: the file.
        layout: its columns are topic, act and sentence.
        draw: a number for each row and purpose.

    Raises:
        UserError: the lines of a topic and act are no whole groups, so that no border of a group is sure.
    """
    entries = list(records_of(path, layout, layout.columns))
    kind = lambda entry: None if isinstance(entry, (Reject, Skipped)) else (entry[1]["topic"], entry[1]["act"])  # noqa: E731
    groups: dict[tuple[str, str], list[list[str]]] = {}
    for key, run in groupby(entries, kind):
        lines = list(run)
        first = lines[0].line if isinstance(lines[0], (Reject, Skipped)) else lines[0][0]
        if key is None or len(lines) % GROUP:
            raise UserError(
                f"{path} has {len(lines)} lines of one topic and act from line {first} on"
                if key
                else f"line {first} of {path} is no row: {lines[0].reason}",  # type: ignore[union-attr]
                f"{GROUP} lines in a row are a group of sentences that mean the same",
                "fetch the file again: it is cut, or lines are lost",
            )
        texts = [entry[1]["sentence"] for entry in lines if isinstance(entry, tuple) and len(entry) == 2]
        groups.setdefault(key, []).extend(texts[n : n + GROUP] for n in range(0, len(texts), GROUP))
    number, seen = 0, set()
    for alike in groups.values():
        for place, group in enumerate(alike):
            for index, sentence in enumerate(group):
                number += 1
                other = (index + 1 + draw(number, "same") % (GROUP - 1)) % GROUP
                pairs = [("1", group[other])]
                if len(alike) > 1:
                    away = alike[(place + 1 + draw(number, "group") % (len(alike) - 1)) % len(alike)]
                    pairs.append(("0", away[draw(number, "different") % GROUP]))
                for same, second in pairs:
                    if sentence != second and (key := frozenset((sentence, second))) not in seen:
                        seen.add(key)
                        yield number, {"sentence1": sentence, "sentence2": second, "same": same}


def articles_of(path: str, layout: Layout) -> Iterator[Entry]:
    """Yield what an article gives: for wiki-text its beginning and what follows, for wiki-qa the definition of its title.

    Args:
        path: a file of kowikitext.
        layout: its format says which of the two.
    """
    made = _continued if layout.format == "wiki-text" else _defined
    with decompression_errors(path), open_bytes(path) as stream:
        title, first, lead, size = "", 1, [], 0
        for number, line in enumerate(text_of(stream), 1):
            found = line.lstrip().startswith("= ") and TITLE.match(line.encode("utf-8", "surrogateescape"))
            if not found:
                if line.lstrip().startswith("= "):
                    size = LEAD_CHARS  # a heading: the lead ends
                elif size < LEAD_CHARS and line.strip():
                    lead.append(line.strip())
                    size += len(line)
                continue
            if title:
                yield made(first, title, lead)
            title, first, lead, size = line.strip().strip("=").strip(), number, [], 0
        if title:
            yield made(first, title, lead)


def _continued(line: int, title: str, lead: list[str]) -> Entry:
    least, most = PART_CHARS
    for paragraph in lead:
        sentences = split_sentences(paragraph)
        if len(sentences) >= 3 and len(sentences[0]) <= most:
            following = sentences[1]
            for sentence in sentences[2:]:
                if len(following) + len(sentence) >= most:
                    break
                following += " " + sentence
            if len(sentences[0]) >= least <= len(following) <= most and following.endswith((".", "!", "?")):
                return line, {"title": title, "beginning": sentences[0], "following": following}
    return Skipped(line, "no paragraph of three sentences")


def _defined(line: int, title: str, lead: list[str]) -> Entry:
    sentence = split_sentences(lead[0])[0] if lead else ""
    name = re.sub(r" \([^()]*\)$", "", title)
    after = re.match(rf"['\"“‘《〈]?{re.escape(name)}['\"”’》〉]?\s*(?:\([^()]*\))?\s*(?:은|는|이란|란)[ ,]", sentence)
    if after and sentence.endswith("다.") and PART_CHARS[0] <= len(sentence) <= PART_CHARS[1]:
        return line, {"title": name, "definition": sentence}
    return Skipped(line, "the first sentence does not define the title")
