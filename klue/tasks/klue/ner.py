"""KLUE-NER: a label for every character that is no space; macro F1 of entities and of characters.

Labels stand at characters, a model's outputs at tokens. A token takes the label of its first character; in a
prediction its first character gets the token's label and the others the label inside of the same entity. Characters
are found by the tokenizer's offsets, so a word that becomes [UNK] keeps its place (the authors lose the characters
after it), and a token that is only the sign of a space has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO, Any, ClassVar

import numpy as np

from data.nfc import composed, origins
from klue.authors import token_places
from klue.metrics.entities import LABELS, TYPES, entity_spans, weighted_entity_scores
from klue.metrics.pairs import Weighted
from klue.tasks.base import AuthorsValues, Columns, Example, Features, Outputs, Sizes, Task
from klue.tasks.fields import given_text, one_of, published_keys
from klue.tasks.files import read_sentences
from klue.tokens import cut_rows, ids_of, marks_continuations, only_space, with_places

IGNORED = -100
"""Label of tokens that do not enter the loss."""
_MARKUP = re.compile(rf"[<>]|:({'|'.join(TYPES)})(?=>)")


class Ner(Task):
    name = "klue-ner"
    title = "KLUE-NER"
    folder = "klue-ner-v1.1"
    hub_config = "ner"
    sizes = Sizes(21_008, 5000)
    suffix = "tsv"
    head = "tokens"
    labels = LABELS
    offsets = True
    fill: ClassVar[dict[str, int]] = {"labels": IGNORED}
    decoding: ClassVar[tuple[str, ...]] = ("starts", "ends", "authors")
    unlabelled_fields = "text"
    metrics: ClassVar[dict[str, str]] = {"entity_macro_f1": "entity F1", "character_macro_f1": "char F1"}
    extra_metrics: ClassVar[dict[str, str]] = {"character_macro_f1_without_o": "char F1 without O"}
    as_published = published_keys("entity_macro_f1", "character_macro_f1")
    selection = "character_macro_f1"
    authors = AuthorsValues(
        epochs=3, warmup_share=0.0, max_seq_len=510, patience=5, large={"learning_rate": 1e-5, "global_batch": 8}
    )

    def records(self, stream: IO[bytes]) -> list[Any]:
        return read_sentences(stream, ("tokens", "ner_tags"))

    def read(self, record: Any, guid: str) -> list[Example]:
        characters, labels = record["tokens"], record["ner_tags"]
        text = "".join(characters)
        if record.get("last") and len(_plain(composed(record["head_line"]))) != len(_plain(composed(text))):
            raise ValueError("the file's last sentence is shorter than its head line says: the file was cut")
        if any(len(character) > 1 for character in characters):  # decomposed, a syllable a row
            characters = tuple(map(composed, characters))
            text = "".join(characters)
        long = [character for character in characters if len(character) != 1]
        if long:
            raise ValueError(f"{long[0]!r} is not one character")
        tags = [one_of(label, LABELS, self.name) for c, label in zip(characters, labels, strict=True) if c != " "]
        return [Example(record.get("guid") or guid, (text,), tags)]

    def contradiction(self, record: Any) -> str:
        """Return where a sentence's head line has another text than its rows, or an entity begins inside."""
        labels = record.get("ner_tags", [])
        for before, label in zip(["O", *labels], labels, strict=False):
            if str(label).startswith("I-") and str(before)[2:] != str(label)[2:]:
                return f"{label} stands behind {before}"
        if "head_line" in record:
            head, rows = (_plain(composed(text)) for text in (record["head_line"], "".join(record["tokens"])))
            return "" if head == rows else f"the head line says {head!r}, the rows {rows!r}"
        return ""

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        text = given_text(record, "text")
        if not text.strip(" "):
            raise ValueError("'text' is empty")
        return [Example(guid, (text,), ["O"] * sum(character != " " for character in text))]

    def features(self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool) -> Columns:
        """Return ids, each token's label, and its start and end among the characters that are no space. `authors` is
        what `klue.authors.token_places` says, where the authors' code takes the tokenizer."""
        encoded = with_places(
            [example.texts[0] for example in examples],
            tokenizer,
            truncation=True,
            max_length=max_length,
            return_token_type_ids=token_types,
        )
        columns: Columns = {name: [] for name in ("labels", "starts", "ends")}
        number = {label: index for index, label in enumerate(self.labels)}
        spaces = only_space(encoded["input_ids"], tokenizer)
        for example, ids, offsets in zip(examples, encoded["input_ids"], encoded["offset_mapping"], strict=True):
            starts, ends = places(example.texts[0], offsets, np.isin(ids, list(spaces)))
            gold = np.array([number[label] for label in example.label] or [0])
            columns["labels"].append(np.where(ends > starts, gold[np.minimum(starts, len(gold) - 1)], IGNORED))
            columns["starts"].append(starts)
            columns["ends"].append(ends)
        if self.as_published and (sign := _authors_sign(tokenizer)):
            words = [composed(example.texts[0]).split(" ") for example in examples]
            ids_of_words = ids_of((word for sentence in words for word in sentence), tokenizer)
            tokens = {word: tokenizer.convert_ids_to_tokens(ids) for word, ids in ids_of_words.items()}
            columns["authors"] = [
                _as_given(
                    token_places(
                        sentence, [tokens[w] for w in sentence], sign, tokenizer.unk_token, len(ids), max_length
                    ),
                    example.texts[0],
                )
                for example, sentence, ids in zip(examples, words, encoded["input_ids"], strict=True)
            ]
        names = [name for name in ("input_ids", "token_type_ids") if name in encoded]
        texts = [composed(example.texts[0]) for example in examples]
        columns["cut"] = cut_rows(encoded["input_ids"], [texts], tokenizer, max_length)
        return {**{name: encoded[name] for name in names}, **columns}

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[list[str]]:
        starts = features.columns["starts"]
        ends = features.columns["ends"]
        return [
            character_labels(tags, starts[i], ends[i], len(example.label), self.labels)
            for i, (tags, example) in enumerate(zip(outputs["tags"], features.examples, strict=True))
        ]

    def entities(self, outputs: Outputs, features: Features) -> list[list[dict[str, Any]]]:
        """Return each text's entities: `start` and `end` (exclusive) among its characters, `label`, `text`, and
        `probability`, the mean of its tokens'."""
        starts, ends = features.columns["starts"], features.columns["ends"]
        by_text: list[list[dict[str, Any]]] = []
        for i, labels in enumerate(self.decode(outputs, features)):
            text = features.examples[i].texts[0]
            places = [place for place, character in enumerate(text) if character != " "]
            entities = []
            for first, last, kind in entity_spans(labels):
                own = (starts[i] >= first) & (starts[i] < last) & (ends[i] > starts[i])
                start, end = places[first], places[last - 1] + 1
                certainty = float(outputs["certainty"][i][: len(own)][own].mean()) if own.any() else 0.0
                entity = {"start": start, "end": end, "label": kind, "text": text[start:end], "probability": certainty}
                entities.append(entity)
            by_text.append(entities)
        return by_text

    def published(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> dict[str, float]:
        """Return the F1 of the characters as the authors' code finds them; it drops gold's that it has none for."""
        if "authors" not in features.columns:
            return dict.fromkeys(self.as_published.values(), float("nan"))
        gold, predicted = [], []
        for tags, places, label in zip(outputs["tags"], features.columns["authors"], features.labels, strict=True):
            labels = [LABELS[tags[place // 2]] for place in places[: len(label)]]
            predicted.append(
                [_inside(label_) if place % 2 else label_ for label_, place in zip(labels, places, strict=False)]
            )
            gold.append(label[: len(labels)])
        scores = self.score(gold, predicted)
        return {key: scores[name] for name, key in self.as_published.items()}

    def check(self, prediction: Any, label: Any) -> list[str]:
        """Return the labels; raises ValueError where one is outside the set, or they are not one a character."""
        if not isinstance(prediction, list):
            raise ValueError("a prediction is a list of labels, one for each character that is no space")
        if len(prediction) != len(label):
            raise ValueError(f"{len(prediction)} labels for {len(label)} characters that are no space")
        return [one_of(item, self.labels, self.name) for item in prediction]

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_entity_scores(gold, predictions)


def places(text: str, offsets: Sequence[tuple[int, int]], spaces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each token starts and ends, (T,) both, among the characters of a text that are no space.

    Start and end are equal for a token that has no such character: a special token, the sign of a space, or one whose
    characters all began in tokens before it (bytes, ligatures).

    Args:
        spaces: which tokens are only the sign of a space, (T,), whatever their offsets.
    """
    before = np.concatenate(([0], np.cumsum([character != " " for character in text], dtype=np.int64)))
    offsets_T2 = np.asarray(offsets, np.int64).reshape(-1, 2)
    starts = before[offsets_T2[:, 0]]
    ends = np.where(spaces, 0, before[offsets_T2[:, 1]])
    reached = np.maximum.accumulate(np.concatenate(([0], ends)))[:-1]
    starts = np.maximum(starts, reached)
    return starts, np.maximum(starts, ends)


def character_labels(
    tags: np.ndarray, starts: np.ndarray, ends: np.ndarray, characters: int, names: Sequence[str] = LABELS
) -> list[str]:
    """Return the labels of a sentence's characters from its tokens' labels.

    A character that no token covers (a control character, or beyond the longest input) is O, but inside an entity
    that continues after it.

    Args:
        tags: indices in `names`, (T,) or more.
    """
    covered: list[str | None] = [None] * characters
    for token in np.flatnonzero(ends > starts).tolist():
        label = names[tags[token]]
        covered[starts[token]] = label
        for place in range(starts[token] + 1, ends[token]):
            covered[place] = _inside(label)
    labels: list[str] = []
    for place, label_here in enumerate(covered):
        after = next((label for label in covered[place:] if label), "O") if label_here is None else label_here
        continues = after[0] == "I" and bool(labels) and _inside(labels[-1]) == after
        labels.append(label_here or (after if continues else "O"))
    return labels


def _as_given(places_C: np.ndarray, text: str) -> np.ndarray:
    """Return `token_places` of a composed text for the characters of the text as given: a character that was composed
    of several takes the label inside of the same entity for all but the first."""
    if composed(text) is text:
        return places_C
    at, whole = origins(text), composed(text)
    sizes = [end - start for start, end, character in zip(at, at[1:], whole, strict=False) if character != " "]
    return np.array([p | (n > 0) for p, size in zip(places_C, sizes, strict=False) for n in range(size)], np.int64)


def _authors_sign(tokenizer: Any) -> str:
    """Return what the authors' code takes off tokens, or nothing where it refuses the tokenizer."""
    if tokenizer.unk_token is None:
        return ""
    if marks_continuations(tokenizer):
        return "##"
    kind = type(getattr(tokenizer, "backend_tokenizer", None) and tokenizer.backend_tokenizer.model).__name__
    return "▁" if kind == "Unigram" else ""


def _inside(label: str) -> str:
    return label if label == "O" else f"I-{label[2:]}"


def _plain(text: str) -> str:
    return _MARKUP.sub("", text).strip()
