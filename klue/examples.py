"""From the benchmark's files to train and dev examples: finding, reading, splitting where there is no train file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from common.files import COMPRESSED, decompression_errors, open_bytes, sha256_file
from common.settings import settings_hash
from klue.hub import SPLITS, SUFFIX, hub_records
from klue.tasks.base import Example, Task

SPLIT_TRAIN_SHARE = 0.7
"""Where only dev examples are at hand: the share of them that is trained on; the rest is scored."""


@dataclass(frozen=True)
class Splits:
    """A task's examples to train on and to score, and what must be said where the scores stand."""

    train: list[Example]
    dev: list[Example]
    note: str
    """Empty when both come from the official files, and all of them was taken."""
    counts: dict[str, int]
    """train, dev, train_in_dev (dropped from train, as their text is a dev text), train_cut (by max_train_examples)."""
    data_hash: str = ""
    """Identifies the files' contents."""


def find_file(task: Task, data: Path, split: str) -> Path | None:
    """Return the task's file for "train" or "dev", or None when there is none.

    The official name goes first, then the hub's, then the task's known partial files, then <folder>_<split>.*.<suffix>
    (a partial copy).

    Raises:
        UserError: several files would do, none of which has the official name.
    """
    folder = data / task.folder
    official = folder / f"{task.folder}_{split}.{task.suffix}"
    for ending in ("", *COMPRESSED):
        if (path := official.with_name(official.name + ending)).is_file():
            return path
    partial = (*task.partial_files.get(split, ()), f"{task.folder}_{split}.*.{task.suffix}")
    names = (f"{task.folder}/{name}" for name in partial)
    for pattern in (f"{task.hub_config}/{SPLITS[split]}-*{SUFFIX}", *names):
        found = sorted(path for ending in ("", *COMPRESSED) for path in data.glob(pattern + ending))
        if len(found) > 1:
            raise UserError(
                f"{found[0].parent} holds {len(found)} files for {task.name} {split}: "
                f"{', '.join(path.name for path in found)}",
                "one file a split",
                f"keep one; {task.folder}/{official.name} goes before all others",
            )
        if found:
            return found[0]
    return None


def files_hash(task: Task, data: Path) -> str:
    """Return what identifies the contents of a task's files, those that are there; the `data_hash` of its splits.

    Raises:
        UserError: see `find_file`.
    """
    files = (find_file(task, data, split) for split in ("train", "dev"))
    return settings_hash([sha256_file(path) for path in files if path is not None])


def read_examples(task: Task, path: Path) -> list[Example]:
    """Return the examples of an official file (plain or compressed) or one of the hub's, in the file's order.

    Where the hub's records have no guid they are named <configuration>-<split>-<number from 0>.

    Raises:
        UserError: the file is missing, cut short, not a list of records, or a record breaks the task's rules
            (named by guid or position).
    """
    rule = f"gold files of {task.name} are the benchmark's own {task.suffix.upper()} files, or the hub's Parquet"
    from_hub = path.suffix == SUFFIX
    try:
        with decompression_errors(path), open_bytes(path) as stream:
            records = hub_records(stream) if from_hub else task.records(stream)
    except KeyError as error:
        raise UserError(f"{path}: field {error} is missing", rule, "fetch the file again") from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise UserError(f"{path} is not a file of {task.name}: {error}", rule, "fetch the file again") from None
    stem = f"{task.hub_config}-{path.stem.split('-')[0]}" if from_hub else path.name.split(f".{task.suffix}")[0]
    examples, seen = [], set()
    for number, record in enumerate(records):
        name = f"record {number}"
        try:
            for example in task.read(record, f"{stem}-{number}"):
                if not isinstance(example.guid, str):
                    raise ValueError(f"guid {example.guid!r} is not text")
                name = example.guid
                if name in seen:
                    raise ValueError("the guid is there twice")
                seen.add(name)
                examples.append(example)
        except KeyError as error:
            raise UserError(f"{path}, {name}: field {error} is missing", rule) from None
        except (TypeError, AttributeError):
            raise UserError(f"{path}, {name} is not a record of {task.name}", rule) from None
        except (ValueError, OverflowError) as error:
            raise UserError(f"{path}, {name}: {error}", rule) from None
    if not examples:
        raise UserError(f"{path} holds no records", rule)
    return examples


