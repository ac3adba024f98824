"""KLUE-MRC: the answer to a question in a passage, or none; exact match and the longest common run of characters.

As SQuAD 2.0: a long passage is read in windows that overlap; where the answer is not in a window, or there is none,
start and end are [CLS]; an answer is given when its score is higher than that of none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np

from common.bounded import load_json
from data.nfc import composed
from klue.authors import final_text, joined, words_around
from klue.metrics.pairs import Weighted
from klue.metrics.reading import (
    exact_match,
    overlap_f1,
    overlap_f1_as_published,
    rouge_w,
    same_text,
    weighted_reading_scores,
)
from klue.tasks.base import AuthorsValues, Columns, Example, Features, Outputs, Sizes, Task
from klue.tasks.fields import given_text, published_keys
from klue.tokens import BARE, marks_continuations, only_space, with_places

STEP = 128
"""Tokens from one window's start to the next's."""
QUESTION_TOKENS = 64
"""Longest question; what is beyond is cut."""
BEST = 20
"""Starts, and ends, that are looked at in a window, among them some that are not in the passage."""
ANSWER_TOKENS = 30
"""Longest answer."""
NULL_THRESHOLD = 0.0
"""How much more than the best answer "none" must score to be given."""


class ReadingComprehension(Task):
    name = "klue-mrc"
    title = "KLUE-MRC"
    folder = "klue-mrc-v1.1"
    hub_config = "mrc"
    sizes = Sizes(17_554, 5841)
    # a list of the first questions with their passages; there are also lists of all questions without
    partial_files: ClassVar[dict[str, tuple[str, ...]]] = {"dev": ("klue-mrc-v1.1_dev.first*.json",)}
    head = "span"
    outputs = 2
    """Start and end."""
    offsets = True
    decoding: ClassVar[tuple[str, ...]] = ("starts", "ends")
    writes_text = True
    unanswerable: ClassVar[bool] = True
    """Whether there are questions without an answer; else the best answer is always given."""
    unlabelled_fields = "question, context"
    metrics: ClassVar[dict[str, str]] = {"exact_match": "EM", "rouge_w": "ROUGE-W"}
    as_published = published_keys("exact_match", "rouge_w")
    selection = "rouge_w"
    authors = AuthorsValues(epochs=5, learning_rate=3e-5, warmup_share=0.0, global_batch=16, max_seq_len=510)

    def records(self, stream: IO[bytes]) -> list[Any]:
        """Return the questions, each with its passage, of the nested official file, or of a flat list."""
        loaded = load_json(stream.read(), place=True)
        if isinstance(loaded, list):
            return loaded
        if not isinstance(loaded, dict) or not isinstance(loaded.get("data"), list):
            raise ValueError('it is neither {"data": [...]} nor a list of questions')
        return [
            {"title": entry.get("title", ""), "context": paragraph["context"], **question}
            for entry in loaded["data"]
            for paragraph in entry["paragraphs"]
            for question in paragraph["qas"]
        ]

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return question and passage; the label are the answers' texts, `given` is where the first one starts. Answers
        of a question that is marked unanswerable are only plausible, wherever the file has them."""
        question = given_text(record, "question")
        context = given_text(record, "context")
        answers = record["answers"]
        if isinstance(answers, dict):  # columns, as the hub's copy has them
            pairs = zip(answers["text"], answers["answer_start"], strict=True)
            answers = [{"text": text, "answer_start": start} for text, start in pairs]
        if bool(record.get("is_impossible", False)):
            return [Example(record.get("guid", guid), (question, context), [], None)]
        if not answers:
            raise ValueError("there is no answer, and the question is not marked is_impossible")
        for answer in answers:
            text = given_text(answer, "text")
            start = int(answer["answer_start"])
            if not text or context[start : start + len(text)] != text:
                raise ValueError(f"an answer is not at character {start} of the context")
        texts = [answer["text"] for answer in answers]
        return [Example(record.get("guid", guid), (question, context), texts, int(answers[0]["answer_start"]))]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        return [Example(guid, (given_text(record, "question"), given_text(record, "context")), [], None)]

    def document(self, example: Example) -> str:
        return example.texts[1]

    def features(self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool) -> Columns:
        """Return the windows: ids, start and end of the answer, and each token's place in the passage. `starts` and
        `ends` are characters of the passage, -1 for tokens that are not of it or are only a space, and for those that
        have more around them in another window: these are not taken for a start."""
        frame = _frame(tokenizer)
        questions = tokenizer([composed(e.texts[0]) for e in examples], **BARE)
        # they may be longer than the model's positions: that is what windows are for
        passages = with_places([e.texts[1] for e in examples], tokenizer, **BARE, verbose=False)
        spaces = only_space(passages["input_ids"], tokenizer)
        columns: Columns = {name: [] for name in _COLUMNS}
        for number, example in enumerate(examples):
            # at most half of what there is, so that a short input, too, reads the passage
            asked = questions["input_ids"][number]
            question = asked[: min(QUESTION_TOKENS, (max_length - frame.size) // 2)]
            passage = np.array(passages["input_ids"][number], np.int64)
            offsets = np.array(passages["offset_mapping"][number], np.int64).reshape(-1, 2)
            owns = np.array([token not in spaces for token in passages["input_ids"][number]], bool)
            room = max_length - len(question) - frame.size
            head = [*frame.before, *question, *frame.between]
            target = _answer_tokens(example, offsets, owns)
            windows = _windows(len(passage), room)
            for window_number, (start, end) in enumerate(windows):
                ids = [*head, *passage[start:end].tolist(), *frame.after]
                inside = target is not None and start <= target[0] and target[1] < end
                answer = (target[0] - start + len(head), target[1] - start + len(head)) if inside and target else (0, 0)
                best = _most_context(windows, window_number)
                begin = np.full(len(ids), -1, np.int64)
                stop = np.full(len(ids), -1, np.int64)
                begin[len(head) : len(head) + end - start] = np.where(best & owns[start:end], offsets[start:end, 0], -1)
                stop[len(head) : len(head) + end - start] = np.where(owns[start:end], offsets[start:end, 1], -1)
                parts = len(frame.before), len(question), len(frame.between), len(ids) - len(head)
                types = np.repeat((0, *frame.types), parts).tolist()
                row = (number, len(question) < len(asked), ids, types, answer[0], answer[1], begin, stop)
                for name, value in zip(_COLUMNS, row, strict=True):
                    columns[name].append(value)
        if not token_types:
            del columns["token_type_ids"]
        return columns

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[str]:
        """Return the answers' texts, "" for none; the best over all windows of a question."""
        texts = []
        for example, best in zip(features.examples, _best(outputs, features), strict=True):
            starts, ends = (features.columns[name][best.row] for name in ("starts", "ends"))
            answered = best.answered if self.unanswerable else best.score > -np.inf
            texts.append(example.texts[1][starts[best.start] : ends[best.end]].strip() if answered else "")
        return texts

    def published(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> dict[str, float]:
        """Return the scores of the same answers with their texts made from whitespace words, see `klue.authors`."""
        wordpiece = marks_continuations(tokenizer)
        texts = []
        for example, best in zip(features.examples, _best(outputs, features), strict=True):
            if not best.answered:
                texts.append("")
                continue
            starts, ends, ids = (features.columns[name][best.row] for name in ("starts", "ends", "input_ids"))
            tokens = tokenizer.convert_ids_to_tokens(ids[best.start : best.end + 1].tolist())
            answer = joined(tokens if wordpiece else [tokenizer.convert_tokens_to_string(tokens)])
            words = composed(words_around(example.texts[1], int(starts[best.start]), int(ends[best.end])))
            texts.append(final_text(answer, words, bool(getattr(tokenizer, "do_lower_case", False))))
        scores = exact_match(features.labels, texts), rouge_w(features.labels, texts, overlap_f1_as_published)
        return dict(zip(self.as_published.values(), scores, strict=True))

    def check(self, prediction: Any, label: Any) -> str:
        if not isinstance(prediction, str):
            raise ValueError('a prediction is the answer\'s text, "" for none')
        return prediction

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_reading_scores(gold, predictions, {"exact_match": same_text, "rouge_w": overlap_f1})


class _Answer(NamedTuple):
    """The best answer of a question: its window, and its first and last token there."""

    score: float = -np.inf
    row: int = 0
    start: int = 0
    end: int = 0
    answered: bool = False
    """Whether it scores as much as none, or more."""


def _best(outputs: Outputs, features: Features) -> list[_Answer]:
    null = np.full(len(features.examples), np.inf)
    best = [_Answer()] * len(features.examples)
    for row, owner in enumerate(features.owner.tolist()):
        begin = features.columns["starts"][row]
        stop = features.columns["ends"][row]
        start_T = outputs["start"][row][: len(begin)]
        end_T = outputs["end"][row][: len(begin)]
        null[owner] = min(null[owner], float(start_T[0]) + float(end_T[0]))
        # of the best of all tokens those of the passage, as in SQuAD's reference code
        starts, ends = _highest(start_T), _highest(end_T)
        starts, ends = starts[begin[starts] >= 0], ends[stop[ends] >= 0]
        length = ends[None, :] - starts[:, None] + 1
        scores = np.where(
            (length >= 1) & (length <= ANSWER_TOKENS), start_T[starts][:, None] + end_T[ends][None, :], -np.inf
        )
        if scores.size and scores.max() > best[owner].score:
            at, to = np.unravel_index(int(scores.argmax()), scores.shape)
            best[owner] = _Answer(float(scores.max()), row, int(starts[at]), int(ends[to]))
    return [
        answer._replace(answered=bool(null[number] - answer.score <= NULL_THRESHOLD))
        for number, answer in enumerate(best)
    ]


_COLUMNS = ("owner", "cut", "input_ids", "token_type_ids", "start_positions", "end_positions", "starts", "ends")


class _Frame(NamedTuple):
    """The special tokens that a model wants around a pair, and the token types of question, middle and passage."""

    before: list[int]
    between: list[int]
    after: list[int]
    types: tuple[int, int, int]

    @property
    def size(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


def _frame(tokenizer: Any) -> _Frame:
    """Return how the tokenizer joins a pair, seen in one that it joins."""
    pair = tokenizer("1", "1", return_token_type_ids=True)
    ids = pair["input_ids"]
    types = pair["token_type_ids"]
    of = pair.sequence_ids(0)
    first = [i for i, side in enumerate(of) if side == 0]
    second = [i for i, side in enumerate(of) if side == 1]
    middle = ids[first[-1] + 1 : second[0]]
    middle_type = types[first[-1] + 1] if middle else types[second[0]]
    return _Frame(ids[: first[0]], middle, ids[second[-1] + 1 :], (types[first[0]], middle_type, types[second[0]]))


def _windows(tokens: int, room: int) -> list[tuple[int, int]]:
    """Return start and end of a passage's windows of `room` tokens, >= 1; they overlap by half at least."""
    windows = [(0, min(room, tokens))]
    step = min(STEP, max(1, room // 2))
    while windows[-1][1] < tokens:
        start = windows[-1][0] + step
        windows.append((start, min(start + room, tokens)))
    return windows


def _most_context(windows: Sequence[tuple[int, int]], window_number: int) -> np.ndarray:
    """Return which tokens of a window have most around them in it, of all windows they are in (the first of equals).
    What a token has around it is the smaller of the counts on its sides, plus a hundredth of the window's length, as in
    SQuAD's reference code."""
    start, end = windows[window_number]
    places = np.arange(start, end)
    best = np.full(len(places), -np.inf)
    winner = np.full(len(places), -1)
    for number, (first, last) in enumerate(windows):
        if last <= start or first >= end:
            continue
        around = np.minimum(places - first, last - 1 - places) + 0.01 * (last - first)
        around = np.where((places >= first) & (places < last), around, -np.inf)
        winner = np.where(around > best, number, winner)
        best = np.maximum(best, around)
    return winner == window_number


def _answer_tokens(example: Example, offsets: np.ndarray, owns: np.ndarray) -> tuple[int, int] | None:
    """Return the first and last token of the first answer, or None where there is none, or no token covers it.

    Args:
        offsets: the tokens' first characters and ends, (N, 2).
        owns: whether a token stands for more than a space, (N,).
    """
    if example.given is None:
        return None
    start = example.given
    end = example.given + len(example.label[0])
    covering = np.flatnonzero((offsets[:, 1] > start) & (offsets[:, 0] < end) & owns)
    return (int(covering[0]), int(covering[-1])) if len(covering) else None


def _highest(values: np.ndarray) -> np.ndarray:
    """Return the places of the `BEST` highest values, the first of equals first."""
    return np.argsort(-values, kind="stable")[:BEST]
