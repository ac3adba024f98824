"""WoS: what a user has asked for by each of their turns, as a set of domain-slot-value; joint goal accuracy and F1.

The model is TRADE (Wu et al. 2019): for each of the 45 slots a gate says whether it is empty, "dontcare", "yes", "no"
or a text, and a decoder writes that text from the vocabulary and from the dialogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, ClassVar

from data.nfc import composed
from klue.metrics.pairs import Weighted
from klue.metrics.sets import weighted_state_scores
from klue.tasks.base import AuthorsValues, Columns, Example, Features, Outputs, Sizes, Task
from klue.tasks.fields import text_field
from klue.tokens import ids_of, in_running_text

_SLOTS = {
    "관광": ("경치 좋은", "교육적", "도보 가능", "문화 예술", "역사적", "이름", "종류", "주차 가능", "지역"),
    "숙소": (
        *("가격대", "도보 가능", "수영장 유무", "스파 유무", "예약 기간", "예약 명수", "예약 요일", "이름"),
        *("인터넷 가능", "조식 가능", "종류", "주차 가능", "지역", "헬스장 유무", "흡연 가능"),
    ),
    "식당": (
        *("가격대", "도보 가능", "야외석 유무", "예약 명수", "예약 시간", "예약 요일", "이름", "인터넷 가능"),
        *("종류", "주류 판매", "주차 가능", "지역", "흡연 가능"),
    ),
    "지하철": ("도착지", "출발 시간", "출발지"),
    "택시": ("도착 시간", "도착지", "종류", "출발 시간", "출발지"),
}
SLOTS = tuple(f"{domain}-{slot}" for domain, slots in _SLOTS.items() for slot in slots)
"""All 45, in the order of the benchmark's ontology."""
GATES = ("none", "dontcare", "ptr", "yes", "no")
"""What a slot's gate says: empty, one of three fixed values, or (ptr) a text."""
NONE = "none"
STEPS = 10
"""Tokens of a value that are decoded at most when predicting."""


