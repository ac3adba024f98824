"""What an architecture is: all that differs between encoders, so that one more is one file and a line in the registry.

Settings, plans and recipes ask for facts alone: torch and transformers are imported where a model is made.
Shapes: B samples, S tokens a sample, R rows, H hidden width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

    from pretrain.settings import ModelSettings, PretrainSettings


class Architecture(ABC):
    """An encoder of transformers: its configuration, its parts, and what it costs."""

    name: ClassVar[str]
    """By which recipes and configurations call it (`model_type`)."""
    label: ClassVar[str]
    """By which people call it."""
    classes: ClassVar[Mapping[str, str]]
    """Head (`Objective.head`) → name of the class of transformers."""
    alike: ClassVar[Sequence[str]]
    """Entries of a configuration in which a published model must be as the run's: what its weights compute."""
    set_by: ClassVar[Mapping[str, str]] = {}
    """Of those entries, the ones that a setting decides → the setting."""
    sections: ClassVar[Sequence[str]] = ()
    """Sections of `pretrain.model` that are of this architecture alone."""
    learned_positions: ClassVar[bool] = True
    """Whether positions have a table of weights."""
    stacked: ClassVar[Mapping[str, int]] = {}
    """Weight of a layer that holds several matrices, one below the other → how many."""

    def fault(self, model: ModelSettings) -> str:
        """Return why a model cannot be of this architecture, with what to set instead; "" where it can."""
        from pretrain.models.registry import ARCHITECTURES

        for other in ARCHITECTURES.values():
            for section in other.sections:
                if section not in self.sections and getattr(model, section) is not None:
                    return (
                        f"model.{section} is of model.type={other.name}, and this model is a {self.name}; leave the "
                        f"section out, or set model.type={other.name}"
                    )
        return ""

    def model_class(self, head: str) -> type[PreTrainedModel]:
        """Return the class of transformers with a head."""
        import transformers

        return getattr(transformers, self.classes[head])

    @abstractmethod
    def config(self, settings: PretrainSettings, head: str, vocab_size: int, special_ids: Mapping[str, int]) -> Any:
        """Return the configuration of a run's model, as in the original where the settings say nothing.

        Args:
            settings: the run; its length is the number of usable positions.
            head: of the model.
            vocab_size: entries.
            special_ids: ids of cls, pad, sep, unk, mask.
        """

    @abstractmethod
    def set_dropout(self, config: PreTrainedConfig, model: ModelSettings) -> None:
        """Write a run's dropout into the configuration of a published model."""

    @abstractmethod
    def layers(self, hf_model: PreTrainedModel) -> Sequence[nn.Module]:
        """Return the layers."""

    def embeddings(self, hf_model: PreTrainedModel) -> nn.Module:
        """Return what makes hidden states of ids."""
        return hf_model.base_model.embeddings

    @abstractmethod
    def before_layers(self, hf_model: PreTrainedModel, mark: Callable[[Tensor], None]) -> None:
        """Have `mark` called with each tensor of a token each, (B, S, …), that the layers are given."""

    def arguments(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the encoder's forward pass, of those that the training model has for any."""
        return inputs

    @abstractmethod
    def features(self, hf_model: PreTrainedModel, hidden_RH: Tensor) -> Tensor:
        """Return the head's features before the projection on the vocabulary."""

    def fuse(self, hf_model: PreTrainedModel) -> None:  # noqa: B027 - of some, these are one product anyway
        """Have queries, keys and values come from one matrix product."""

    def masks(self, hf_model: PreTrainedModel, seen_BSS: Tensor) -> Any:
        """Return what the model takes as its attention mask.

        Args:
            hf_model: the model.
            seen_BSS: bool; whether the first position sees the second. No row is empty.
        """
        return seen_BSS[:, None].contiguous()

    def padding(self, hf_model: PreTrainedModel, real_BS: Tensor) -> Any:
        """Return what the model takes as its attention mask where samples are filled up at their ends.

        Args:
            hf_model: the model.
            real_BS: bool; whether a position is no padding.
        """
        return real_BS.long()

    def position_table(self, hf_model: PreTrainedModel) -> nn.Parameter | None:
        """Return the table of positions; None where positions are computed."""
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
        """Return the number of parameters of the encoder and its masked-language-model head, whose decoder is tied.

        Args:
            model: the shape.
            vocab_size: entries.
            length: usable positions.
            pad_id: of the vocabulary.
        """

    @abstractmethod
    def layer_products(self, model: ModelSettings) -> int:
        """Return the numbers of a layer's weights that are factors of a matrix product."""

    def spans(self, model: ModelSettings, span: float) -> float:
        """Return how many positions a token sees, added up over the layers.

        Args:
            model: the shape.
            span: positions that a token sees where attention is global.
        """
        return model.layers * span

    @abstractmethod
    def layer_bytes(self, model: ModelSettings, number: int, norm: int, mask: int) -> float:
        """Return the bytes that a layer keeps of a token for its backward pass, its scores aside.

        Args:
            model: the shape.
            number: bytes of a number.
            norm: bytes of a number that goes into a layer norm.
            mask: bytes of an entry of dropout's mask.
        """

    def flops_per_token(self, model: ModelSettings, vocab_size: int, span: float, predicted: float) -> float:
        """Return forward + backward FLOPs a token, a multiply-add counted as two.

        Formula: 6·L·w + 12·h·Σ s + 6·m·(V·h + h²): L layers whose products have w weights, h width, s positions that a
        token sees in a layer, V entries, m share of the tokens that pass through the head.

        Args:
            model: the shape.
            vocab_size: V.
            span: mean of s where attention is global, E[length²] / E[length].
            predicted: m.
        """
        h = model.hidden
        return (
            6 * model.layers * self.layer_products(model)
            + 12 * h * self.spans(model, span)
            + 6 * predicted * (vocab_size * h + h * h)
        )
