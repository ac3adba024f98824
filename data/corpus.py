"""The corpus stage: input files to shards of clean, pseudonymised, decontaminated, distinct documents.

    files ─► blocks ─► units (any worker, any order) ─► parts ─► survivors of duplicates ─► shards ─► statistics

Parts and shards are each one rename, so a killed run continues with the units that are missing, by their content (see
`catalog`). What is written depends on the inputs and the settings alone, never on the executor, the number of workers
or on how often the run was stopped.
"""

from __future__ import annotations

import gc
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import xxhash

from common.errors import HunminError, UserError
from common.files import atomic_write, remove_leftovers
from common.process import available_cores
from common.progress import say
from common.settings import dump_settings, settings_hash
from common.slurm_array import ArrayElement, ShareDone
from data.assemble import Assembly, assemble
from data.benchmark import BenchmarkSentence, load_benchmark
from data.card import write_card
from data.cleaning import clean_sentences, require_old_hangul
from data.decontaminate import NOT_DECONTAMINATED, Decontaminator
from data.deduplicate import DeduplicateSettings
from data.deduplicate.limits import memory_here, refuse_beyond
from data.executors import open_executor
from data.filters import build_filters
from data.nfc import nfc
from data.pii import (
    Pseudonymizer,
    key_fingerprint,
    refuse_personal_labels,
    refuse_personal_names,
    resolve_key,
)
from data.readers import InputFile, list_files
from data.rules import part_rules
from data.settings import CorpusSettings
from data.shards import SCHEMA
from data.statistics import Counters, histograms, merge, sort_counters, total
from data.statistics.emptied import Inputs, sources_without_document
from data.statistics.warnings import EMPTIED, WIKI_MARKUP, most_with_markup, warnings_of
from data.units.catalog import Catalog
from data.units.fields import check_fields
from data.units.runs import do_units
from data.units.set_aside import SetAside
from data.units.survey import document_bytes, estimated_text
from data.units.work import UnitWork, check_sources, check_unnamed, named

WORK = ".work"
STATISTICS = "statistics.json"
REJECTS = "rejects/rejects.jsonl"
DAMAGED = "rejects/files.jsonl"
FILTERED = "filtered.jsonl"
"""Documents that filters dropped: ids and scores only."""
HITS = "hits.jsonl"
"""Benchmark sentences that were removed, with the texts of both sides, personal data replaced."""
NOT_IN_PARTS = (
    "inputs",
    "shard_mb",
    "unit_mb",
    "max_reject_share",
    "max_bad_file_share",
    "filters",
    "keep_scores",
    "mixture",
    "decontaminate",
)
"""Settings that parts do not depend on, or that something else stands for: of the inputs their own names, of filters
what `FilterChain.identity` says, of decontamination the benchmark's sentences."""


def build_corpus(settings: CorpusSettings, out: Path, units_only: bool = False) -> Counters:
    """Write shards/, the card, the statistics and the lists of what was left out into `out` and return the main counts.

    Args:
        settings: what to read and how to treat it.
        out: a folder, empty or with what a killed run with the same settings and inputs left; it resumes.
        units_only: end when the units are done, and leave duplicates and shards to a later call.

    Raises:
        UserError: an input is missing; nothing was read, or nothing is left; no key.
        HunminError: too many lines were unreadable, or files damaged; or units failed or killed their workers: all
            others are done first.
        ShareDone: this is an element of an array, or the units alone were asked for, and they are done.
        DiskFullError: no space; what was finished stays.
    """
    out = Path(out)
    element = ArrayElement.from_environment() if settings.executor == "slurm-array" else None
    if (out / STATISTICS).exists():
        if element:
            raise ShareDone(_what_follows(element))
        return _finish(out)
    files = corpus_files(settings)
    check_fields(files)
    check_unnamed(files)
    if not element:  # it compares no documents
        _refuse_beyond(settings.deduplicate, files)
    for rules in (settings.clean, *(file.settings.clean for file in files)):
        if rules and rules.old_hangul:
            require_old_hangul()
    key = resolve_key(settings.pii) if settings.pii.enabled else None
    if left_out := settings.pii.left_out:
        say(f"warning: {left_out}", style="yellow")
    work = out / WORK
    work.mkdir(parents=True, exist_ok=True)
    with open_executor(settings.executor, settings.workers, settings.ray_address, work, ["data.units.warm"]) as execute:
        function = _unit_work(settings, key, work)
        set_aside = SetAside(len(files), settings.max_bad_file_share)
        catalog = Catalog(function.folder, files, int(settings.unit_mb * 1e6), set_aside, element)
        do_units(catalog, function, execute)
        if element or units_only:
            raise ShareDone(_what_follows(element))
        catalog.refuse_unfit_inputs()
        units = catalog.parts()
        counts, damaged = _gather(catalog, out, bool(settings.filters))
        _check(counts, settings, out)
        schema = pa.schema([*SCHEMA, *(function.filters.schema if settings.keep_scores else [])])
        chosen = settings.deduplicate, settings.shard_mb
        assembly = assemble(units, out, function.folder, *chosen, execute, schema, settings.mixture)
    if not assembly.shards:
        raise UserError(
            "nothing is left of the corpus: " + _whereabouts(counts, assembly),
            "a corpus holds at least one document",
            "look at the rule that took most, and change it in the recipe (corpus.clean, corpus.filters, …)",
        )
    _write_reports(counts, damaged, assembly, out, key, bool(settings.filters))
    return _finish(out)


