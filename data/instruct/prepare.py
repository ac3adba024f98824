"""One use: read, distinct, drawn, without test sentences, parted in held-out and training rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xxhash

from common.errors import UserError
from data.decontaminate import Decontaminator
from data.instruct.compare import hits_of
from data.instruct.derived import articles_of, pairs_of
from data.instruct.draw import balanced, draw, drawn_order
from data.instruct.extra import extra_rows
from data.instruct.files import Entry, files_of, records_of
from data.instruct.items import BadRecordError, Item, item_of, row_of_item
from data.instruct.rows import Row
from data.instruct.settings import InstructSettings
from data.instruct.spec import Layout, is_open, use_of
from data.readers import Reject, Skipped
from data.splitting import split_sentences

Searchers = Mapping[str, Decontaminator]
REASONS_SHOWN = 3


@dataclass
class Part:
    """A use, or a file of extra rows, on its way through the build; `table` is its line of the table."""

    name: str
    path: str = ""
    """File of extra rows; "" for a use."""
    table: dict[str, Any] = field(default_factory=dict)
    rejects: list[dict[str, Any]] = field(default_factory=list)
    held_out: list[Item] = field(default_factory=list)
    left: list[Item] | list[tuple[int, Row]] = field(default_factory=list)
    """What may be trained on: items of a use in their drawn order, or lines and rows of a file."""
    rows: list[Row] = field(default_factory=list)
    held_out_rows: list[Row] = field(default_factory=list)


def prepare(part: Part, settings: InstructSettings, searchers: Searchers) -> Part:
    """Return a use or file read, without what test sets hold, and with its held-out rows chosen.

    Args:
        part: its name and path.
        settings: of the stage.
        searchers: suite → what finds its sentences.

    Raises:
        UserError: a file is damaged or lacks a column, or too many of its records are rejected.
    """
    table = part.table
    if part.path:
        table |= {"use": part.name, "dataset": part.path, "split": "extra", "state": "built"}
        part.left = list(_extra(part, settings))
    else:
        use = use_of(part.name)
        table |= {"use": part.name, "dataset": use.dataset, "group": use.group, "licence": use.licence}
        table |= {"split": use.split, "state": "built"}
        if settings.licences == "open" and not is_open(use.licence):
            table["state"] = "left out: licence"
        elif (found := files_of(part.name, use, settings.data)) is None:
            table["state"] = f"absent: no file in {use.folder or part.name}"
        else:
            part.left = _items(part, settings, *found)
    _without_tests(part, searchers)
    if not part.path:
        sizes = {label: len(items) // 2 for label, items in _by_label(part.left).items()}
        quotas = balanced(sizes, settings.held_out)
        chosen = {id(item) for label, items in _by_label(part.left).items() for item in items[: quotas[label]]}
        part.held_out = [item for item in part.left if id(item) in chosen]  # type: ignore[misc]
        part.left = [item for item in part.left if id(item) not in chosen]  # type: ignore[assignment]
    return part


def finish(part: Part, settings: InstructSettings, held_out: Decontaminator | None) -> Part:
    """Return a use or file with its rows: none that holds a held-out text, labels balanced, shortfall filled.

    Args:
        part: as `prepare` gives it.
        settings: of the stage.
        held_out: what finds texts of all uses' held-out rows.
    """
    table, count = part.table, len(part.left)
    if held_out:
        hits = hits_of(held_out, list(map(_sentences, part.left)))
        part.left = [one for one, hit in zip(part.left, hits, strict=True) if hit is None]  # type: ignore[assignment]
    table["shares_held_out"] = count - len(part.left)
    table["kept"] = table["distinct_rows"] = len(part.left)
    if part.path:
        part.rows = [row for _, row in part.left]  # type: ignore[misc]
    elif table["state"] == "built":
        use = use_of(part.name)
        orders: dict[int, list[int]] = {}

        def row(item: Item, turn: int) -> Row:
            many = len(use.templates)
            order = orders.setdefault(
                item.number, drawn_order(many, settings.seed, part.name, item.number, "template")
            )
            return row_of_item(use, item, order[turn])

        turns = len(use.templates) if settings.fill == "templates" else 1
        groups = _by_label(part.left)
        quotas = balanced({label: len(items) * turns for label, items in groups.items()}, settings.per_use)
        for label, items in sorted(groups.items()):
            part.rows += [row(items[n % len(items)], n // len(items)) for n in range(quotas[label])]
        part.held_out_rows = [row(item, 0) for item in part.held_out]
        table["distinct_rows"] = sum(min(quotas[label], len(items)) for label, items in groups.items())
        table["shortfall"] = settings.per_use - len(part.rows)
        if len(groups) > 1:
            table["labels"] = quotas
    table["held_out"], table["rows"] = len(part.held_out_rows), len(part.rows)
    part.left, part.held_out = [], []
    return part


def _by_label(items: Sequence[Any]) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.label, []).append(item)
    return found


def _sentences(one: Item | tuple[int, Row]) -> list[str]:
    if isinstance(one, Item):
        return one.sentences
    row = one[1]
    return [sentence for text in (row.instruction, row.input, row.output) for sentence in split_sentences(text)]


def _entries(part: Part, path: str, layout: Layout, settings: InstructSettings) -> Iterator[Entry]:
    if layout.format == "groups":
        return pairs_of(path, layout, lambda row, purpose: draw(settings.seed, part.name, row, purpose))
    if layout.format in ("wiki-text", "wiki-qa"):
        return articles_of(path, layout)
    return records_of(path, layout, use_of(part.name).needed)


def _items(part: Part, settings: InstructSettings, layout: Layout, files: list[str]) -> list[Item]:
    """Return the distinct items of a use in their drawn order, `pool` of them at most."""
    use = use_of(part.name)
    items: list[Item] = []
    seen: set[bytes] = set()
    skipped: Counter[str] = Counter()
    number = 0
    for path in files:
        before, rejected = number, len(part.rejects)
        shown = str(Path(path).relative_to(Path(settings.data).expanduser()))
        for entry in _entries(part, path, layout, settings):
            number += 1
            if isinstance(entry, Skipped):
                skipped[entry.reason] += 1
            elif isinstance(entry, Reject):
                part.rejects.append({"file": shown, "line": entry.line, "reason": entry.reason})
            else:
                try:
                    item = item_of(part.name, use, entry[1], number, (shown, entry[0]), settings.seed)
                except BadRecordError as error:
                    part.rejects.append({"file": shown, "line": entry[0], "reason": str(error)})
                    continue
                key = xxhash.xxh3_128_digest("\0".join(" ".join(text.split()) for text in item.texts).encode())
                if key not in seen:
                    seen.add(key)
                    items.append(item)
            if len(items) > 2 * settings.pool:
                items = sorted(items, key=lambda item: item.drawn)[: settings.pool]
        _check_share(path, number - before, part.rejects[rejected:], settings)
    items.sort(key=lambda item: (item.drawn, item.number))
    part.table |= {"read": number, "rejected": len(part.rejects), "passed_over": dict(skipped), "distinct": len(seen)}
    return items[: settings.pool]


def _extra(part: Part, settings: InstructSettings) -> Iterator[tuple[int, Row]]:
    count = closed = 0
    for count, entry in enumerate(extra_rows(part.path, part.name), 1):
        if isinstance(entry, (Reject, Skipped)):
            part.rejects.append({"file": part.path, "line": entry.line, "reason": entry.reason})
        elif settings.licences == "open" and not is_open(entry[1].licence):
            closed += 1
        else:
            yield entry
    _check_share(part.path, count, part.rejects, settings)
    if closed and closed == count - len(part.rejects):
        raise UserError(
            f"none of the {closed:,} rows of {part.path} has an open licence",
            "licences=open takes rows that name a licence which allows commercial use and changes",
            "set instruct.licences=all, or give each row its licence",
        )
    part.table |= {"read": count, "rejected": len(part.rejects), "passed_over": {"licence": closed} if closed else {}}
    part.table["distinct"] = count - len(part.rejects) - closed


def _check_share(path: str, read: int, rejects: list[dict[str, Any]], settings: InstructSettings) -> None:
    if len(rejects) > max(settings.max_reject_share * read, bool(settings.max_reject_share)):
        reasons = Counter(reject["reason"] for reject in rejects).most_common(REASONS_SHOWN)
        told = "; ".join(f"{reason}: {count:,}" for reason, count in reasons)
        raise UserError(
            f"{len(rejects):,} of {read:,} records of {path} are rejected ({told})",
            f"at most instruct.max_reject_share = {settings.max_reject_share:.1%} of a file's records may be",
            "check that its columns are not swapped and that it is the file its authors publish, or raise the share",
        )


def _without_tests(part: Part, searchers: Searchers) -> None:
    """Remove what holds sentences of test sets, and count it by suite and rule."""
    found: dict[str, Counter[str]] = {}
    gone: set[int] = set()
    sentences = list(map(_sentences, part.left)) if searchers else []
    for suite, searcher in searchers.items():
        for n, hit in enumerate(hits_of(searcher, sentences)):
            if hit is not None:
                found.setdefault(suite, Counter())[hit.rule] += 1
                one = part.left[n]
                file, line = one.place if isinstance(one, Item) else (part.path, one[0])
                reason = f"test sentence: {suite}, {hit.task}, {hit.guid}, {hit.rule}"
                part.rejects.append({"file": file, "line": line, "reason": reason})
                gone.add(n)
    part.left = [one for n, one in enumerate(part.left) if n not in gone]  # type: ignore[assignment]
    by_rule = {suite: dict(sorted(rules.items())) for suite, rules in found.items()}
    part.table |= {"contaminated": len(gone), "contaminated_by": by_rule}
