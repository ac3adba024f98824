"""From a benchmark's files to train, dev and test examples: finding, reading, splitting where a file is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from common.compressed import COMPRESSED, decompression_errors
from common.errors import UserError, nearest
from common.files import open_bytes, sha256_file
from common.message import Message
from common.progress import say
from common.settings import settings_hash
from data.benchmark import BenchmarkSentence
from data.nfc import composed
from data.splitting.scan import split_sentences
from klue.synthetic import NOTE, is_synthetic
from klue.tasks import get_task
from klue.tasks.base import SPLITS, TOO_FEW, Example, Task
from klue.tasks.files import HUB_SPLITS, SUFFIX
from klue.tasks.own import OwnFiles, OwnTask

Source = tuple[Task, Path]
"""A task and the folder of its suite."""
SPLIT_TRAIN_SHARE = 0.7
"""Where only dev examples are at hand: the share of them that is trained on; the rest is scored."""

SPLIT_TO_SCORE = "split of dev: no train file, {train} dev examples to train on and the other {dev} scored"
SPLIT_TO_CHOOSE = "split of dev: no train file, {train} dev examples to train on and the other {dev} chosen by"
IN_DEV = "{count} train examples left out, as their text is a dev text"
IN_DEV_OR_TEST = "{count} train examples left out, as their text is a dev or test text"
CUT_AND_SHORT = "trained on {kept} of {all} train examples (the whole train set has at least {want})"
TEXT_FIELDS = ("kind", "text", "label", "choices")
"""Fields of a row that decide which texts of its files are read, and which records have none."""


@dataclass(frozen=True)
class Splits:
    """A task's examples to train on and to score, and what must be said where the scores stand."""

    train: list[Example]
    dev: list[Example]
    note: str
    """Empty when both come from the official files, these are whole, and all of them was taken."""
    counts: dict[str, int]
    """train, dev, test (where there is one), train_in_dev (dropped from train, as their text is a dev or test text),
    train_cut (by max_train_examples)."""
    data_hash: str = ""
    """Identifies the files' contents."""
    test: list[Example] = field(default_factory=list)
    """Empty where the benchmark has no public test set."""


def find_file(task: Task, data: Path, split: str) -> Path | None:
    """Return the task's file for "train", "dev" or "test", or None when there is none.

    The official name goes first; of KLUE then the hub's, the task's known partial files, <folder>_<split>.*.<suffix>
    (a partial copy). Raises UserError where several files would do, none of which has the official name.
    """
    named = task.file(split)
    if named is None:
        return None
    official = data / named
    for ending in ("", *COMPRESSED):
        if (path := official.with_name(official.name + ending)).is_file():
            return path
    if task.files:
        return None
    partial = (*task.partial_files.get(split, ()), f"{task.folder}_{split}.*.{task.suffix}")
    names = (f"{task.folder}/{name}" for name in partial)
    for pattern in (f"{task.hub_config}/{HUB_SPLITS[split]}-*{SUFFIX}", *names):
        matches = sorted(path for ending in ("", *COMPRESSED) for path in data.glob(pattern + ending))
        if len(matches) > 1:
            raise UserError(
                f"{matches[0].parent} holds {len(matches)} files for {task.name} {split}: "
                f"{', '.join(path.name for path in matches)}",
                "one file a split",
                f"keep one; {task.folder}/{official.name} goes before all others",
            )
        if matches:
            return matches[0]
    return None


def lent_file(task: Task, data: Path, source: Source | None) -> Path | None:
    """Return the train file of `source` where the task has none, else None. Raises UserError as `find_file`."""
    return find_file(*source, "train") if source and find_file(task, data, "train") is None else None


def files_hash(task: Task, data: Path, source: Source | None = None) -> str:
    """Return the `data_hash` of a task's files that are there. Raises UserError as `find_file`."""
    return settings_hash([sha256_file(path) for path in task_files(task, data, source)])


def task_files(task: Task, data: Path, source: Source | None = None) -> list[Path]:
    """Return the files of a task that `load_splits` reads. Raises UserError as `find_file`."""
    files = [find_file(task, data, split) for split in SPLITS] + [lent_file(task, data, source)]
    return [path for path in files if path is not None]


