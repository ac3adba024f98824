"""What is said of a corpus when its shards are written: its statistics, or why it cannot be one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from common.errors import HunminError, UserError
from common.files import atomic_write
from common.progress import say
from data.assemble import Assembly
from data.card import write_card
from data.pii import key_fingerprint
from data.statistics import Counters, histograms, sort_counters, total
from data.statistics.emptied import sources_without_document
from data.statistics.warnings import EMPTIED, WIKI_MARKUP, most_with_markup, warnings_of

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
