"""What a task is: how its records are read, which labels it has, how it is scored, and the authors' settings for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np

from common.bounded import load_json
from common.message import Message
from klue.metrics.pairs import Weighted
from klue.tasks.files import SUFFIX as HUB_SUFFIX
from klue.tasks.files import hub_records

SPLITS = ("train", "dev", "test")
LARGE_FROM_HIDDEN = 1024
"""Hidden size from which a model counts as "large" in the authors' settings (RoBERTa-large: 1024, base: 768)."""


@dataclass(frozen=True)
class Example:
    """One example of a task; everything in it can be written as JSON."""

    guid: str
    texts: tuple[str, ...]
    """What is read: one text, a pair, the words of a sentence, the turns of a dialogue."""
    label: Any
    """What is to be predicted, in the form of a predictions file; or as the task's gold file has it."""
    given: Any = None
    """What the task gives beside the texts: where entities stand, the words' tags."""


@dataclass(frozen=True)
class Features:
    """One split as numbers: E examples, N inputs of a model; a long example may be several inputs."""

    examples: list[Example]
    owner: np.ndarray
    """The example that each input is of, (N,), in the order of the examples."""
    columns: dict[str, list[np.ndarray] | np.ndarray]
    """Per input: `input_ids`, `token_type_ids` where a model has them, and what else the task's head takes; a list of
    arrays of different lengths, or one array (N,)."""

    shared: dict[str, Any] = field(default_factory=dict)
    """What the head must know of the tokenizer."""
    cut: int = 0
    """Inputs that some text was left out of for want of room."""

    @property
    def lengths(self) -> np.ndarray:
        """Return tokens per input, shape (N,)."""
        return np.array([len(row) for row in self.columns["input_ids"]], dtype=np.int64)

    @property
    def labels(self) -> list[Any]:
        """Return the gold labels, one an example."""
        return [example.label for example in self.examples]


Columns = dict[str, list[Any]]
"""Columns of features as a task makes them, one entry an input."""
Outputs = dict[str, list[np.ndarray]]
"""What a head puts out, one array an input; where it has a value a token, or a word, there may be more at the end."""


@dataclass(frozen=True)
class AuthorsValues:
    """What the benchmark authors' code fine-tunes with. Of suites whose authors state none they are those of a source
    that its folder names, or this project's own."""

    epochs: int
    learning_rate: float = 5e-5
    warmup_share: float = 0.1
    global_batch: int = 32
    weight_decay: float = 0.0
    max_seq_len: int = 128
    evaluations_per_epoch: int = 4
    patience: int = 0
    """Evaluations without a better score before training ends; 0 = it does not."""
    large: dict[str, float] = field(default_factory=dict)
    """What is other than above from hidden size 1024 on."""


class Sizes(NamedTuple):
    """Examples of train (at least), dev and public test, 0 where none are or it is not stated. Published rows are of
    models that learned from no fewer; a score on fewer or other dev examples than these is no score of the
    benchmark's."""

    train: int = 0
    dev: int = 0
    test: int = 0


TOO_FEW = "{have} of at least {want} train examples"
"""What is said of a train set that is smaller than the benchmark's."""