def split_files(task: Task, data: Path) -> dict[str, Path | None]:
    """Return split → its file, None where it may have none. Raises UserError for a missing one, and as `find_file`."""
    files = {split: find_file(task, data, split) for split in SPLITS}
    needed = ["train" if task.dev_share else "dev"] + (["test"] if task.scored_split == "test" else [])
    if isinstance(task, OwnFiles):
        needed = [split for split, place in task.row.places.items() if place]
    for split in (split for split in needed if files[split] is None):
        if isinstance(task, OwnFiles):
            raise UserError(f"{task.name}: {split} {missing_file(data / str(task.file(split)))}", fix="name the file")
        setting = "klue.benchmarks" if task.files else "klue.data"
        hub = f", or the hub's, {task.hub_config}/{HUB_SPLITS[split]}-*{SUFFIX}" if task.hub_config else ""
        raise UserError(
            f"no {split} file of {task.name} in {data / task.folder}",
            f"the data folder has the official layout, {task.file(split)}{hub}",
            f"fix {setting} (of a command --data), or take the task out of klue.tasks",
        )
    return files


def missing_file(path: Path) -> str:
    """Return what is said of a path that is no file, with a near name of its folder."""
    near = nearest(path.name, [other.name for other in path.parent.glob("*") if other.is_file()])
    return f"{path} is a folder" if path.is_dir() else f"{path} is not there{near}"


def read_examples(task: Task, path: Path, tell: bool = True) -> list[Example]:
    """Return the examples of an official file (plain or compressed) or one of the hub's, in the file's order.

    Where the hub's records have no guid they are named <configuration>-<split>-<number from 0>.

    Args:
        tell: whether records that contradict themselves are reported.

    Raises:
        UserError: the file is missing, cut short, not a list of records, or a record breaks the task's rules
            (named by guid or position).
    """
    rule = task.rule
    fix = task.fix if isinstance(task, OwnFiles) else "fetch the file again"
    from_hub = path.suffix == SUFFIX
    try:
        with decompression_errors(path), open_bytes(path) as stream:
            records = task.records_of(stream, path)
    except KeyError as error:
        raise UserError(f"{path}: field {error} is missing", rule, fix) from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise UserError(f"{path} is not a file of {task.name}: {error}", rule, fix) from None
    stem = f"{task.hub_config}-{path.stem.split('-')[0]}" if from_hub else path.name.split(f".{task.suffix}")[0]
    examples: dict[str, Example] = {}
    odd = []
    for number, record in enumerate(records):
        name = record["guid"] if isinstance(task, OwnFiles) else f"record {number}"
        try:
            for example in task.read(record, f"{stem}-{number}"):
                if not isinstance(example.guid, str):
                    raise ValueError(f"guid {example.guid!r} is not text")
                name = example.guid
                if name in examples:
                    raise ValueError("the guid is there twice")
                examples[name] = example
            if what := task.contradiction(record):
                odd.append(f"{name}: {what}")
        except KeyError as error:
            raise UserError(f"{path}, {name}: field {error} is missing", rule) from None
        except (TypeError, AttributeError):
            raise UserError(f"{path}, {name} is not a record of {task.name}", rule) from None
        except (ValueError, OverflowError) as error:
            raise UserError(f"{path}, {name}: {error}", rule) from None
    if not examples:
        raise UserError(f"{path} holds no records", rule)
    if tell:
        tell_contradictions(path, odd, len(records))
    return list(examples.values())


def tell_contradictions(path: Path, odd: Sequence[str], records: int) -> None:
    """Say how many of a file's records contradict themselves, if any, and how the first one does; all are used."""
    if odd:
        _say_once(f"{path}: {len(odd):,} of {records:,} records contradict themselves; {odd[0]}")


@cache
def _say_once(text: str) -> None:
    say(text, style="yellow")


