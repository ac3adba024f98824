"""KLUE-DP: head and relation of every word (eojeol); macro F1 as the benchmark counts them, and plain accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any, ClassVar

import numpy as np

from data.nfc import composed
from klue.metrics.dependencies import weighted_dependency_scores
from klue.metrics.pairs import Weighted
from klue.tasks.base import AuthorsValues, Columns, Example, Features, Outputs, Sizes, Task
from klue.tasks.fields import one_of, published_keys, shown, text_field
from klue.tasks.files import read_sentences
from klue.tokens import BARE, only_space

LABELS = (
    *("NP", "NP_AJT", "VP", "NP_SBJ", "VP_MOD", "NP_OBJ", "AP", "NP_CNJ", "NP_MOD", "VNP"),
    *("DP", "VP_AJT", "VNP_MOD", "NP_CMP", "VP_SBJ", "VP_CMP", "VP_OBJ", "VNP_CMP", "AP_MOD", "X_AJT"),
    *("VP_CNJ", "VNP_AJT", "IP", "X", "X_SBJ", "VNP_OBJ", "VNP_SBJ", "X_OBJ", "AP_AJT", "L"),
    *("X_MOD", "X_CNJ", "VNP_CNJ", "X_CMP", "AP_CMP", "AP_SBJ", "R", "NP_SVJ"),
)
"""Relations in the order of the paper's Table 14."""
TAGS = (
    *("NNG", "NNP", "NNB", "NP", "NR", "VV", "VA", "VX", "VCP", "VCN", "MMA", "MMD", "MMN", "MAG", "MAJ"),
    *("JC", "IC", "JKS", "JKC", "JKG", "JKO", "JKB", "JKV", "JKQ", "JX", "EP", "EF", "EC", "ETN", "ETM"),
    *("XPN", "XSN", "XSV", "XSA", "XR", "SF", "SP", "SS", "SE", "SO", "SL", "SH", "SW", "SN", "NA"),
)
"""Parts of speech; a word is known by its last morpheme's."""
IGNORED = -100
AUTHORS_BATCH = 64
"""Sentences of a batch when the authors' code scores."""