def _what_follows(element: ArrayElement | None) -> str:
    """Return what is said when the units are done, and a later command ends the stage."""
    if element is None:
        return "all units are done; run the same command without --units-only to finish the stage"
    return (
        f"element {element.rank} of {element.count} is done with its units; when all elements are, one job ends the "
        f"stage:\n  sbatch --dependency=afterok:{element.job} --wrap 'hunmin corpus build RECIPE --executor local'"
    )


def _refuse_beyond(settings: DeduplicateSettings, files: list[InputFile]) -> None:
    """Refuse duplicates to look for that this machine cannot: now, and not after days.

    Raises:
        UserError: they take more memory than there is, or are too many for one process.
    """
    if settings.near or settings.sentences or settings.paragraphs:
        text, mean = estimated_text(files), document_bytes(files)
        refuse_beyond(settings, text / mean if mean else None, text, memory_here())


def corpus_files(settings: CorpusSettings) -> list[InputFile]:
    """Return the input files; neither they, folders below an input nor labels hold personal data unless that may stay.

    Raises:
        UserError: an input stands for no file or for one that is not read, or a name is personal data.
    """
    files = list_files(settings.inputs)
    if settings.pii.enabled:
        refuse_personal_names([nfc(file.path) for file in files], [nfc(file.settings.path) for file in files])
        refuse_personal_labels([file.label for file in files])
    return files


def reopen_corpus(out: Path) -> None:
    """Make an unfinished folder fit to continue with other inputs or settings: nothing in it says that it is whole."""
    (out / STATISTICS).unlink(missing_ok=True)


