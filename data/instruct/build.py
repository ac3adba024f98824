"""The stage: uses read, test sentences removed, held-out rows chosen and kept apart, rows and their table written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import xxhash

from common.bounded import UnreadableError
from common.errors import UserError
from common.files import atomic_write, stem, suffix_of
from common.globs import expand
from common.process import available_cores
from common.progress import ProgressBar, say
from data.benchmark import BenchmarkSentence
from data.decontaminate.criteria import Criteria
from data.decontaminate.matcher import Decontaminator, Hit, better
from data.decontaminate.normalise import text_key
from data.executors.local import LocalPool
from data.instruct.files import PASSED_OVER, files_of, records_of
from data.instruct.items import Item, draw, drawn_order, item_of, row_of_item
from data.instruct.rows import Row, row_of, write_rows
from data.instruct.settings import InstructSettings
from data.instruct.spec import Layout, is_open, use_of
from data.nfc import nfc
from data.splitting.scan import split_sentences

TRAIN = "train.jsonl"
HELD_OUT = "held_out.jsonl"
TABLE = "table.json"
REJECTS = "rejects"
"""What a finished folder holds: rows to train on, rows kept from it, the table of the uses, what was quarantined."""
COLUMNS = ["task", "instruction", "input", "output"]
UNCLEAR = "unclear: none stated"
"""Columns of KIT-19's CSV; licence of rows that name none: that of a whole file cannot override those of its sets."""
POOL = 50_000
"""Records of a use that are drawn before any are removed, or ten times per_use where that is more: enough for what is
removed, and a bound of memory and time for very large sets."""
COUNTED = ("read", "rejected", "distinct", "contaminated", "shares_held_out", "held_out", "distinct_rows", "rows")


@dataclass
class Part:
    """A use, or a file (`path`) of finished rows: its line of the table, what was quarantined, items, rows."""

    name: str
    path: str = ""
    table: dict[str, Any] = field(default_factory=dict)
    rejects: list[tuple[str, int, str]] = field(default_factory=list)
    left: list[Item] = field(default_factory=list)
    held_out: list[Item] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    held_out_rows: list[Row] = field(default_factory=list)

    def groups(self) -> list[tuple[str, list[Item]]]:
        """Return the labels, sorted, with what is left of them."""
        labels = sorted({item.label for item in self.left})
        return [(label, [item for item in self.left if item.label == label]) for label in labels]


def instruct_files(settings: InstructSettings) -> list[str]:
    """Return the files that a build reads: those of the uses, then the extra ones.

    Raises:
        UserError: an extra file is not there.
    """
    taken = [name for name in settings.uses if settings.licences == "all" or is_open(use_of(name).licence)]
    located = [files_of(name, use_of(name), settings.data) for name in taken]
    extra = dict.fromkeys(path for pattern in settings.extra for path in expand(pattern))
    return sorted({path for use_files in located if use_files for path in use_files[1]}) + list(extra)


def build_instructions(
    settings: InstructSettings, out: Path, tests: Mapping[str, list[BenchmarkSentence]]
) -> dict[str, Any]:
    """Return the counts of a build, with a line a use under "uses"; rows, table and rejects are written to `out`.

    Args:
        tests: suite → the sentences that no row may hold.

    Raises:
        UserError: all data is absent, a file is damaged or another one, or no row is left.
    """
    if not instruct_files(settings):
        raise UserError(
            f"no use has a file in instruct.data = {settings.data}",
            f"it holds a folder a use with its set's files: {', '.join(settings.uses)}",
            "fetch a set into its folder; some are taken with instruct.licences=all alone",
        )
    extra = instruct_files(settings.model_copy(update={"uses": []}))
    parts = [Part(name) for name in settings.uses] + [Part(f"extra{n}", path) for n, path in enumerate(extra, 1)]
    searchers = {suite: Decontaminator.build(benchmark) for suite, benchmark in tests.items() if benchmark}
    workers = min(settings.workers or available_cores(), len(parts))
    with ProgressBar("instructions", 2 * len(parts), "uses") as bar, LocalPool(workers, [__name__]) as execute:
        advance: Callable[[Part], None] = lambda part: bar.advance(1, part.name)  # noqa: E731
        parts = execute(partial(_prepared, settings=settings, searchers=searchers), parts, advance)
        whole = {
            text_key(text): split_sentences(text) for part in parts for item in part.held_out for text in item.texts
        }
        known = [BenchmarkSentence("", text, sentence, len(cut) > 1) for text, cut in whole.items() for sentence in cut]
        held_out = Decontaminator.build(known, Criteria(rules=("exact", "embedded")))
        parts = execute(partial(_finished, settings=settings, texts=set(whole), held_out=held_out), parts, advance)
    for part in parts:
        with atomic_write(out / REJECTS / f"{part.name}.jsonl", "wb") as stream:
            for file, line, reason in part.rejects:
                stream.write(orjson.dumps({"file": file, "line": line, "reason": reason}) + b"\n")
        if part.table["state"] != "built" or part.table["shortfall"]:
            say(f"{part.name}: {part.table['state']}, {part.table['shortfall']:,} rows short", style="yellow")
    write_rows(out / TRAIN, (row for part in parts for row in part.rows))
    write_rows(out / HELD_OUT, (row for part in parts for row in part.held_out_rows))
    counts = {name: sum(part.table[name] for part in parts) for name in COUNTED} | {
        "contaminated_by": {
            suite: _summed(part.table["contaminated_by"][suite] for part in parts) for suite in searchers
        },
        "licences": _summed([Counter(row.licence for part in parts for row in part.rows)]),
        "uses": [part.table for part in parts],
    }
    with atomic_write(out / TABLE, "wb") as stream:
        stream.write(orjson.dumps(counts, option=orjson.OPT_INDENT_2) + b"\n")
    if not counts["rows"]:
        raise UserError("no row is left to train on", fix=f"see the table in {out / TABLE}, and {out / REJECTS}")
    return counts


