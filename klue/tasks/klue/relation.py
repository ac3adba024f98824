"""KLUE-RE: the relation between two entities of a sentence, one of 30; micro F1 and the area under precision-recall.

The entities are put between markers, which are special tokens of their own. With WordPiece the text between them is
tokenised part by part, as the authors do: text right after an end marker begins with a continuation
token (##). With other tokenizers the sentence is tokenised as a whole and the markers are put in, so that its tokens
stay those of running text. An entity may end the sentence (the authors' code fails on it).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, ClassVar

from data.nfc import composed, composed_span
from klue.metrics.pairs import Weighted
from klue.metrics.relations import weighted_relation_scores
from klue.tasks.base import AuthorsValues, Columns, Example, Features, Outputs, Sizes, Task
from klue.tasks.fields import finite, given_text, one_of
from klue.tasks.sentences import Classification
from klue.tokens import BARE, cut, marks_continuations, only_space, pieces, place_of

MARKERS = ("<subj>", "</subj>", "<obj>", "</obj>")


class RelationExtraction(Classification):
    name = "klue-re"
    title = "KLUE-RE"
    folder = "klue-re-v1.1"
    hub_config = "re"
    sizes = Sizes(32_470, 7765)
    markers = MARKERS
    labels = (
        *("no_relation", "org:dissolved", "org:founded", "org:place_of_headquarters", "org:alternate_names"),
        *("org:member_of", "org:members", "org:political/religious_affiliation", "org:product", "org:founded_by"),
        *("org:top_members/employees", "org:number_of_employees/members", "per:date_of_birth", "per:date_of_death"),
        *("per:place_of_birth", "per:place_of_death", "per:place_of_residence", "per:origin", "per:employee_of"),
        *("per:schools_attended", "per:alternate_names", "per:parents", "per:children", "per:siblings", "per:spouse"),
        *("per:other_family", "per:colleagues", "per:product", "per:religion", "per:title"),
    )
    unlabelled_fields = "sentence, subject_entity and object_entity with start_idx and end_idx"
    metrics: ClassVar[dict[str, str]] = {"micro_f1": "micro F1", "auprc": "AUPRC"}
    score = Task.score
    authors = AuthorsValues(
        epochs=3, max_seq_len=256, large={"epochs": 10, "learning_rate": 2e-5, "warmup_share": 0.2, "global_batch": 16}
    )

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return a sentence with the places of its entities, (start, end) of subject and object, end exclusive."""
        sentence = given_text(record, "sentence")
        spans = []
        for role in ("subject_entity", "object_entity"):
            start = int(record[role]["start_idx"])
            end = int(record[role]["end_idx"]) + 1
            if not 0 <= start < end <= len(sentence):
                raise ValueError(f"{role} stands at {start} to {end - 1}, the sentence has {len(sentence)} characters")
            spans.append(composed_span(start, end, sentence))
        (first, first_end), (second, _) = sorted(spans)
        if first_end > second:
            raise ValueError(f"the entities at {first} and {second} overlap")
        label = one_of(record["label"], self.labels, self.name)
        return [Example(record.get("guid", guid), (composed(sentence),), label, [list(span) for span in spans])]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        return self.read({**record, "guid": guid, "label": self.labels[0]}, guid)

    def contradiction(self, record: Any) -> str:
        """Return the entity whose `word` is not what stands at its place."""
        for role in ("subject_entity", "object_entity"):
            entity = record[role]
            text = record["sentence"][int(entity["start_idx"]) : int(entity["end_idx"]) + 1]
            if "word" in entity and composed(str(entity["word"])) != composed(text):
                return f"{role} is {entity['word']!r}, at {entity['start_idx']} to {entity['end_idx']} stands {text!r}"
        return ""

    def features(self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool) -> Columns:
        """Return ids of the marked sentences, cut at their end where they are too long, and the relations' indices."""
        marked = _tokenise_parts if marks_continuations(tokenizer) or not tokenizer.is_fast else _insert_markers
        whole = marked(examples, tokenizer)
        rows = [[tokenizer.cls_token_id, *ids[: max_length - 2], tokenizer.sep_token_id] for ids in whole]
        return {
            "cut": [len(ids) > max_length - 2 for ids in whole],
            "input_ids": rows,
            "labels": [self.target(example) for example in examples],
        }

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[dict[str, Any]]:
        """Return the likeliest relation and the probabilities of all, in the order of `labels`."""
        best = super().decode(outputs, features)
        return [
            {"label": label, "probabilities": list(shares.values())}
            for label, shares in zip(best, self.probabilities(outputs), strict=True)
        ]

    def check(self, prediction: Any, label: Any) -> dict[str, Any]:
        """Return the prediction; raises ValueError when its label is outside the set, or it has not 30 finite numbers.
        They need not add up to 1: they may have been rounded, and the area goes by their order alone."""
        if not isinstance(prediction, dict) or not {"label", "probabilities"} <= prediction.keys():
            raise ValueError('a prediction is {"label", "probabilities"}')
        shares = prediction["probabilities"]
        if not isinstance(shares, list) or len(shares) != len(self.labels):
            raise ValueError(f"probabilities is not a list of {len(self.labels)} numbers")
        shares = [finite(share, self.name) for share in shares]
        return {"label": one_of(prediction["label"], self.labels, self.name), "probabilities": shares}

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_relation_scores(
            gold,
            [prediction["label"] for prediction in predictions],
            [prediction["probabilities"] for prediction in predictions],
            self.labels,
        )


