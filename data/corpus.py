"""The corpus stage: input files to shards of clean, pseudonymised, decontaminated, distinct documents.

    files ─► blocks ─► units (any worker, any order) ─► parts ─► survivors of duplicates ─► shards ─► statistics
                                               (units-3f9a1c2e21/)                            (the corpus's folder)

A part or a shard counts once its last file is renamed into place, so a killed run continues with the units that are
missing, by their content (see `catalog`). Parts of other settings have a folder of their own beside them, and wait
there for those settings to come back. What is written depends on the inputs and the settings alone, never on the
executor, the number of workers or on how often the run was stopped.
"""

from __future__ import annotations

import gc
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import orjson
import pyarrow as pa
import xxhash

from common.errors import UserError
from common.files import atomic_write, remove_leftovers
from common.process import available_cores
from common.progress import say
from common.settings import dump_settings, settings_hash
from common.slurm_array import ArrayElement, ShareDone
from data.assemble import PLAN, WORK, assemble
from data.benchmark import BenchmarkSentence, load_benchmark
from data.cleaning.old_hangul import require_old_hangul
from data.cleaning.rules import clean_sentences
from data.decontaminate.settings import NOT_DECONTAMINATED
from data.decontaminate.stored import stored_decontaminator
from data.deduplicate.limits import memory_here, refuse_beyond
from data.deduplicate.settings import DeduplicateSettings
from data.executors.choice import open_executor
from data.executors.protocol import Executor
from data.filters.chain import build_filters
from data.nfc import nfc
from data.pii.names import refuse_personal_labels, refuse_personal_names
from data.pii.settings import key_fingerprint, resolve_key
from data.pii.surrogate import Pseudonymizer
from data.readers.paths import list_files
from data.readers.records import InputFile
from data.rules import part_rules
from data.settings import CorpusSettings
from data.shards import SCHEMA
from data.statistics.counts import Counters, merge, total
from data.statistics.report import STATISTICS, Inputs, check_counts, whereabouts, write_reports
from data.units.catalog import Catalog, do_units
from data.units.fields import check_fields
from data.units.quarantine import Quarantine
from data.units.survey import document_bytes, estimated_text
from data.units.work import UnitWork, check_sources, check_unnamed, named

UNITS = "units"
"""Begins the name of a folder of parts; the hash of all that they depend on but for the inputs follows."""
REJECTS = "rejects/rejects.jsonl"
DAMAGED = "rejects/files.jsonl"
FILTERED = "filtered.jsonl"
"""Documents that filters dropped: ids and scores only."""
HITS = "hits.jsonl"
"""Benchmark sentences that were removed, with the texts of both sides, personal data replaced."""
NOT_IN_PARTS = (
    *("inputs", "shard_mb", "unit_mb", "max_reject_share", "max_bad_file_share"),
    *("filters", "keep_scores", "mixture", "decontaminate"),
)
"""Settings that parts do not depend on, or that something else stands for: of the inputs their own names, of filters
what `FilterChain.identity` says, of decontamination the benchmark's sentences."""


def build_corpus(
    settings: CorpusSettings, out: Path, units: Path | None = None, kept_out: Iterable[BenchmarkSentence] = ()
) -> Counters:
    """Write shards/, the card, the statistics and the lists of what was left out into `out` and return the main counts.

    Args:
        out: a folder, empty or with what a killed run with the same settings and inputs left; it resumes.
        units: folder below which the parts are, in a folder for all settings that parts depend on; it goes when the
            corpus is whole, others stay. None: below `out`.
        kept_out: sentences that are taken out beside those of the benchmarks.

    Raises:
        UserError: an input is missing; nothing was read, or nothing is left; no key.
        HunminError: too many lines were unreadable, or files damaged; or units failed or killed their workers: all
            others are done first.
        ShareDone: this is an element of an array, and its units are done.
        DiskFullError: no space; what was finished stays.
    """
    out = Path(out)
    units = units or out / WORK
    if (out / STATISTICS).exists():
        if settings.executor == "slurm-array":
            raise ShareDone(_what_follows(_element(settings)))
        return _finish(out, units)
    if settings.executor == "slurm-array":
        build_units(settings, units, kept_out)
    with _finished_units(settings, units, kept_out) as (catalog, function, execute):
        catalog.refuse_unfit_inputs()
        counts, damaged = _gather(catalog, out, bool(settings.filters))
        check_counts(counts, settings.max_reject_share, out / REJECTS)
        schema = pa.schema([*SCHEMA, *(function.filters.schema if settings.keep_scores else [])])
        chosen = settings.deduplicate, settings.shard_mb
        parts = [part for _, part in catalog.numbered_parts()]
        assembly = assemble(parts, out, function.folder, *chosen, execute, schema, settings.mixture)
    if not assembly.shards:
        raise UserError(
            "nothing is left of the corpus: " + whereabouts(counts, assembly),
            "a corpus holds at least one document",
            "look at the rule that took most, and change it in the recipe (corpus.clean, corpus.filters, …)",
        )
    write_reports(counts, damaged, assembly, out, function.key, bool(settings.filters))
    return _finish(out, units)


