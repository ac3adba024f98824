"""TRADE (Wu et al. 2019): a gate for every slot, and a GRU that writes its value from vocabulary and dialogue.

Slots are decoded side by side, each from the pooled state (one after the other, as the authors' code does without its
parallel switch, the state of one slot runs into the next). Lengths: B inputs, J slots, S tokens, L steps, V
vocabulary, D width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel

from klue.heads.base import Head, encoder_inputs, family_error, load_encoder
from klue.heads.written import Copies, choice, loss_and_choice
from klue.plan import Job
from klue.tasks.base import Task
from klue.tasks.klue.wos import GATES

TEACHER_FORCING = 0.5
"""Share of the batches that are trained with the gold tokens as the decoder's inputs."""
TEXT = GATES.index("ptr")


class Trade(Head):
    """Encoder, gates and value generator; the decoder's embeddings are the encoder's."""

    def __init__(self, job: Job, task: Task, shared: dict[str, Any]) -> None:
        super().__init__()
        self.encoder = load_encoder(AutoModel, job, shared)
        if not isinstance(self.encoder.get_input_embeddings(), nn.Embedding):
            raise family_error(job, "they have no plain embeddings, which the decoder shares")
        config = self.encoder.config
        width = config.hidden_size
        self.pad, self.steps = shared["pad"], shared["steps"]
        self.texts_only = job.training.texts_only
        self.register_buffer("slots", torch.tensor(shared["slots"]), persistent=False)
        # the decoder reads and writes embeddings, which some encoders (ELECTRA small) have narrower than their states
        inner = self.encoder.get_input_embeddings().weight.shape[1]
        self.widen = nn.Linear(inner, width) if inner != width else nn.Identity()
        self.narrow = nn.Linear(width, inner) if inner != width else nn.Identity()
        dropout = job.training.dropout
        self.dropout = nn.Dropout(getattr(config, "hidden_dropout_prob", 0.1) if dropout is None else dropout)
        self.decoder = nn.GRUCell(width, width)
        self.mix = nn.Linear(3 * width, 1)
        self.gate = nn.Linear(width, task.outputs)
        # some encoders (ELECTRA, DeBERTa, ModernBERT) have no pooled output
        self.pooler = None if hasattr(self.encoder, "pooler") and self.encoder.pooler else nn.Linear(width, width)

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the mean cross entropy of the values' tokens plus that of the gates."""
        ids = inputs["input_ids"]
        values = inputs["values"].view(len(inputs["values"]), len(self.slots), -1)
        if self.texts_only:
            values = values.masked_fill((inputs["gates"] != TEXT)[..., None], self.pad)
        forced = bool(torch.rand(()) < TEACHER_FORCING)
        state, memory, mask = self._encode(inputs)
        word = self._slot_words(len(state))
        # slots with long values first: a slot whose value has ended is not decoded any further
        lengths = (values != self.pad).sum(-1)
        order = lengths.argsort(dim=1, descending=True, stable=True)
        values = values.gather(1, _like(order, values))
        word = word.gather(1, _like(order, word))
        weight = self.encoder.get_input_embeddings().weight
        same = None if forced else _same(ids)
        rows: list[tuple[Tensor, ...]] = []
        losses: list[Tensor] = []
        gates = None
        active_slots = (
            (lengths[..., None] > torch.arange(int(lengths.max()), device=ids.device)).sum(1).amax(0).tolist()
        )
        # every slot is in the first step, whose context the gates read
        for step, active in enumerate([len(self.slots), *active_slots[1:]]):
            target = values[:, :active, step]
            copied, mixed, state, context = self._step(word[:, :active], state[:, :active], memory, mask)
            gates = self.gate(context) if gates is None else gates
            present = target != self.pad
            target_share = (copied * (ids[:, None] == target[:, :, None])).sum(-1)
            written = self.narrow(state[present])
            if same is None:  # told the gold tokens: all steps' losses at once, below
                rows.append((written, mixed[present], target_share[present], target[present]))
                word = self._embed(target)
                continue
            copies = _copies(ids, copied, same, present)
            part, best = loss_and_choice(
                written, weight, mixed[present], target_share[present], target[present], copies
            )
            losses.append(part)
            word = self._embed(target.masked_scatter(present, best))
        if rows:
            written, some_mixed, target_shares, targets = (torch.cat(parts) for parts in zip(*rows, strict=True))
            losses.append(loss_and_choice(written, weight, some_mixed, target_shares, targets, None)[0])
        assert gates is not None
        gold_gates = inputs["gates"].gather(1, order)
        return torch.stack(losses).sum() / lengths.sum().clamp_min(1) + F.cross_entropy(
            gates.flatten(0, 1).float(), gold_gates.flatten()
        )

    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `gates`, (B, J), and `values`, (B, J × L): the likeliest gate, and the ids written step by step. Only
        slots whose gate says that they hold a text are decoded; others have padding."""
        ids = inputs["input_ids"]
        weight = self.encoder.get_input_embeddings().weight
        state, memory, mask = self._encode(inputs)
        copied, mixed, state, context = self._step(self._slot_words(len(state)), state, memory, mask)
        gates = self.gate(context).argmax(-1)
        has_text = gates == TEXT
        values = ids.new_full((*gates.shape, self.steps), self.pad)
        slots_to_write = int(has_text.sum(1).max())
        if slots_to_write:
            same = _same(ids)
            order = has_text.int().argsort(dim=1, descending=True, stable=True)[:, :slots_to_write]
            present = has_text.gather(1, order)
            state, copied, mixed = (part.gather(1, _like(order, part)) for part in (state, copied, mixed))
            words: list[Tensor] = []
            for step in range(self.steps):
                if step:
                    copied, mixed, state, _ = self._step(self._embed(words[-1]), state, memory, mask)
                best = choice(self.narrow(state[present]), weight, mixed[present], _copies(ids, copied, same, present))
                words.append(ids.new_full(present.shape, self.pad).masked_scatter(present, best))
            written = torch.stack(words, -1)
            values.scatter_(1, _like(order, written), written)
        return {"gates": gates, "values": values.flatten(1)}

    def _encode(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the decoder's first state, (B, J, D), the tokens' states, (B, S, D), and which are there, (B, S)."""
        encoded = self.encoder(**encoder_inputs(inputs))
        memory = encoded.last_hidden_state
        pooled = self.pooler(memory[:, 0]).tanh() if self.pooler else encoded.pooler_output
        return pooled[:, None].expand(-1, len(self.slots), -1), memory, inputs["attention_mask"].bool()

    def _embed(self, ids: Tensor) -> Tensor:
        return self.widen(self.encoder.get_input_embeddings()(ids))

    def _slot_words(self, inputs: int) -> Tensor:
        """Return the decoder's first inputs, (B, J, D): a slot is the sum of its words."""
        present = (self.slots != self.pad).unsqueeze(-1)
        return (self._embed(self.slots) * present).sum(1).expand(inputs, -1, -1)

    def _step(self, word: Tensor, state: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return, after one step: the share of each token of the dialogue, (B, J, S); how much of the vocabulary there
        is in the mixture, (B, J); state and context, (B, J, D)."""
        word = self.dropout(word)
        state = self.decoder(word.flatten(0, 1), state.flatten(0, 1)).view_as(state)
        attention = (state @ memory.transpose(1, 2)).float().masked_fill(~mask[:, None], float("-inf"))
        copied = attention.softmax(-1)
        context = copied.to(memory.dtype) @ memory
        mixed = self.mix(torch.cat([word, state, context], -1)).squeeze(-1).float().sigmoid()
        return copied, mixed, state, context


def _same(ids: Tensor) -> Tensor:
    """Return which tokens of the dialogue are the same, (B, S, S)."""
    return (ids[:, :, None] == ids[:, None]).float()


@torch.no_grad()
def _copies(ids: Tensor, copied: Tensor, same: Tensor, present: Tensor) -> Copies:
    """Return what the slots that are `present`, (B, J), may copy."""
    dialogue_ids = ids[:, None].expand(-1, present.size(1), -1)
    return Copies(dialogue_ids[present], (copied @ same)[present])


def _like(order: Tensor, values: Tensor) -> Tensor:
    """Return indices of dimension 1, (B, J), for a gather of values that may have more dimensions."""
    return order.view(*order.shape, *[1] * (values.ndim - 2)).expand(-1, -1, *values.shape[2:])