def _insert_markers(examples: Sequence[Example], tokenizer: Any) -> list[list[int]]:
    """Return the ids of the sentences, each tokenised as a whole, with the markers put in where entities stand. A token
    that continues over the edge of an entity is cut there, where the vocabulary has both sides."""
    encoded = tokenizer([example.texts[0] for example in examples], **BARE, return_offsets_mapping=True)
    spaces = only_space(encoded["input_ids"], tokenizer)
    rows = []
    for example, ids, offsets in zip(examples, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        text, edges = example.texts[0], _edges(example)
        tokens = cut(pieces(text, ids, offsets, spaces), [place for place, _ in edges], text, tokenizer)
        row: list[int] = []
        done = 0
        for place, marker in edges:
            upto = max(done, place_of(tokens, place, begins="/" not in marker))
            row += [*(piece.id for piece in tokens[done:upto]), tokenizer.convert_tokens_to_ids(marker)]
            done = upto
        rows.append([*row, *(piece.id for piece in tokens[done:])])
    return rows


def _tokenise_parts(examples: Sequence[Example], tokenizer: Any) -> list[list[int]]:
    """Return the ids of the sentences as the authors make them: what stands between markers is tokenised by itself."""
    parts = []
    for example in examples:
        text, edges = example.texts[0], _edges(example)
        cuts = [0, *(place for place, _ in edges), len(text)]
        parts.append([text[start:end] for start, end in pairwise(cuts)])
    flat = list(chain.from_iterable(parts))
    encoded = iter(tokenizer(flat, **BARE)["input_ids"])
    vocabulary = tokenizer.get_vocab()
    rows = []
    for example, texts in zip(examples, parts, strict=True):
        ids: list[int] = []
        marks = [tokenizer.convert_tokens_to_ids(marker) for _, marker in _edges(example)]
        for place, text in enumerate(texts):
            piece = next(encoded)
            if place in (2, 4) and piece and not text[0].isspace():
                piece = _as_continuation(piece, text[0], tokenizer, vocabulary)
            ids += [*piece, *marks[place : place + 1]]
        rows.append(ids)
    return rows


def _edges(example: Example) -> list[tuple[int, str]]:
    subject, object_ = example.given
    entities = sorted(((tuple(subject), MARKERS[:2]), (tuple(object_), MARKERS[2:])))
    return [edge for span, marks in entities for edge in zip(span, marks, strict=True)]


def _as_continuation(piece: list[int], character: str, tokenizer: Any, vocabulary: dict[str, int]) -> list[int]:
    """Return the ids after a marker so that they continue the word before it, where the vocabulary allows. WordPiece:
    Hangul takes its continuation form. SentencePiece: the sign of a space, which is not there, goes."""
    token = tokenizer.convert_ids_to_tokens(piece[0])
    if token == "▁":
        return piece[1:]
    if token.startswith("▁"):
        return [vocabulary.get(token[1:], piece[0]), *piece[1:]]
    if "가" <= character <= "힣" and not token.startswith("##"):
        return [vocabulary.get(f"##{token}", piece[0]), *piece[1:]]
    return piece