def _prepared(part: Part, settings: InstructSettings, searchers: Mapping[str, Decontaminator]) -> Part:
    """Return a part read, without what the test sets of each suite's searcher hold, and with held-out rows chosen."""
    part.table = dict.fromkeys(COUNTED, 0) | {"use": part.name, "state": "built", "shortfall": 0, "passed_over": {}}
    if part.path:
        part.table |= {"dataset": part.path, "group": "extra", "licence": "of each row", "split": "extra"}
        _read(part, settings, Layout(format="csv" if suffix_of(part.path) == ".csv" else "jsonl"), [part.path])
        part.table["state"] += "".join(f", but {n:,} rows: {why}" for why, n in part.table["passed_over"].items())
    else:
        use = use_of(part.name)
        part.table |= {"dataset": use.dataset, "group": use.group, "licence": use.licence, "split": use.split}
        located = files_of(part.name, use, settings.data)
        if settings.licences == "open" and not is_open(use.licence):
            part.table["state"] = "left out: its licence needs instruct.licences=all"
        elif located is None:
            part.table["state"] = f"absent: no file in {use.folder or part.name}"
        else:
            _read(part, settings, *located)
    gone: set[int] = set()
    part.table["contaminated_by"] = {}
    sentences = _sentences(part.left)
    for suite, searcher in searchers.items():
        hits = _hits(searcher, sentences)
        part.table["contaminated_by"][suite] = _summed([Counter(hit.rule for hit in hits.values())])
        gone |= set(hits)
        leaks = [(part.left[n], f"{suite}, {hit.task}, {hit.guid}, {hit.rule}") for n, hit in sorted(hits.items())]
        part.rejects += [(*item.place, f"test sentence: {source}") for item, source in leaks]
    part.left = [item for n, item in enumerate(part.left) if n not in gone]
    quotas = _balanced({label: len(items) // 2 for label, items in part.groups()}, settings.held_out)
    part.held_out = [item for label, items in part.groups() for item in items[: quotas[label]] if not item.ready]
    chosen = {item.number for item in part.held_out}
    part.left = [item for item in part.left if item.number not in chosen]
    part.table |= {"contaminated": len(gone), "held_out": len(chosen)}
    return part


def _finished(part: Part, settings: InstructSettings, texts: set[str], held_out: Decontaminator) -> Part:
    """Return a part with its rows: none that holds a text of a held-out row, labels balanced, shortfall filled."""
    count = len(part.left)
    table = part.table
    gone = _hits(held_out, _sentences(part.left))
    known = enumerate(set(map(text_key, item.texts)) & texts for item in part.left)
    part.left = [part.left[n] for n, shared in known if n not in gone and not shared]
    table |= {"shares_held_out": count - len(part.left), "distinct_rows": len(part.left)}
    part.rows = [item.ready for item in part.left if item.ready]
    if not part.path:
        use = use_of(part.name)
        turns = len(use.templates) if settings.fill == "templates" else 1
        groups = part.groups()
        quotas = _balanced({label: len(items) * turns for label, items in groups}, settings.per_use)
        picks = [(n // len(items), items[n % len(items)]) for label, items in groups for n in range(quotas[label])]
        picks.sort(key=lambda pick: (pick[0], pick[1].drawn))
        for rows, chosen in ((part.rows, picks), (part.held_out_rows, [(0, item) for item in part.held_out])):
            for turn, item in chosen:
                order = drawn_order(len(use.templates), settings.seed, part.name, item.number, "template")
                rows.append(row_of_item(part.name, use, item, order[turn]))
        table |= {"distinct_rows": sum(turn == 0 for turn, _ in picks), "shortfall": settings.per_use - len(picks)}
        table["labels"] = {} if "" in quotas else quotas
    table["rows"] = len(part.rows)
    part.left, part.held_out = [], []
    return part


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))


def _balanced(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Return how many of `total` to take of each label (→ how many there are): equal numbers as far as possible."""
    taken = dict.fromkeys(sizes, 0)
    left = min(total, sum(sizes.values()))
    while left:
        unspent = [label for label in taken if taken[label] < sizes[label]]
        share = max(left // len(unspent), 1)
        for label in unspent:
            more = min(share, sizes[label] - taken[label], left)
            taken[label] += more
            left -= more
    return taken


def _sentences(items: Sequence[Item]) -> list[tuple[int, str]]:
    return [(n, sentence) for n, item in enumerate(items) for text in item.texts for sentence in split_sentences(text)]


def _hits(searcher: Decontaminator, sentences: list[tuple[int, str]]) -> dict[int, Hit]:
    best: dict[int, Hit] = {}
    for (n, _), hit in zip(sentences, searcher.match([sentence for _, sentence in sentences]), strict=True):
        if hit:
            best[n] = better(best.get(n), hit)
    return best


def _read(part: Part, settings: InstructSettings, layout: Layout, files: list[str]) -> None:
    """Fill a part with its distinct items in their drawn order: all of finished rows, a pool of a use."""
    seen = set[bytes]()
    skipped = Counter[str]()
    number = 0
    most, needed = (None, COLUMNS) if part.path else (max(POOL, 10 * settings.per_use), use_of(part.name).needed)
    for path in files:
        before = number
        rejected = Counter[str]()
        shown = path.removeprefix(f"{Path(settings.data).expanduser()}/")
        for line, record in records_of(path, layout, needed, partial(draw, settings.seed, part.name)):
            number += 1
            try:
                item = _item(part, settings, record, number, (shown, line))
            except UnreadableError as error:
                reason = str(error)
                (skipped if reason.startswith(PASSED_OVER) else rejected)[reason.removeprefix(PASSED_OVER)] += 1
                part.rejects += [] if reason.startswith(PASSED_OVER) else [(shown, line, reason)]
                continue
            key = xxhash.xxh3_128_digest("\0".join(" ".join(text.split()) for text in item.texts).encode())
            part.left += [item] if key not in seen else []
            seen.add(key)
            if most and len(part.left) > 2 * most:
                part.left = sorted(part.left, key=lambda item: item.drawn)[:most]
        share = settings.max_reject_share
        read = number - before
        if rejected.total() > max(share * read, bool(share)):
            reasons = "; ".join(f"{reason} ({count:,})" for reason, count in rejected.most_common(3))
            raise UserError(
                f"{rejected.total():,} of {read:,} records of {path} are rejected: {reasons}",
                f"at most instruct.max_reject_share = {share:.1%} of a file's records may be",
                "check that no columns are swapped and that it is the file its authors publish, or raise the share",
            )
    part.left = sorted(part.left, key=lambda item: (item.drawn, item.number))[:most]
    part.table |= {"read": number, "rejected": len(part.rejects), "passed_over": dict(skipped), "distinct": len(seen)}


def _item(part: Part, settings: InstructSettings, record: Any, number: int, place: tuple[str, int]) -> Item:
    if not isinstance(record, dict):
        raise UnreadableError(record if isinstance(record, str) else "not a JSON object")
    if not part.path:
        return item_of(part.name, use_of(part.name), record, number, place, settings.seed)
    fields = {"task": "extra", "dataset": stem(part.path), "split": "extra", "licence": UNCLEAR}
    for name, value in record.items():
        if value not in (None, ""):
            fields[name] = nfc(value.strip()) if isinstance(value, str) else value
    if "instruction" not in fields:  # KIT-19 has rows whose input is all there is
        fields["instruction"] = fields.pop("input", "")
    row = row_of({**fields, "id": f"{part.name}-{number:06d}-0"})
    if settings.licences == "open" and not is_open(row.licence):
        raise UnreadableError(f"{PASSED_OVER}its licence needs instruct.licences=all")
    return Item(number, place, (row.instruction, row.input, row.output), 0, ready=row)
