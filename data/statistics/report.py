"""What is said of a corpus when its shards are written: statistics, card, sources that left no document, or why it
cannot be one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from common.errors import HunminError, UserError
from common.files import atomic_write
from common.progress import say
from common.secrets import masked_urls
from common.settings import settings_hash
from data.assemble import Assembly
from data.nfc import nfc
from data.pii.settings import key_fingerprint
from data.readers.records import InputFile
from data.readers.settings import SourceSettings
from data.shards import COPIES, SHARDS, read_shard_manifest, shard_paths
from data.statistics.counts import Counters, histograms, merge, sort_counters, total

CARD = "README.md"
_TRAIN, _HELD_OUT = "train", "validation"
"""Names of splits."""
_TEXT = """\
# Corpus

`datasets.load_dataset("FOLDER")` reads the shards: one document a row, with `id`, `source`, `licence` and `sentences`.
{splits}`statistics.json` counts what was read, changed and left out; the other files list it.
"""


def write_card(folder: Path) -> None:
    """Write the card of a corpus with all its shards; held-out documents become a split of their own."""
    shards = shard_paths(folder)
    manifests = [read_shard_manifest(shard) for shard in shards]
    copies = [manifest.get(COPIES, 1) for manifest in manifests]
    # datasets tells corpora of equal folder names apart in its cache by this name alone
    content = settings_hash([manifest["sha256"] for manifest in manifests])
    held_out = [shard.name for shard, count in zip(shards, copies, strict=True) if not count]
    train = [shard.name for shard, count in zip(shards, copies, strict=True) if count]
    splits = {_TRAIN: train if held_out else ["shard-*.parquet"], **({_HELD_OUT: held_out} if held_out else {})}
    notes = f"Documents held out for validation are the split `{_HELD_OUT}`. " if held_out else ""
    if any(count > 1 for count in copies):
        notes += f"A document stands here once, also where training repeats it (`{COPIES}` in `{SHARDS}/*.json`). "
    lines = ["---", "language: [ko]", "configs:", f"- config_name: corpus-{content}", "  data_files:"]
    for split, names in splits.items():
        lines += [f"  - split: {split}", "    path:", *(f"    - {SHARDS}/{name}" for name in names)]
    with atomic_write(folder / CARD) as stream:
        stream.write("\n".join([*lines, "---", "", _TEXT.format(splits=notes and notes.rstrip() + "\n")]))


EMPTIED, WIKI_MARKUP = "emptied", "wiki_markup"
"""Keys of `statistics.json`: source → rule → documents; source → documents looked at and, where they are most, with
wiki markup."""


def warnings_of(statistics: Counters) -> list[str]:
    """Return a sentence for each source that left no document, and each most of whose documents hold wiki markup."""
    lines = []
    for source, rules in sorted(statistics.get(EMPTIED, {}).items()):
        reasons = ", ".join(
            f"{rule}: {count:,}" for rule, count in sorted(rules.items(), key=lambda item: (-item[1], item[0]))
        )
        lines.append(f"no document is left of '{source}' ({reasons})")
    for source, counts in sorted(statistics.get(WIKI_MARKUP, {}).items()):
        lines.append(
            f"{counts['marked']:,} of {counts['documents']:,} documents of '{source}' that were looked at hold wiki "
            "markup, which is now in the corpus: set the source's markup to namuwiki or mediawiki"
        )
    return lines


def most_with_markup(counts: Counters) -> Counters:
    """Return each source most of whose documents hold wiki markup → how many were looked at, how many do.

    Args:
        counts: "markup": source → {"documents", "marked"}.
    """
    return {source: marked for source, marked in counts["markup"].items() if 2 * marked["marked"] > marked["documents"]}


NO_RECORD = "no record in it"
"""Why an empty file leaves no document."""


class Inputs:
    """Counts of each entry of the recipe's inputs; entries of one name are one."""

    def __init__(self, files: list[InputFile]) -> None:
        self._names = [_name(file.settings) for file in files]
        self._read: dict[str, int] = {}
        self._reasons: dict[str, Counters] = {}

    def add(self, number: int, documents: int, *reasons: Counters) -> None:
        """Note the documents that a part of a file holds, and why there were no more (reason → how often)."""
        name = self._names[number]
        self._read[name] = self._read.get(name, 0) + documents
        for counts in reasons:
            merge(self._reasons.setdefault(name, {}), counts)

    def without_document(self) -> Counters:
        """Return each entry of which no document was read → reason → how often."""
        empty = [name for name in dict.fromkeys(self._names) if not self._read.get(name)]
        return {name: self._reasons.get(name) or {NO_RECORD: 1} for name in empty}


def _name(entry: SourceSettings) -> str:
    """Return the name of an entry, else that of its file or folder; where it lies does not enter the corpus."""
    return nfc(entry.name or masked_urls(entry.path).rstrip("/").rsplit("/", 1)[-1])