def _unit_work(settings: CorpusSettings, key: bytes | None, work: Path) -> UnitWork:
    """Return the function of a unit; its folder of parts is named after all settings that parts depend on."""
    benchmark = _benchmark(settings, key)
    filters = build_filters(settings.filters)
    identity = {
        "rules": part_rules(),
        "unicode": unicodedata.unidata_version,
        "settings": dump_settings(settings.model_copy(update=dict.fromkeys(NOT_IN_PARTS))),
        "key": key_fingerprint(key) if key else None,
        "benchmark": _fingerprint(benchmark),
        "filters": filters.identity,
    }
    folder = work / settings_hash(identity)
    for other in work.iterdir():
        if other.is_dir() and other != folder:
            shutil.rmtree(other, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    decontaminator = None
    if settings.decontaminate.applies:
        threads = settings.workers or available_cores()
        decontaminator = Decontaminator.build(benchmark, threads=threads)
    types = tuple(settings.pii.types)
    return UnitWork(folder, settings.clean, decontaminator, key, types, settings.deduplicate, filters)


def _benchmark(settings: CorpusSettings, key: bytes | None) -> list[BenchmarkSentence]:
    """Return the benchmark's sentences as they are, and as cleaning and pseudonymisation leave them."""
    if not settings.decontaminate.applies:
        if settings.decontaminate.enabled:
            say(f"warning: {NOT_DECONTAMINATED}", style="yellow")
        return []
    say("indexing the benchmark")
    with _uncollected():
        benchmark = load_benchmark(settings.decontaminate.benchmarks)
        texts = list(dict.fromkeys(sentence.text for sentence in benchmark))
        treated = clean_sentences(texts, settings.clean)
        if key is not None:
            treated = [text for text, _ in Pseudonymizer(key, settings.pii.types).apply_many(treated)]
    changed = {before: after for before, after in zip(texts, treated, strict=True) if after != before}
    return [
        *(one._replace(listed=changed.get(one.text)) for one in benchmark),
        *(one._replace(text=changed[one.text]) for one in benchmark if one.text in changed),
    ]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector off what the block makes, which is to stay: else it walks all of that for nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _fingerprint(benchmark: list[BenchmarkSentence]) -> str:
    fields = ("\0".join(map(str, values)) for values in zip(*benchmark, strict=True))
    return xxhash.xxh3_128_hexdigest("\0\0".join(fields).encode("utf-8", "surrogatepass"))


def _gather(catalog: Catalog, out: Path, filtered: bool) -> tuple[Counters, Counters]:
    """Return the counts of all units, and of damaged files by reason; and write their rejects, hits and, if asked for,
    what filters dropped, in input order.

    Raises:
        TooManyDamagedError: too many files are damaged.
    """
    counts: Counters = {}
    inputs = Inputs(catalog.files)
    damaged = [{**named(catalog.files[number]), "reason": why} for number, why in sorted(catalog.damaged.items())]
    known = {item["source"] for item in damaged}
    names = {"rejects": REJECTS, "hits": HITS, **({"filtered": FILTERED} if filtered else {})}
    if not filtered:
        (out / FILTERED).unlink(missing_ok=True)
    with ExitStack() as stack:
        lists = {name: stack.enter_context(atomic_write(out / path, "wb")) for name, path in names.items()}
        for number, part in catalog.numbered_parts():
            side = orjson.loads(part.with_suffix(".json").read_bytes())
            merge(counts, side["counts"])
            of_part = side["counts"]
            inputs.add(number, total(of_part["read"]).get("documents", 0), of_part["rejects"], of_part["skipped"])
            check_sources(len(counts["read"]))
            for name, stream in lists.items():
                stream.writelines(orjson.dumps(item) + b"\n" for item in side[name])
            if side["damage"] and side["damage"]["source"] not in known:
                known.add(side["damage"]["source"])
                damaged.append(side["damage"])  # the first: a file with several places of damage is one file
    numbers = {file.label: number for number, file in enumerate(catalog.files)}
    for item in damaged:
        inputs.add(numbers[item["source"]], 0, {item["reason"]: 1})
    counts["empty_inputs"] = inputs.without_document()
    with atomic_write(out / DAMAGED, "wb") as files:
        files.writelines(orjson.dumps(item) + b"\n" for item in damaged)
    for item in damaged:
        catalog.set_aside.add(catalog.files[numbers[item["source"]]].path, item["reason"])
    return counts, dict(Counter(item["reason"] for item in damaged))


def _check(counts: Counters, settings: CorpusSettings, out: Path) -> None:
    rejects = sum(counts.get("rejects", {}).values())
    documents = total(counts.get("read", {})).get("documents", 0)
    reasons = _told(counts.get("rejects", {}))
    if rejects and rejects > settings.max_reject_share * (rejects + documents):
        raise HunminError(
            f"{rejects} of {rejects + documents} lines hold no document ({reasons})",
            f"at most max_reject_share = {settings.max_reject_share:.1%} of the lines may be rejected",
            f"see {out / REJECTS}; fix the input, its text_field or its format, or raise corpus.max_reject_share",
        )
    if not documents:
        skipped = _told(counts.get("skipped", {}))
        reasons = "; ".join(filter(None, [reasons, skipped and f"passed over: {skipped}"]))
        raise UserError(
            "the corpus is empty: no document was read" + (f" ({reasons})" if reasons else ""),
            "the inputs hold at least one document",
            "check corpus.inputs",
        )


def _told(reasons: Counters) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))


def _whereabouts(counts: Counters, assembly: Assembly) -> str:
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


def _write_reports(
    counts: Counters, damaged: Counters, assembly: Assembly, out: Path, key: bytes | None, filtered: bool
) -> None:
    """Write pii.json, the card and, last of all, statistics.json: it says that the folder is whole."""
    kept = assembly.statistics["sources"]
    statistics: dict[str, Any] = {
        "total": {"read": total(counts["read"]), "kept": total(kept)},
        "sources": {name: {"read": read, "kept": kept.get(name, {})} for name, read in sorted(counts["read"].items())},
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
        EMPTIED: sort_counters(counts["empty_inputs"] | sources_without_document(counts, kept, assembly.mixture)),
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


def _finish(out: Path) -> Counters:
    """Remove what only a running stage needs and return the main counts of a whole folder."""
    shutil.rmtree(out / WORK, ignore_errors=True)
    remove_leftovers(out)
    statistics = orjson.loads((out / STATISTICS).read_bytes())
    return {
        **statistics["total"]["kept"],
        "shards": statistics["shards"],
        "read": statistics["total"]["read"],
        "pii": sum(statistics["pii"].values()),
        "pii_key_fingerprint": statistics["pii_key_fingerprint"],
        "benchmark_sentences": sum(sum(rules.values()) for rules in statistics["decontamination"].values()),
        "duplicates": statistics["duplicates"],
        "rejects": sum(statistics["rejects"].values()),
        "quarantined_files": sum(statistics["damaged"].values()),
    }
