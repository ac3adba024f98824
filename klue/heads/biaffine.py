"""The benchmark's parser: words from their first and last tokens, a BiLSTM, an LSTM, biaffine arcs, bilinear labels.

After Dozat and Manning (2017) as in the KLUE paper, section 4.1. Lengths: B inputs, W words of the longest, D encoder.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoModel

from klue.heads.base import Head, encoder_inputs, load_encoder
from klue.plan import Job
from klue.settings import AUTHORS_PARSER_WIDTH
from klue.tasks.base import Task
from klue.tasks.klue.dp import IGNORED, TAGS

TAG = 256
"""Width of a part of speech."""
DROPOUT = 0.33


class BiaffineParser(Head):
    """Scores every word, and the root, as the head of every word; the label is that of the arc to the head."""

    def __init__(self, job: Job, task: Task, shared: dict[str, Any]) -> None:
        super().__init__()
        self.encoder = load_encoder(AutoModel, job, shared)
        input_width = 2 * self.encoder.config.hidden_size + (TAG if job.training.pos_tags else 0)
        width = job.training.parser_width or AUTHORS_PARSER_WIDTH  # of the LSTMs
        for_arc, for_label = 2 * width // 3, width // 3
        # the last index stands for words that are not there, and for the root
        self.tags = nn.Embedding(len(TAGS) + 1, TAG) if job.training.pos_tags else None
        self.reader = nn.LSTM(input_width, width, batch_first=True, bidirectional=True)
        self.writer = nn.LSTM(width, width, batch_first=True)
        self.to_writer = nn.Linear(2 * width, width)
        self.to_start = nn.Linear(2 * width, width)
        self.arc_head = nn.Linear(2 * width, for_arc)
        self.arc_word = nn.Linear(width, for_arc)
        self.label_head = nn.Linear(2 * width, for_label)
        self.label_word = nn.Linear(width, for_label)
        self.arc = nn.Parameter(_bilinear(1, for_arc)[0])
        self.labels = nn.Parameter(_bilinear(task.outputs, for_label))

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        arcs, heads_of, words = self._read(inputs)
        heads, labels = inputs["heads"], inputs["relations"]
        known = heads != IGNORED
        scores = self._labels(heads_of, words, heads.clamp_min(0))
        # a sum over a count that may be 0: in very short inputs no word has its head
        both = F.cross_entropy(arcs[known].float(), heads[known], reduction="sum")
        both = both + F.cross_entropy(scores[known].float(), labels[known], reduction="sum")
        return both / known.sum().clamp_min(1)

    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `heads`, `relations` (the labels of these arcs) and `highest` (the arcs' scores), (B, W) each."""
        arcs, heads_of, words = self._read(inputs)
        highest, heads = arcs.max(-1)
        return {"heads": heads, "relations": self._labels(heads_of, words, heads).argmax(-1), "highest": highest}

    def _read(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the arcs' scores, (B, W, 1 + W), and the words' states as heads, (B, 1 + W, …), and as words."""
        hidden = self.encoder(**encoder_inputs(inputs)).last_hidden_state
        first, last = inputs["first"], inputs["last"]
        # a word that is there has its first token after [CLS]; the root is [CLS] twice
        lengths = (first > 0).sum(1) + 1
        places = [F.pad(index, (1, 0)).unsqueeze(-1).expand(-1, -1, hidden.size(-1)) for index in (first, last)]
        word_states = torch.cat([hidden.gather(1, index) for index in places], -1)
        if self.tags is not None:
            tags = self.tags(F.pad(inputs["tags"], (1, 0), value=len(TAGS)))
            word_states = torch.cat([word_states, F.dropout1d(tags, DROPOUT, self.training)], -1)
        read, (_, cell) = self._run(self.reader, word_states, lengths, None)
        cell = self.to_start(cell.transpose(0, 1).flatten(1)).unsqueeze(0)
        written, _ = self._run(self.writer, F.elu(self.to_writer(read[:, 1:])), lengths - 1, (cell.tanh(), cell))
        arcs = (
            _with_ones(F.elu(self.arc_word(written)))
            @ self.arc
            @ _with_ones(F.elu(self.arc_head(read))).transpose(1, 2)
        )
        there = torch.arange(arcs.size(-1), device=arcs.device) < lengths[:, None]
        return arcs.masked_fill(~there[:, None, :], float("-inf")), read, written

    def _labels(self, read: Tensor, written: Tensor, heads: Tensor) -> Tensor:
        """Return the labels' scores of one arc a word, (B, W, labels)."""
        states = F.elu(self.label_head(read))
        chosen = states.gather(1, heads.unsqueeze(-1).expand(-1, -1, states.size(-1)))
        # two products, not nn.Bilinear, whose gradient takes several times as long on a CPU
        half = torch.einsum("bwi,cij->bwcj", _with_ones(F.elu(self.label_word(written))), self.labels)
        return (half @ _with_ones(chosen).unsqueeze(-1)).squeeze(-1)

    def _run(self, lstm: nn.LSTM, inputs: Tensor, lengths: Tensor, start: Any) -> tuple[Tensor, Any]:
        """Return an LSTM's outputs over sequences of their own lengths, whole features dropped out, and its state."""
        # every sequence has a step, so that one with no word (all cut off) goes through
        # on a GPU autocast computes an LSTM in float16, whatever it computes the rest in, and nothing scales the loss
        with torch.autocast(inputs.device.type, enabled=False):
            inputs = inputs.float()
            start = None if start is None else tuple(part.float() for part in start)
            packed = pack_padded_sequence(inputs, lengths.clamp_min(1).cpu(), batch_first=True, enforce_sorted=False)
            outputs, state = lstm(packed, start)
        unpacked, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.size(1))
        return F.dropout1d(unpacked.transpose(1, 2), DROPOUT, self.training).transpose(1, 2), state


def _bilinear(outputs: int, width: int) -> Tensor:
    """Return (outputs, width + 1, width + 1) drawn as the authors draw it: product and linear terms each by Glorot's
    rule, by the shapes that they have there, (outputs, width, width) and (outputs, width), and biases of 0."""
    made = torch.zeros(outputs, width + 1, width + 1)
    nn.init.xavier_uniform_(made[:, :width, :width])
    for linear in (made[:, :width, width], made[:, width, :width]):
        nn.init.xavier_uniform_(linear)
    return made


def _with_ones(states: Tensor) -> Tensor:
    """Return states with a 1 beside them: one product then holds the bilinear, both linear terms and the bias."""
    return F.pad(states, (0, 1), value=1.0)