def load_splits(
    task: Task, data: Path, max_train: int | None = None, source: Source | None = None, tell: bool = True
) -> Splits:
    """Return what to train on and what to score.

    Train examples whose text is a dev or test text are dropped and counted: a well-known copy of the YNAT train set
    holds the whole dev set. Without a train file the source's is taken, else the dev file is split by a hash of each
    document (so that none is on both sides); without a dev file a share of train is taken out. The note says so.

    Args:
        max_train: keep at most so many train examples, chosen by the hash of their guids; None = all.
        source: a task to learn from where this one has no train set.
        tell: whether records that contradict themselves are reported, which an estimate does not.

    Raises:
        UserError: there is no dev or test file, a file is damaged, or nothing is left to train on.
    """
    files = split_files(task, data)
    train_file, dev_file = files["train"], files["dev"]
    notes: list[str] = []
    read = partial(read_examples, tell=tell)
    test = [] if files["test"] is None else read(task, files["test"])
    lent = lent_file(task, data, source)
    train = [] if train_file is None else read(task, train_file)
    if dev_file is None:
        train, dev = _parted(train, lambda example: hash_share(task.split_key(example)) >= task.dev_share)
        notes.append(Message("no dev file: {count} train examples are dev", count=len(dev)))
    else:
        dev = read(task, dev_file)
    split_dev = train_file is None and lent is None
    if source and lent:
        train = read(source[0], lent)
        text = "zero-shot transfer: trained on the {count} train examples of {other}"
        notes.append(Message(text, count=len(train), other=source[0].title))
    elif split_dev:
        train, dev = _parted(dev, lambda example: hash_share(task.document(example)) < SPLIT_TRAIN_SHARE)
    train, leaked = without_leaks(train, [*dev, *test])
    for name, guids in task.set_aside.items():
        text = "{count:record} of {file} without a text or a label left out"
        notes += [Message(text, count=len(guids), file=Path(name).name)] if guids else []
    if split_dev:
        notes.append(Message(SPLIT_TO_CHOOSE if test else SPLIT_TO_SCORE, train=len(train), dev=len(dev)))
    if isinstance(task, OwnFiles):
        notes += task.remarks({"train": train, "dev": dev, **({"test": test} if test else {})})
    if leaked:
        notes.append(Message(IN_DEV_OR_TEST if test else IN_DEV, count=leaked))
    for split, file in (("train", train_file), ("dev", dev_file)):
        official = task.files or file is None or file.suffix == SUFFIX
        if file and not official and file.name.split(f".{task.suffix}")[0] != f"{task.folder}_{split}":
            notes.append(Message("{split} from {file}", split=split, file=file.name))
    sampled = train if max_train is None else sample_by_hash(train, max_train)
    if not sampled or not dev:
        fix = "give more examples, or a dev file" if isinstance(task, OwnFiles) else f"look into {data / task.folder}"
        left = f" ({Message(IN_DEV_OR_TEST, count=leaked)})" if leaked else ""
        raise UserError(
            f"{task.name}: {len(sampled)} examples to train on{left}, {len(dev)} to score", "both are needed", fix
        )
    counts = {"train": len(sampled), "dev": len(dev), "train_in_dev": leaked, "train_cut": len(train) - len(sampled)}
    counts |= {"test": len(test)} if test else {}
    synthetic = any(is_synthetic(example.guid) for example in [*train, *dev, *test])
    short = [] if synthetic or split_dev or lent else task.shortfalls(counts)
    if len(sampled) < len(train):
        amounts = {"kept": len(sampled), "all": len(train)}
        cut = Message("trained on {kept} of {all} examples", **amounts)
        if short and short[0].template == TOO_FEW:
            cut = Message(CUT_AND_SHORT, **amounts, want=task.sizes.train)
            short = short[1:]
        notes.append(cut)
    notes = [*([NOTE] if synthetic else []), *notes, *short]
    return Splits(sampled, dev, Message("{notes:; }", notes=notes), counts, files_hash(task, data, source), test)


def _parted(examples: Sequence[Example], first: Callable[[Example], bool]) -> tuple[list[Example], list[Example]]:
    parts: tuple[list[Example], list[Example]] = [], []
    for example in examples:
        parts[not first(example)].append(example)
    return parts


def without_leaks(train: Sequence[Example], dev: Sequence[Example]) -> tuple[list[Example], int]:
    """Return the train examples whose texts (white space aside) are no dev example's, and how many were dropped."""
    known = {_texts(example) for example in dev}
    clean = [example for example in train if _texts(example) not in known]
    return clean, len(train) - len(clean)


def sample_by_hash(examples: Sequence[Example], count: int) -> list[Example]:
    """Return at most `count` examples, those with the smallest hash of the guid, in their own order. A smaller sample
    is part of a larger one, and the choice does not depend on the order of the file, which is sorted by label in some
    copies."""
    chosen = sorted(range(len(examples)), key=lambda i: hash_share(examples[i].guid))[:count]
    return [examples[i] for i in sorted(chosen)]


def hash_share(guid: str) -> float:
    """Return a number in [0, 1) that depends on the guid alone, spread evenly over guids."""
    return int.from_bytes(hashlib.blake2b(guid.encode(), digest_size=8).digest(), "big") / 2**64


def _texts(example: Example) -> tuple[str, ...]:
    return tuple(" ".join(composed(text).split()) for text in example.texts)


def own_sentences(rows: Sequence[OwnTask]) -> Iterator[BenchmarkSentence]:
    """Yield the sentences of all texts in the files of own tasks, train, dev and test, each text once a task.

    Args:
        rows: in the register of tasks.

    Raises:
        UserError: a file is missing, or not as its row says.
    """
    for row in rows:
        task = get_task(row.name)
        known: set[str] = set()
        for path in filter(None, row.places.values()):
            for example in read_examples(task, Path(path), tell=False):
                for text in dict.fromkeys(example.texts):
                    if text in known:  # the passage of many questions
                        continue
                    known.add(text)
                    pieces = [piece.strip() for piece in split_sentences(text) if piece.strip()]
                    for piece in pieces:
                        yield BenchmarkSentence(row.name, example.guid, piece, len(pieces) > 1)
