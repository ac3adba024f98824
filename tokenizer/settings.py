"""Settings of the tokenizer and encode stages."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from common.settings import Settings, place, runtime

SPECIAL_TOKENS: dict[str, tuple[str, ...]] = {
    "roberta": ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"),
    "bert": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
}
"""Special tokens by preset, in the order of their ids from 0."""


class TokenizerSettings(Settings):
    """How the vocabulary is trained."""

    vocab_size: int = Field(default=32_000, ge=32)
    """Exact number of entries in the vocabulary, special tokens and unused slots included (KLUE: 32,000)."""
    base: str | None = place(None)
    """WordPiece tokenizer to start from: its folder, a run's folder, or a name on the hub (OWNER/NAME[@REVISION]; see
    `pretrain.init_from`). It is used unchanged if `vocab_size` is its size, and extended on the corpus if `vocab_size`
    is larger. Its special tokens stay. None trains a new tokenizer."""
    model: Literal["wordpiece", "unigram"] = "wordpiece"
    """WordPiece, which this project trains models with; or sentencepiece's unigram model (an extra) to compare with."""
    pretokenizer: Literal["morpheme", "kiwi", "none"] = "morpheme"
    """How words are split before training: into mecab-ko's morphemes (as for KLUE), into kiwi's (an extra), or not at
    all (the baseline). Encoding never needs an analyser."""
    min_character_count: int = Field(default=20, ge=1)
    """A character seen at least this often in the sample gets both its forms (x and ##x) as entries, however rarely it
    is merged. A word with a rarer character becomes [UNK]."""
    min_pair_count: int = Field(default=2, ge=1)
    """Minimum frequency of a pair of adjacent pieces that is merged. If the sample has more pieces than
    `tokenizer.wordpiece.FEED_LIMIT`, counts are scaled down, and the minimum applies to the scaled counts."""
    sample_mb: float = Field(default=1000.0, gt=0)
    """Megabytes (10^6 bytes of UTF-8) of the corpus to train on. From a larger corpus, documents are sampled with the
    seed so that sources are balanced: small sources are used completely before a large one gets more than they have.
    One document in a hundred (about 2 MB at most) is never trained on; the card's figures are measured on these."""
    special: Literal["roberta", "bert"] = "roberta"
    """Order of the special tokens: roberta [CLS]0 [PAD]1 [SEP]2 [UNK]3 [MASK]4, bert [PAD]0 [UNK]1 [CLS]2 [SEP]3
    [MASK]4; bert also makes the tokenizer return token_type_ids."""
    unused: int = Field(default=0, ge=0)
    """Slots [unused0], [unused1] ... after the special tokens, for tokens added later without resizing the model."""
    user_tokens: list[str] = Field(default=[])
    """Tokens that are never split, such as markers in your text (<URL>); without whitespace. Their entries follow the
    unused slots."""
    max_seq_len: int = Field(default=512, ge=8)
    """Maximum input length in tokens, saved as model_max_length. In a recipe without `base`, the default is
    `pretrain.max_seq_len`. A finished tokenizer keeps the value it was trained with."""
    seed: int = 42
    """Seed of the sample."""
    workers: int | None = runtime(None, ge=1)
    """Processes that count and segment; None = one per core. It does not change the vocabulary."""

    @field_validator("user_tokens")
    @classmethod
    def _whole_tokens(cls, tokens: list[str]) -> list[str]:
        taken = {token for preset in SPECIAL_TOKENS.values() for token in preset}
        for token in tokens:
            if (
                not token
                or any(character.isspace() for character in token)
                or token in taken
                or re.fullmatch(r"\[unused\d+\]", token)
                or token.startswith("##")
            ):
                raise ValueError(
                    f"{token!r} cannot be a token: it is empty, holds whitespace, is a special token or a slot, or "
                    "begins with ##, which marks what continues a word"
                )
        if len(set(tokens)) < len(tokens):
            raise ValueError("a token is named twice")
        return tokens

    @model_validator(mode="after")
    def _a_base_brings_its_tokens(self) -> TokenizerSettings:
        own = ("model", "special", "max_seq_len", "unused", "user_tokens")
        changed = [name for name in own if getattr(self, name) != type(self).model_fields[name].default]
        if self.base and changed:
            raise ValueError(f"base ({self.base}) is WordPiece with its own tokens: leave out {', '.join(changed)}")
        return self

    @model_validator(mode="after")
    def _there_is_room(self) -> TokenizerSettings:
        special = len(SPECIAL_TOKENS[self.special])
        unused = self.unused
        user = len(self.user_tokens)
        if not self.base and special + unused + user >= self.vocab_size:
            raise ValueError(
                f"vocab_size ({self.vocab_size}) leaves no room for text beside {special} special tokens, {unused} "
                f"unused slots and {user} user tokens: raise it, or lower unused"
            )
        return self

    @model_validator(mode="after")
    def _unigram_takes_whole_words(self) -> TokenizerSettings:
        if self.model == "unigram" and self.pretokenizer != "none":
            raise ValueError("model=unigram is trained on whole words: set pretokenizer=none")
        if self.model == "unigram" and self.min_pair_count != type(self).model_fields["min_pair_count"].default:
            raise ValueError("model=unigram merges no pairs: leave out min_pair_count")
        return self


class EncodeSettings(Settings):
    """How the corpus is turned into ids."""

    executor: Literal["local", "ray"] = runtime("local")
    """Where the work is done: local, threads of this process; ray, tasks of a Ray cluster. It never changes the
    output."""
    ray_address: str = runtime("auto", min_length=1)
    """Address for the executor ray. auto: the cluster that this machine belongs to. local: a cluster started here. Or
    the HOST:PORT of a cluster."""
    workers: int | None = runtime(None, ge=1)
    """Threads (tasks at once with ray), each with some 64 MB of text at a time and a table of words that grows to 0.7
    GB on a large corpus. None = all cores. It does not change the output."""