def sources_without_document(counts: Counters, left: Counters, mixture: Counters | None) -> Counters:
    """Return each source of which documents were read and none is left → rule → documents that it took."""
    emptied: Counters = {}
    for source, read in counts["read"].items():
        if left.get(source, {}).get("documents"):
            continue
        rules: dict[str, int] = dict(counts["lost"].get(source, {}))
        for title, measures in counts["filters"].items():
            dropped = sum(of_measure.get(source, {}).get("documents", 0) for of_measure in measures.values())
            rules |= {f"filter {title}": dropped} if dropped else {}
        left_out = (mixture or {}).get(source, {}).get("left_out", {}).get("documents", 0)
        rules |= {"mixture": left_out} if left_out else {}
        copies = read["documents"] - sum(rules.values())
        emptied[source] = rules | ({"duplicates": copies} if copies > 0 else {})
    return emptied


STATISTICS = "statistics.json"


def check_counts(counts: Counters, max_reject_share: float, listed: Path) -> None:
    """Raise HunminError where too many lines (share 0 … 1) hold no document, UserError where no document was read."""
    rejects = sum(counts.get("rejects", {}).values())
    documents = total(counts.get("read", {})).get("documents", 0)
    reasons = _reasons_text(counts.get("rejects", {}))
    if rejects and rejects > max_reject_share * (rejects + documents):
        raise HunminError(
            f"{rejects} of {rejects + documents} lines hold no document ({reasons})",
            f"at most max_reject_share = {max_reject_share:.1%} of the lines may be rejected",
            f"see {listed}; fix the input, its text_field or its format, or raise corpus.max_reject_share",
        )
    if not documents:
        skipped = _reasons_text(counts.get("skipped", {}))
        reasons = "; ".join(filter(None, [reasons, skipped and f"passed over: {skipped}"]))
        raise UserError(
            "the corpus is empty: no document was read" + (f" ({reasons})" if reasons else ""),
            "the inputs hold at least one document",
            "check corpus.inputs",
        )


def _reasons_text(reasons: Counters) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))


def whereabouts(counts: Counters, assembly: Assembly) -> str:
    """Return how many documents were read, and what took how many of them."""
    documents = total(counts["read"])["documents"]
    dropped = [f"{reason}: {count}" for reason, count in sorted(counts["dropped"].items())]
    dropped += [
        f"filter {name}: {total(total(measures))['documents']}" for name, measures in sorted(counts["filters"].items())
    ]
    dropped += [f"duplicate {kind}: {count}" for kind, count in assembly.duplicates.items() if count]
    left_out = sum(of_source["left_out"]["documents"] for of_source in (assembly.mixture or {}).values())
    dropped += [f"mixture: {left_out}"] if left_out else []
    rules = [f"{rule}: {facts['hits']}" for rule, facts in sorted(counts["cleaning"].items())]
    return f"{documents} documents read; {', '.join(dropped)}" + (f"; cleaning {', '.join(rules)}" if rules else "")


def write_reports(
    counts: Counters, damaged: Counters, assembly: Assembly, out: Path, key: bytes | None, filtered: bool
) -> None:
    """Write pii.json, the card and, last of all, statistics.json: it says that the folder is whole."""
    shards = assembly.statistics["sources"]
    statistics: dict[str, Any] = {
        "total": {"read": total(counts["read"]), "kept": total(shards)},
        "sources": {
            name: {"read": read, "kept": shards.get(name, {})} for name, read in sorted(counts["read"].items())
        },
        "lengths": histograms(assembly.statistics["lengths"]),
        "split": counts["split"],
        "cleaning": sort_counters(counts["cleaning"]),
        "dropped": sort_counters(counts["dropped"]),
        **({"filters": sort_counters(counts["filters"])} if filtered else {}),
        "pii": sort_counters(counts["pii"]),
        "pii_key_fingerprint": key_fingerprint(key) if key else None,
        "decontamination": sort_counters(counts["decontamination"]),
        "duplicates": assembly.duplicates,
        **({"mixture": assembly.mixture} if assembly.mixture is not None else {}),
        "rejects": sort_counters(counts["rejects"]),
        "skipped": sort_counters(counts["skipped"]),
        "damaged": sort_counters(damaged),
        EMPTIED: sort_counters(counts["empty_inputs"] | sources_without_document(counts, shards, assembly.mixture)),
        WIKI_MARKUP: sort_counters(most_with_markup(counts)),
        "shards": assembly.shards,
    }
    for line in warnings_of(statistics):
        say(f"warning: {line}", style="yellow")
    _write_json(out / "pii.json", statistics["pii"])
    write_card(out)
    _write_json(out / STATISTICS, statistics)


def _write_json(path: Path, tree: Any) -> None:
    with atomic_write(path, "wb") as stream:
        stream.write(orjson.dumps(tree, option=orjson.OPT_INDENT_2) + b"\n")