class DependencyParsing(Task):
    name = "klue-dp"
    title = "KLUE-DP"
    folder = "klue-dp-v1.1"
    hub_config = "dp"
    sizes = Sizes(10_000, 2000)
    suffix = "tsv"
    head = "biaffine"
    outputs = len(LABELS)
    offsets = True
    fill: ClassVar[dict[str, int]] = {"heads": IGNORED, "relations": IGNORED, "tags": len(TAGS)}
    unlabelled_fields = (
        "text, its words parted by blanks; and pos, a part of speech a word, where the parser reads them"
    )
    metrics: ClassVar[dict[str, str]] = {"uas_macro_f1": "UAS", "las_macro_f1": "LAS"}
    extra_metrics: ClassVar[dict[str, str]] = {
        "uas_micro_f1": "UAS, plain accuracy",
        "las_micro_f1": "LAS, plain accuracy",
        "las_macro_f1_without_pad": "LAS without the class PAD",
    }
    as_published = published_keys("uas_macro_f1", "las_macro_f1")
    odd_name = "heads beyond the last word"
    selection = "las_macro_f1"
    authors = AuthorsValues(epochs=10, max_seq_len=256, large={"epochs": 15, "warmup_share": 0.2})

    def records(self, stream: IO[bytes]) -> list[Any]:
        return read_sentences(stream, ("index", "word_form", "lemma", "pos", "head", "deprel"))

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return a sentence's words with their heads (0 = root) and relations; `given` are parts of speech."""
        index, words, tags, heads, labels = (record[k] for k in ("index", "word_form", "pos", "head", "deprel"))
        if record.get("last") and len(words) != len(record["head_line"].split()):
            raise ValueError("the file's last sentence is shorter than its head line says: the file was cut")
        if [int(i) for i in index] != list(range(1, len(words) + 1)):
            raise ValueError("the words are not numbered 1, 2, 3 …")
        last = [one_of(tag.split("+")[-1], TAGS, "parts of speech") for tag in tags]
        parse = self._parse([int(head) for head in heads], list(labels), len(words))
        return [Example(record.get("guid", guid), tuple(map(composed, words)), parse, last)]

    def contradiction(self, record: Any) -> str:
        """Return where a sentence's head line has other words than its rows, or its arcs are no tree."""
        text, words = record.get("head_line"), record.get("word_form", ())
        if text is not None and "".join(text.split()) != "".join("".join(words).split()):
            return f"the head line says {text!r}, the rows {' '.join(words)!r}"
        above = [int(head) for head in record.get("head", ())]
        if above and above.count(0) != 1:
            return f"{above.count(0)} words hang on the root"
        for word in range(1, len(above) + 1):
            reached = word
            for _ in above:
                reached = above[reached - 1] if reached else 0
            if reached:
                return f"the arcs of word {word} go in a circle"
        return ""

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the words; without parts of speech (`pos`) `given` is None."""
        words = text_field(record, "text").split()
        if not words:
            raise ValueError("'text' is empty")
        tags = record.get("pos")
        if tags is not None and (not isinstance(tags, list) or len(tags) != len(words)):
            raise ValueError(f"'pos' is a list of a part of speech for each of the {len(words)} words")
        last = tags and [one_of(str(tag).split("+")[-1], TAGS, "parts of speech") for tag in tags]
        return [Example(guid, tuple(words), {"heads": [0] * len(words), "labels": [LABELS[0]] * len(words)}, last)]

    def document(self, example: Example) -> str:
        return " ".join(example.texts)

    def features(self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool) -> Columns:
        """Return ids, and of each word its first and last token, head, relation and part of speech. A token that is
        only the space before a word is not its first, where another is. A word that the tokenizer makes nothing of
        stands as the unknown token. Words beyond `max_length` are left out."""
        texts = [" ".join(example.texts) for example in examples]
        encoded = tokenizer(texts, **BARE, return_offsets_mapping=True, verbose=False)
        unknown = tokenizer.pad_token_id if tokenizer.unk_token_id is None else tokenizer.unk_token_id
        spaces = only_space(encoded["input_ids"], tokenizer)
        columns: Columns = {name: [] for name in _COLUMNS}
        for number, example in enumerate(examples):
            pieces: list[list[int]] = [[] for _ in example.texts]
            starts = np.cumsum([0, *(len(word) + 1 for word in example.texts[:-1])])
            offsets = encoded["offset_mapping"][number]
            for token, (_, end) in zip(encoded["input_ids"][number], offsets, strict=True):
                # a token belongs where it ends: some hold, or are, the space before a word
                pieces[int(np.searchsorted(starts, end, side="right")) - 1].append(token)
            pieces = [piece or [unknown] for piece in pieces]
            first = len(pieces[0])
            pieces[0] = pieces[0][: max_length - 2]  # there is a word to parse
            ends = np.cumsum([len(piece) for piece in pieces])
            fitting = int(np.searchsorted(ends, max_length - 2, side="right"))
            ids = [token for piece in pieces[:fitting] for token in piece]
            heads = np.array(example.label["heads"][:fitting], np.int64)
            columns["cut"].append(fitting < len(pieces) or len(pieces[0]) < first)
            columns["input_ids"].append([tokenizer.cls_token_id, *ids, tokenizer.sep_token_id])
            signs = [next((i for i, token in enumerate(piece) if token not in spaces), 0) for piece in pieces[:fitting]]
            columns["first"].append(1 + np.concatenate(([0], ends[: fitting - 1])) + signs if fitting else ends[:0])
            columns["last"].append(ends[:fitting])  # after [CLS]
            columns["heads"].append(np.where(heads <= fitting, heads, IGNORED))
            columns["relations"].append([LABELS.index(label) for label in example.label["labels"][:fitting]])
            tags = example.given or [TAGS[-1]] * fitting
            columns["tags"].append([TAGS.index(tag) for tag in tags[:fitting]])
        return columns

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[dict[str, Any]]:
        """Return heads and relations; a word that was left out hangs on the word before it, by the first relation."""
        parses = []
        for i, example in enumerate(features.examples):
            fitting = len(features.columns["first"][i])
            words = len(example.texts)
            heads = outputs["heads"][i][:fitting].tolist() + list(range(fitting, words))
            labels = [LABELS[label] for label in outputs["relations"][i][:fitting]] + [LABELS[0]] * (words - fitting)
            parses.append({"heads": [int(head) for head in heads], "labels": labels})
        return parses

    def published(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> dict[str, float]:
        """Return the F1 where padding can be a head: with the authors its arcs score 0, and others may score less. How
        much padding there is depends on a batch: the authors', 64 sentences in the order of the file."""
        parses = self.decode(outputs, features)
        words = [len(row) for row in features.columns["first"]]
        for i, fitting in enumerate(words):
            begin = i - i % AUTHORS_BATCH
            if fitting == max(words[begin : begin + AUTHORS_BATCH]):
                continue
            padded = outputs["highest"][i][:fitting] < 0
            heads = [fitting + 1 if pad else head for head, pad in zip(parses[i]["heads"], padded, strict=False)]
            parses[i]["heads"][:fitting] = heads
        scores = self.score(features.labels, parses)
        return {key: scores[name] for name, key in self.as_published.items()}

    def check(self, prediction: Any, label: Any) -> dict[str, Any]:
        """Return heads and relations; raises ValueError where they are not one a word. A head beyond the last word is
        let through: the authors' models give some, and their metric counts them wrong."""
        if not isinstance(prediction, dict) or not {"heads", "labels"} <= prediction.keys():
            raise ValueError('a prediction is {"heads", "labels"}')
        return self._parse(prediction["heads"], prediction["labels"], len(label["heads"]), beyond=True)

    def odd(self, prediction: Any, label: Any) -> int:
        return sum(head > len(label["heads"]) for head in prediction["heads"])

    def _parse(self, heads: Any, labels: Any, words: int, beyond: bool = False) -> dict[str, Any]:
        if not isinstance(heads, list) or not isinstance(labels, list) or not len(heads) == len(labels) == words:
            raise ValueError(f"heads and labels are lists of one entry for each of the {words} words")
        for head in heads:
            if isinstance(head, bool) or not isinstance(head, int) or head < 0 or (head > words and not beyond):
                raise ValueError(
                    f"head {shown(head)} is not a word's number, or 0 for the root; there are {words} words"
                )
        return {"heads": heads, "labels": [one_of(label, LABELS, self.name) for label in labels]}

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_dependency_scores(gold, predictions, LABELS)


_COLUMNS = ("cut", "input_ids", "first", "last", "heads", "relations", "tags")