def load_splits(task: Task, data: Path, max_train: int | None = None) -> Splits:
    """Return what to train on and what to score.

    Train examples whose text is a dev text are dropped and counted: a well-known copy of the YNAT train set holds
    the whole dev set. Without a train file the dev file is split by a hash of each document (so that none is on both
    sides), and the note says so.

    Args:
        task: the task.
        data: folder with the official layout, or the hub's.
        max_train: keep at most so many train examples, chosen by the hash of their guids; None = all.

    Raises:
        UserError: there is no dev file, a file is damaged, or nothing is left to train on.
    """
    dev_file, train_file = find_file(task, data, "dev"), find_file(task, data, "train")
    if dev_file is None:
        raise UserError(
            f"no dev file of {task.name} in {data / task.folder}",
            f"the data folder has the official layout, {task.folder}/{task.folder}_dev.{task.suffix}, or the hub's, "
            f"{task.hub_config}/{SPLITS['dev']}-*{SUFFIX}",
            "mend klue.data, or take the task out of klue.tasks",
        )
    dev, notes = read_examples(task, dev_file), []
    if train_file is None:
        shares = [hash_share(task.document(example)) for example in dev]
        train = [example for example, share in zip(dev, shares, strict=True) if share < SPLIT_TRAIN_SHARE]
        dev = [example for example, share in zip(dev, shares, strict=True) if share >= SPLIT_TRAIN_SHARE]
    else:
        train = read_examples(task, train_file)
    train, leaked = without_leaks(train, dev)
    if train_file is None:
        notes.append(
            f"split of dev: no train file, {len(train)} dev examples to train on and the other {len(dev)} scored"
        )
    if leaked:
        notes.append(f"{leaked:,} train examples left out, as their text is a dev text")
    for split, file in (("train", train_file), ("dev", dev_file)):
        if file and file.suffix != SUFFIX and file.name.split(f".{task.suffix}")[0] != f"{task.folder}_{split}":
            notes.append(f"{split} from {file.name}")
    kept = train if max_train is None else sample_by_hash(train, max_train)
    if not kept or not dev:
        raise UserError(
            f"{task.name}: {len(kept)} examples to train on, {len(dev)} to score",
            "both are needed",
            f"look into {data / task.folder}",
        )
    if len(kept) < len(train):
        notes.append(f"trained on {len(kept):,} of {len(train):,} examples")
    counts = {"train": len(kept), "dev": len(dev), "train_in_dev": leaked, "train_cut": len(train) - len(kept)}
    return Splits(kept, dev, "; ".join(notes), counts, files_hash(task, data))


def without_leaks(train: Sequence[Example], dev: Sequence[Example]) -> tuple[list[Example], int]:
    """Return the train examples whose texts (white space aside) are no dev example's, and how many were dropped."""
    known = {_texts(example) for example in dev}
    kept = [example for example in train if _texts(example) not in known]
    return kept, len(train) - len(kept)


def sample_by_hash(examples: Sequence[Example], count: int) -> list[Example]:
    """Return at most `count` examples, those with the smallest hash of the guid, in their own order.

    A smaller sample is part of a larger one, and the choice does not depend on the order of the file, which is
    sorted by label in some copies.
    """
    chosen = sorted(range(len(examples)), key=lambda i: hash_share(examples[i].guid))[:count]
    return [examples[i] for i in sorted(chosen)]


def hash_share(guid: str) -> float:
    """Return a number in [0, 1) that depends on the guid alone, spread evenly over guids."""
    return int.from_bytes(hashlib.blake2b(guid.encode(), digest_size=8).digest(), "big") / 2**64


def _texts(example: Example) -> tuple[str, ...]:
    return tuple(" ".join(text.split()) for text in example.texts)