class Task(ABC):
    """A benchmark task. Subclasses say what differs; nothing here knows about torch."""

    name: ClassVar[str]
    """Name on the command line and in results: "klue-nli"."""
    title: ClassVar[str]
    """Name in tables."""
    folder: ClassVar[str]
    """Folder in the benchmark's official layout; its files are called <folder>_<split>.<suffix>."""
    suffix: ClassVar[str] = "json"
    """Ending of the official files."""
    scaled: ClassVar[bool] = False
    """Whether outputs begin with mean and spread of the train labels: numbers of any range are learned alike."""
    like: ClassVar[str] = ""
    """Task, or kind, whose labels and predictions have the same form; "": none has."""
    head: ClassVar[str] = "sequence"
    """What stands on the encoder, see klue/heads."""
    fill: ClassVar[dict[str, int]] = {}
    """What shorter rows of a column of the features are filled up with; 0 for columns that are not named."""
    decoding: ClassVar[tuple[str, ...]] = ()
    """Columns of the features that only `decode` reads; heads do not get them."""
    offsets: ClassVar[bool] = False
    """Whether features need to know where tokens stand in the text, which only "fast" tokenizers say."""
    text_columns: ClassVar[tuple[str, ...]] = ()
    """Fields with an example's texts, in the order in which they are read, where reading needs no more."""
    labels: ClassVar[tuple[str, ...]] = ()
    """The labels that a saved model of the library's says, in the order of its outputs; or none."""
    writes_text: ClassVar[bool] = False
    """Whether predictions are ids that only the tokenizer can turn into text."""
    markers: ClassVar[tuple[str, ...]] = ()
    """Special tokens that the task adds to the vocabulary."""
    choices: ClassVar[int] = 1
    """Texts that are read side by side for one example, one of which is the answer; 1 where there is no choice."""
    hub_config: ClassVar[str] = ""
    """Configuration of the hub's dataset `klue`; empty where only the official files are read."""
    files: ClassVar[tuple[str, ...]] = ()
    """Names in `folder` of the files of train, dev and test, "" where there is none; empty: see `file`."""
    sizes: ClassVar[Sizes] = Sizes()
    dev_share: ClassVar[float] = 0.0
    """Where the benchmark has no dev set: the share of the train set that is taken out for it."""
    transfer: ClassVar[str] = ""
    """Name of the task whose train set is learned from where the task's own is not at hand."""
    partial_files: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Split → globs of known incomplete files, tried when the official file is missing."""
    metrics: ClassVar[dict[str, str]]
    """Key of each metric of the paper's tables → its name there."""
    extra_metrics: ClassVar[dict[str, str]] = {}
    """Likewise for what is reported beside them: the paper's definition where the authors' code has another, say."""
    as_published: ClassVar[dict[str, str]] = {}
    """Metric of the paper's tables → key of what the authors' code makes of the same outputs, where ours makes
    something else of them: only beside that do published scores stand."""
    odd_name: ClassVar[str] = ""
    """What `odd` counts, in the plural."""
    authors: ClassVar[AuthorsValues]

    @property
    def selection(self) -> str:
        """Return the metric by which the best evaluation is chosen: by default the first one of the paper's tables."""
        return next(iter(self.metrics))

    def records(self, stream: IO[bytes]) -> list[Any]:
        """Return the records of an official file; by default it holds a JSON list of them. Raises ValueError where the
        file is not of that form."""
        records = load_json(stream.read(), place=True)
        if not isinstance(records, list):
            raise ValueError(f"it holds {type(records).__name__}, not a list of records")
        return records

    def records_of(self, stream: IO[bytes], path: Path) -> list[Any]:
        """Return the records of a file, the benchmark's own or the hub's Parquet; `path` tells which. Raises as
        `records`, and KeyError."""
        return hub_records(stream) if path.suffix == HUB_SUFFIX else self.records(stream)

    def file(self, split: str) -> str | None:
        """Return the place of a split's file in the suite's folder; None where the benchmark has no such split."""
        if self.files:
            name = self.files[SPLITS.index(split)]
            return f"{self.folder}/{name}" if name else None
        return f"{self.folder}/{self.folder}_{split}.{self.suffix}" if split in ("train", "dev") else None

    @property
    def rule(self) -> str:
        """Return what its gold files are, for messages."""
        return f"gold files of {self.name} are the benchmark's own {self.suffix.upper()} files, or the hub's Parquet"

    @property
    def scored_split(self) -> str:
        """Return the split that its table is of: "test" where that is public, else "dev"."""
        return "test" if self.sizes.test else "dev"

    def shortfalls(self, counts: Mapping[str, int]) -> list[Message]:
        """Return what of the benchmark's own sets is missing, one phrase a split: "35 of 519 dev examples"."""
        taken = counts["dev"] if self.dev_share else 0
        train = counts["train"] + counts.get("train_in_dev", 0) + counts.get("train_cut", 0) + taken
        missing: list[Message] = []
        if train < self.sizes.train:
            missing.append(Message(TOO_FEW, have=train, want=self.sizes.train))
        if self.sizes.dev and not self.dev_share and counts["dev"] != self.sizes.dev:
            missing.append(Message("{have} of {want} dev examples", have=counts["dev"], want=self.sizes.dev))
        if (test := counts.get("test", 0)) != self.sizes.test:
            missing.append(Message("{have} of {want} test examples", have=test, want=self.sizes.test))
        return missing

    @abstractmethod
    def read(self, record: Any, guid: str) -> Iterable[Example]:
        """Return the examples of a record: one, but of a dialogue one a user turn.

        Args:
            guid: the name to give it when it has none of its own.

        Raises:
            KeyError: a field is missing.
            ValueError: a field holds what the task does not allow.
        """

    def contradiction(self, record: Any) -> str:
        """Return what in a record that the task reads contradicts something else in it, for people; empty for none."""
        return ""

    @property
    def unlabelled_fields(self) -> str:
        """Return what a record without a label has, for people."""
        return ", ".join(self.text_columns) or "those of its records but for the label"

    def unlabelled(self, record: Any, guid: str) -> Iterable[Example]:
        """Return the examples of a record without a label; theirs is any that the task allows.

        Raises:
            KeyError: a field is missing.
            ValueError: a field holds what the task does not allow, or the task takes none without labels.
        """
        raise ValueError(f"{self.name} takes no texts without labels")

    def document(self, example: Example) -> str:
        """Return what an example shares with its neighbours: where dev is split, they stay on one side."""
        return example.texts[0]

    @property
    def set_aside(self) -> dict[str, list[str]]:
        """Return file → guids of its records that are left out, where a task has such: benchmarks' are all used."""
        return {}

    def split_key(self, example: Example) -> str:
        """Return the text whose hash decides whether a train example is taken for dev."""
        return example.guid

    @property
    def outputs(self) -> int:
        """Return the number of values that the head puts out for an input, a token or a word."""
        return len(self.labels)

    @abstractmethod
    def features(self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool) -> Columns:
        """Return the columns of the features, one entry an input, and `cut`, whether some of the example's text is left
        out of it; `owner`, the index of its example, where that is not its own; `token_type_ids` where not all are 0.

        Args:
            max_length: tokens at most, special ones included.
            token_types: whether the model takes `token_type_ids`.
        """

    def shared(self, tokenizer: Any) -> dict[str, Any]:
        """Return what the head must know of the tokenizer, as JSON; by default nothing."""
        return {}

    @abstractmethod
    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[Any]:
        """Return the predictions, one an example, in the form of the predictions file.

        Args:
            tokenizer: given to tasks that write text from ids (see `writes_text`).
        """

    def published(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> dict[str, float]:
        """Return the metrics × 100 that the authors' code gives outputs, by the keys in `as_published`. They are nan
        where that code does not take the tokenizer."""
        return {}

    def odd(self, prediction: Any, label: Any) -> int:
        """Return how many values of a checked prediction cannot be right, whatever the gold label: they are told of."""
        return 0

    @abstractmethod
    def check(self, prediction: Any, label: Any) -> Any:
        """Return one prediction of a predictions file, for an example with that gold label. Raises ValueError where it
        does not have the form that the task asks for."""

    def score(self, gold: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
        """Return the task's metrics × 100 for gold labels and predictions in the same order."""
        return self.weighted(gold, predictions)(np.ones(len(gold)))

    @abstractmethod
    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        """Return `score` by how often each example counts; a task whose metrics are functions of sums adds them up."""
