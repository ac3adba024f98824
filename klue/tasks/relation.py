"""KLUE-RE: the relation between two entities of a sentence, one of 30; micro F1 and the area under precision-recall.

The entities are put between markers, which are special tokens of their own. Text that goes on after an end marker
without a space goes on with a continuation piece (##), as it did before the marker was there. An entity may end the
sentence (the authors' code fails on it).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, ClassVar

import numpy as np

from klue.metrics import auprc, micro_f1
from klue.tasks.base import AuthorsValues, Classification, Example, Features, Outputs, finite, one_of, text_field

MARKERS = ("<subj>", "</subj>", "<obj>", "</obj>")


class RelationExtraction(Classification):
    """Relation extraction with marked entities."""

    name = "klue-re"
    key = "re"
    title = "KLUE-RE"
    folder = "klue-re-v1.1"
    hub_config = "re"
    dev_examples = 7765
    markers = MARKERS
    labels = (
        "no_relation",
        "org:dissolved",
        "org:founded",
        "org:place_of_headquarters",
        "org:alternate_names",
        "org:member_of",
        "org:members",
        "org:political/religious_affiliation",
        "org:product",
        "org:founded_by",
        "org:top_members/employees",
        "org:number_of_employees/members",
        "per:date_of_birth",
        "per:date_of_death",
        "per:place_of_birth",
        "per:place_of_death",
        "per:place_of_residence",
        "per:origin",
        "per:employee_of",
        "per:schools_attended",
        "per:alternate_names",
        "per:parents",
        "per:children",
        "per:siblings",
        "per:spouse",
        "per:other_family",
        "per:colleagues",
        "per:product",
        "per:religion",
        "per:title",
    )
    metrics: ClassVar[dict[str, str]] = {"micro_f1": "micro F1", "auprc": "AUPRC"}
    selection = "micro_f1"
    authors = AuthorsValues(
        epochs=3,
        epochs_large=10,
        learning_rate=5e-5,
        learning_rate_large=2e-5,
        warmup_share=0.1,
        warmup_share_large=0.2,
        batch_size_large=16,
        max_length=256,
    )

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return a sentence with the places of its entities, (start, end) of subject and object, end exclusive."""
        sentence = text_field(record, "sentence")
        spans = []
        for role in ("subject_entity", "object_entity"):
            start, end = int(record[role]["start_idx"]), int(record[role]["end_idx"]) + 1
            if not 0 <= start < end <= len(sentence):
                raise ValueError(f"{role} stands at {start} to {end - 1}, the sentence has {len(sentence)} characters")
            spans.append((start, end))
        (first, first_end), (second, _) = sorted(spans)
        if first_end > second:
            raise ValueError(f"the entities at {first} and {second} overlap")
        label = one_of(record["label"], self.labels, self.name)
        return [Example(record.get("guid", guid), (sentence,), label, [list(span) for span in spans])]

    def features(
        self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool
    ) -> dict[str, list[Any]]:
        """Return ids of the marked sentences, cut at their end where they are too long, and the relations' indices."""
        parts = [_parts(example) for example in examples]
        texts = [text for texts, _ in parts for text in texts]
        encoded = iter(tokenizer(texts, add_special_tokens=False, return_attention_mask=False)["input_ids"])
        marker_ids = dict(zip(MARKERS, tokenizer.convert_tokens_to_ids(list(MARKERS)), strict=True))
        vocabulary = tokenizer.get_vocab()
        rows = []
        for texts, marks in parts:
            ids: list[int] = []
            for place, text in enumerate(texts):
                piece = next(encoded)
                if place in (2, 4) and piece and not text[0].isspace():
                    piece = _going_on(piece, text[0], tokenizer, vocabulary)
                ids += piece
                if place < 4:
                    ids.append(marker_ids[marks[place]])
            rows.append([tokenizer.cls_token_id, *ids[: max_length - 2], tokenizer.sep_token_id])
        return {
            "owner": list(range(len(examples))),
            "input_ids": rows,
            **({"token_type_ids": [[0] * len(row) for row in rows]} if token_types else {}),
            "labels": [self.target(example) for example in examples],
        }

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[dict[str, Any]]:
        """Return the likeliest relation and the probabilities of all, in the order of `labels`."""
        logits_NC = np.stack(outputs["logits"])
        shares_NC = np.exp(logits_NC - logits_NC.max(axis=1, keepdims=True))
        shares_NC /= shares_NC.sum(axis=1, keepdims=True)
        best = super().decode(outputs, features)
        return [
            {"label": label, "probabilities": [float(share) for share in shares]}
            for label, shares in zip(best, shares_NC, strict=True)
        ]

    def check(self, prediction: Any, label: Any) -> dict[str, Any]:
        """Return the prediction; raises ValueError when its label is outside the set, or it has not 30 finite numbers.

        They need not add up to 1: they may have been rounded, and the area goes by their order alone.
        """
        if not isinstance(prediction, dict) or not {"label", "probabilities"} <= prediction.keys():
            raise ValueError('a prediction is {"label", "probabilities"}')
        shares = prediction["probabilities"]
        if not isinstance(shares, list) or len(shares) != len(self.labels):
            raise ValueError(f"probabilities is not a list of {len(self.labels)} numbers")
        shares = [finite(share, self.name) for share in shares]
        return {"label": one_of(prediction["label"], self.labels, self.name), "probabilities": shares}

    def score(self, gold: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
        """Return micro F1 over the relations but no_relation, and the mean area under precision-recall of all 30."""
        return {
            "micro_f1": micro_f1(gold, [prediction["label"] for prediction in predictions], self.labels),
            "auprc": auprc(gold, [prediction["probabilities"] for prediction in predictions], self.labels),
        }


def _parts(example: Example) -> tuple[list[str], list[str]]:
    """Return the five parts that a sentence's entities cut it into, and the four markers between them."""
    text, (subject, object_) = example.texts[0], example.given
    entities = sorted(((tuple(subject), MARKERS[:2]), (tuple(object_), MARKERS[2:])))
    cuts = [0, *chain.from_iterable(span for span, _ in entities), len(text)]
    texts = [text[start:end] for start, end in pairwise(cuts)]
    return texts, list(chain.from_iterable(marks for _, marks in entities))


def _going_on(piece: list[int], character: str, tokenizer: Any, vocabulary: dict[str, int]) -> list[int]:
    """Return the ids after a marker so that they go on with the word before it, where the vocabulary allows.

    WordPiece: Hangul takes its continuation form. SentencePiece: the sign of a space, which is not there, goes.
    """
    token = tokenizer.convert_ids_to_tokens(piece[0])
    if token == "▁":
        return piece[1:]
    if token.startswith("▁"):
        return [vocabulary.get(token[1:], piece[0]), *piece[1:]]
    if "가" <= character <= "힣" and not token.startswith("##"):
        return [vocabulary.get(f"##{token}", piece[0]), *piece[1:]]
    return piece