def build_units(settings: CorpusSettings, units: Path, kept_out: Iterable[BenchmarkSentence] = ()) -> NoReturn:
    """Do the units of a corpus, or those of this element of an array; inputs may come and grow meanwhile.

    Args:
        units: folder below which the parts are; nothing else is written.
        kept_out: of `build_corpus`.

    Raises:
        ShareDone: they are done.
        UserError, HunminError, DiskFullError: as `build_corpus`.
    """
    element = _element(settings)
    with _finished_units(settings, units, kept_out, element):
        pass
    raise ShareDone(_what_follows(element))


def _element(settings: CorpusSettings) -> ArrayElement | None:
    return ArrayElement.from_environment() if settings.executor == "slurm-array" else None


@contextmanager
def _finished_units(
    settings: CorpusSettings, units: Path, kept_out: Iterable[BenchmarkSentence], element: ArrayElement | None = None
) -> Iterator[tuple[Catalog, UnitWork, Executor]]:
    """Do the missing units, of all or of an element; yield their catalogue, their function and the executor."""
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
    units.mkdir(parents=True, exist_ok=True)
    executor = settings.executor, settings.workers, settings.ray_address, units
    with open_executor(*executor, ["data.units.warm"]) as execute:
        function = _unit_work(settings, key, units, kept_out)
        quarantine = Quarantine(len(files), settings.max_bad_file_share)
        catalog = Catalog(function.folder, files, int(settings.unit_mb * 1e6), quarantine, element)
        do_units(catalog, function, execute)
        yield catalog, function, execute


def _what_follows(element: ArrayElement | None) -> str:
    if element is None:
        return "all units are done; run the same command without --units-only to finish the stage"
    return (
        f"element {element.rank} of {element.count} is done with its units; when all elements are, one job ends the "
        f"stage:\n  sbatch --dependency=afterok:{element.job} --wrap 'hunmin corpus build RECIPE --executor local'"
    )


def _refuse_beyond(settings: DeduplicateSettings, files: list[InputFile]) -> None:
    """Raise UserError now, not after days, where duplicates need more memory than there is or one process can use."""
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


def _unit_work(
    settings: CorpusSettings, key: bytes | None, units: Path, kept_out: Iterable[BenchmarkSentence]
) -> UnitWork:
    """Return the function of a unit; its folder of parts is named after all settings that parts depend on."""
    benchmark = _benchmark(settings, kept_out)
    filters = build_filters(settings.filters)
    identity = {
        "rules": part_rules(),
        "unicode": unicodedata.unidata_version,
        "settings": dump_settings(settings.model_copy(update=dict.fromkeys(NOT_IN_PARTS))),
        "key": key_fingerprint(key) if key else None,
        "benchmark": _fingerprint(benchmark),
        "filters": filters.identity,
    }
    folder = units / f"{UNITS}-{settings_hash(identity)[:10]}"
    folder.mkdir(exist_ok=True)
    decontaminator = None
    if benchmark:
        facts = {name: identity[name] for name in ("rules", "unicode", "key", "benchmark")}
        facts |= {"clean": dump_settings(settings.clean), "pii": dump_settings(settings.pii)}
        threads = settings.workers or available_cores()
        with _uncollected():
            decontaminator = stored_decontaminator(facts, lambda: _with_treated(benchmark, settings, key), threads)
    types = tuple(settings.pii.types)
    return UnitWork(folder, settings.clean, decontaminator, key, types, settings.deduplicate, filters)


def _benchmark(settings: CorpusSettings, kept_out: Iterable[BenchmarkSentence]) -> list[BenchmarkSentence]:
    if not settings.decontaminate.enabled:
        return []
    with _uncollected():
        benchmark = [*load_benchmark(settings.decontaminate.benchmarks), *kept_out]
    if not benchmark:
        say(f"warning: {NOT_DECONTAMINATED}", style="yellow")
    return benchmark


def _with_treated(
    benchmark: list[BenchmarkSentence], settings: CorpusSettings, key: bytes | None
) -> list[BenchmarkSentence]:
    """Return the benchmark's sentences as they are, and as cleaning and pseudonymisation leave them."""
    say("indexing the benchmark")
    texts = list(dict.fromkeys(sentence.text for sentence in benchmark))
    treated = clean_sentences(texts, settings.clean)
    if key is not None:
        treated = [text for text, _ in Pseudonymizer(key, settings.pii.types).apply_many(treated)]
    changed = {before: after for before, after in zip(texts, treated, strict=True) if after != before}
    return [
        *(entry._replace(listed=changed[entry.text]) if entry.text in changed else entry for entry in benchmark),
        *(entry._replace(text=changed[entry.text]) for entry in benchmark if entry.text in changed),
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
        catalog.quarantine.add(catalog.files[numbers[item["source"]]].path, item["reason"])
    return counts, dict(Counter(item["reason"] for item in damaged))


def _finish(out: Path, units: Path) -> Counters:
    with suppress(FileNotFoundError):  # else a command was killed after these lines
        _remove_units(units / (out / WORK / PLAN).read_text(encoding="utf-8").split()[0])
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


def _remove_units(folder: Path) -> None:
    """Remove a folder of parts, by another name: what a kill leaves of it must not pass for whole parts."""
    gone = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(gone, ignore_errors=True)
    try:
        if folder.exists():
            folder.rename(gone)
    except OSError as error:
        say(f"{folder} stays, though nothing needs it any more: {error.strerror}", style="yellow")
    shutil.rmtree(gone, ignore_errors=True)
