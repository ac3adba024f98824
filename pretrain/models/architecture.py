"""An architecture: all that differs between encoders, so that one more is one file, a line in the registry and a name
in the settings.

Settings, plans and recipes ask for facts alone: torch and transformers are imported where a model is made.
Shapes: B samples, S tokens a sample, R rows, H hidden width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

    from pretrain.settings import ModelSettings


class Architecture(ABC):
    """An encoder of transformers: its configuration, its parts, and what it costs."""

    name: ClassVar[str]
    """Name in recipes and configurations (`model_type`)."""
    label: ClassVar[str]
    """Name for people."""
    classes: ClassVar[Mapping[str, str]]
    """Head (`Objective.head`) → name of the class of transformers."""
    needs: ClassVar[Mapping[str, object]] = {
        "tie_word_embeddings": True,
        "is_decoder": False,
        "add_cross_attention": False,
        "chunk_size_feed_forward": 0,
    }
    """Entries of a published model's configuration → the only value with which a run computes what transformers does.
    All other entries are carried along."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Patterns of the names of weights in some published folders → their names in the run's model."""
    fixed: ClassVar[Mapping[str, object]] = {}
    """Entries that the configuration of a run's model has, whatever a published one says: `renamed` makes up for it."""
    set_by: ClassVar[Mapping[str, str]] = {}
    """Entries of a published model's configuration that a setting decides → the setting."""
    sections: ClassVar[Sequence[str]] = ()
    """Sections of `pretrain.model` that are of this architecture alone."""
    learned_positions: ClassVar[bool] = True
    """Whether positions have a table of weights."""
    stacked: ClassVar[Mapping[str, int]] = {}
    """Weight of a layer that holds several matrices, one below the other → how many."""
    unpadded: ClassVar[bool] = False
    """Whether the layers attend by `pretrain.kernels.attention.attend` (transformers' AttentionInterface), which keeps
    unpadded sequences apart. Without it samples are rectangles, and packed texts are kept apart by `masks`."""
    fuses_norms: ClassVar[bool] = False
    """Whether the layers can add and norm by one operator; see `fuse_norms`."""
    keeps_scores: ClassVar[bool] = False
    """Whether the backward pass needs attention's scores on every device, as no kernel computes them again."""

    def fault(self, model: ModelSettings) -> str:
        """Return why a model cannot be of this architecture, with what to set instead; "" where it can."""
        if model.initialisation == "local" and not self.learned_positions:
            return (
                f"model.initialisation=local does not go with model.type={self.name}, whose positions are computed and "
                "not learned; set model.initialisation=original"
            )
        return ""

    def model_class(self, head: str) -> type[PreTrainedModel]:
        """Return the class of transformers with a head."""
        import transformers

        return getattr(transformers, self.classes[head])

    @abstractmethod
    def config(
        self, model: ModelSettings, positions: int, head: str, vocab_size: int, special_ids: Mapping[str, int]
    ) -> Any:
        """Return the configuration of a run's model, as in the original where the settings say nothing.

        Args:
            positions: tokens of the longest sequence, special ones included.
            special_ids: the ids of cls, pad, sep, unk and mask.
        """

    @abstractmethod
    def set_dropout(self, config: PreTrainedConfig, model: ModelSettings) -> None:
        """Write a run's dropout into the configuration of a published model."""

    @abstractmethod
    def layers(self, hf_model: PreTrainedModel) -> Sequence[nn.Module]:
        """Return the encoder's layers, in order."""

    def embeddings(self, hf_model: PreTrainedModel) -> nn.Module:
        """Return the embedding module: ids to hidden states."""
        return hf_model.base_model.embeddings

    @abstractmethod
    def before_layers(self, hf_model: PreTrainedModel, mark: Callable[[Tensor], None]) -> None:
        """Have `mark` called with each tensor of a token each, (B, S, …), that the layers are given."""

    def arguments(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the encoder's forward pass, of those that the training model has for any."""
        return inputs

    def encode(self, hf_model: PreTrainedModel, inputs: dict[str, Any]) -> Any:
        """Return the encoder's output, with `last_hidden_state` (B, S, H), of the training model's inputs."""
        return hf_model.base_model(**self.arguments(inputs))

    @abstractmethod
    def features(self, hf_model: PreTrainedModel, hidden_RH: Tensor) -> Tensor:
        """Return the head's features before the projection on the vocabulary."""

    def fuse(self, hf_model: PreTrainedModel) -> None:  # noqa: B027 - of some, these are one product anyway
        """Have queries, keys and values come from one matrix product."""

    def fuse_norms(self, hf_model: PreTrainedModel) -> None:
        """Have the layers add and norm by one operator (`pretrain.kernels.add_norm`), if `fuses_norms`."""
        raise NotImplementedError(f"{self.label} has no fused norms")

    def masks(self, hf_model: PreTrainedModel, seen_BSS: Tensor) -> Any:
        """Return the attention mask by which the first position sees the second; no row of `seen_BSS` is empty."""
        return seen_BSS[:, None].contiguous()

    def padding(self, hf_model: PreTrainedModel, real_BS: Tensor) -> Any:
        """Return the attention mask of samples that are filled up at their ends, where `real_BS` is False."""
        return real_BS.long()

    def position_table(self, hf_model: PreTrainedModel) -> nn.Parameter | None:
        """Return the table of positions; None where positions are computed."""
        return None

    def lengthen(self, config: PreTrainedConfig, positions: int) -> None:
        """Write a larger number of positions into the configuration of a published model."""
        config.max_position_embeddings = positions

    def with_rope_base(self, model: ModelSettings, base: float) -> ModelSettings | None:
        """Return a model's settings with another base of rotary positions; None where there is none to set."""
        return None

    def set_rope_base(self, hf_model: PreTrainedModel, model: ModelSettings) -> None:  # noqa: B027 - most have none
        """Have a model compute its rotary positions, and say so in its configuration, by the settings of a phase."""

    def published_head(self, config: PreTrainedConfig, unexpected: Collection[str]) -> PreTrainedConfig | None:
        """Return the configuration by which transformers reads a published head, `unexpected` to it; None: none."""
        return None

    def query_and_key(self, layer: nn.Module) -> tuple[Tensor, ...]:
        """Return the weights of a layer's queries and keys, where they can begin as `initialisation: local`."""
        return ()

    def first_position(self, pad_id: int) -> int:
        """Return the position id of a sample's first token."""
        return 0

    @abstractmethod
    def feed_forward(self, hidden: int) -> int:
        """Return the feed-forward layer's width where the settings give none."""

    @abstractmethod
    def parameters(self, model: ModelSettings, vocab_size: int, length: int, pad_id: int = 1) -> int:
        """Return the parameters of the encoder and its masked-language-model head, whose decoder is tied."""

    @abstractmethod
    def layer_products(self, model: ModelSettings) -> int:
        """Return the numbers of a layer's weights that are factors of a matrix product."""

    def spans(self, model: ModelSettings, span: float) -> float:
        """Return how many positions a token sees, added up over the layers; `span` where attention is global."""
        return model.layers * span

    @abstractmethod
    def layer_bytes(self, model: ModelSettings, number: int, norm: int, mask: int) -> float:
        """Return the bytes a layer keeps of a token, scores aside, by those of a number, norm input and mask entry."""

    def score_bytes(self, model: ModelSettings, number: int, mask: int, length: int, compiled: bool) -> float:
        """Return the bytes that a layer keeps of a token's scores where no kernel computes them again.

        w·A·s, with dropout (m + w)·A·s more: w bytes of a number, m of an entry of dropout's mask, s positions seen.
        """
        return float((number + (mask + number if model.dropped_attention else 0)) * model.heads * length)

    def flops_per_token(self, model: ModelSettings, vocab_size: int, span: float, predicted: float) -> float:
        """Return forward + backward FLOPs a token, a multiply-add counted as two.

        Formula: 6·L·w + 12·h·Σ s + 6·m·(V·h + h²): L layers whose products have w weights, h width, s positions that a
        token sees in a layer (`span`: E[length²] / E[length], where attention is global), V entries, m share of the
        tokens that pass through the head.
        """
        h = model.hidden
        return (
            6 * model.layers * self.layer_products(model)
            + 12 * h * self.spans(model, span)
            + 6 * predicted * (vocab_size * h + h * h)
        )