class DialogueStates(Task):
    name = "wos"
    title = "WoS"
    folder = "wos-v1.1"
    hub_config = "wos"
    # turns of the user in 8,000 dialogues, at the 7.2 each of dev some 57,800; in 1,000 dialogues
    sizes = Sizes(50_000, 7224)
    head = "trade"
    outputs = len(GATES)
    writes_text = True
    unlabelled_fields = "dialogue, a list of turns with role (user, sys) and text"
    metrics: ClassVar[dict[str, str]] = {"joint_goal_accuracy": "JGA", "slot_micro_f1": "slot F1"}
    extra_metrics: ClassVar[dict[str, str]] = {"slot_true_micro_f1": "slot F1, true micro"}
    selection = "slot_micro_f1"
    authors = AuthorsValues(
        epochs=5, learning_rate=3e-5, global_batch=16, weight_decay=0.01, max_seq_len=510, large={"learning_rate": 2e-5}
    )

    def read(self, record: Any, guid: str) -> Iterator[Example]:
        """Yield one example a user turn, named by the dialogue's guid and the turn's number among the user's."""
        dialogue, name = record["dialogue"], record.get("guid", guid)
        turns: list[str] = []
        number, system = 0, ""
        for turn in dialogue:
            text = text_field(turn, "text")
            if turn["role"] != "user":
                system = text
                continue
            turns += [system, text]
            state = turn["state"]
            split_state(state)
            yield Example(f"{name}-{number}", tuple(turns), [composed(str(entry)) for entry in state], name)
            number, system = number + 1, ""

    def contradiction(self, record: Any) -> str:
        """Return the slot that has two values in one turn."""
        for turn in record["dialogue"]:
            values: dict[str, str] = {}
            for entry in map(str, turn.get("state") or ()):
                slot, _, value = composed(entry).rpartition("-")
                if values.setdefault(slot, value) != value:
                    return f"{slot} is both {values[slot]!r} and {value!r}"
        return ""

    def unlabelled(self, record: Any, guid: str) -> Iterator[Example]:
        yield from self.read({"guid": guid, "dialogue": [{**turn, "state": []} for turn in record["dialogue"]]}, guid)

    def document(self, example: Example) -> str:
        return str(example.given)

    def features(self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool) -> Columns:
        """Return ids, cut at their beginning where they are too long, each slot's gate, and the values' ids in one row.
        The input is [CLS] then the turns, system and user in turn, each but the first after a [SEP], and [SEP]."""
        separator = tokenizer.sep_token_id
        said = ids_of((turn for example in examples for turn in example.texts), tokenizer)
        states = [split_state(example.label) for example in examples]
        texts = sorted({NONE, *(value for state in states for value in state.values())})
        value_ids = dict(zip(texts, in_running_text(texts, tokenizer), strict=True))
        steps = 1 + max(map(len, value_ids.values()))
        pad = tokenizer.pad_token_id
        rows = []
        gates = []
        values = []
        cut = []
        for example, state in zip(examples, states, strict=True):
            ids: list[int] = []
            for number, turn in enumerate(example.texts):
                # the turns before the last two come first, and a [SEP] stands between them and these
                ids += ([separator] if number else []) + said[turn]
            if len(example.texts) == 2:
                ids = [separator, *ids]  # an empty history
            cut.append(len(ids) > max_length - 2)
            rows.append([tokenizer.cls_token_id, *ids[-(max_length - 2) :], separator])
            gates.append([_gate(state.get(slot, NONE)) for slot in SLOTS])
            slot_values = [[*value_ids[state.get(slot, NONE)], separator] for slot in SLOTS]
            values.append([token for ids in slot_values for token in [*ids, *[pad] * (steps - len(ids))]])
        return {"cut": cut, "input_ids": rows, "gates": gates, "values": values}

    def shared(self, tokenizer: Any) -> dict[str, Any]:
        """Return the ids of each slot's words, filled up to one length, and the ids of [SEP] and of padding."""
        words = in_running_text([slot.replace("-", " ") for slot in SLOTS], tokenizer)
        longest, pad = max(map(len, words)), tokenizer.pad_token_id
        return {"slots": [[*ids, *[pad] * (longest - len(ids))] for ids in words], "pad": pad, "steps": STEPS}

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[list[str]]:
        """Return the slots that are not empty, with their values; a text ends at the first special token."""
        special = set(tokenizer.all_special_ids)
        texts: dict[tuple[int, ...], str] = {}
        states = []
        for gates, values in zip(outputs["gates"], outputs["values"], strict=True):
            state = []
            for slot, gate, ids in zip(SLOTS, gates.tolist(), values.reshape(len(SLOTS), -1), strict=True):
                value = GATES[gate]
                if value == "ptr":
                    text_ids = tuple(takewhile(lambda token: token not in special, ids.tolist()))
                    if text_ids not in texts:
                        texts[text_ids] = _text(tokenizer.decode(text_ids, skip_special_tokens=True)) or NONE
                    value = texts[text_ids]
                if value != NONE:
                    state.append(f"{slot}-{value}")
            states.append(state)
        return states

    def check(self, prediction: Any, label: Any) -> list[str]:
        """Return the state; raises ValueError where it is no list of "domain-slot-value" with the benchmark's slots."""
        if not isinstance(prediction, list) or not all(isinstance(item, str) for item in prediction):
            raise ValueError('a prediction is a list of "domain-slot-value"')
        prediction = [composed(entry) for entry in prediction]
        for entry in prediction:
            _slot_and_value(entry)
        return prediction

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_state_scores(gold, predictions)


def split_state(state: Any) -> dict[str, str]:
    """Return {domain-slot: value} of a turn's state. Raises ValueError for other forms and unknown slots."""
    if not isinstance(state, list):
        raise ValueError("a user turn's state is a list")
    values = {}
    for entry in state:
        slot, value = _slot_and_value(composed(str(entry)))
        if not value:
            raise ValueError(f"{entry!r} has no value")
        values[slot] = value.strip()
    return values


def _slot_and_value(entry: str) -> tuple[str, str]:
    """Return the slot and the value, which may be empty, of "domain-slot-value"; raises ValueError for other slots."""
    domain, _, slot_and_value = entry.partition("-")
    slot, hyphen, value = slot_and_value.partition("-")
    if f"{domain}-{slot}" not in SLOTS or not hyphen:
        raise ValueError(f"{entry!r} is not a slot of the benchmark with a value")
    return f"{domain}-{slot}", value


def _text(decoded: str) -> str:
    """Return a value as the benchmark writes it: WordPiece sets punctuation apart."""
    return decoded.replace(" : ", ":").replace(" , ", ", ").replace("##", "").strip()


def _gate(value: str) -> int:
    return GATES.index(value) if value in GATES and value != "ptr" else GATES.index("ptr")
