"""The corpus stage: input files to shards of clean, pseudonymised, decontaminated, distinct documents.

    files ─► blocks ─► units (any worker, any order) ─► parts ─► survivors of duplicates ─► shards ─► statistics

Parts and shards are each one rename, so a killed run goes on with the units that are missing. What is written depends
on the inputs and the settings alone, never on the number of workers or on how often the run was stopped.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from pydantic import Field

from common.errors import HunminError, UserError
from common.files import atomic_write, is_remote
from common.progress import ProgressBar, say
from common.settings import Settings, runtime, settings_hash
from data.assemble import Assembly, assemble
from data.benchmark import load_benchmark
from data.clean_settings import CleanSettings
from data.cleaning import clean
from data.decontaminate import DecontaminateSettings, Decontaminator
from data.deduplicate import DeduplicateSettings
from data.executors import available_workers, run_local
from data.pii import PiiSettings, Pseudonymizer, key_fingerprint, resolve_key
from data.readers import COMPRESSED, InputFile, SourceSettings, list_files, read_blocks
from data.splitting import split_sentences
from data.statistics import Counters, histograms, merge, sort_counters, total
from data.units import UnitTask, UnitWork, part_path

WORK = ".work"
STATISTICS = "statistics.json"
REJECTS = "rejects/rejects.jsonl"
FORMAT = 1
"""Version of the parts in the work folder; parts of another version are not taken up."""


class CorpusSettings(Settings):
    """Which texts become the corpus, and what happens to them."""

    inputs: list[str | SourceSettings] = Field(min_length=1)
    """Paths, folders, globs or URLs; or sources with name, format, field names, licence and rules of their own."""
    clean: CleanSettings = CleanSettings()
    """Cleaning rules for all sources that bring none."""
    pii: PiiSettings = PiiSettings()
    """Pseudonymisation of personal data."""
    decontaminate: DecontaminateSettings = DecontaminateSettings()
    """Removal of benchmark sentences."""
    deduplicate: DeduplicateSettings = DeduplicateSettings()
    """Removal of repeated documents and sentences."""
    shard_mb: float = Field(256, gt=0)
    """Megabytes (10^6 bytes) of text in a shard; a shard takes a third to a quarter of it on the disk."""
    unit_mb: float = Field(32, gt=0)
    """Megabytes of input lines in a work unit: what a kill can lose for each worker."""
    workers: int | None = runtime(None, ge=1)
    """Processes; None takes the cores this process may use. It does not change the output."""
    max_reject_share: float = Field(0.05, ge=0, le=1)
    """The run fails when more than this share of the lines is unreadable: a wrong field name or format shows early."""


def build_corpus(settings: CorpusSettings, out: Path) -> Counters:
    """Write shards/, statistics.json, rejects/, hits.jsonl and pii.json into `out` and return the main counts.

    Args:
        settings: what to read and how to treat it.
        out: a folder, empty or with what a killed run with the same settings and inputs left; it resumes.

    Raises:
        UserError: an input is missing, damaged or no text; nothing was read, or nothing is left; no benchmark; no key.
        HunminError: too many lines were unreadable, or a worker died twice on one unit.
        DiskFullError: no space; what was finished stays.
    """
    out = Path(out)
    if (out / STATISTICS).exists():
        return _finish(out)
    files = list_files(settings.inputs)
    key = resolve_key(settings.pii) if settings.pii.enabled else None
    work = _open_work_folder(out, settings, key)
    workers = settings.workers or available_workers()
    units = _do_units(settings, files, work, key, workers)
    counts = _gather(units, out)
    _check(counts, settings, out)
    assembly = assemble(units, out, work, settings.deduplicate, settings.shard_mb, workers)
    if not assembly.shards:
        raise UserError(
            "nothing is left of the corpus: " + _whereabouts(counts, assembly),
            "a corpus holds at least one document",
            "look at the rule that took most, and change it in the recipe (corpus.clean, corpus.decontaminate)",
        )
    _write_reports(counts, assembly, out, key)
    return _finish(out)


def _open_work_folder(out: Path, settings: CorpusSettings, key: bytes | None) -> Path:
    """Return the folder of parts, emptied if it was made by other settings or another key."""
    work = out / WORK
    mark = {
        "format": FORMAT,
        "settings": settings_hash(settings.model_dump(mode="json", exclude={"workers", "max_reject_share"})),
        "key": key_fingerprint(key) if key else None,
    }
    file = work / "mark.json"
    if not file.exists() or orjson.loads(file.read_bytes()) != mark:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(out / "shards", ignore_errors=True)
        with atomic_write(file, "wb") as stream:
            stream.write(orjson.dumps(mark))
    return work


def _do_units(
    settings: CorpusSettings, files: list[InputFile], work: Path, key: bytes | None, workers: int
) -> list[Path]:
    """Do every unit that is not finished and return the part files of all units in input order."""
    units: list[Path] = []
    function = UnitWork(
        work,
        settings.clean,
        _build_decontaminator(settings, key),
        key,
        tuple(settings.pii.types),
        settings.deduplicate.sentences,
    )
    plain = [f for f in files if not is_remote(f.path) and not f.path.endswith(COMPRESSED)]
    size = sum(Path(f.path).stat().st_size for f in plain) / 1e6 if len(plain) == len(files) else None
    with ProgressBar("corpus", size, "MB") as bar:
        tasks = _tasks(files, work, int(settings.unit_mb * 1e6), units)
        run_local(function, tasks, workers, lambda count: bar.advance(count / 1e6))
    return units


def _tasks(files: list[InputFile], work: Path, unit_bytes: int, units: list[Path]) -> Iterator[UnitTask]:
    """Yield the units that are not finished; append the part files of all units, finished or not, to `units`."""
    for number, file in enumerate(files):
        mark = work / f"file-{number:05d}.json"
        if mark.exists():
            parts = [part_path(work, number, block) for block in range(orjson.loads(mark.read_bytes())["units"])]
            if all(part.exists() for part in parts):
                units += parts
                continue
        count = 0
        for format, block in read_blocks(file, unit_bytes):
            count += 1
            units.append(part_path(work, number, block.number))
            if not units[-1].exists():
                yield UnitTask(file, number, format, block)
        with atomic_write(mark, "wb") as stream:
            stream.write(orjson.dumps({"units": count}))


def _build_decontaminator(settings: CorpusSettings, key: bytes | None) -> Decontaminator | None:
    """Return the index of the benchmark as it is, and as cleaning and pseudonymisation leave its sentences."""
    if not settings.decontaminate.enabled:
        return None
    if settings.decontaminate.benchmark is None:
        raise UserError(
            "no benchmark to decontaminate against",
            "decontamination is on and needs the evaluation data",
            "set corpus.decontaminate.benchmark to its folder, or corpus.decontaminate.enabled=false",
        )
    say("indexing the benchmark")
    benchmark = load_benchmark(Path(settings.decontaminate.benchmark), split_sentences)
    rules = settings.clean.model_copy(update={name: False for name in CleanSettings.model_fields if name[:4] == "news"})
    treated = [clean(sentence.text, rules, {}) for sentence in benchmark]
    if key is not None:
        treated = [text for text, _ in Pseudonymizer(key, settings.pii.types).apply_many(treated)]
    changed = [b._replace(text=text) for b, text in zip(benchmark, treated, strict=True) if text != b.text]
    return Decontaminator.build(benchmark + changed, settings.decontaminate)


def _gather(units: list[Path], out: Path) -> Counters:
    """Return the counts of all units, and write their rejects and hits, in input order."""
    counts: Counters = {}
    with atomic_write(out / REJECTS, "wb") as rejects, atomic_write(out / "hits.jsonl", "wb") as hits:
        for part in units:
            side = orjson.loads(part.with_suffix(".json").read_bytes())
            merge(counts, side["counts"])
            rejects.writelines(orjson.dumps(item) + b"\n" for item in side["rejects"])
            hits.writelines(orjson.dumps(item) + b"\n" for item in side["hits"])
    return counts


def _check(counts: Counters, settings: CorpusSettings, out: Path) -> None:
    rejects = sum(counts.get("rejects", {}).values())
    documents = total(counts.get("read", {})).get("documents", 0)
    reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(counts.get("rejects", {}).items()))
    if rejects and rejects > settings.max_reject_share * (rejects + documents):
        raise HunminError(
            f"{rejects} of {rejects + documents} lines hold no document ({reasons})",
            f"at most max_reject_share = {settings.max_reject_share:.1%} of the lines may be rejected",
            f"see {out / REJECTS}; mend the input, its text_field or its format, or raise corpus.max_reject_share",
        )
    if not documents:
        raise UserError(
            "the corpus is empty: no document was read" + (f" ({reasons})" if reasons else ""),
            "the inputs hold at least one document",
            "check corpus.inputs",
        )


def _whereabouts(counts: Counters, assembly: Assembly) -> str:
    documents = total(counts["read"])["documents"]
    dropped = [f"{reason}: {count}" for reason, count in sorted(counts["dropped"].items())]
    dropped += [f"duplicate {kind}: {count}" for kind, count in assembly.duplicates.items() if count]
    rules = [f"{rule}: {facts['hits']}" for rule, facts in sorted(counts["cleaning"].items())]
    return f"{documents} documents read; {', '.join(dropped)}" + (f"; cleaning {', '.join(rules)}" if rules else "")


def _write_reports(counts: Counters, assembly: Assembly, out: Path, key: bytes | None) -> None:
    """Write pii.json and, last of all, statistics.json: it says that the folder is whole."""
    kept = assembly.statistics["sources"]
    statistics: dict[str, Any] = {
        "total": {"read": total(counts["read"]), "kept": total(kept)},
        "sources": {name: {"read": read, "kept": kept.get(name, {})} for name, read in sorted(counts["read"].items())},
        "lengths": histograms(assembly.statistics["lengths"]),
        "split": counts["split"],
        "cleaning": sort_counters(counts["cleaning"]),
        "dropped": sort_counters(counts["dropped"]),
        "pii": sort_counters(counts["pii"]),
        "pii_key_fingerprint": key_fingerprint(key) if key else None,
        "decontamination": sort_counters(counts["decontamination"]),
        "duplicates": assembly.duplicates,
        "rejects": sort_counters(counts["rejects"]),
        "shards": assembly.shards,
    }
    _write_json(out / "pii.json", statistics["pii"])
    _write_json(out / STATISTICS, statistics)


def _write_json(path: Path, tree: Any) -> None:
    with atomic_write(path, "wb") as stream:
        stream.write(orjson.dumps(tree, option=orjson.OPT_INDENT_2) + b"\n")


def _finish(out: Path) -> Counters:
    """Remove what only a running stage needs and return the main counts of a whole folder."""
    shutil.rmtree(out / WORK, ignore_errors=True)
    for leftover in out.rglob(".*.tmp"):
        leftover.unlink(missing_ok=True)
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
    }
